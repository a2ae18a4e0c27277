#include "spaces/cell.h"

enum { STATES = 4, EDGES = 6 };

/* The edge from state s into state t > s. */
static int edge(int s, int t)
{
    return t * (t - 1) / 2 + s;
}

void nas_cell_of_edges(const uint8_t *gene, nas_cell *cell)
{
    cell->n = EDGES + 2;
    cell->label[0] = NAS_CELL_INPUT;
    cell->label[EDGES + 1] = NAS_CELL_OUTPUT;
    for (int t = 1; t < STATES; t++)
        for (int s = 0; s < t; s++) {
            int node = 1 + edge(s, t);
            cell->label[node] = (uint8_t)(NAS_CELL_NONE + gene[edge(s, t)]);
            cell->from[node] = s == 0;
            for (int r = 0; r < s; r++)
                cell->from[node] |= UINT64_C(2) << edge(r, s);
            if (t == STATES - 1)
                cell->from[EDGES + 1] |= UINT64_C(1) << node;
        }
}
