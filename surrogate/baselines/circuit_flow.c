/* The operations of a circuit that send rows along edges: dense graph flow and attention. */
#include "surrogate/baselines/circuit_op.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { BACK = 1, MASKED = 2 }; /* bits of kind */
enum { COLS_MOST = 256 };

static int kind_of(nas_flow flow)
{
    return (flow.back ? BACK : 0) | (flow.masked ? MASKED : 0);
}

/* The nodes that node (of all graphs) listens to, as bits. */
static uint64_t neighbours(const nas_work *w, const circuit_op *op, size_t node)
{
    return op->kind & BACK ? w->to[node] : w->from[node];
}

/* A gate's row: of the node itself, or of its label in a table. */
static size_t gate_at(const nas_work *w, int gate, size_t node)
{
    size_t row = w->circuit->value[gate].per ? node : w->label[node];
    return row * work_cols(w, gate);
}

static circuit_op *add_flow(nas_circuit *t, int x, int gate, nas_flow flow)
{
    assert(t->value[gate].per ? t->value[gate].per == t->cells * t->nodes
                              : t->value[gate].rows == t->labels);
    assert(t->value[gate].cols == t->value[x].cols && t->value[x].cols <= COLS_MOST);
    circuit_op *op = circuit_add(t, t->cells * t->nodes, 0, t->value[x].cols);
    op->a = x;
    op->b = gate;
    op->kind = kind_of(flow);
    return op;
}

/* ---- flow ---- */

static void sum_neighbours(const float *x, uint64_t from, float *restrict sum, size_t n)
{
    memset(sum, 0, n * sizeof *sum);
    for (; from; from &= from - 1)
        work_add(sum, x + (size_t)__builtin_ctzll(from) * n, 1, n);
}

FAST static void flow_forward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), nodes = (size_t)w->circuit->nodes;
    size_t rows = work_rows(w, op->out);
    const float *bias = work_x(w, op->c);
    for (size_t node = 0; node < rows; node++) {
        float *restrict y = work_out(w, op->out) + node * n;
        const float *x = work_x(w, op->a) + node / nodes * nodes * n;
        const float *gate = work_x(w, op->b) + gate_at(w, op->b, node);
        if (node % nodes >= w->count[node / nodes]) {
            memset(y, 0, n * sizeof *y);
            continue;
        }
        sum_neighbours(x, neighbours(w, op, node), y, n);
        for (size_t c = 0; c < n; c++)
            y[c] = gate[c] * y[c] + bias[c];
        work_add(y, x + node % nodes * n, 1, n);
    }
}

FAST static void flow_backward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), nodes = (size_t)w->circuit->nodes;
    size_t rows = work_rows(w, op->out);
    float sum[COLS_MOST], part[COLS_MOST];
    for (size_t node = 0; node < rows; node++) {
        size_t first = node / nodes * nodes * n, at = gate_at(w, op->b, node);
        const float *dy = work_d(w, op->out) + node * n, *gate = work_x(w, op->b) + at;
        float *dx = work_d(w, op->a) + first, *restrict dgate = work_d(w, op->b) + at;
        uint64_t from = neighbours(w, op, node);
        if (node % nodes >= w->count[node / nodes] || work_blank(dy, n))
            continue;
        sum_neighbours(work_x(w, op->a) + first, from, sum, n);
        for (size_t c = 0; c < n; c++) {
            dgate[c] += dy[c] * sum[c];
            part[c] = dy[c] * gate[c];
        }
        for (; from; from &= from - 1)
            work_add(dx + (size_t)__builtin_ctzll(from) * n, part, 1, n);
        work_add(dx + node % nodes * n, dy, 1, n);
        work_add(work_d(w, op->c), dy, 1, n);
    }
}

int nas_circuit_flow(nas_circuit *t, int x, int gate, int bias, nas_flow flow)
{
    circuit_op *op = add_flow(t, x, gate, flow);
    op->c = bias;
    op->forward = flow_forward;
    op->backward = flow_backward;
    return op->out;
}

/* ---- attention ---- */

static const float LEAK = 0.01f; /* slope of the leaky relu */

/* Nodes of the graph whose score counts for node i: neighbours, masked also itself. */
static uint64_t scored(const nas_work *w, const circuit_op *op, size_t g, size_t i)
{
    uint64_t own = op->kind & MASKED ? UINT64_C(1) << i : 0;
    return neighbours(w, op, g * (size_t)w->circuit->nodes + i) | own;
}

/* Nodes that node i of the graph listens to. */
static uint64_t heard(const nas_work *w, const circuit_op *op, size_t g, size_t i)
{
    return op->kind & MASKED ? scored(w, op, g, i) : UINT64_MAX >> (64 - w->count[g]);
}

/* Raw scores of node i: score_j = sum_c a_c x_ic x_jc where it counts, else 0. */
FAST static void raw_scores(const nas_work *w, const circuit_op *op, size_t g, size_t i,
                            float *score)
{
    size_t n = work_cols(w, op->a), nodes = (size_t)w->circuit->nodes;
    const float *x = work_x(w, op->a) + g * nodes * n, *a = work_x(w, op->c);
    float scaled[COLS_MOST];
    for (size_t c = 0; c < n; c++)
        scaled[c] = a[c] * x[i * n + c];
    memset(score, 0, nodes * sizeof *score);
    for (uint64_t from = scored(w, op, g, i); from; from &= from - 1) {
        size_t j = (size_t)__builtin_ctzll(from);
        score[j] = w->kernels->rows->dot(scaled, x + j * n, n);
    }
}

