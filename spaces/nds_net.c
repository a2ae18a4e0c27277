/* The network of an NDS genotype: stem, cells, head. */
#include "spaces/block.h"
#include "spaces/nds.h"

#include <assert.h>
#include <stdio.h>

static int relu_conv(nas_body body, int x, int64_t i, int64_t o)
{
    return nas_block_conv(body, x,
                          (nas_conv){.i = i, .o = o, .k = 1, .pre = NAS_ACT_RELU, .bn = true});
}

/* [ReLU, depthwise k x k, 1x1, batch norm] */
static int separable(nas_body body, int x, int k, int s, int dilation)
{
    const int64_t c = NAS_FORMAL(0);
    nas_conv depthwise = {
        .o = c, .k = k, .s = s, .dilation = dilation, .group = NAS_DEPTHWISE, .pre = NAS_ACT_RELU};
    x = nas_block_conv(body, x, depthwise);
    return nas_block_conv(body, x, (nas_conv){.i = c, .o = c, .k = 1, .bn = true});
}

/* The body of a convolution operator on c = NAS_FORMAL(0) channels. */
static int conv_body(nas_body body, const nas_nds_op *op, int s)
{
    const int64_t c = NAS_FORMAL(0);
    int x = 0;
    switch (op->kind) {
    case NAS_NDS_CONV:
        return nas_block_conv(
            body, x,
            (nas_conv){.i = c, .o = c, .k = op->k, .s = s, .pre = NAS_ACT_RELU, .bn = true});
    case NAS_NDS_SPLIT:
        x = nas_block_conv(
            body, x,
            (nas_conv){.i = c, .o = c, .k = 1, .kw = op->k, .s = 1, .sw = s, .pre = NAS_ACT_RELU});
        return nas_block_conv(
            body, x, (nas_conv){.i = c, .o = c, .k = op->k, .kw = 1, .s = s, .sw = 1, .bn = true});
    case NAS_NDS_DIL:
        return separable(body, x, op->k, s, 2);
    case NAS_NDS_DILSEP:
        return separable(body, separable(body, x, op->k, s, 2), op->k, 1, 2);
    default: /* SEP */
        return separable(body, separable(body, x, op->k, s, 1), op->k, 1, 1);
    }
}

enum { NOTHING = -1 };

/* An operator in a cell with attributes c and, where maps are halved, h = c / 2. */
static int build_op(nas_body cell, const nas_nds_op *op, int x, int s)
{
    switch (op->kind) {
    case NAS_NDS_NONE:
        return NOTHING;
    case NAS_NDS_SKIP:
        return s == 1 ? x
                      : nas_block_factorized(cell, x, NAS_FORMAL(0), NAS_FORMAL(1), NAS_FORMAL(0));
    case NAS_NDS_AVG:
        return nas_block_pool(
            cell, x, (nas_pool){.op = NAS_OP_AVGPOOL, .k = op->k, .s = s, .pad = op->k / 2});
    case NAS_NDS_MAX:
        return nas_block_pool(
            cell, x, (nas_pool){.op = NAS_OP_MAXPOOL, .k = op->k, .s = s, .pad = op->k / 2});
    default:
        break;
    }
    char name[32];
    snprintf(name, sizeof name, "%s%s", op->name, s == 1 ? "" : "_s2");
    nas_body own;
    if (nas_graph_function(cell.graph, name, 1, (const char *const[]){"c"}, 1, true, &own))
        nas_body_return(own, conv_body(own, op, s));
    return nas_body_call(cell, name, &x, 1, (int64_t[]){NAS_FORMAL(0)});
}

/* Zeros in the shape that an operator of that stride would give. */
static int zeros(nas_body cell, int x, int s)
{
    if (s != 1)
        x = nas_block_pool(cell, x, (nas_pool){.op = NAS_OP_MAXPOOL, .k = 1, .s = s});
    return nas_block_scale(cell, x, 0);
}

static int build_node(nas_body cell, const nas_nds_family *f, const uint8_t *pairs,
                      const int *state, bool halve)
{
    int term[2], n = 0;
    for (int i = 0; i < 2; i++) {
        int source = pairs[2 * i + 1];
        int y = build_op(cell, &f->op[pairs[2 * i]], state[source], halve && source < 2 ? 2 : 1);
        if (y != NOTHING)
            term[n++] = y;
    }
    return n ? nas_block_sum(cell, term, n)
             : zeros(cell, state[pairs[1]], halve && pairs[1] < 2 ? 2 : 1);
}

/* normal <c> or reduce <c, h>: the nodes of a cell on its two states of c channels. */
static void define_cell(nas_graph *g, const nas_nds_family *f, const nas_arch *a, int kind)
{
    nas_body own;
    bool started = nas_graph_function(g, nas_nds_cells[kind], 2, (const char *const[]){"c", "h"},
                                      1 + kind, false, &own);
    assert(started);
    (void)started;
    int state[NAS_NDS_NODES + 2] = {0, 1}, out[NAS_NDS_NODES], n = 0;
    unsigned concat = nas_nds_concat(f, a, kind);
    for (int j = 0; j < f->nodes; j++) {
        state[j + 2] = build_node(own, f, &a->gene[nas_nds_gene(f, kind, j, 0)], state,
                                  kind == NAS_NDS_REDUCE);
        if (concat >> (j + 2) & 1)
            out[n++] = state[j + 2];
    }
    nas_body_return(own, nas_block_concat(own, out, n));
}

