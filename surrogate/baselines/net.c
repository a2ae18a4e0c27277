/* The graph networks, layer by layer. */
#include "surrogate/baselines/net.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- parts ---- */

/* A linear layer with the usual start: uniform within 1 / sqrt(inputs), bias too. */
static int dense(nas_circuit *t, int x, int cols)
{
    int rows = nas_circuit_cols(t, x);
    double bound = 1 / sqrt(rows);
    int w = nas_circuit_param(t, rows, cols, NAS_INIT_UNIFORM, bound);
    return nas_circuit_linear(t, x, w, nas_circuit_param(t, 1, cols, NAS_INIT_UNIFORM, bound));
}

/* layers times dense, relu, dropout 0.1; then one column. */
static int head(nas_circuit *t, int x, int layers, int width)
{
    for (int i = 0; i < layers; i++)
        x = nas_circuit_dropout(t, nas_circuit_relu(t, dense(t, x, width)), 0.1f);
    return dense(t, x, 1);
}

/* A row a cell to a row an architecture; two cells through FLAN's two layers. */
static int join_cells(nas_circuit *t, int x, int cells)
{
    int width = nas_circuit_cols(t, x);
    x = nas_circuit_merge(t, x);
    return cells == 1 ? x : dense(t, nas_circuit_relu(t, dense(t, x, width)), width);
}

/* Products are made on the few distinct rows there are; this gives each node, or each distinct
 * state of nodes, its own: two rows are inputs and others, a row a cell belongs to its output. */
typedef enum { ROWS_ENDS, ROWS_STATES, ROWS_OUTPUT, ROWS_NODES } node_rows;

static int spread(nas_circuit *t, int x, node_rows rows)
{
    return rows == ROWS_ENDS     ? nas_circuit_ends(t, x, NAS_ROWS_NODES)
           : rows == ROWS_STATES ? nas_circuit_ends(t, x, NAS_ROWS_STATES)
           : rows == ROWS_OUTPUT ? nas_circuit_place(t, x)
                                 : x;
}

/* ---- FLAN (Akhauri and Abdelfattah 2024), as its code has it ---- */

enum { EMBED = 48, START = 96, WIDTH = 128, LAYERS_MOST = 6 };

typedef struct {
    int w, bias, gate_w, gate_bias;                   /* dense graph flow */
    int project, score, att_w, att_bias, gain, shift; /* attention */
} flan_layer;

typedef struct {
    const nas_net *net;
    int layers;
    bool back; /* along reversed edges */
    flan_layer layer[LAYERS_MOST];
} flan_stack;

static flan_layer new_flan_layer(const nas_net *net, nas_circuit *t, int in)
{
    flan_layer l = {0};
    const double embed = 1 / sqrt(EMBED), width = 1 / sqrt(WIDTH);
    if (net->dense) {
        l.w = nas_circuit_param(t, in, WIDTH, NAS_INIT_UNIFORM, width);
        l.bias = nas_circuit_param(t, 1, WIDTH, NAS_INIT_UNIFORM, width);
        l.gate_w = nas_circuit_param(t, EMBED, WIDTH, NAS_INIT_UNIFORM, embed);
        l.gate_bias = nas_circuit_param(t, 1, WIDTH, NAS_INIT_UNIFORM, embed);
    }
    if (net->attention) {
        l.project = nas_circuit_param(t, in, WIDTH, NAS_INIT_UNIFORM, 1 / sqrt(in));
        l.score = nas_circuit_param(t, WIDTH, 1, NAS_INIT_UNIFORM, width);
        l.att_w = nas_circuit_param(t, EMBED, WIDTH, NAS_INIT_UNIFORM, embed);
        l.att_bias = nas_circuit_param(t, 1, WIDTH, NAS_INIT_UNIFORM, embed);
        l.gain = nas_circuit_param(t, 1, WIDTH, NAS_INIT_ONE, 0);
        l.shift = nas_circuit_param(t, 1, WIDTH, NAS_INIT_ZERO, 0);
    }
    return l;
}