/* Softmax of the leaky scores over the nodes heard; 0 elsewhere. */
static void soften(const nas_work *w, uint64_t from, const float *score, float *weight)
{
    const size_t nodes = (size_t)w->circuit->nodes;
    for (size_t j = 0; j < nodes; j++) {
        float leaky = score[j] > 0 ? score[j] : LEAK * score[j];
        weight[j] = from >> j & 1 ? leaky : -INFINITY;
    }
    w->kernels->rows->softmax(weight, nodes, 1);
}

static void weigh(const float *x, const float *weight, size_t count, float *restrict sum, size_t n)
{
    memset(sum, 0, n * sizeof *sum);
    for (size_t j = 0; j < count; j++)
        if (weight[j] != 0)
            work_add(sum, x + j * n, weight[j], n);
}

/* scratch: weights and raw scores of each node, (nodes, 2, nodes) */
FAST static void attend_forward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), nodes = (size_t)w->circuit->nodes;
    size_t rows = work_rows(w, op->out);
    for (size_t node = 0; node < rows; node++) {
        size_t g = node / nodes, i = node % nodes;
        float *restrict y = work_out(w, op->out) + node * n;
        float *weight = work_scratch(w, op) + node * 2 * nodes;
        const float *gate = work_x(w, op->b) + gate_at(w, op->b, node);
        if (i >= w->count[g]) {
            memset(y, 0, n * sizeof *y);
            continue;
        }
        raw_scores(w, op, g, i, weight + nodes);
        soften(w, heard(w, op, g, i), weight + nodes, weight);
        weigh(work_x(w, op->a) + g * nodes * n, weight, w->count[g], y, n);
        for (size_t c = 0; c < n; c++)
            y[c] *= gate[c];
    }
}

/* From the gradient of a raw score of node i and node j (rows of all graphs). */
FAST static void score_backward(nas_work *w, const circuit_op *op, size_t i, size_t j, float ds)
{
    size_t n = work_cols(w, op->a);
    const float *p = work_x(w, op->a) + i * n, *q = work_x(w, op->a) + j * n;
    const float *a = work_x(w, op->c);
    float *dp = work_d(w, op->a) + i * n, *dq = work_d(w, op->a) + j * n;
    float *restrict da = work_d(w, op->c);
    for (size_t c = 0; c < n; c++)
        da[c] += ds * p[c] * q[c];
    for (size_t c = 0; c < n; c++)
        dp[c] += ds * a[c] * q[c];
    for (size_t c = 0; c < n; c++)
        dq[c] += ds * a[c] * p[c];
}

/* dy: gradient of sum_j w_ij x_j of node i; through softmax and leaky relu to the scores. */
FAST static void weigh_backward(nas_work *w, const circuit_op *op, size_t g, size_t i,
                                const float *dy)
{
    size_t n = work_cols(w, op->out), nodes = (size_t)w->circuit->nodes, first = g * nodes;
    const float *weight = work_scratch(w, op) + (first + i) * 2 * nodes, *score = weight + nodes;
    float dw[NAS_CELL_NODES], mean = 0;
    for (size_t j = 0; j < w->count[g]; j++) {
        dw[j] =
            weight[j] == 0 ? 0 : w->kernels->rows->dot(dy, work_x(w, op->a) + (first + j) * n, n);
        mean += weight[j] * dw[j];
    }
    for (size_t j = 0; j < w->count[g]; j++)
        if (weight[j] != 0)
            work_add(work_d(w, op->a) + (first + j) * n, dy, weight[j], n);
    for (uint64_t from = scored(w, op, g, i); from; from &= from - 1) {
        size_t j = (size_t)__builtin_ctzll(from);
        score_backward(w, op, first + i, first + j,
                       weight[j] * (dw[j] - mean) * (score[j] > 0 ? 1 : LEAK));
    }
}

FAST static void attend_backward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), nodes = (size_t)w->circuit->nodes;
    size_t rows = work_rows(w, op->out);
    float sum[COLS_MOST], part[COLS_MOST];
    for (size_t node = 0; node < rows; node++) {
        size_t g = node / nodes, at = gate_at(w, op->b, node);
        const float *dy = work_d(w, op->out) + node * n, *gate = work_x(w, op->b) + at;
        const float *weight = work_scratch(w, op) + node * 2 * nodes;
        float *restrict dgate = work_d(w, op->b) + at;
        if (node % nodes >= w->count[g] || work_blank(dy, n))
            continue;
        weigh(work_x(w, op->a) + g * nodes * n, weight, w->count[g], sum, n);
        for (size_t c = 0; c < n; c++) {
            dgate[c] += dy[c] * sum[c];
            part[c] = dy[c] * gate[c];
        }
        weigh_backward(w, op, g, node % nodes, part);
    }
}

int nas_circuit_attend(nas_circuit *t, int x, int a, int gate, nas_flow flow)
{
    circuit_op *op = add_flow(t, x, gate, flow);
    op->c = a;
    op->forward = attend_forward;
    op->backward = attend_backward;
    circuit_scratch(t, op, 2 * (size_t)(t->cells * t->nodes * t->nodes), 0);
    return op->out;
}
