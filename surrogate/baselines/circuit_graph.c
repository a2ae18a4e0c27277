/* The operations of a circuit that know graphs: which row belongs to which node of which cell. */
#include "surrogate/baselines/circuit_op.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static size_t graphs_of(const nas_work *w)
{
    return w->n * (size_t)w->circuit->cells;
}

static circuit_op *add_nodes(nas_circuit *t, int a, int cols)
{
    circuit_op *op = circuit_add(t, t->cells * t->nodes, 0, cols);
    op->a = a;
    return op;
}

static circuit_op *add_cells(nas_circuit *t, int a)
{
    assert(t->value[a].per == t->cells * t->nodes);
    circuit_op *op = circuit_add(t, t->cells, 0, t->value[a].cols);
    op->a = a;
    return op;
}

/* ---- rows of a table for nodes ---- */

enum { BY_LABEL, BY_END };

static size_t table_row(const nas_work *w, int kind, size_t node)
{
    return kind == BY_END ? w->label[node] != NAS_CELL_INPUT : w->label[node];
}

static void lookup_forward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), rows = work_rows(w, op->out);
    float *y = work_out(w, op->out);
    for (size_t i = 0; i < rows; i++, y += n) {
        size_t node = work_node(w, op->out, i);
        if (work_in_use(w, node))
            memcpy(y, work_x(w, op->a) + n * table_row(w, op->kind, node), n * sizeof *y);
        else
            memset(y, 0, n * sizeof *y);
    }
}

static void lookup_backward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), rows = work_rows(w, op->out);
    const float *dy = work_d(w, op->out);
    for (size_t i = 0; i < rows; i++, dy += n) {
        size_t node = work_node(w, op->out, i);
        if (work_in_use(w, node))
            work_add(work_d(w, op->a) + n * table_row(w, op->kind, node), dy, 1, n);
    }
}

static int lookup(nas_circuit *t, int table, int kind, nas_rows_of rows)
{
    circuit_op *op = add_nodes(t, table, t->value[table].cols);
    circuit_list(t, op, rows);
    assert(t->value[table].rows >= (kind == BY_END ? 2 : t->labels));
    op->kind = kind;
    op->forward = lookup_forward;
    op->backward = lookup_backward;
    return op->out;
}

int nas_circuit_lookup(nas_circuit *t, int table, nas_rows_of rows)
{
    return lookup(t, table, BY_LABEL, rows);
}

int nas_circuit_ends(nas_circuit *t, int table, nas_rows_of rows)
{
    return lookup(t, table, BY_END, rows);
}

/* ---- inputs have none ---- */

/* Fixed rows are a table by label. */
static bool blank(const nas_work *w, const circuit_op *op, size_t row)
{
    return (w->circuit->value[op->out].per ? w->label[row] : row) == NAS_CELL_INPUT;
}

static void blank_forward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), rows = work_rows(w, op->out);
    float *y = work_out(w, op->out);
    memcpy(y, work_x(w, op->a), rows * n * sizeof *y);
    for (size_t i = 0; i < rows; i++)
        if (blank(w, op, i))
            memset(y + i * n, 0, n * sizeof *y);
}

static void blank_backward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), rows = work_rows(w, op->out);
    for (size_t i = 0; i < rows; i++)
        if (!blank(w, op, i))
            work_add(work_d(w, op->a) + i * n, work_d(w, op->out) + i * n, 1, n);
}

int nas_circuit_blank(nas_circuit *t, int x)
{
    assert(t->value[x].per == t->cells * t->nodes || t->value[x].rows == t->labels);
    circuit_op *op = circuit_add(t, t->value[x].per, t->value[x].rows, t->value[x].cols);
    op->a = x;
    op->forward = blank_forward;
    op->backward = blank_backward;
    return op->out;
}

/* ---- neighbours ---- */

FAST static void mix_forward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), nodes = (size_t)w->circuit->nodes;
    const float *m = w->mix[op->kind];
    float *y = work_out(w, op->out);
    memset(y, 0, work_rows(w, op->out) * n * sizeof *y);
    for (size_t g = 0; g < graphs_of(w); g++) {
        const float *x = work_x(w, op->a) + g * nodes * n;
        for (size_t i = 0; i < nodes; i++, y += n, m += nodes)
            for (size_t j = 0; j < nodes; j++)
                if (m[j] != 0)
                    work_add(y, x + j * n, m[j], n);
    }
}

FAST static void mix_backward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), nodes = (size_t)w->circuit->nodes;
    const float *m = w->mix[op->kind], *dy = work_d(w, op->out);
    for (size_t g = 0; g < graphs_of(w); g++) {
        float *dx = work_d(w, op->a) + g * nodes * n;
        for (size_t i = 0; i < nodes; i++, dy += n, m += nodes)
            for (size_t j = 0; j < nodes; j++)
                if (m[j] != 0)
                    work_add(dx + j * n, dy, m[j], n);
    }
}

int nas_circuit_mix(nas_circuit *t, int x, nas_mix mix)
{
    circuit_op *op = add_nodes(t, x, t->value[x].cols);
    op->kind = (int)mix;
    op->forward = mix_forward;
    op->backward = mix_backward;
    t->mixes[mix] = true;
    return op->out;
}

