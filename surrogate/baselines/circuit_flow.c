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
    assert(!t->value[x].list || (!t->value[gate].per && !flow.back));
    circuit_list(t, op, t->value[x].list);
    op->a = x;
    op->b = gate;
    op->kind = kind_of(flow);
    return op;
}

/* ---- flow ---- */

/* first: the node that bit 0 of from means */
static inline void sum_neighbours(const nas_work *w, int v, size_t first, uint64_t from,
                                  float *restrict sum, size_t n)
{
    memset(sum, 0, n * sizeof *sum);
    for (; from; from &= from - 1)
        work_add(sum, work_x(w, v) + work_row(w, v, first + (size_t)__builtin_ctzll(from)) * n, 1,
                 n);
}

FAST static void flow_forward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), nodes = (size_t)w->circuit->nodes;
    size_t rows = work_rows(w, op->out);
    const float *bias = work_x(w, op->c);
    for (size_t row = 0; row < rows; row++) {
        size_t node = work_node(w, op->out, row);
        float *restrict y = work_out(w, op->out) + row * n;
        const float *gate = work_x(w, op->b) + gate_at(w, op->b, node);
        if (!work_in_use(w, node)) {
            memset(y, 0, n * sizeof *y);
            continue;
        }
        sum_neighbours(w, op->a, node / nodes * nodes, neighbours(w, op, node), y, n);
        for (size_t c = 0; c < n; c++)
            y[c] = gate[c] * y[c] + bias[c];
        work_add(y, work_x(w, op->a) + row * n, 1, n);
    }
}

