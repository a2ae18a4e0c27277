/* The operations of a circuit: each a forward and a backward function, then the one that adds it.
 * Backward functions add to the gradients of what they read. */
#include "surrogate/baselines/circuit_op.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

FAST static void bias_back(nas_work *w, const circuit_op *op, int bias)
{
    size_t rows = work_rows(w, op->out), n = work_cols(w, op->out);
    for (size_t i = 0; i < rows; i++)
        work_add(work_d(w, bias), work_d(w, op->out) + i * n, 1, n);
}

/* The shape of x with other columns. */
static circuit_op *add_like(nas_circuit *t, int x, int cols)
{
    circuit_op *op = circuit_add(t, t->value[x].per, t->value[x].rows, cols);
    circuit_list(t, op, t->value[x].list);
    return op;
}

/* ---- element by element ---- */

static size_t elements(const nas_work *w, int v)
{
    return work_rows(w, v) * work_cols(w, v);
}

static circuit_op *add_map(nas_circuit *t, int a, void (*forward)(nas_work *, const circuit_op *),
                           void (*backward)(nas_work *, const circuit_op *))
{
    circuit_op *op = add_like(t, a, t->value[a].cols);
    op->a = a;
    op->forward = forward;
    op->backward = backward;
    return op;
}

/* An operation that overwrites a: forward changes the value in place, backward its gradient. */
static circuit_op *add_over(nas_circuit *t, int a, void (*forward)(nas_work *, const circuit_op *),
                            void (*backward)(nas_work *, const circuit_op *))
{
    circuit_op *op = circuit_over(t, a);
    op->a = a;
    op->forward = forward;
    op->backward = backward;
    return op;
}

static void bias_forward(nas_work *w, const circuit_op *op)
{
    size_t rows = work_rows(w, op->out), n = work_cols(w, op->out);
    for (size_t i = 0; i < rows; i++)
        work_add(work_out(w, op->out) + i * n, work_x(w, op->b), 1, n);
}

static void bias_backward(nas_work *w, const circuit_op *op)
{
    bias_back(w, op, op->b);
}

int nas_circuit_bias(nas_circuit *t, int x, int bias)
{
    circuit_op *op = add_over(t, x, bias_forward, bias_backward);
    op->b = bias;
    return op->out;
}

FAST static void sum_forward(nas_work *w, const circuit_op *op)
{
    size_t n = elements(w, op->out);
    float *restrict y = work_out(w, op->out);
    const float *restrict a = work_x(w, op->a);
    const float p = op->p, q = op->q, least = op->kind ? 0 : -INFINITY;
    for (size_t i = 0; i < n; i++) {
        float sum = p * a[i] + q * y[i];
        y[i] = sum > least ? sum : least;
    }
}

FAST static void sum_backward(nas_work *w, const circuit_op *op)
{
    size_t n = elements(w, op->out);
    const float *restrict y = work_x(w, op->out);
    float *restrict da = work_d(w, op->a), *restrict dy = work_d(w, op->out);
    const float p = op->p, q = op->q;
    const bool all = !op->kind;
    for (size_t i = 0; i < n; i++) {
        float d = all || y[i] > 0 ? dy[i] : 0;
        da[i] += p * d;
        dy[i] = q * d;
    }
}

/* kind: relu */
int nas_circuit_sum(nas_circuit *t, int a, int b, float scale_a, float scale_b, bool relu)
{
    const circuit_value *v = t->value;
    assert(a != b && v[a].per == v[b].per && v[a].list == v[b].list && v[a].cols == v[b].cols);
    circuit_op *op = add_over(t, b, sum_forward, sum_backward);
    op->a = a;
    op->b = b;
    op->p = scale_a;
    op->q = scale_b;
    op->kind = relu;
    return op->out;
}

FAST static void relu_forward(nas_work *w, const circuit_op *op)
{
    size_t n = elements(w, op->out);
    float *restrict y = work_out(w, op->out);
    for (size_t i = 0; i < n; i++)
        y[i] = y[i] > 0 ? y[i] : 0;
}

FAST static void relu_backward(nas_work *w, const circuit_op *op)
{
    size_t n = elements(w, op->out);
    const float *restrict y = work_x(w, op->out);
    float *restrict d = work_d(w, op->out);
    for (size_t i = 0; i < n; i++)
        d[i] = y[i] > 0 ? d[i] : 0;
}