static flan_stack new_flan_stack(const nas_net *net, nas_circuit *t, int in, int layers, bool back)
{
    flan_stack s = {.net = net, .layers = layers, .back = back};
    for (int i = 0; i < layers; i++)
        s.layer[i] = new_flan_layer(net, t, i ? WIDTH : in);
    return s;
}

/* sigma(E W + b), for each node or, where E is still the table by label, for each label. */
static int gate(nas_circuit *t, int embed, int w, int bias)
{
    return nas_circuit_sigmoid(t, nas_circuit_linear(t, embed, w, bias));
}

/* gate * (A S) + S + b with S = H W */
static int flow(nas_circuit *t, const flan_stack *s, const flan_layer *l, int h, node_rows rows,
                int embed)
{
    int own = spread(t, nas_circuit_linear(t, h, l->w, -1), rows);
    int g = gate(t, embed, l->gate_w, l->gate_bias);
    return nas_circuit_flow(t, own, g, l->bias, (nas_flow){.back = s->back});
}

static int attend(nas_circuit *t, const flan_stack *s, const flan_layer *l, int h, node_rows rows,
                  int embed)
{
    int p = spread(t, nas_circuit_linear(t, h, l->project, -1), rows);
    int g = gate(t, embed, l->att_w, l->att_bias);
    nas_flow along = {.back = s->back, .masked = s->net->masked};
    return nas_circuit_norm(t, nas_circuit_attend(t, p, l->score, g, along), l->gain, l->shift);
}

static int flan_forward(nas_circuit *t, const flan_stack *s, int h, node_rows rows, int embed)
{
    for (int i = 0; i < s->layers; i++, rows = ROWS_NODES) {
        const flan_layer *l = &s->layer[i];
        bool last = i + 1 == s->layers;
        int a = s->net->attention ? attend(t, s, l, h, rows, embed) : -1;
        int f = s->net->dense ? flow(t, s, l, h, rows, embed) : -1;
        if (a >= 0 && f >= 0)
            h = nas_circuit_sum(t, f, a, 0.5f, 0.5f, !last);
        else
            h = last ? (a >= 0 ? a : f) : nas_circuit_relu(t, a >= 0 ? a : f);
    }
    return h;
}

/* Embeddings of operators by label; inputs have none. */
static int embed_labels(nas_circuit *t, int labels)
{
    return nas_circuit_blank(t, nas_circuit_param(t, labels, EMBED, NAS_INIT_NORMAL, 1));
}

/* First states: a trained vector for inputs, another for all other nodes. */
static int start_rows(nas_circuit *t)
{
    return dense(t, nas_circuit_param(t, 2, EMBED, NAS_INIT_FIRST, 1), START);
}

/* E + 0.1 MLP(E, forward states, backward states), the first two without gradient. */
typedef struct {
    int w1, b1, w2, b2; /* from the output's state to the start of the backward pass */
    int u1, c1, u2, c2; /* to the change of the embeddings */
} op_update;

static op_update new_update(nas_circuit *t)
{
    const double width = 1 / sqrt(WIDTH), all = 1 / sqrt(EMBED + 2 * WIDTH);
    return (op_update){
        .w1 = nas_circuit_param(t, WIDTH, WIDTH, NAS_INIT_UNIFORM, width),
        .b1 = nas_circuit_param(t, 1, WIDTH, NAS_INIT_UNIFORM, width),
        .w2 = nas_circuit_param(t, WIDTH, WIDTH, NAS_INIT_UNIFORM, width),
        .b2 = nas_circuit_param(t, 1, WIDTH, NAS_INIT_UNIFORM, width),
        .u1 = nas_circuit_param(t, EMBED + 2 * WIDTH, WIDTH, NAS_INIT_UNIFORM, all),
        .c1 = nas_circuit_param(t, 1, WIDTH, NAS_INIT_UNIFORM, all),
        .u2 = nas_circuit_param(t, WIDTH, EMBED, NAS_INIT_UNIFORM, width),
        .c2 = nas_circuit_param(t, 1, EMBED, NAS_INIT_UNIFORM, width),
    };
}

static int update_start(nas_circuit *t, const op_update *u, int output)
{
    int h = nas_circuit_relu(t, nas_circuit_linear(t, output, u->w1, u->b1));
    return nas_circuit_linear(t, h, u->w2, u->b2);
}