/* A cell with what brings its states x and y to c channels: normal_cell <i, j, c, h>. After a cell
 * that reduced, x has a larger map: normal_cell_r. */
static int call_cell(nas_graph *g, int kind, bool after, const int *in, const int64_t *arg)
{
    char name[32];
    snprintf(name, sizeof name, "%s_cell%s", nas_nds_cells[kind], after ? "_r" : "");
    const int64_t i = NAS_FORMAL(0), j = NAS_FORMAL(1), c = NAS_FORMAL(2), h = NAS_FORMAL(3);
    int formals = kind == NAS_NDS_REDUCE || after ? 4 : 3;
    nas_body own;
    if (nas_graph_function(g, name, 2, (const char *const[]){"i", "j", "c", "h"}, formals, true,
                           &own)) {
        int state[] = {after ? nas_block_factorized(own, 0, i, h, c) : relu_conv(own, 0, i, c),
                       relu_conv(own, 1, j, c)};
        nas_body_return(own, nas_body_call(own, nas_nds_cells[kind], state, 2, (int64_t[]){c, h}));
    }
    return nas_body_call(nas_graph_main(g), name, in, 2, arg);
}

/* The outputs of two successive cells. */
typedef struct {
    int id[2];
    int64_t channels[2];
    bool halved; /* the second has the smaller map */
} states;

static states stem(nas_body main, int x, int64_t in, int64_t width, bool large)
{
    if (!large) {
        x = nas_block_conv(main, x, (nas_conv){.i = in, .o = 3 * width, .k = 3, .bn = true});
        return (states){{x, x}, {3 * width, 3 * width}, false};
    }
    nas_conv conv = {.i = in, .o = width / 2, .k = 3, .s = 2, .bn = true, .act = NAS_ACT_RELU};
    x = nas_block_conv(main, x, conv);
    x = nas_block_conv(main, x, (nas_conv){.i = width / 2, .o = width, .k = 3, .s = 2, .bn = true});
    int y = nas_block_conv(
        main, x,
        (nas_conv){.i = width, .o = width, .k = 3, .s = 2, .pre = NAS_ACT_RELU, .bn = true});
    return (states){{x, y}, {width, width}, true};
}

void nas_nds_build(const nas_space *space, const nas_arch *a, const nas_task *task, nas_graph *g)
{
    const nas_nds_family *f = nas_nds_of(space)->family;
    nas_body main = nas_graph_main(g);
    int x = nas_graph_input(g, &(nas_shape){4, {0, task->channels, task->height, task->width}});
    define_cell(g, f, a, NAS_NDS_NORMAL);
    define_cell(g, f, a, NAS_NDS_REDUCE);
    int depth = a->gene[NAS_NDS_DEPTH];
    int64_t c = a->gene[NAS_NDS_WIDTH];
    states s = stem(main, x, task->channels, c, task->height > 32);
    for (int i = 0; i < depth; i++) {
        int kind = i == depth / 3 || i == 2 * depth / 3 ? NAS_NDS_REDUCE : NAS_NDS_NORMAL;
        c = kind == NAS_NDS_REDUCE ? 2 * c : c;
        const int64_t arg[] = {s.channels[0], s.channels[1], c, c / 2};
        int y = call_cell(g, kind, s.halved, s.id, arg);
        int64_t out = c * __builtin_popcount(nas_nds_concat(f, a, kind));
        s = (states){{s.id[1], y}, {s.channels[1], out}, kind == NAS_NDS_REDUCE};
    }
    nas_body_return(main, nas_block_head(main, s.id[1], s.channels[1], task->classes));
}

/* Nodes: the two inputs, two operators for each node, the output; an operator on a node's state
 * reads both of that node's operators. */
void nas_nds_cell(const nas_space *space, const nas_arch *a, nas_cells *out)
{
    const nas_nds_family *f = nas_nds_of(space)->family;
    out->n = 2;
    for (int kind = NAS_NDS_NORMAL; kind <= NAS_NDS_REDUCE; kind++) {
        nas_cell *c = &out->cell[kind];
        int last = 2 + 2 * f->nodes;
        unsigned concat = nas_nds_concat(f, a, kind);
        c->n = last + 1;
        c->label[0] = c->label[1] = NAS_CELL_INPUT;
        c->label[last] = NAS_CELL_OUTPUT;
        for (int i = 2; i < last; i++) {
            const uint8_t *pair = &a->gene[nas_nds_gene(f, kind, i / 2 - 1, i % 2)];
            nas_nds_kind op = f->op[pair[0]].kind;
            c->label[i] = op == NAS_NDS_NONE   ? NAS_CELL_NONE
                          : op == NAS_NDS_SKIP ? NAS_CELL_SKIP
                                               : (uint8_t)(NAS_CELL_OPS + pair[0]);
            c->from[i] = pair[1] < 2 ? UINT64_C(1) << pair[1] : UINT64_C(3) << (2 * pair[1] - 2);
            if (concat >> (i / 2 + 1) & 1)
                c->from[last] |= UINT64_C(1) << i;
        }
    }
    if (!nas_nds_of(space)->fixed) {
        out->side[0] = (float)a->gene[NAS_NDS_WIDTH] / 32;
        out->side[1] = (float)a->gene[NAS_NDS_DEPTH] / 20;
    }
}