/* scratch: both halves before the relu, (nodes, 2 cols) */
FAST static void convolve_forward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), nodes = (size_t)w->circuit->nodes;
    float *y = work_out(w, op->out), *half = work_scratch(w, op);
    memset(half, 0, work_rows(w, op->out) * 2 * n * sizeof *half);
    for (size_t row = 0; row < work_rows(w, op->out); row++, y += n, half += 2 * n) {
        const float *x = work_x(w, op->a) + row / nodes * nodes * 2 * n;
        const float *forth = w->mix[NAS_MIX_FORTH] + row * nodes;
        const float *back = w->mix[NAS_MIX_BACK] + row * nodes;
        for (size_t j = 0; j < nodes; j++, x += 2 * n) {
            if (forth[j] != 0)
                work_add(half, x, forth[j], n);
            if (back[j] != 0)
                work_add(half + n, x + n, back[j], n);
        }
        for (size_t c = 0; c < n; c++)
            y[c] = 0.5f * ((half[c] > 0 ? half[c] : 0) + (half[n + c] > 0 ? half[n + c] : 0));
    }
}

FAST static void convolve_backward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), nodes = (size_t)w->circuit->nodes;
    const float *dy = work_d(w, op->out);
    float *half = work_scratch(w, op);
    for (size_t row = 0; row < work_rows(w, op->out); row++, dy += n, half += 2 * n) {
        float *dx = work_d(w, op->a) + row / nodes * nodes * 2 * n;
        const float *forth = w->mix[NAS_MIX_FORTH] + row * nodes;
        const float *back = w->mix[NAS_MIX_BACK] + row * nodes;
        for (size_t c = 0; c < n; c++) {
            half[c] = half[c] > 0 ? 0.5f * dy[c] : 0;
            half[n + c] = half[n + c] > 0 ? 0.5f * dy[c] : 0;
        }
        for (size_t j = 0; j < nodes; j++, dx += 2 * n) {
            if (forth[j] != 0)
                work_add(dx, half, forth[j], n);
            if (back[j] != 0)
                work_add(dx + n, half + n, back[j], n);
        }
    }
}

int nas_circuit_convolve(nas_circuit *t, int x)
{
    circuit_op *op = add_nodes(t, x, t->value[x].cols / 2);
    op->forward = convolve_forward;
    op->backward = convolve_backward;
    t->mixes[NAS_MIX_FORTH] = t->mixes[NAS_MIX_BACK] = true;
    circuit_scratch(t, op, (size_t)(t->cells * t->nodes * t->value[x].cols), 0);
    return op->out;
}

/* ---- nodes to cells and back ---- */

/* The share of node i of graph g in the mean, 0 for nodes that do not count. */
static float share(const nas_work *w, const circuit_op *op, size_t g, size_t i)
{
    const uint8_t *label = w->label + g * (size_t)w->circuit->nodes;
    size_t count = 0;
    if (!op->kind && label[i] == NAS_CELL_INPUT)
        return 0;
    for (size_t k = 0; k < w->count[g]; k++)
        count += op->kind || label[k] != NAS_CELL_INPUT;
    return 1 / (float)count;
}

static void mean_forward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), nodes = (size_t)w->circuit->nodes;
    float *y = work_out(w, op->out);
    memset(y, 0, work_rows(w, op->out) * n * sizeof *y);
    for (size_t g = 0; g < graphs_of(w); g++)
        for (size_t i = 0; i < w->count[g]; i++)
            work_add(y + g * n, work_x(w, op->a) + work_row(w, op->a, g * nodes + i) * n,
                     share(w, op, g, i), n);
}

static void mean_backward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out), nodes = (size_t)w->circuit->nodes;
    for (size_t g = 0; g < graphs_of(w); g++)
        for (size_t i = 0; i < w->count[g]; i++)
            work_add(work_d(w, op->a) + work_row(w, op->a, g * nodes + i) * n,
                     work_d(w, op->out) + g * n, share(w, op, g, i), n);
}

int nas_circuit_mean(nas_circuit *t, int x, bool inputs)
{
    circuit_op *op = add_cells(t, x);
    op->kind = inputs;
    op->forward = mean_forward;
    op->backward = mean_backward;
    return op->out;
}

/* The row of v that belongs to the output of graph g. */
static size_t last_row(const nas_work *w, int v, size_t g)
{
    return work_row(w, v, g * (size_t)w->circuit->nodes + w->count[g] - 1);
}

static void output_forward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out);
    for (size_t g = 0; g < graphs_of(w); g++)
        memcpy(work_out(w, op->out) + g * n, work_x(w, op->a) + last_row(w, op->a, g) * n,
               n * sizeof(float));
}

static void output_backward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out);
    for (size_t g = 0; g < graphs_of(w); g++)
        work_add(work_d(w, op->a) + last_row(w, op->a, g) * n, work_d(w, op->out) + g * n, 1, n);
}

int nas_circuit_output(nas_circuit *t, int x)
{
    circuit_op *op = add_cells(t, x);
    op->forward = output_forward;
    op->backward = output_backward;
    return op->out;
}

static void place_forward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out);
    float *y = work_out(w, op->out);
    memset(y, 0, work_rows(w, op->out) * n * sizeof *y);
    for (size_t g = 0; g < graphs_of(w); g++)
        memcpy(y + last_row(w, op->out, g) * n, work_x(w, op->a) + g * n, n * sizeof *y);
}

static void place_backward(nas_work *w, const circuit_op *op)
{
    size_t n = work_cols(w, op->out);
    for (size_t g = 0; g < graphs_of(w); g++)
        work_add(work_d(w, op->a) + g * n, work_d(w, op->out) + last_row(w, op->out, g) * n, 1, n);
}

int nas_circuit_place(nas_circuit *t, int x)
{
    circuit_op *op = add_nodes(t, x, t->value[x].cols);
    op->forward = place_forward;
    op->backward = place_backward;
    return op->out;
}