/* The operation that made x does it, where it can. */
int nas_circuit_relu(nas_circuit *t, int x)
{
    circuit_op *maker = &t->op[t->n_op - 1];
    if (maker->out == x && maker->may_relu) {
        maker->relu = true;
        t->value[t->n_value] = t->value[x];
        return t->n_value++;
    }
    return add_over(t, x, relu_forward, relu_backward)->out;
}

FAST static void sigmoid_forward(nas_work *w, const circuit_op *op)
{
    size_t n = elements(w, op->out);
    float *restrict y = work_out(w, op->out);
    for (size_t i = 0; i < n; i++)
        y[i] = y[i] < -80 ? -80 : y[i];
    w->kernels->rows->softmax_again(y, n, -1, 0);
    for (size_t i = 0; i < n; i++)
        y[i] = 1 / (1 + y[i]);
}

FAST static void sigmoid_backward(nas_work *w, const circuit_op *op)
{
    size_t n = elements(w, op->out);
    const float *restrict y = work_x(w, op->out);
    float *restrict d = work_d(w, op->out);
    for (size_t i = 0; i < n; i++)
        d[i] *= y[i] * (1 - y[i]);
}

int nas_circuit_sigmoid(nas_circuit *t, int x)
{
    return add_over(t, x, sigmoid_forward, sigmoid_backward)->out;
}

static void copy_forward(nas_work *w, const circuit_op *op)
{
    memcpy(work_out(w, op->out), work_x(w, op->a), elements(w, op->out) * sizeof(float));
}

static void copy_backward(nas_work *w, const circuit_op *op)
{
    work_add(work_d(w, op->a), work_d(w, op->out), 1, elements(w, op->out));
}

int nas_circuit_merge(nas_circuit *t, int x)
{
    const int per = t->value[x].per;
    circuit_op *op = circuit_add(t, 1, 0, per * t->value[x].cols);
    op->a = x;
    op->forward = copy_forward;
    op->backward = copy_backward;
    return op->out;
}

/* Four draws from each random number, 16 bits each. */
FAST static void dropout_forward(nas_work *w, const circuit_op *op)
{
    size_t n = elements(w, op->out);
    float *restrict y = work_out(w, op->out), *restrict keep = work_scratch(w, op);
    const float scale = 1 / (1 - op->p);
    const uint64_t limit = (uint64_t)(op->p * 65536);
    enum { DRAWS = 256 };
    uint16_t draw[DRAWS];
    if (!w->training)
        return;
    nas_rng rng = nas_rng_child(&w->block_rng, "dropout", (uint64_t)op->out);
    for (size_t i = 0; i < n; i += DRAWS) {
        size_t part = n - i < DRAWS ? n - i : DRAWS;
        for (size_t k = 0; k < part; k += 4) {
            uint64_t bits = nas_rng_next(&rng);
            for (size_t l = 0; l < 4; l++)
                draw[k + l] = (uint16_t)(bits >> 16 * l);
        }
        for (size_t k = 0; k < part; k++)
            keep[i + k] = draw[k] < limit ? 0 : scale;
    }
    for (size_t i = 0; i < n; i++)
        y[i] *= keep[i];
}

FAST static void dropout_backward(nas_work *w, const circuit_op *op)
{
    size_t n = elements(w, op->out);
    const float *restrict keep = work_scratch(w, op);
    float *restrict d = work_d(w, op->out);
    for (size_t i = 0; w->training && i < n; i++)
        d[i] *= keep[i];
}

int nas_circuit_dropout(nas_circuit *t, int x, float p)
{
    circuit_op *op = add_over(t, x, dropout_forward, dropout_backward);
    op->p = p;
    circuit_scratch(t, op, (size_t)t->value[x].per * (size_t)t->value[x].cols, 0);
    return op->out;
}

/* ---- norms ---- */

static void norm_forward(nas_work *w, const circuit_op *op)
{
    size_t rows = work_rows(w, op->out), n = work_cols(w, op->out);
    const float *gain = work_x(w, op->b), *bias = work_x(w, op->c);
    float *y = work_out(w, op->out), *stat = work_scratch(w, op);
    for (size_t i = 0; i < rows; i++) {
        const float *x = work_x(w, op->a) + i * n;
        w->kernels->rows->norm(x, gain, bias, n, y + i * n, stat + 2 * i);
    }
}

