/* Products of a circuit: rows times a parameter. A parameter is packed once a step for all products
 * with it; rows that are equal by their meaning are multiplied once, and back only those that have
 * a gradient. */
#include "surrogate/baselines/circuit_op.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- packing ---- */

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
    const size_t k = (size_t)w->circuit->value[v].rows, n = work_cols(w, v);
    return pack_of(w, &w->pack[v][1], n, k - without, (nas_view){work_x(w, v) + without * n, 1, n});
}

void work_clear_packs(nas_work *w)
{
    for (int v = 0; v < w->circuit->n_value; v++) {
        free(w->pack[v][0].data);
        free(w->pack[v][1].data);
    }
    free(w->pack);
    free(w->packed);
    free(w->live.row);
    free(w->left);
    free(w->right);
}

/* ---- rows ---- */

/* Whether a product on rows of this kind reads the node, and which first node it is equal to:
 * *same keeps the first of each kind of equals. */
static bool wanted(const nas_work *w, nas_rows_of kind, uint32_t node, uint32_t same[2],
                   uint32_t *like)
{
    const uint8_t label = w->label[node];
    const bool forth = kind == NAS_ROWS_FORTH;
    *like = node;
    if (kind == NAS_ROWS_GATED)
        return label >= NAS_CELL_OPS;
    if (!(forth ? w->to : w->from)[node] && label != (forth ? NAS_CELL_INPUT : NAS_CELL_OUTPUT))
        return false;
    if ((forth && label == NAS_CELL_INPUT) || label == NAS_CELL_NONE) {
        uint32_t *first = &same[label == NAS_CELL_NONE];
        *first = *first == UINT32_MAX ? node : *first;
        *like = *first;
    }
    return true;
}

void work_lists(nas_work *w)
{
    const uint32_t nodes = (uint32_t)w->circuit->nodes;
    const uint32_t graphs = (uint32_t)(w->n * (size_t)w->circuit->cells);
    for (int kind = 1; kind < NAS_ROWS_COUNT; kind++) {
        work_list *l = &w->list[kind];
        uint32_t same[2] = {UINT32_MAX, UINT32_MAX}, like;
        l->n = 0;
        if (!w->circuit->rows[kind])
            continue;
        for (uint32_t node = 0; node < graphs * nodes; node++)
            if (node % nodes < w->count[node / nodes] &&
                wanted(w, (nas_rows_of)kind, node, same, &like)) {
                l->row[l->n] = node;
                l->like[l->n++] = like;
            }
    }
}

/* The distinct rows of a list, one after the other; returns their number. */
static size_t collect(const work_list *l, const float *x, size_t n, float *to)
{
    size_t count = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->like[i] == l->row[i])
            memcpy(to + count++ * n, x + l->row[i] * n, n * sizeof *to);
    return count;
}

/* Adds each row to that of the first one equal to it. */
static void fold(const work_list *l, float *x, size_t n)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->like[i] != l->row[i])
            work_add(x + l->like[i] * n, x + l->row[i] * n, 1, n);
}

static void hand_out(const work_list *l, const float *x, size_t n, float *to)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->like[i] == l->row[i])
            memcpy(to + l->row[i] * n, x, n * sizeof *to), x += n;
        else
            memcpy(to + l->row[i] * n, to + l->like[i] * n, n * sizeof *to);
    }
}

/* The first ones of a list (all rows: NULL) whose gradient is not zero. */
static const work_list *live_rows(nas_work *w, const work_list *l, size_t rows, const float *dy,
                                  size_t n)
{
    work_list *live = &w->live;
    const size_t count = l ? l->n : rows;
    live->row = nas_grow(live->row, &w->live_cap, count, sizeof *live->row);
    live->like = live->row;
    live->n = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = l ? l->row[i] : (uint32_t)i;
        if ((!l || l->like[i] == row) && !work_blank(dy + row * n, n))
            live->row[live->n++] = row;
    }
    return live;
}

/* Rows of n columns to those of a list, every stride floats, and back. */
static void take_out(const work_list *l, float *x, size_t n, const float *from, size_t stride)
{
    for (size_t i = 0; i < l->n; i++, x += n)
        memcpy(x, from + l->row[i] * stride, n * sizeof *x);
}

static void put_back(const work_list *l, const float *x, size_t n, float *to, size_t stride)
{
    for (size_t i = 0; i < l->n; i++, x += n)
        memcpy(to + l->row[i] * stride, x, n * sizeof *x);
}

static void add_out(const work_list *l, const float *x, size_t n, float *to, size_t stride)
{
    for (size_t i = 0; i < l->n; i++, x += n)
        work_add(to + l->row[i] * stride, x, 1, n);
}

/* ---- the operation ---- */

typedef struct {
    size_t rows, k, n;
    size_t still;          /* columns of x that need no gradient */
    const work_list *list; /* NULL: all rows */
} shape;

