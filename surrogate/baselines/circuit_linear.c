/* Products of a circuit: rows times a parameter. A parameter is packed once a step for all products
 * with it; rows that are equal by their meaning are multiplied once. */
#include "surrogate/baselines/circuit_op.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- packing ---- */

enum { TILE = 8 };
typedef float tile_row __attribute__((vector_size(4 * TILE)));
typedef float tile_loose __attribute__((vector_size(4 * TILE), aligned(4), may_alias));
typedef int tile_order __attribute__((vector_size(4 * TILE)));

/* Each round interleaves rows i and i + 4; after three, rows are columns. */
FAST static void turn_tile(const float *from, size_t n, float *to, size_t k)
{
    const tile_order low = {0, 8, 1, 9, 2, 10, 3, 11}, high = {4, 12, 5, 13, 6, 14, 7, 15};
    tile_row a[TILE], b[TILE];
    for (int i = 0; i < TILE; i++)
        a[i] = *(const tile_loose *)(from + (size_t)i * n);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < TILE / 2; i++) {
            b[2 * i] = __builtin_shuffle(a[i], a[i + TILE / 2], low);
            b[2 * i + 1] = __builtin_shuffle(a[i], a[i + TILE / 2], high);
        }
        memcpy(a, b, sizeof a);
    }
    for (int i = 0; i < TILE; i++)
        *(tile_loose *)(to + (size_t)i * k) = a[i];
}

/* to (n,k) = from (k,n) transposed */
static void turn(const float *from, size_t k, size_t n, float *to)
{
    size_t whole_k = k / TILE * TILE, whole_n = n / TILE * TILE;
    for (size_t i = 0; i < whole_k; i += TILE)
        for (size_t j = 0; j < whole_n; j += TILE)
            turn_tile(from + i * n + j, n, to + j * k + i, k);
    for (size_t i = 0; i < k; i++)
        for (size_t j = i < whole_k ? whole_n : 0; j < n; j++)
            to[j * k + i] = from[i * n + j];
}

static const float *weight_packed(nas_work *w, int v, bool turned)
{
    const circuit_value *value = &w->circuit->value[v];
    const nas_product *exact = w->kernels->exact;
    size_t k = (size_t)value->rows, n = (size_t)value->cols;
    work_pack *p = &w->pack[v][turned];
    if (p->step == w->step)
        return p->data;
    p->step = w->step;
    nas_view b = {work_x(w, v), n, 1};
    if (turned) {
        w->turned = nas_grow(w->turned, &w->turned_cap, k * n, sizeof *w->turned);
        turn(b.data, k, n, w->turned);
        b = (nas_view){w->turned, k, 1};
        k = n;
        n = (size_t)value->rows;
    }
    if (!p->data)
        p->data = nas_alloc(exact->size(k, n) * sizeof *p->data);
    exact->pack(k, n, b, p->data);
    return p->data;
}

void work_clear_packs(nas_work *w)
{
    for (int v = 0; v < w->circuit->n_value; v++) {
        free(w->pack[v][0].data);
        free(w->pack[v][1].data);
    }
    free(w->pack);
    free(w->packed);
    free(w->turned);
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
        return label == NAS_CELL_INPUT || label >= NAS_CELL_OPS;
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

/* Adds to the first ones alone: what is done with the sum is linear. */
static void add_out(const work_list *l, const float *x, size_t n, float *to)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->like[i] == l->row[i])
            work_add(to + l->row[i] * n, x, 1, n), x += n;
}

/* ---- the operation ---- */

typedef struct {
    size_t rows, k, n;
    const work_list *list; /* NULL: all rows */
} shape;

static shape shape_of(const nas_work *w, const circuit_op *op)
{
    return (shape){work_rows(w, op->out), work_cols(w, op->a), work_cols(w, op->out),
                   op->kind == NAS_ROWS_ALL ? NULL : &w->list[op->kind]};
}

/* y (rows,n) = x W + bias */
static void multiply(nas_work *w, const circuit_op *op, shape s, const float *x, float *y)
{
    const float *packed = weight_packed(w, op->b, false);
    for (size_t i = 0; op->c >= 0 && i < s.rows; i++)
        memcpy(y + i * s.n, work_x(w, op->c), s.n * sizeof *y);
    w->kernels->exact->run(s.rows, s.n, s.k, (nas_view){x, s.k, 1}, packed, y, s.n,
                           (nas_finish){.add = op->c >= 0});
}

static float *room(float **buffer, size_t *cap, size_t need)
{
    return *buffer = nas_grow(*buffer, cap, need, sizeof **buffer);
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

/* dW += x^T dy, dx += dy W^T (dx = when not add) */
static void multiply_back(nas_work *w, const circuit_op *op, shape s, const float *x,
                          const float *dy, float *dx, bool add)
{
    const nas_product *exact = w->kernels->exact;
    float *packed = room(&w->packed, &w->packed_cap, exact->size(s.rows, s.n));
    if (op->c >= 0)
        add_rows(dy, s.rows, s.n, work_d(w, op->c));
    exact->pack(s.rows, s.n, (nas_view){dy, s.n, 1}, packed);
    exact->run(s.k, s.n, s.rows, (nas_view){x, 1, s.k}, packed, work_d(w, op->b), s.n,
               (nas_finish){.add = true});
    exact->run(s.rows, s.k, s.n, (nas_view){dy, s.n, 1}, weight_packed(w, op->b, true), dx, s.k,
               (nas_finish){.add = add});
}

static void linear_backward(nas_work *w, const circuit_op *op)
{
    shape s = shape_of(w, op);
    if (!s.list) {
        multiply_back(w, op, s, work_x(w, op->a), work_d(w, op->out), work_d(w, op->a), true);
        return;
    }
    size_t half = s.rows * s.k;
    float *x = room(&w->left, &w->left_cap, 2 * half), *dx = x + half;
    float *dy = room(&w->right, &w->right_cap, s.rows * s.n);
    fold(s.list, work_d(w, op->out), s.n);
    collect(s.list, work_d(w, op->out), s.n, dy);
    s.rows = collect(s.list, work_x(w, op->a), s.k, x);
    multiply_back(w, op, s, x, dy, dx, false);
    add_out(s.list, dx, s.k, work_d(w, op->a));
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
