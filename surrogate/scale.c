#include "surrogate/scale.h"

#include "spaces/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sorted finite labels, n >= 1. */
typedef void fitter(nas_scale *scale, const double *label, size_t n);

static void put(nas_scale *scale, double x, double z)
{
    scale->x[scale->n] = x;
    scale->z[scale->n++] = z;
}

static void fit_raw(nas_scale *scale, const double *label, size_t n)
{
    (void)scale, (void)label, (void)n;
}

/* A next double above x at which a line through x and it has a usable slope. */
static double above(double x)
{
    return x + fmax(1, fabs(x) * 1e-6);
}

static void fit_affine(nas_scale *scale, const double *label, size_t n)
{
    bool flat = label[n - 1] <= label[0];
    put(scale, label[0], flat ? 5 : 1);
    put(scale, flat ? above(label[0]) : label[n - 1], flat ? 6 : 9);
}

/* The label at cumulative probability p when label i stands at (i + 1/2) / n. */
static double empirical(const double *label, size_t n, double p)
{
    double at = fmin(fmax(p * (double)n - 0.5, 0), (double)n - 1);
    size_t i = (size_t)at;
    if (i + 1 >= n)
        return label[n - 1];
    return label[i] + (at - (double)i) * (label[i + 1] - label[i]);
}

/* Scores -4..4 in steps of 1/8, as far as n labels reach. Of equal labels the middle score stays.
 */
static void normal_knots(nas_scale *scale, const double *label, size_t n)
{
    double first = 0; /* score of the first of equal labels */
    for (int k = -32; k <= 32; k++) {
        double score = k / 8.0, p = 0.5 * erfc(-score / sqrt(2));
        if (p * (double)n < 0.5 || (1 - p) * (double)n < 0.5)
            continue;
        double x = empirical(label, n, p);
        if (scale->n > 0 && x <= scale->x[scale->n - 1]) {
            scale->z[scale->n - 1] = 5 + (first + score) / 2;
            continue;
        }
        first = score;
        put(scale, x, 5 + score);
    }
}

/* How much the metric grows for one more score beyond the last (or before the first) knot: as much
 * as on average from the middle to there. */
static double tail_slope(const nas_scale *scale, bool upper)
{
    int last = scale->n - 1, middle = scale->n / 2;
    if (last < 1)
        return above(scale->x[0]) - scale->x[0];
    int from = upper && last > 1 ? middle : 0, to = upper || last < 2 ? last : middle;
    return (scale->x[to] - scale->x[from]) / (scale->z[to] - scale->z[from]);
}

static void fit_normal(nas_scale *scale, const double *label, size_t n)
{
    normal_knots(scale, label, n);
    double low = tail_slope(scale, false), high = tail_slope(scale, true);
    memmove(scale->x + 1, scale->x, (size_t)scale->n * sizeof *scale->x);
    memmove(scale->z + 1, scale->z, (size_t)scale->n * sizeof *scale->z);
    scale->n++;
    scale->x[0] = scale->x[1] - low * scale->z[1];
    scale->z[0] = 0;
    put(scale, scale->x[scale->n - 1] + high * (10 - scale->z[scale->n - 1]), 10);
}

static const struct {
    const char *name;
    fitter *fit;
} kinds[] = {{"raw", fit_raw}, {"affine", fit_affine}, {"normal", fit_normal}};
enum { KINDS = sizeof kinds / sizeof *kinds };

int nas_scale_find(const char *kind)
{
    for (int i = 0; i < KINDS; i++)
        if (!strcmp(kinds[i].name, kind))
            return i;
    return -1;
}

const char *nas_scale_name(const nas_scale *scale)
{
    return kinds[scale->kind].name;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

nas_status nas_scale_fit(nas_scale *scale, const char *kind, const double *label, size_t n,
                         nas_err *err)
{
    *scale = (nas_scale){.kind = nas_scale_find(kind)};
    if (scale->kind < 0)
        return nas_fail(err, NAS_USAGE, "'%s' is no scale; raw, affine and normal are", kind);
    double *sorted = nas_alloc(n * sizeof *sorted);
    nas_status status = NAS_OK;
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(label[i]))
            sorted[m++] = label[i];
    qsort(sorted, m, sizeof *sorted, compare_doubles);
    if (m == 0)
        status = nas_fail(err, NAS_FAILED, "no label to fit a scale on");
    else if (!isfinite(sorted[0]) || !isfinite(sorted[m - 1]))
        status = nas_fail(err, NAS_FAILED, "a label is infinite");
    else
        kinds[scale->kind].fit(scale, sorted, m);
    free(sorted);
    return status;
}

/* The line through the two knots that enclose v, or that are nearest to it. */
static double through(int n, const double *from, const double *to, double v)
{
    if (n == 0)
        return v;
    int low = 0, high = n - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        *(v < from[middle] ? &high : &low) = middle;
    }
    return to[low] + (v - from[low]) * ((to[high] - to[low]) / (from[high] - from[low]));
}

double nas_scale_apply(const nas_scale *scale, double x)
{
    return through(scale->n, scale->x, scale->z, x);
}

double nas_scale_invert(const nas_scale *scale, double z)
{
    return through(scale->n, scale->z, scale->x, z);
}

bool nas_scale_valid(const nas_scale *scale)
{
    if (scale->kind < 0 || scale->kind >= KINDS || scale->n < 0 || scale->n > NAS_SCALE_KNOTS)
        return false;
    if (scale->kind == 0 ? scale->n != 0 : scale->n < 2)
        return false;
    if (!nas_calibration_valid(&scale->spread))
        return false;
    for (int i = 0; i < scale->n; i++)
        if (!isfinite(scale->x[i]) || !isfinite(scale->z[i]) ||
            (i && (scale->x[i] <= scale->x[i - 1] || scale->z[i] <= scale->z[i - 1])))
            return false;
    return true;
}
