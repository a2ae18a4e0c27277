/* On which scale does the model see a metric? Increasing maps fitted on training labels.
 *
 *     nas_scale scale;
 *     status = nas_scale_fit(&scale, "normal", label, n, &err);
 *     z = nas_scale_apply(&scale, 94.37);     // what is written as tokens
 *     x = nas_scale_invert(&scale, z);        // 94.37 again
 *
 * Every map is piecewise linear through its knots and goes on straight beyond the ends, so it never
 * changes an order and never forbids a value better than all labels. Fitted maps send the labels
 * into 1..9: sign and exponent are then the same for all, and digits alone tell them apart. */
#ifndef NAS_SURROGATE_SCALE_H
#define NAS_SURROGATE_SCALE_H

#include "spaces/base/err.h"
#include "surrogate/calibrate.h"

#include <stdbool.h>
#include <stddef.h>

enum { NAS_SCALE_KNOTS = 67 };

typedef struct {
    int kind;                  /* index of nas_scale_kind */
    int n;                     /* knots; 0 for the identity */
    double x[NAS_SCALE_KNOTS]; /* (n) metric, increasing */
    double z[NAS_SCALE_KNOTS]; /* (n) what the model sees, increasing */
    nas_calibration spread;    /* of estimates, in the metric's unit */
} nas_scale;

/* Fits the map of that kind on n labels; nans do not count. NAS_USAGE for an unknown kind,
 * NAS_FAILED when no label is left or one is infinite.
 *   raw     the label as it is
 *   affine  least label to 1, greatest to 9
 *   normal  5 + the normal score of the label's rank: robust to skew, as in rank regression */
nas_status nas_scale_fit(nas_scale *scale, const char *kind, const double *label, size_t n,
                         nas_err *err);

double nas_scale_apply(const nas_scale *scale, double x);
double nas_scale_invert(const nas_scale *scale, double z);

const char *nas_scale_name(const nas_scale *scale);
/* The index of a kind, or -1. */
int nas_scale_find(const char *kind);
/* Are kind, knots and calibration what nas_scale_fit could have made? For what comes from a file.
 */
bool nas_scale_valid(const nas_scale *scale);

#endif