FAST static void flow_backward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), nodes = (size_t)w->circuit->nodes;
    size_t rows = work_rows(w, op->out);
    float sum[COLS_MOST], part[COLS_MOST];
    for (size_t row = 0; row < rows; row++) {
        size_t node = work_node(w, op->out, row), first = node / nodes * nodes;
        const float *dy = work_d(w, op->out) + row * n;
        if (!work_in_use(w, node) || work_blank(dy, n))
            continue;
        size_t at = gate_at(w, op->b, node);
        const float *gate = work_x(w, op->b) + at;
        float *dx = work_d(w, op->a), *restrict dgate = work_d(w, op->b) + at;
        uint64_t from = neighbours(w, op, node);
        sum_neighbours(w, op->a, first, from, sum, n);
        for (size_t c = 0; c < n; c++) {
            dgate[c] += dy[c] * sum[c];
            part[c] = dy[c] * gate[c];
        }
        for (; from; from &= from - 1)
            work_add(dx + work_row(w, op->a, first + (size_t)__builtin_ctzll(from)) * n, part, 1,
                     n);
        work_add(dx + row * n, dy, 1, n);
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

/* The nodes of a graph as node i of it sees them. */
typedef struct {
    size_t first, i, count, cols;
    const uint32_t *row; /* by node: its row; NULL: the node itself */
    uint64_t scored;     /* those whose score counts: neighbours, masked also itself */
    uint64_t heard;      /* those that it listens to: masked the same, else all */
    uint64_t apart;      /* those whose weight is their own; the rest have that of i */
} sight;

static sight sight_of(const nas_work *w, const circuit_op *op, size_t node)
{
    const size_t nodes = (size_t)w->circuit->nodes;
    const nas_rows_of list = w->circuit->value[op->a].list;
    sight s = {.first = node / nodes * nodes,
               .i = node % nodes,
               .count = w->count[node / nodes],
               .cols = work_cols(w, op->a),
               .row = list ? w->list[list].of : NULL};
    s.scored = neighbours(w, op, node);
    if (op->kind & MASKED)
        s.scored |= UINT64_C(1) << s.i;
    s.heard = op->kind & MASKED ? s.scored : UINT64_MAX >> (64 - s.count);
    s.apart = w->plain ? s.heard : s.scored;
    return s;
}

/* Where the row of node j of the graph begins. */
static inline size_t seen_at(const sight *s, size_t j)
{
    return (s->row ? s->row[s->first + j] : s->first + j) * s->cols;
}

/* Raw scores of node i: score_j = sum_c a_c x_ic x_jc where it counts, else 0. */
FAST static void raw_scores(const nas_work *w, const circuit_op *op, const sight *s, float *score)
{
    const size_t n = work_cols(w, op->a);
    const float *x = work_x(w, op->a), *own = x + seen_at(s, s->i), *a = work_x(w, op->c);
    float scaled[COLS_MOST];
    for (size_t c = 0; c < n; c++)
        scaled[c] = a[c] * own[c];
    memset(score, 0, s->count * sizeof *score);
    for (uint64_t from = s->scored; from; from &= from - 1) {
        size_t j = (size_t)__builtin_ctzll(from);
        score[j] = w->kernels->rows->dot(scaled, x + seen_at(s, j), n);
    }
}

/* Leaky scores of the nodes heard, less the largest; elsewhere so small that their share is 0. */
static void leak(const sight *s, const float *score, float *weight)
{
    float most = -INFINITY;
    for (size_t j = 0; j < s->count; j++) {
        float leaky = score[j] > 0 ? score[j] : LEAK * score[j];
        weight[j] = s->heard >> j & 1 ? leaky : -INFINITY;
        most = weight[j] > most ? weight[j] : most;
    }
    for (size_t j = 0; j < s->count; j++)
        weight[j] -= most;
}

/* From exponentials to their shares of the sum. */
static void share_out(float *weight, size_t count)
{
    float sum = 0;
    for (size_t j = 0; j < count; j++)
        sum += weight[j];
    for (size_t j = 0; j < count; j++)
        weight[j] /= sum;
}

/* The weight of those that are not apart; 0: there are none. */
static float rest_of(const sight *s, const float *weight)
{
    return s->heard == s->apart ? 0 : weight[s->i];
}

/* sum = sum_j w_j x_j, all: the sum of all rows of the graph, if there is a rest */
static inline void weigh(const nas_work *w, const circuit_op *op, const sight *s,
                         const float *weight, const float *all, float *restrict sum, size_t n)
{
    const float rest = rest_of(s, weight);
    for (size_t c = 0; c < n; c++)
        sum[c] = rest == 0 ? 0 : rest * all[c];
    for (uint64_t from = s->apart; from; from &= from - 1) {
        size_t j = (size_t)__builtin_ctzll(from);
        work_add(sum, work_x(w, op->a) + seen_at(s, j), weight[j] - rest, n);
    }
}

/* The sum of all rows of a graph that none is masked for. */
static inline void sum_all(const nas_work *w, const circuit_op *op, const sight *s,
                           float *restrict all)
{
    memset(all, 0, s->cols * sizeof *all);
    for (size_t j = 0; j < s->count; j++)
        work_add(all, work_x(w, op->a) + seen_at(s, j), 1, s->cols);
}

/* scratch: weights of each row, then raw scores, (2, nodes, nodes) */
static float *weights_of(nas_work *w, const circuit_op *op, size_t row)
{
    return work_scratch(w, op) + row * (size_t)w->circuit->nodes;
}

static float *scores_of(nas_work *w, const circuit_op *op, size_t row)
{
    return weights_of(w, op, work_room(w) + row);
}

/* The exponentials of all rows are taken at once. */
FAST static void attend_forward(nas_work *w, const circuit_op *op)
{
    const size_t n = work_cols(w, op->out), nodes = (size_t)w->circuit->nodes;
    const size_t rows = work_rows(w, op->out);
    float all[COLS_MOST];
    for (size_t row = 0; row < rows; row++) {
        size_t node = work_node(w, op->out, row);
        if (!work_in_use(w, node))
            continue;
        sight s = sight_of(w, op, node);
        raw_scores(w, op, &s, scores_of(w, op, row));
        leak(&s, scores_of(w, op, row), weights_of(w, op, row));
    }
    w->kernels->rows->softmax_again(weights_of(w, op, 0), rows * nodes, 1, 0);
    for (size_t row = 0; row < rows; row++) {
        size_t node = work_node(w, op->out, row);
        float *restrict y = work_out(w, op->out) + row * n, *weight = weights_of(w, op, row);
        const float *gate = work_x(w, op->b) + gate_at(w, op->b, node);
        if (!work_in_use(w, node)) {
            memset(y, 0, n * sizeof *y);
            continue;
        }
        sight s = sight_of(w, op, node);
        if (s.i == 0 && s.heard != s.apart)
            sum_all(w, op, &s, all);
        share_out(weight, s.count);
        weigh(w, op, &s, weight, all, y, n);
        for (size_t c = 0; c < n; c++)
            y[c] *= gate[c];
    }
}

/* From the gradient of a raw score of two rows, which begin at i and j. */
FAST static void score_backward(nas_work *w, const circuit_op *op, size_t i, size_t j, float ds)
{
    size_t n = work_cols(w, op->a);
    const float *p = work_x(w, op->a) + i, *q = work_x(w, op->a) + j;
    const float *a = work_x(w, op->c);
    float *dp = work_d(w, op->a) + i, *dq = work_d(w, op->a) + j;
    float *restrict da = work_d(w, op->c);
    for (size_t c = 0; c < n; c++)
        da[c] += ds * p[c] * q[c];
    for (size_t c = 0; c < n; c++)
        dp[c] += ds * a[c] * q[c];
    for (size_t c = 0; c < n; c++)
        dq[c] += ds * a[c] * p[c];
}

/* dy: gradient of sum = sum_j w_j x_j; through softmax and leaky relu to the scores. What the rest
 * get is added to all of dall. */
FAST static void weigh_backward(nas_work *w, const circuit_op *op, const sight *s,
                                const float *weight, const float *score, const float *sum,
                                const float *dy, float *restrict dall)
{
    const size_t n = s->cols;
    const float rest = rest_of(s, weight), mean = w->kernels->rows->dot(dy, sum, n);
    if (rest != 0)
        work_add(dall, dy, rest, n);
    for (uint64_t from = s->apart; from; from &= from - 1) {
        size_t j = (size_t)__builtin_ctzll(from);
        work_add(work_d(w, op->a) + seen_at(s, j), dy, weight[j] - rest, n);
    }
    for (uint64_t from = s->scored; from; from &= from - 1) {
        size_t j = (size_t)__builtin_ctzll(from);
        float dw = w->kernels->rows->dot(dy, work_x(w, op->a) + seen_at(s, j), n);
        score_backward(w, op, seen_at(s, s->i), seen_at(s, j),
                       weight[j] * (dw - mean) * (score[j] > 0 ? 1 : LEAK));
    }
}

/* One row of the output: dy reaches its gate, the rows that it heard and the scores. */
FAST static void attend_row_back(nas_work *w, const circuit_op *op, const sight *s, size_t row,
                                 const float *dy, const float *all, float *restrict dall)
{
    const size_t n = s->cols, at = gate_at(w, op->b, s->first + s->i);
    const float *weight = weights_of(w, op, row), *gate = work_x(w, op->b) + at;
    float *restrict dgate = work_d(w, op->b) + at;
    float sum[COLS_MOST], part[COLS_MOST];
    weigh(w, op, s, weight, all, sum, n);
    for (size_t c = 0; c < n; c++) {
        dgate[c] += dy[c] * sum[c];
        part[c] = dy[c] * gate[c];
    }
    weigh_backward(w, op, s, weight, scores_of(w, op, row), sum, part, dall);
}

FAST static void attend_backward(nas_work *w, const circuit_op *op)
{
    const size_t n = work_cols(w, op->out), rows = work_rows(w, op->out);
    float all[COLS_MOST], dall[COLS_MOST];
    for (size_t row = 0; row < rows; row++) {
        size_t node = work_node(w, op->out, row);
        const float *dy = work_d(w, op->out) + row * n;
        if (!work_in_use(w, node))
            continue;
        sight s = sight_of(w, op, node);
        bool rest = s.heard != s.apart;
        if (rest && s.i == 0) {
            sum_all(w, op, &s, all);
            memset(dall, 0, n * sizeof *dall);
        }
        if (!work_blank(dy, n))
            attend_row_back(w, op, &s, row, dy, all, dall);
        for (size_t j = 0; rest && s.i + 1 == s.count && j < s.count; j++)
            work_add(work_d(w, op->a) + seen_at(&s, j), dall, 1, n);
    }
}

int nas_circuit_attend(nas_circuit *t, int x, int a, int gate, nas_flow flow)
{
    assert(!t->value[x].list || flow.masked);
    circuit_op *op = add_flow(t, x, gate, flow);
    op->c = a;
    op->forward = attend_forward;
    op->backward = attend_backward;
    circuit_scratch(t, op, 2 * (size_t)(t->cells * t->nodes * t->nodes), 0);
    return op->out;
}
