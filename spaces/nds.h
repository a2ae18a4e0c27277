/* What do the cell spaces of NDS share? Five families of cells, each in two spaces: their genes,
 * and the functions that nds.c (operators, canonical form, the tables), nds_text.c and nds_net.c
 * give.
 *
 *     const nas_nds *nds = nas_nds_of(space);
 *     uint8_t *pair = &arch->gene[nas_nds_gene(nds->family, NAS_NDS_REDUCE, node, input)];
 *     pair[0] = operator, pair[1] = state;
 *
 * A cell reads the outputs of the two cells before it (states 0 and 1); node j adds two operators
 * on states below j + 2 and is state j + 2. */
#ifndef NAS_NDS_H
#define NAS_NDS_H

#include "spaces/space.h"

typedef enum {
    NAS_NDS_NONE,
    NAS_NDS_SKIP,
    NAS_NDS_AVG,
    NAS_NDS_MAX,
    NAS_NDS_CONV,
    NAS_NDS_SPLIT,  /* 1 x k, then k x 1 */
    NAS_NDS_SEP,    /* two depthwise separable convolutions */
    NAS_NDS_DIL,    /* one, dilated */
    NAS_NDS_DILSEP, /* two, dilated */
} nas_nds_kind;

typedef struct {
    const char *name;
    nas_nds_kind kind;
    int k;
} nas_nds_op;

enum { NAS_NDS_OPS = 13, NAS_NDS_NODES = 5 }; /* at most */

typedef struct {
    int nodes;
    bool loose; /* a cell's output leaves out the nodes that others read */
    int n_ops;
    nas_nds_op op[NAS_NDS_OPS];
} nas_nds_family;

typedef struct {
    const nas_nds_family *family;
    bool fixed; /* width and depth are the defaults */
} nas_nds;

/* Genes: width, depth, then for each cell and node: operator, state, operator, state. */
enum { NAS_NDS_WIDTH, NAS_NDS_DEPTH, NAS_NDS_CELLS };
enum { NAS_NDS_NORMAL, NAS_NDS_REDUCE };
enum { NAS_NDS_WIDTH_DEFAULT = 16, NAS_NDS_DEPTH_DEFAULT = 20, NAS_NDS_NUMBER_MAX = 254 };

extern const char *const nas_nds_cells[2]; /* "normal", "reduce" */

static inline const nas_nds *nas_nds_of(const nas_space *space)
{
    return space->data;
}

/* The first gene of a node's input (0 or 1): the operator; the state follows. */
static inline int nas_nds_gene(const nas_nds_family *f, int cell, int node, int input)
{
    return NAS_NDS_CELLS + 4 * (cell * f->nodes + node) + 2 * input;
}

/* Bit s: state s belongs to the cell's output. */
unsigned nas_nds_concat(const nas_nds_family *f, const nas_arch *a, int cell);

void nas_nds_print(const nas_space *space, const nas_arch *a, nas_bytes *out);
nas_status nas_nds_parse(const nas_space *space, const char *text, nas_arch *out, nas_err *err);
void nas_nds_build(const nas_space *space, const nas_arch *a, const nas_task *task,
                   nas_graph *graph);
void nas_nds_cell(const nas_space *space, const nas_arch *a, nas_cells *out);

#endif
