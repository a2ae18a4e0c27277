/* Products of a circuit: rows times a parameter. A parameter that many blocks of a step read is
 * packed for all of them; back, only rows that have a gradient are multiplied. */
#include "surrogate/baselines/circuit_op.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- packing ---- */

/* Room for need floats; what was there is lost. */
static float *room(float **buffer, size_t *cap, size_t need)
{
    if (need > *cap) {
        free(*buffer);
        *buffer = nas_alloc_lines(need * sizeof **buffer);
        *cap = need;
    }
    return *buffer;
}

/* Whether a weight is read by few products of a step: copies of all would leave the cache. */
static bool read_once(const nas_work *w)
{
    return w->learns && w->loaded <= w->block;
}

static float *pack_of(nas_work *w, work_pack *p, size_t k, size_t n, nas_view b)
{
    const nas_product *exact = w->kernels->exact;
    if (p->step == w->step)
        return p->data;
    p->step = w->step;
    if (!p->data)
        p->data = nas_alloc_lines(exact->size(k, n) * sizeof *p->data);
    exact->pack(k, n, b, p->data);
    return p->data;
}

static const float *weight_packed(nas_work *w, int v)
{
    const size_t k = (size_t)w->circuit->value[v].rows, n = work_cols(w, v);
    return pack_of(w, &w->pack[v][0], k, n, (nas_view){work_x(w, v), n, 1});
}

/* Transposed and without the first rows: the number of these is the same for all readers of v. */
static const float *weight_turned(nas_work *w, int v, size_t without)
{
    const nas_product *exact = w->kernels->exact;
    const size_t k = (size_t)w->circuit->value[v].rows - without, n = work_cols(w, v);
    const nas_view turned = {work_x(w, v) + without * n, 1, n};
    if (!read_once(w))
        return pack_of(w, &w->pack[v][1], n, k, turned);
    float *packed = room(&w->packed, &w->packed_cap, exact->size(n, k));
    exact->pack(n, k, turned, packed);
    return packed;
}

void work_clear_packs(nas_work *w)
{
    for (int v = 0; v < w->circuit->n_value; v++) {
        free(w->pack[v][0].data);
        free(w->pack[v][1].data);
    }
    free(w->pack);
    free(w->packed);
    free(w->live);
    free(w->left);
    free(w->right);
}

/* ---- rows ---- */

/* The rows whose gradient is not zero; returns how many. */
FAST static size_t live_rows(nas_work *w, size_t rows, const float *dy, size_t n)
{
    size_t count = 0;
    w->live = nas_grow(w->live, &w->live_cap, rows, sizeof *w->live);
    for (size_t i = 0; i < rows; i++)
        if (!work_blank(dy + i * n, n))
            w->live[count++] = (uint32_t)i;
    return count;
}

/* The live rows of n columns one after the other, and back. */
static void take_out(const nas_work *w, size_t rows, float *x, size_t n, const float *from)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(x + i * n, from + w->live[i] * n, n * sizeof *x);
}

FAST static void add_back(const nas_work *w, size_t rows, const float *x, size_t n, float *to,
                          size_t stride)
{
    for (size_t i = 0; i < rows; i++)
        work_add(to + w->live[i] * stride, x + i * n, 1, n);
}

/* ---- the operation ---- */

typedef struct {
    size_t rows, k, n;
    size_t still; /* columns of x that need no gradient */
} shape;

static shape shape_of(const nas_work *w, const circuit_op *op)
{
    return (shape){work_rows(w, op->out), work_cols(w, op->a), work_cols(w, op->out),
                   (size_t)w->circuit->value[op->a].still};
}

/* y (rows,n) = x W + bias */
static void linear_forward(nas_work *w, const circuit_op *op)
{
    shape s = shape_of(w, op);
    const nas_product *exact = w->kernels->exact;
    const nas_view x = {work_x(w, op->a), s.k, 1};
    const nas_finish finish = {.bias = op->c >= 0 ? work_x(w, op->c) : NULL};
    float *y = work_out(w, op->out);
    if (read_once(w) && s.n % exact->panel == 0)
        exact->run_plain(s.rows, s.n, s.k, x, work_x(w, op->b), s.n, y, s.n, finish);
    else
        exact->run(s.rows, s.n, s.k, x, weight_packed(w, op->b), y, s.n, finish);
}

FAST static void add_rows(const float *dy, size_t rows, size_t n, float *bias)
{
    for (size_t i = 0; i < rows; i++)
        work_add(bias, dy + i * n, 1, n);
}

/* dW += x^T dy */
static void weight_back(nas_work *w, const circuit_op *op, shape s, const float *x, const float *dy)
{
    const nas_product *exact = w->kernels->exact;
    const nas_view turned = {x, 1, s.k};
    const nas_finish add = {.add = true};
    float *dw = work_d(w, op->b);
    if (s.n % exact->panel == 0) {
        exact->run_plain(s.k, s.n, s.rows, turned, dy, s.n, dw, s.n, add);
        return;
    }
    float *packed = room(&w->packed, &w->packed_cap, exact->size(s.rows, s.n));
    exact->pack(s.rows, s.n, (nas_view){dy, s.n, 1}, packed);
    exact->run(s.k, s.n, s.rows, turned, packed, dw, s.n, add);
}

/* And dx += dy W^T (dx = when not add), but for the columns that are still; dx has ldx floats a
 * row. */
static void multiply_back(nas_work *w, const circuit_op *op, shape s, const float *x,
                          const float *dy, float *dx, size_t ldx, bool add)
{
    if (op->c >= 0)
        add_rows(dy, s.rows, s.n, work_d(w, op->c));
    weight_back(w, op, s, x, dy);
    w->kernels->exact->run(s.rows, s.k - s.still, s.n, (nas_view){dy, s.n, 1},
                           weight_turned(w, op->b, s.still), dx, ldx, (nas_finish){.add = add});
}

/* In place when nearly every row has a gradient, else on copies of those that have. */
static void linear_backward(nas_work *w, const circuit_op *op)
{
    shape s = shape_of(w, op);
    const float *x = work_x(w, op->a), *dy = work_d(w, op->out);
    float *dx = work_d(w, op->a) + s.still;
    const size_t live = live_rows(w, s.rows, dy, s.n), moved = s.k - s.still;
    if (live == 0)
        return;
    if (live >= s.rows - s.rows / 8) {
        multiply_back(w, op, s, x, dy, dx, s.k, true);
        return;
    }
    s.rows = live;
    float *near_x = room(&w->left, &w->left_cap, live * (s.k + moved));
    float *near_dx = near_x + live * s.k;
    float *near_dy = room(&w->right, &w->right_cap, live * s.n);
    take_out(w, live, near_dy, s.n, dy);
    take_out(w, live, near_x, s.k, x);
    multiply_back(w, op, s, near_x, near_dy, near_dx, moved, false);
    add_back(w, live, near_dx, moved, dx, s.k);
}

int nas_circuit_linear(nas_circuit *t, int x, int weight, int bias)
{
    assert(t->value[x].cols == t->value[weight].rows && t->value[weight].weight);
    circuit_op *op = circuit_add(t, t->value[x].per, t->value[x].rows, t->value[weight].cols);
    circuit_list(t, op, t->value[x].list);
    op->forward = linear_forward;
    op->backward = linear_backward;
    op->a = x;
    op->b = weight;
    op->c = bias;
    return op->out;
}
