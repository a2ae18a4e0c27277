/* The flow of GATES along edges, on the sets of neighbours that its nodes listen to: in a cell with
 * operators on edges, all that leave a state listen to the same set. */
#include "surrogate/baselines/circuit_op.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- lists ---- */

static void list_gated(nas_work *w, uint32_t node)
{
    work_list *l = &w->list[NAS_ROWS_GATED];
    l->of[node] = NO_ROW;
    if (w->label[node] >= NAS_CELL_OPS) {
        l->of[node] = (uint32_t)l->n;
        l->node[l->n++] = node;
    }
}

/* What the node listens to, as bits of its graph's nodes; 0: its gate is closed. */
static uint64_t listens(const nas_work *w, bool back, uint32_t node)
{
    const uint8_t label = w->label[node];
    if (label == NAS_CELL_NONE || (back && label == NAS_CELL_INPUT))
        return 0;
    if (label == (back ? NAS_CELL_OUTPUT : NAS_CELL_INPUT))
        return UINT64_C(1) << node % (uint32_t)w->circuit->nodes;
    return (back ? w->to : w->from)[node];
}

static int inputs_alone(const nas_work *w, uint32_t first, uint64_t set)
{
    int count = 0;
    for (; set; set &= set - 1, count++)
        if (w->label[first + (uint32_t)__builtin_ctzll(set)] != NAS_CELL_INPUT)
            return 0;
    return count;
}

/* The row of a set of the graph whose rows begin at own; a new one if need be. Along edges, all
 * inputs of a block have the same row: sets of inputs alone are told by their number. */
static uint32_t row_of_set(nas_work *w, work_list *l, bool back, uint32_t first, uint64_t set,
                           size_t own, uint32_t shared[NAS_CELL_NODES + 1])
{
    uint32_t *of_inputs = &shared[back ? 0 : inputs_alone(w, first, set)];
    bool alone = of_inputs != shared;
    if (!w->plain && alone && *of_inputs != NO_ROW)
        return *of_inputs;
    for (size_t i = own; i < l->n && !w->plain; i++)
        if (l->set[i] == set)
            return (uint32_t)i;
    l->node[l->n] = first;
    l->set[l->n] = set;
    if (alone)
        *of_inputs = (uint32_t)l->n;
    return (uint32_t)l->n++;
}

static void list_sets(nas_work *w, bool back)
{
    work_list *l = &w->list[back ? NAS_ROWS_BACK : NAS_ROWS_FORTH];
    const uint32_t nodes = (uint32_t)w->circuit->nodes;
    const uint32_t graphs = (uint32_t)(w->n * (size_t)w->circuit->cells);
    uint32_t shared[NAS_CELL_NODES + 1];
    memset(shared, 0xff, sizeof shared);
    for (uint32_t g = 0; g < graphs; g++) {
        size_t own = l->n;
        for (uint32_t node = g * nodes; node < g * nodes + w->count[g]; node++) {
            uint64_t set = listens(w, back, node);
            l->of[node] = set ? row_of_set(w, l, back, g * nodes, set, own, shared) : NO_ROW;
        }
    }
}

/* The row of the node's state; a new one if need be. */
static uint32_t row_of_state(nas_work *w, work_list *l, uint32_t node)
{
    const uint64_t colour = w->state[node];
    size_t at = colour & (w->slots - 1);
    while (!w->plain && w->slot[at] != NO_ROW) {
        if (l->set[w->slot[at]] == colour)
            return w->slot[at];
        at = (at + 1) & (w->slots - 1);
    }
    l->node[l->n] = node;
    l->set[l->n] = colour;
    w->slot[at] = (uint32_t)l->n;
    return (uint32_t)l->n++;
}

static void list_states(nas_work *w)
{
    work_list *l = &w->list[NAS_ROWS_STATES];
    const uint32_t nodes = (uint32_t)w->circuit->nodes;
    const uint32_t all = (uint32_t)(w->n * (size_t)w->circuit->cells) * nodes;
    memset(w->slot, 0xff, w->slots * sizeof *w->slot);
    for (uint32_t node = 0; node < all; node++)
        l->of[node] = work_in_use(w, node) ? row_of_state(w, l, node) : NO_ROW;
}

void work_lists(nas_work *w)
{
    const uint32_t nodes = (uint32_t)w->circuit->nodes;
    const uint32_t graphs = (uint32_t)(w->n * (size_t)w->circuit->cells);
    const bool *used = w->circuit->rows;
    for (int kind = 1; kind < NAS_ROWS_COUNT; kind++)
        w->list[kind].n = 0;
    for (uint32_t g = 0; used[NAS_ROWS_GATED] && g < graphs; g++)
        for (uint32_t i = 0; i < w->count[g]; i++)
            list_gated(w, g * nodes + i);
    if (used[NAS_ROWS_FORTH])
        list_sets(w, false);
    if (used[NAS_ROWS_BACK])
        list_sets(w, true);
    if (used[NAS_ROWS_STATES])
        list_states(w);
}

/* ---- sums of sets ---- */

/* op->kind: which list */
FAST static void gather_forward(nas_work *w, const circuit_op *op)
{
    const work_list *l = &w->list[op->kind];
    const size_t n = work_cols(w, op->out);
    float *restrict y = work_out(w, op->out);
    for (size_t i = 0; i < l->n; i++, y += n) {
        const float *x = work_x(w, op->a) + l->node[i] * n;
        uint64_t set = l->set[i];
        memcpy(y, x + (size_t)__builtin_ctzll(set) * n, n * sizeof *y);
        for (set &= set - 1; set; set &= set - 1)
            work_add(y, x + (size_t)__builtin_ctzll(set) * n, 1, n);
    }
}

