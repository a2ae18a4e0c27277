#include "surrogate/calibrate.h"

#include "spaces/base/mem.h"

#include <math.h>
#include <stdlib.h>

#define SHARE      0.9   /* of the errors that lie under the line */
#define WIDTH      1.645 /* spreads to each side that hold so many of a normal distribution */
#define POWERS     30    /* powers of the spread that are tried: 0.05, 0.1 … 1.5 */
#define POWER_UNIT 0.05
#define FARTHEST   50 /* largest logarithm of a factor that a file may hold */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The loss of the best line of that power through (x, y), n each, and where it is at x = 0; rest
 * (n) is scratch. */
static double best_line(const double *x, const double *y, size_t n, double power, double *rest,
                        double *offset)
{
    double loss = 0;
    for (size_t i = 0; i < n; i++)
        rest[i] = y[i] - power * x[i];
    qsort(rest, n, sizeof *rest, compare_doubles);
    *offset = rest[(size_t)(SHARE * (double)(n - 1))];
    for (size_t i = 0; i < n; i++)
        loss += rest[i] > *offset ? SHARE * (rest[i] - *offset) : (1 - SHARE) * (*offset - rest[i]);
    return loss;
}

nas_calibration nas_calibration_fit(const double *error, const double *spread, size_t n)
{
    double *x = nas_alloc((3 * n + 1) * sizeof *x), *y = x + n, *rest = y + n, least = INFINITY;
    nas_calibration best = {0};
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(error[i]) && isfinite(spread[i]) && spread[i] > 0) {
            x[m] = log(spread[i]);
            y[m++] = log(fmax(fabs(error[i]), 1e-6 * spread[i])); /* 0 has no logarithm */
        }
    for (int k = 1; m >= NAS_CALIBRATION_LEAST && k <= POWERS; k++) {
        double offset, loss = best_line(x, y, m, k * POWER_UNIT, rest, &offset);
        if (loss < least) {
            least = loss;
            best = (nas_calibration){offset - log(WIDTH), k * POWER_UNIT - 1};
        }
    }
    free(x);
    return best;
}

double nas_calibration_apply(const nas_calibration *c, double spread)
{
    return spread > 0 && (c->offset != 0 || c->slope != 0)
               ? exp(c->offset + (1 + c->slope) * log(spread))
               : spread;
}

bool nas_calibration_valid(const nas_calibration *c)
{
    return fabs(c->offset) <= FARTHEST && c->slope > -1 && c->slope <= FARTHEST;
}
