/* Which candidates are the most promising? Orders of members whose values were predicted.
 *
 *     nas_pick_by_order(candidate, n, m, order);
 *     size_t k = nas_pick_by_volume(row, rows, candidate, n, m, 64, order);
 */
#ifndef NAS_PICK_H
#define NAS_PICK_H

#include "search/searcher.h"

/* order (n): by constrained rank, then crowding distance, then place. */
void nas_pick_by_order(const nas_member *member, size_t n, size_t m, size_t *order);

/* Takes candidates one after another, each the one that adds most volume to the front of the rows
 * and of what was taken before, until `most` are taken or none adds any. The reference point lies a
 * little beyond the front of rows and candidates. order gets them; returns how many. */
size_t nas_pick_by_volume(const nas_member *row, size_t rows, const nas_member *candidate,
                          size_t candidates, size_t m, size_t most, size_t *order);

#endif
