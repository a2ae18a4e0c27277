#include "surrogate/baselines/colour.h"

#include "surrogate/encode.h"

#include <stdlib.h>

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 29;
}

static int compare_colour(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* One round: a node's colour and the colours of those that feed it and that it feeds, as sets. */
static void refine(const nas_cell *c, uint64_t *colour)
{
    uint64_t in[NAS_CELL_NODES] = {0}, out[NAS_CELL_NODES] = {0};
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < i; j++)
            if (c->from[i] >> j & 1) {
                in[i] += mix(1, colour[j]);
                out[j] += mix(2, colour[i]);
            }
    for (int i = 0; i < c->n; i++)
        colour[i] = mix(mix(mix(3, colour[i]), in[i]), out[i]);
}

size_t nas_colours_of(nas_cells *cells, uint64_t *to)
{
    size_t n = 0;
    for (int k = 0; k < cells->n; k++) {
        nas_cell *c = &cells->cell[k];
        uint64_t colour[NAS_CELL_NODES];
        nas_cell_simplify(c);
        for (int i = 0; i < c->n; i++)
            colour[i] = mix((uint64_t)k + 1, c->label[i]);
        for (int round = 0; round <= NAS_COLOUR_ROUNDS; round++, refine(c, colour))
            for (int i = 0; i < c->n; i++)
                to[n++] = colour[i];
    }
    qsort(to, n, sizeof *to, compare_colour);
    return n;
}

void nas_colours_of_states(const uint8_t *label, const uint64_t *from, size_t n, uint64_t *colour)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t in = 0;
        for (uint64_t set = from[i]; set; set &= set - 1)
            in += mix(1, colour[__builtin_ctzll(set)]);
        colour[i] = mix(mix(3, label[i]), in);
    }
}