static void norm_backward(nas_work *w, const circuit_op *op)
{
    size_t rows = work_rows(w, op->out), n = work_cols(w, op->out);
    const float *stat = work_scratch(w, op);
    float *restrict gain = work_d(w, op->b);
    for (size_t i = 0; i < rows; i++, stat += 2) {
        const float *x = work_x(w, op->a) + i * n, *dy = work_d(w, op->out) + i * n;
        if (work_blank(dy, n))
            continue;
        w->kernels->rows->norm_back(x, work_x(w, op->b), dy, stat, n, work_d(w, op->a) + i * n);
        for (size_t j = 0; j < n; j++)
            gain[j] += dy[j] * (x[j] - stat[0]) * stat[1];
    }
    bias_back(w, op, op->c);
}

int nas_circuit_norm(nas_circuit *t, int x, int gain, int bias)
{
    circuit_op *op = add_map(t, x, norm_forward, norm_backward);
    op->b = gain;
    op->c = bias;
    circuit_scratch(t, op, 2 * (size_t)t->value[x].per, 0);
    return op->out;
}

/* scratch: mean, 1 / deviation, new running mean and variance; (4, cols) */
static void batch_statistics(nas_work *w, const circuit_op *op)
{
    size_t rows = work_rows(w, op->out), n = work_cols(w, op->out);
    const float *x = work_x(w, op->a), *running = work_x(w, op->d);
    float *stat = work_scratch(w, op);
    for (size_t j = 0; j < n; j++) {
        double sum = 0, square = 0;
        for (size_t i = 0; i < rows; i++)
            sum += (double)x[i * n + j];
        double mean = sum / (double)rows;
        for (size_t i = 0; i < rows; i++)
            square += ((double)x[i * n + j] - mean) * ((double)x[i * n + j] - mean);
        stat[j] = (float)mean;
        stat[n + j] = (float)(1 / sqrt(square / (double)rows + 1e-5));
        stat[2 * n + j] = 0.9f * running[j] + 0.1f * (float)mean;
        stat[3 * n + j] =
            0.9f * running[n + j] + 0.1f * (float)(square / fmax((double)rows - 1, 1));
    }
}

static void batch_norm_forward(nas_work *w, const circuit_op *op)
{
    size_t rows = work_rows(w, op->out), n = work_cols(w, op->out);
    const float *x = work_x(w, op->a), *gain = work_x(w, op->b), *bias = work_x(w, op->c);
    const float *running = work_x(w, op->d);
    float *y = work_out(w, op->out), *stat = work_scratch(w, op);
    if (w->training)
        batch_statistics(w, op);
    else
        for (size_t j = 0; j < n; j++) {
            stat[j] = running[j];
            stat[n + j] = 1 / sqrtf(running[n + j] + 1e-5f);
        }
    for (size_t i = 0; i < rows * n; i++)
        y[i] = (x[i] - stat[i % n]) * stat[n + i % n] * gain[i % n] + bias[i % n];
}

/* The batch statistics depend on x too (in training, the only time that gradients are wanted). */
static void batch_norm_backward(nas_work *w, const circuit_op *op)
{
    size_t rows = work_rows(w, op->out), n = work_cols(w, op->out);
    const float *x = work_x(w, op->a), *dy = work_d(w, op->out), *gain = work_x(w, op->b);
    const float *stat = work_scratch(w, op);
    float *dx = work_d(w, op->a);
    for (size_t j = 0; j < n; j++) {
        float sum = 0, along = 0, mean = stat[j], scale = stat[n + j];
        for (size_t i = j; i < rows * n; i += n) {
            sum += dy[i];
            along += dy[i] * (x[i] - mean) * scale;
        }
        work_d(w, op->b)[j] += along;
        work_d(w, op->c)[j] += sum;
        for (size_t i = j; i < rows * n; i += n)
            dx[i] +=
                gain[j] * scale * (dy[i] - (sum + (x[i] - mean) * scale * along) / (float)rows);
    }
}

int nas_circuit_batch_norm(nas_circuit *t, int x, int gain, int bias, int running)
{
    circuit_op *op = add_map(t, x, batch_norm_forward, batch_norm_backward);
    op->b = gain;
    op->c = bias;
    op->d = running;
    t->value[running].fixed = true;
    t->whole = true;
    circuit_scratch(t, op, 0, 4 * (size_t)t->value[x].cols);
    return op->out;
}

void nas_work_statistics(const nas_work *w, float *weights)
{
    for (int i = 0; i < w->circuit->n_op; i++) {
        const circuit_op *op = &w->circuit->op[i];
        size_t n = work_cols(w, op->out);
        if (op->forward == batch_norm_forward)
            memcpy(weights + w->circuit->value[op->d].at,
                   w->scratch + op->scratch_fixed + op->scratch * w->block + 2 * n,
                   2 * n * sizeof *weights);
    }
}

