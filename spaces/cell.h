/* How do graph networks see an architecture? As one or two small labelled graphs, operators on
 * nodes.
 *
 *     nas_cells c = {0};
 *     space->cell(space, &arch, &c);          // c.n cells
 *     for (int i = 0; i < c.cell[0].n; i++)   // inputs first, the output last
 *         use(c.cell[0].label[i], c.cell[0].from[i]);
 *
 * Nodes are in topological order. The first labels mean the same in every space; a space's own
 * operators follow from NAS_CELL_OPS up to its cell_labels. */
#ifndef NAS_CELL_H
#define NAS_CELL_H

#include <stdint.h>

enum { NAS_CELL_NODES = 64 };

enum {
    NAS_CELL_INPUT,
    NAS_CELL_OUTPUT,
    NAS_CELL_NONE, /* lets nothing through */
    NAS_CELL_SKIP, /* lets everything through */
    NAS_CELL_OPS,
};

typedef struct {
    int n;
    uint8_t label[NAS_CELL_NODES];
    uint64_t from[NAS_CELL_NODES]; /* bit j of from[i]: node j feeds node i; j < i */
} nas_cell;

typedef struct {
    int n; /* the same for all architectures of a space: 1, or 2 (normal, reduction) */
    nas_cell cell[2];
    float side[2]; /* what the cells do not show: width / 32 and depth / 20 where they vary */
} nas_cells;

/* A cell of 4 states with an operator on each of its 6 edges, which become nodes: 0-1, 0-2, 1-2,
 * 0-3, 1-3, 2-3. gene (6): 0 none, 1 skip, then the space's operators. An edge reads the edges into
 * its source. */
void nas_cell_of_edges(const uint8_t *gene, nas_cell *cell);

#endif