static int update_embed(nas_circuit *t, const op_update *u, int embed, int forth, int back)
{
    int all = nas_circuit_join_still(t, embed, forth, back);
    int h = nas_circuit_relu(t, nas_circuit_linear(t, all, u->u1, u->c1));
    h = nas_circuit_linear(t, h, u->u2, u->c2);
    return nas_circuit_sum(t, embed, h, 1, 0.1f, false);
}

/* Width and depth of the network, where a space varies them (those with two cells). */
static int with_side(nas_circuit *t, int x, int cells)
{
    if (cells == 1)
        return x;
    int side = dense(t, nas_circuit_relu(t, dense(t, nas_circuit_side(t), 8)), 8);
    return nas_circuit_join(t, x, side);
}

/* 5 layers of 128; the mean over all nodes but inputs; 3 layers of 200. */
static int build_flan(const nas_net *net, nas_circuit *t, int cells, int nodes, int labels)
{
    (void)nodes;
    int table = embed_labels(t, labels), start = start_rows(t);
    flan_stack forth = new_flan_stack(net, t, START, 5, false);
    bool apart = net->attention && !net->masked; /* all of a cell is heard: no states are equal */
    int y = flan_forward(t, &forth, start, apart ? ROWS_ENDS : ROWS_STATES, table);
    if (net->steps > 1) {
        op_update update = new_update(t);
        flan_stack back = new_flan_stack(net, t, WIDTH, 5, true);
        int embed = nas_circuit_lookup(t, table, NAS_ROWS_NODES);
        for (int i = 1; i < net->steps; i++) {
            int b = update_start(t, &update, nas_circuit_output(t, y));
            b = flan_forward(t, &back, b, ROWS_OUTPUT, i == 1 ? table : embed);
            embed = update_embed(t, &update, embed, y, b);
            y = flan_forward(t, &forth, start, ROWS_ENDS, embed);
        }
    }
    int x = join_cells(t, nas_circuit_mean(t, y, false), cells);
    return head(t, with_side(t, x, cells), 3, 200);
}

/* ---- TA-GATES (Ning et al. 2022) ----
 * GATES layers (Ning et al. 2020): gate * (A^T H W) + b, and H W where nothing flows in. Operators
 * that do nothing are known: no gate is learned for none (0), skip and output (1), so that on nodes
 * the layers compute what they do with operators on edges. The statistics of freshly drawn weights
 * that the authors add to embeddings need the networks themselves and are left out. */

typedef struct {
    int layers;
    bool back;
    flan_layer layer[LAYERS_MOST];
} gates_stack;

static gates_stack new_gates_stack(nas_circuit *t, int in, int layers, bool back)
{
    gates_stack s = {.layers = layers, .back = back};
    const nas_net flow_only = {.dense = true};
    for (int i = 0; i < layers; i++)
        s.layer[i] = new_flan_layer(&flow_only, t, i ? WIDTH : in);
    return s;
}

/* Sets of neighbours are fewer than nodes, but the rows that a stack starts from are fewer still:
 * there the product comes first. */
static int gates_forward(nas_circuit *t, const gates_stack *s, int h, node_rows rows, int embed)
{
    for (int i = 0; i < s->layers; i++) {
        const flan_layer *l = &s->layer[i];
        int sums;
        if (i == 0)
            sums =
                nas_circuit_gather(t, spread(t, nas_circuit_linear(t, h, l->w, -1), rows), s->back);
        else
            sums = nas_circuit_linear(t, nas_circuit_gather(t, h, s->back), l->w, -1);
        int g = gate(t, embed, l->gate_w, l->gate_bias);
        h = nas_circuit_gated(t, sums, g, l->bias);
        if (i + 1 < s->layers)
            h = nas_circuit_relu(t, h);
    }
    return h;
}

/* Layers and steps of the authors' settings for such spaces: operators on nodes of one cell, on
 * edges of one cell, two cells. */