/* ---- columns ---- */

static void join_forward(nas_work *w, const circuit_op *op)
{
    size_t rows = work_rows(w, op->out), na = work_cols(w, op->a), nb = work_cols(w, op->b);
    float *y = work_out(w, op->out);
    for (size_t i = 0; i < rows; i++, y += na + nb) {
        memcpy(y, work_x(w, op->a) + i * na, na * sizeof *y);
        memcpy(y + na, work_x(w, op->b) + i * nb, nb * sizeof *y);
    }
}

static void join_backward(nas_work *w, const circuit_op *op)
{
    size_t rows = work_rows(w, op->out), na = work_cols(w, op->a), nb = work_cols(w, op->b);
    const float *dy = work_d(w, op->out);
    for (size_t i = 0; i < rows; i++, dy += na + nb) {
        work_add(work_d(w, op->a) + i * na, dy, 1, na);
        work_add(work_d(w, op->b) + i * nb, dy + na, 1, nb);
    }
}

int nas_circuit_join(nas_circuit *t, int a, int b)
{
    assert(t->value[a].per == t->value[b].per);
    circuit_op *op = add_like(t, a, t->value[a].cols + t->value[b].cols);
    op->a = a;
    op->b = b;
    op->forward = join_forward;
    op->backward = join_backward;
    return op->out;
}

static void join_still_forward(nas_work *w, const circuit_op *op)
{
    size_t rows = work_rows(w, op->out), n = work_cols(w, op->out);
    size_t na = work_cols(w, op->a), nb = work_cols(w, op->b), nc = work_cols(w, op->c);
    float *y = work_out(w, op->out);
    for (size_t i = 0; i < rows; i++, y += n) {
        size_t node = work_node(w, op->out, i);
        if (!w->hold) {
            memcpy(y, work_x(w, op->a) + i * na, na * sizeof *y);
            memcpy(y + na, work_x(w, op->b) + work_row(w, op->b, node) * nb, nb * sizeof *y);
        }
        memcpy(y + na + nb, work_x(w, op->c) + work_row(w, op->c, node) * nc, nc * sizeof *y);
    }
}

FAST static void join_still_backward(nas_work *w, const circuit_op *op)
{
    size_t rows = work_rows(w, op->out), n = work_cols(w, op->out), nc = work_cols(w, op->c);
    const float *dy = work_d(w, op->out) + n - nc;
    for (size_t i = 0; i < rows; i++) {
        size_t node = work_node(w, op->out, i);
        work_add(work_d(w, op->c) + work_row(w, op->c, node) * nc, dy + i * n, 1, nc);
    }
}

int nas_circuit_join_still(nas_circuit *t, int a, int b, int c)
{
    const circuit_value *v = t->value;
    assert(v[a].per == v[b].per && v[a].per == v[c].per);
    circuit_op *op = add_like(t, a, v[a].cols + v[b].cols + v[c].cols);
    t->value[op->out].still = v[a].cols + v[b].cols;
    op->a = a;
    op->b = b;
    op->c = c;
    op->forward = join_still_forward;
    op->backward = join_still_backward;
    return op->out;
}

/* ---- inputs ---- */

static void side_forward(nas_work *w, const circuit_op *op)
{
    memcpy(work_out(w, op->out), w->side, 2 * w->n * sizeof(float));
}

int nas_circuit_side(nas_circuit *t)
{
    circuit_op *op = circuit_add(t, 1, 0, 2);
    op->forward = side_forward;
    return op->out;
}

/* kind: nodes of a cell that are shown */
static void plain_forward(nas_work *w, const circuit_op *op)
{
    size_t shown = (size_t)op->kind, nodes = (size_t)w->circuit->nodes;
    size_t graphs = w->n * (size_t)w->circuit->cells;
    float *y = work_out(w, op->out);
    for (size_t i = 0; i < graphs * shown; i++) {
        size_t node = i % shown, at = i / shown * nodes + node;
        for (size_t j = 0; j < node; j++)
            *y++ = node < nodes ? (float)(w->from[at] >> j & 1) : 0;
        *y++ = node < nodes ? w->label[at] : 0;
    }
}

int nas_circuit_plain(nas_circuit *t, int nodes)
{
    circuit_op *op = circuit_add(t, 1, 0, t->cells * nodes * (nodes + 1) / 2);
    op->kind = nodes;
    op->forward = plain_forward;
    return op->out;
}
