/* Which points are better? Dominance, non-dominated sorting, crowding, distances between fronts.
 *
 *     uint32_t rank[n];                                     // points: (n, m), less is better
 *     status = nas_front_sort(points, n, m, 1, rank, &err); // rank 0: the front, 1: the rest
 *     nas_front_crowding(points, n, m, distance);
 *     double e = nas_front_epsilon(points, n, truth, k, m);
 *
 * Everything minimises (nas_objectives_minimise turns a table around). Infinite values are ordinary
 * very good or very bad values; NaN is refused. Equal points do not dominate each other. */
#ifndef NAS_RESULTS_FRONT_H
#define NAS_RESULTS_FRONT_H

#include "spaces/base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { NAS_FRONT_COLUMNS = 16 }; /* most objectives that sorting and hypervolume take */

/* a is nowhere worse than b and somewhere better; (m) each. */
bool nas_front_dominates(const double *a, const double *b, size_t m);

/* NAS_FAILED naming the first row that holds NaN; NAS_USAGE for m of 0 or above the limit. */
nas_status nas_front_check(const double *points, size_t n, size_t m, nas_err *err);

/* The rank of each point: 0 for those that nothing dominates, r for those that only ranks below r
 * dominate, but never more than most: most 1 finds just the front, UINT32_MAX sorts everything.
 * Lexicographic order, then a binary search over the fronts (ENS of Zhang et al. 2015), whose
 * dominance test is one comparison for m 2, a staircase search for m 3 and a k-d tree above;
 * O(n log n) for m 2. Errors as nas_front_check; rank is then undefined. */
nas_status nas_front_sort(const double *points, size_t n, size_t m, uint32_t most, uint32_t *rank,
                          nas_err *err);

/* Crowding distance of the points of one front (Deb et al. 2002): for each objective the gap
 * between the two neighbours over the range, summed; the first and last of an objective get
 * infinity, among equal values those of the lowest and highest row. An objective with a range of
 * zero or infinity adds nothing. Never NaN; one or two points have infinity. */
void nas_front_crowding(const double *points, size_t n, size_t m, double *distance);

/* IGD+ (Ishibuchi et al. 2015): the mean over k points of truth of the smallest distance by which
 * the set of n points falls short of it. Infinity for an empty set, 0 for an empty truth. */
double nas_front_igd_plus(const double *points, size_t n, const double *truth, size_t k, size_t m);

/* Additive epsilon (Zitzler et al. 2003): the least amount by which all points must improve in each
 * objective so that the set weakly dominates truth. Infinity and 0 as above. */
double nas_front_epsilon(const double *points, size_t n, const double *truth, size_t k, size_t m);

#endif