static int build_tagates(const nas_net *net, nas_circuit *t, int cells, int nodes, int labels)
{
    (void)net;
    const int layers = cells == 2  ? 6
                       : nodes < 8 ? 5
                                   : 4,
              steps = cells == 2  ? 2
                      : nodes < 8 ? 3
                                  : 4;
    const int hidden = nodes < 8 ? 1 : 5, width = nodes < 8 ? 200 : 300;
    int table = embed_labels(t, labels), start = start_rows(t);
    gates_stack forth = new_gates_stack(t, START, layers, false);
    gates_stack back = new_gates_stack(t, WIDTH, layers, true);
    op_update update = new_update(t);
    int embed = nas_circuit_lookup(t, table, NAS_ROWS_GATED);
    int y = gates_forward(t, &forth, start, ROWS_ENDS, table);
    for (int i = 0; i < steps; i++) {
        int b = update_start(t, &update, nas_circuit_output(t, y));
        b = gates_forward(t, &back, b, ROWS_OUTPUT, i == 0 ? table : embed);
        embed = update_embed(t, &update, embed, y, b);
        y = gates_forward(t, &forth, start, ROWS_ENDS, embed);
    }
    int x = join_cells(t, nas_circuit_output(t, y), cells);
    return head(t, with_side(t, x, cells), hidden, width);
}

/* ---- the neural predictor of Wen et al. 2020, as NASLib has it ---- */

/* 4 layers of 144; the first reads one-hot labels, so its product is a look-up. Xavier start. Both
 * directions are one product, forth and back side by side. */
static int build_gcn(const nas_net *net, nas_circuit *t, int cells, int nodes, int labels)
{
    (void)net, (void)nodes;
    enum { GCN_WIDTH = 144, GCN_HEAD = 128 };
    int h = -1;
    for (int i = 0; i < 4; i++) {
        int in = i ? GCN_WIDTH : labels;
        int w =
            nas_circuit_param(t, in, 2 * GCN_WIDTH, NAS_INIT_UNIFORM, sqrt(6.0 / (in + GCN_WIDTH)));
        int x = i ? nas_circuit_linear(t, h, w, -1) : nas_circuit_lookup(t, w, NAS_ROWS_NODES);
        h = nas_circuit_dropout(t, nas_circuit_convolve(t, x), 0.1f);
    }
    int in = cells * GCN_WIDTH, x = nas_circuit_merge(t, nas_circuit_mean(t, h, true));
    int w = nas_circuit_param(t, in, GCN_HEAD, NAS_INIT_UNIFORM, 1 / sqrt(in));
    x = nas_circuit_dropout(t, nas_circuit_linear(t, x, w, -1), 0.1f);
    w = nas_circuit_param(t, GCN_HEAD, 1, NAS_INIT_UNIFORM, 1 / sqrt(GCN_HEAD));
    return nas_circuit_linear(t, x, w, -1);
}

/* ---- BRP-NAS (Dudziak et al. 2020) ----
 * A global node that reads all others is the last one. Of a pair's two logits each architecture
 * gives its own part, as first and as second: 4 columns. */

enum { BRP_WIDTH = 600 };

static int build_brp(const nas_net *net, nas_circuit *t, int cells, int nodes, int labels)
{
    (void)net, (void)nodes;
    const double bound = 1 / sqrt(BRP_WIDTH);
    int h = -1;
    for (int i = 0; i < 4; i++) {
        int w = nas_circuit_param(t, i ? BRP_WIDTH : labels, BRP_WIDTH, NAS_INIT_UNIFORM, bound);
        int bias = nas_circuit_param(t, 1, BRP_WIDTH, NAS_INIT_UNIFORM, bound);
        h = i ? nas_circuit_linear(t, h, w, -1) : nas_circuit_lookup(t, w, NAS_ROWS_NODES);
        h = nas_circuit_bias(t, nas_circuit_mix(t, h, NAS_MIX_SELF_SUCC), bias);
        int gain = nas_circuit_param(t, 1, BRP_WIDTH, NAS_INIT_ONE, 0);
        h = nas_circuit_norm(t, h, gain, nas_circuit_param(t, 1, BRP_WIDTH, NAS_INIT_ZERO, 0));
        h = nas_circuit_dropout(t, nas_circuit_relu(t, h), 0.2f);
    }
    int x = nas_circuit_merge(t, nas_circuit_output(t, h));
    return nas_circuit_linear(t, x,
                              nas_circuit_param(t, cells * BRP_WIDTH, 4, NAS_INIT_UNIFORM,
                                                1 / sqrt(2.0 * cells * BRP_WIDTH)),
                              -1);
}

