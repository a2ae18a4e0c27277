/* Which neighbourhoods do cells have? Weisfeiler-Lehman colours of their nodes.
 *
 *     uint64_t colour[NAS_COLOURS_MOST];
 *     size_t n = nas_colours_of(&cells, colour);
 *
 * Relabelings of a cell have the same colours; what two cells share tells how alike they are. */
#ifndef NAS_BASELINES_COLOUR_H
#define NAS_BASELINES_COLOUR_H

#include "spaces/cell.h"

#include <stddef.h>

enum {
    NAS_COLOUR_ROUNDS = 3, /* of refinement */
    NAS_COLOURS_MOST = 2 * NAS_CELL_NODES * (NAS_COLOUR_ROUNDS + 1),
};

/* Simplifies the cells; the colours of their nodes after every round, sorted. Returns how many. */
size_t nas_colours_of(nas_cells *cells, uint64_t *colour);

/* Colours of what reaches each of n nodes in topological order: equal when the labels are and the
 * colours of all that feed them, counted. Two others are equal once in 2^64. */
void nas_colours_of_states(const uint8_t *label, const uint64_t *from, size_t n, uint64_t *colour);

#endif