static shape shape_of(const nas_work *w, const circuit_op *op)
{
    return (shape){work_rows(w, op->out), work_cols(w, op->a), work_cols(w, op->out),
                   (size_t)w->circuit->value[op->a].still,
                   op->kind == NAS_ROWS_ALL ? NULL : &w->list[op->kind]};
}

/* y (rows,n) = x W + bias */
static void multiply(nas_work *w, const circuit_op *op, shape s, const float *x, float *y)
{
    const float *packed = weight_packed(w, op->b);
    for (size_t i = 0; op->c >= 0 && i < s.rows; i++)
        memcpy(y + i * s.n, work_x(w, op->c), s.n * sizeof *y);
    w->kernels->exact->run(s.rows, s.n, s.k, (nas_view){x, s.k, 1}, packed, y, s.n,
                           (nas_finish){.add = op->c >= 0});
}

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

static void linear_forward(nas_work *w, const circuit_op *op)
{
    shape s = shape_of(w, op);
    if (!s.list) {
        multiply(w, op, s, work_x(w, op->a), work_out(w, op->out));
        return;
    }
    float *x = room(&w->left, &w->left_cap, s.rows * s.k);
    float *y = room(&w->right, &w->right_cap, s.rows * s.n);
    s.rows = collect(s.list, work_x(w, op->a), s.k, x);
    multiply(w, op, s, x, y);
    hand_out(s.list, y, s.n, work_out(w, op->out));
}

FAST static void add_rows(const float *dy, size_t rows, size_t n, float *bias)
{
    for (size_t i = 0; i < rows; i++)
        work_add(bias, dy + i * n, 1, n);
}

/* dW += x^T dy, dx += dy W^T (dx = when not add), but for the columns that are still; dx has ldx
 * floats a row. */
static void multiply_back(nas_work *w, const circuit_op *op, shape s, const float *x,
                          const float *dy, float *dx, size_t ldx, bool add)
{
    const nas_product *exact = w->kernels->exact;
    float *packed = room(&w->packed, &w->packed_cap, exact->size(s.rows, s.n));
    if (op->c >= 0)
        add_rows(dy, s.rows, s.n, work_d(w, op->c));
    exact->pack(s.rows, s.n, (nas_view){dy, s.n, 1}, packed);
    exact->run(s.k, s.n, s.rows, (nas_view){x, 1, s.k}, packed, work_d(w, op->b), s.n,
               (nas_finish){.add = true});
    exact->run(s.rows, s.k - s.still, s.n, (nas_view){dy, s.n, 1}, weight_turned(w, op->b, s.still),
               dx, ldx, (nas_finish){.add = add});
}

/* In place when every row has a gradient, else on copies of those that have. */
static void linear_backward(nas_work *w, const circuit_op *op)
{
    shape s = shape_of(w, op);
    const float *x = work_x(w, op->a);
    float *dy = work_d(w, op->out), *dx = work_d(w, op->a) + s.still;
    if (s.list)
        fold(s.list, dy, s.n);
    const work_list *live = live_rows(w, s.list, s.rows, dy, s.n);
    if (live->n == 0)
        return;
    if (live->n == s.rows) {
        multiply_back(w, op, s, x, dy, dx, s.k, true);
        return;
    }
    const size_t stride = s.k, moved = s.k - s.still;
    s.rows = live->n;
    float *near_x = room(&w->left, &w->left_cap, s.rows * (s.k + moved));
    float *near_dx = near_x + s.rows * s.k;
    float *near_dy = room(&w->right, &w->right_cap, s.rows * s.n);
    take_out(live, near_dy, s.n, dy, s.n);
    take_out(live, near_x, s.k, x, s.k);
    if (!s.list)
        take_out(live, near_dx, moved, dx, stride);
    multiply_back(w, op, s, near_x, near_dy, near_dx, moved, !s.list);
    (s.list ? add_out : put_back)(live, near_dx, moved, dx, stride);
}

int nas_circuit_linear_rows(nas_circuit *t, int x, int weight, int bias, nas_rows_of rows)
{
    assert(t->value[x].cols == t->value[weight].rows && t->value[weight].weight);
    if (t->value[x].per != t->cells * t->nodes)
        rows = NAS_ROWS_ALL;
    circuit_op *op = circuit_add(t, t->value[x].per, t->value[x].rows, t->value[weight].cols);
    op->forward = linear_forward;
    op->backward = linear_backward;
    op->a = x;
    op->b = weight;
    op->c = bias;
    op->kind = (int)rows;
    t->rows[rows] = true;
    return op->out;
}

int nas_circuit_linear(nas_circuit *t, int x, int weight, int bias)
{
    return nas_circuit_linear_rows(t, x, weight, bias, NAS_ROWS_ALL);
}