static void prepare_brp(nas_cells *cells, int labels)
{
    for (int k = 0; k < cells->n; k++) {
        nas_cell *c = &cells->cell[k];
        nas_cell_simplify(c);
        assert(c->n < NAS_CELL_NODES);
        for (int i = 0; i < c->n; i++) /* edges from the global node to every other */
            c->from[i] |= UINT64_C(1) << c->n;
        c->label[c->n++] = (uint8_t)labels;
    }
}

/* ---- an MLP on adjacency and operator numbers, as FLAN's comparison has it ---- */

static int build_mlp(const nas_net *net, nas_circuit *t, int cells, int nodes, int labels)
{
    (void)net, (void)cells, (void)labels;
    int x = nas_circuit_plain(t, nodes);
    for (int i = 0; i < 3; i++) {
        x = dense(t, x, WIDTH);
        int gain = nas_circuit_param(t, 1, WIDTH, NAS_INIT_ONE, 0);
        int shift = nas_circuit_param(t, 1, WIDTH, NAS_INIT_ZERO, 0);
        int running = nas_circuit_param(t, 2, WIDTH, NAS_INIT_ZERO, 0);
        x = nas_circuit_relu(t, nas_circuit_batch_norm(t, x, gain, shift, running));
    }
    return dense(t, x, 1);
}

/* ---- the list ---- */

#define FLAN_TRAINING                                                                              \
    .loss = NAS_LOSS_HINGE, .epochs = 150, .batch = 8, .rate = 1e-3, .last_rate = 1e-6,            \
    .decay = 1e-5, .decoupled = true
#define GCN_TRAINING .epochs = 300, .batch = 7, .drop_last = true, .rate = 1e-4, .decay = 3e-4

const nas_net nas_nets[NAS_NET_COUNT] = {
    [NAS_NET_MLP] = {.build = build_mlp, FLAN_TRAINING},
    [NAS_NET_GCN] = {.build = build_gcn, .loss = NAS_LOSS_SQUARE, GCN_TRAINING},
    [NAS_NET_GCN_HINGE] = {.build = build_gcn, .loss = NAS_LOSS_HINGE, GCN_TRAINING},
    [NAS_NET_BRP_GCN] = {.build = build_brp,
                         .prepare = prepare_brp,
                         .extra_labels = 1,
                         .loss = NAS_LOSS_PAIR,
                         .epochs = 250,
                         .batch = 64,
                         .rate = 3.5e-4,
                         .decay = 5e-4,
                         .decoupled = true},
    [NAS_NET_DGF] = {.build = build_flan, .dense = true, .steps = 1, FLAN_TRAINING},
    [NAS_NET_GAT] =
        {.build = build_flan, .attention = true, .masked = true, .steps = 1, FLAN_TRAINING},
    [NAS_NET_GAT_RELEASED] = {.build = build_flan, .attention = true, .steps = 1, FLAN_TRAINING},
    [NAS_NET_FLAN_1] =
        {.build = build_flan, .dense = true, .attention = true, .steps = 1, FLAN_TRAINING},
    [NAS_NET_FLAN_2] =
        {.build = build_flan, .dense = true, .attention = true, .steps = 2, FLAN_TRAINING},
    [NAS_NET_TAGATES] = {.build = build_tagates,
                         .loss = NAS_LOSS_HINGE,
                         .epochs = 200,
                         .batch = 512,
                         .rate = 1e-3,
                         .last_rate = 1e-3},
};

nas_circuit *nas_net_circuit(const nas_net *net, int cells, int nodes, int labels, int room)
{
    nas_circuit *t = nas_circuit_new(cells, room > nodes ? room : nodes, labels);
    nas_circuit_end(t, net->build(net, t, cells, nodes, labels));
    return t;
}
