/* How much does a front dominate? The exact volume between it and a reference point.
 *
 *     double volume, share[n];                                         // points: (n, m)
 *     status = nas_hypervolume(points, n, m, reference, &volume, &err);
 *     status = nas_hypervolume_each(points, n, m, reference, share, &err);
 *
 * Everything minimises; a point counts only where it is below the reference (m) in all objectives,
 * else it adds 0. Duplicates add nothing. */
#ifndef NAS_RESULTS_HYPERVOLUME_H
#define NAS_RESULTS_HYPERVOLUME_H

#include "spaces/base/err.h"

/* The volume; 0 for no points. Infinite when a point below the reference is -inf somewhere or the
 * reference is infinite there; never NaN. Errors: NaN in points or reference (NAS_FAILED), more
 * objectives than NAS_FRONT_COLUMNS (NAS_USAGE).
 *
 * Dimension sweep: points in the order of the last objective; each adds its exclusive volume in the
 * other objectives times its depth in the last. A staircase gives O(n log n) for m up to 3; for m 4
 * one sweep over the third objective a point gives O(n²) on typical sets; above, the exclusive
 * volume is the point's box less the volume of the others clipped to it (While et al. 2012). */
nas_status nas_hypervolume(const double *points, size_t n, size_t m, const double *reference,
                           double *volume, nas_err *err);

/* The volume that each point alone dominates; 0 for points that are dominated, equal to another one
 * or beyond the reference. Also NAS_FAILED for infinite volumes, of which shares do not exist. */
nas_status nas_hypervolume_each(const double *points, size_t n, size_t m, const double *reference,
                                double *share, nas_err *err);

#endif
