/* Which candidates are the most promising? Orders of members whose values were predicted.
 *
 *     nas_pick_by_order(candidate, n, m, order);
 *     size_t k = nas_pick_by_direction(candidate, n, m, 64, &rng, order);
 */
#ifndef NAS_PICK_H
#define NAS_PICK_H

#include "search/searcher.h"

/* order (n): by constrained rank, then crowding distance, then place. */
void nas_pick_by_order(const nas_member *member, size_t n, size_t m, size_t *order);

/* Takes candidates one after another, each the best of those left in a direction d of its own: the
 * one with the largest min over objectives k of (r_k - f_k) / d_k. Directions are drawn uniformly
 * from the positive part of the sphere, with which the mean of the m-th power of that best value is
 * the hypervolume under the front but for a factor ("random hypervolume scalarisations", Zhang and
 * Golovin 2020). Objectives are scaled by the candidates' front; the reference point r lies a tenth
 * beyond it. What was measured does not come in: where values are noisy, a lucky row would keep all
 * from being tried that is predicted as well as its likes. order gets at most `most` candidates
 * that have numbers and are feasible; returns how many. */
size_t nas_pick_by_direction(const nas_member *candidate, size_t n, size_t m, size_t most,
                             nas_rng *rng, size_t *order);

#endif
