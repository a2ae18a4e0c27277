/* How far off is an estimate that comes with some spread? Spreads corrected on rows that were not
 * learned.
 *
 *     nas_calibration c = nas_calibration_fit(error, spread, n);      // of those rows
 *     honest = nas_calibration_apply(&c, spread);                     // of any other
 *
 * The corrected spread is exp(offset) spread^(1 + slope): the line in logarithms under which nine
 * tenths of the errors lie (quantile regression, Koenker and Bassett, 1978), over 1.645, so that an
 * estimate -+ 1.645 spreads holds the truth nine times in ten whether the spread is small or large.
 * It keeps the order of spreads. {0} changes nothing. */
#ifndef NAS_SURROGATE_CALIBRATE_H
#define NAS_SURROGATE_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>

enum { NAS_CALIBRATION_LEAST = 100 }; /* rows without which nothing is fitted */

typedef struct {
    double offset, slope;
} nas_calibration;

/* From n estimates: estimate less truth, and the spread that was told. Those that are not finite,
 * or whose spread is 0, do not count; {0} when too few are left. */
nas_calibration nas_calibration_fit(const double *error, const double *spread, size_t n);
double nas_calibration_apply(const nas_calibration *calibration, double spread);
/* Could nas_calibration_fit have made it? For what comes from a file. */
bool nas_calibration_valid(const nas_calibration *calibration);

#endif