FAST static void gather_backward(nas_work *w, const circuit_op *op)
{
    const work_list *l = &w->list[op->kind];
    const size_t n = work_cols(w, op->out);
    const float *dy = work_d(w, op->out);
    for (size_t i = 0; i < l->n; i++, dy += n) {
        float *dx = work_d(w, op->a) + l->node[i] * n;
        if (!work_blank(dy, n))
            for (uint64_t set = l->set[i]; set; set &= set - 1)
                work_add(dx + (size_t)__builtin_ctzll(set) * n, dy, 1, n);
    }
}

int nas_circuit_gather(nas_circuit *t, int x, bool back)
{
    assert(t->value[x].per == t->cells * t->nodes && !t->value[x].list);
    circuit_op *op = circuit_add(t, t->cells * t->nodes, 0, t->value[x].cols);
    op->a = x;
    op->kind = back ? NAS_ROWS_BACK : NAS_ROWS_FORTH;
    op->forward = gather_forward;
    op->backward = gather_backward;
    circuit_list(t, op, (nas_rows_of)op->kind);
    return op->out;
}

/* ---- gates ---- */

/* The row of the node's gate in its value; NO_ROW: it lets all through, as other labels do. */
static size_t gate_row(const nas_work *w, int gate, size_t node)
{
    if (w->label[node] < NAS_CELL_OPS)
        return NO_ROW;
    return w->circuit->value[gate].list ? w->list[NAS_ROWS_GATED].of[node] : w->label[node];
}

static inline float at_least(float x, float least)
{
    return x > least ? x : least;
}

/* row, at: of the node's sum and its gate */
static inline void gate_one(nas_work *w, const circuit_op *op, size_t row, size_t at, size_t n,
                            float least, float *restrict y)
{
    const float *restrict bias = work_x(w, op->c);
    if (row == NO_ROW) {
        for (size_t c = 0; c < n; c++)
            y[c] = at_least(bias[c], least);
        return;
    }
    const float *restrict x = work_x(w, op->a) + row * n;
    if (at == NO_ROW) {
        for (size_t c = 0; c < n; c++)
            y[c] = at_least(x[c] + bias[c], least);
        return;
    }
    const float *restrict gate = work_x(w, op->b) + at * n;
    for (size_t c = 0; c < n; c++)
        y[c] = at_least(gate[c] * x[c] + bias[c], least);
}

FAST static void gated_forward(nas_work *w, const circuit_op *op)
{
    const size_t n = work_cols(w, op->out), rows = work_rows(w, op->out);
    const uint32_t *of = w->list[w->circuit->value[op->a].list].of;
    const float least = op->relu ? 0 : -INFINITY;
    float *restrict y = work_out(w, op->out);
    for (size_t node = 0; node < rows; node++, y += n)
        if (work_in_use(w, node))
            gate_one(w, op, of[node], gate_row(w, op->b, node), n, least, y);
        else
            memset(y, 0, n * sizeof *y);
}

/* dy of one node to its sum and gate. */
static inline void gate_one_back(nas_work *w, const circuit_op *op, size_t row, size_t at, size_t n,
                                 const float *restrict dy)
{
    const float *restrict x = work_x(w, op->a) + row * n;
    float *restrict dx = work_d(w, op->a) + row * n;
    if (at == NO_ROW) {
        work_add(dx, dy, 1, n);
        return;
    }
    const float *restrict gate = work_x(w, op->b) + at * n;
    float *restrict dgate = work_d(w, op->b) + at * n;
    for (size_t c = 0; c < n; c++) {
        dgate[c] += dy[c] * x[c];
        dx[c] += dy[c] * gate[c];
    }
}

FAST static void gated_backward(nas_work *w, const circuit_op *op)
{
    const size_t n = work_cols(w, op->out), rows = work_rows(w, op->out);
    const uint32_t *of = w->list[w->circuit->value[op->a].list].of;
    const float *restrict y = work_x(w, op->out);
    float *restrict dy = work_d(w, op->out), *restrict dbias = work_d(w, op->c);
    for (size_t node = 0; node < rows; node++, y += n, dy += n) {
        if (!work_in_use(w, node) || work_blank(dy, n))
            continue;
        for (size_t c = 0; op->relu && c < n; c++)
            dy[c] = y[c] > 0 ? dy[c] : 0;
        work_add(dbias, dy, 1, n);
        if (of[node] != NO_ROW)
            gate_one_back(w, op, of[node], gate_row(w, op->b, node), n, dy);
    }
}

int nas_circuit_gated(nas_circuit *t, int sums, int gate, int bias)
{
    const circuit_value *v = t->value;
    assert(v[sums].list && (v[gate].list == NAS_ROWS_GATED || v[gate].rows == t->labels));
    assert(v[sums].cols == v[gate].cols);
    circuit_op *op = circuit_add(t, t->cells * t->nodes, 0, v[sums].cols);
    op->a = sums;
    op->b = gate;
    op->c = bias;
    op->may_relu = true;
    op->forward = gated_forward;
    op->backward = gated_backward;
    return op->out;
}
