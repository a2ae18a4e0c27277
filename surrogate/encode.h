/* How do learned models see architectures? As labelled graphs padded to one size, and as one-hot
 * genes.
 *
 *     nas_encoder *e = nas_encoder_new(space, task);
 *     nas_encoding *g = nas_encode(e, arch, n);
 *     uint8_t label = g->label[(i * g->cells + c) * g->nodes + v];
 *     nas_encoding_free(g), nas_encoder_free(e);
 *
 * Spaces with a cell function give their cells; the others give the calls of the main graph, whose
 * labels are the distinct calls (function and attributes) of a fixed sample of the space. */
#ifndef NAS_SURROGATE_ENCODE_H
#define NAS_SURROGATE_ENCODE_H

#include "spaces/space.h"

enum { NAS_ENCODER_LABELS = 255 };

typedef struct nas_encoder nas_encoder;

nas_encoder *nas_encoder_new(const nas_space *space, const nas_task *task);
void nas_encoder_free(nas_encoder *encoder);
int nas_encoder_labels(const nas_encoder *encoder);     /* every label is below */
int nas_encoder_cells_each(const nas_encoder *encoder); /* cells of an architecture */
int nas_encoder_nodes(const nas_encoder *encoder);      /* the largest cell of the sample */
/* The cells of one architecture. A call that the sample lacks is NAS_CELL_SKIP; calls beyond the
 * room of a cell are left out. */
void nas_encoder_cells(const nas_encoder *encoder, const nas_arch *arch, nas_cells *out);

typedef struct {
    size_t n;
    int cells;      /* of one architecture */
    int nodes;      /* room of one cell */
    int labels;     /* every label is below */
    uint8_t *label; /* (n, cells, nodes) */
    uint64_t *from; /* (n, cells, nodes): predecessors as bits; 0 beyond count */
    uint8_t *count; /* (n, cells): nodes in use; the last of them is the output */
    float *side;    /* (n, 2): nas_cells.side */
} nas_encoding;

/* Padded to the largest cell among them. n > 0. */
nas_encoding *nas_encode(const nas_encoder *encoder, const nas_arch *arch, size_t n);
/* The same from cells that the caller made, cells[i].n equal for all. */
nas_encoding *nas_encode_cells(const nas_cells *cells, size_t n, int labels);
void nas_encoding_free(nas_encoding *encoding);

/* The cell without operators that do nothing: none loses its edges, skip is bypassed, what is on no
 * path from an input to the output goes. */
void nas_cell_simplify(nas_cell *cell);

/* One-hot genes: the sum of arities, and the column of each gene's value. */
size_t nas_onehot_width(const nas_space *space);
void nas_onehot(const nas_space *space, const nas_arch *arch, uint32_t *column); /* (n_genes) */

#endif
