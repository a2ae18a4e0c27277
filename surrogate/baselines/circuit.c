#include "surrogate/baselines/circuit_op.h"
#include "surrogate/baselines/colour.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- program ---- */

nas_circuit *nas_circuit_new(int cells, int nodes, int labels)
{
    nas_circuit *t = nas_zalloc(1, sizeof *t);
    t->cells = cells;
    t->nodes = nodes;
    t->labels = labels;
    return t;
}

void nas_circuit_free(nas_circuit *t)
{
    free(t);
}

void nas_circuit_end(nas_circuit *t, int y)
{
    assert(t->value[y].per == 1);
    t->y = y;
    circuit_place(t);
}

size_t nas_circuit_weights(const nas_circuit *t)
{
    return t->weights;
}

size_t nas_circuit_trained(const nas_circuit *t)
{
    size_t count = 0;
    for (int i = 0; i < t->n_value; i++)
        if (t->value[i].weight && !t->value[i].fixed)
            count += (size_t)t->value[i].rows * (size_t)t->value[i].cols;
    return count;
}

int nas_circuit_cols(const nas_circuit *t, int value)
{
    return t->value[value].cols;
}

static int add_value(nas_circuit *t, circuit_value value)
{
    assert(t->n_value < CIRCUIT_VALUES);
    size_t *sum = value.weight ? &t->weights : value.per ? &t->per : &t->fixed;
    size_t size = (size_t)(value.per ? value.per : value.rows) * (size_t)value.cols;
    value.at = *sum;
    value.root = t->n_value;
    *sum += value.weight ? size : circuit_lines(size);
    t->value[t->n_value] = value;
    return t->n_value++;
}

int nas_circuit_param(nas_circuit *t, int rows, int cols, nas_init init, double scale)
{
    return add_value(
        t,
        (circuit_value){.rows = rows, .cols = cols, .weight = true, .init = init, .scale = scale});
}

circuit_op *circuit_add(nas_circuit *t, int per, int rows, int cols)
{
    assert(t->n_op < CIRCUIT_OPS);
    circuit_op *op = &t->op[t->n_op++];
    *op = (circuit_op){.a = -1, .b = -1, .c = -1, .d = -1};
    op->out = add_value(t, (circuit_value){.per = per, .rows = per ? 0 : rows, .cols = cols});
    return op;
}

circuit_op *circuit_over(nas_circuit *t, int x)
{
    assert(t->n_op < CIRCUIT_OPS && t->n_value < CIRCUIT_VALUES && !t->value[x].weight);
    circuit_op *op = &t->op[t->n_op++];
    *op = (circuit_op){.a = -1, .b = -1, .c = -1, .d = -1, .out = t->n_value++};
    t->value[op->out] = t->value[x];
    return op;
}

void circuit_scratch(nas_circuit *t, circuit_op *op, size_t per, size_t fixed)
{
    op->scratch = t->scratch;
    op->scratch_fixed = t->scratch_fixed;
    t->scratch += circuit_lines(per);
    t->scratch_fixed += circuit_lines(fixed);
}

void circuit_list(nas_circuit *t, circuit_op *op, nas_rows_of rows)
{
    assert(!rows || t->value[op->out].per == t->cells * t->nodes);
    t->value[op->out].list = rows;
    t->rows[rows] |= rows != NAS_ROWS_NODES;
}

static float init_number(const circuit_value *v, nas_rng *rng, size_t i)
{
    switch (v->init) {
    case NAS_INIT_UNIFORM:
        return (float)(v->scale * (2 * nas_rng_unit(rng) - 1));
    case NAS_INIT_FIRST:
        if (i >= (size_t)v->cols)
            return 0; /* fall through */
    case NAS_INIT_NORMAL:
        return (float)(v->scale * nas_rng_normal(rng));
    default:
        return v->init == NAS_INIT_ONE;
    }
}

static void init_value(const circuit_value *v, nas_rng rng, float *to)
{
    size_t n = (size_t)v->rows * (size_t)v->cols;
    for (size_t i = 0; i < n; i++)
        to[i] = init_number(v, &rng, i);
}

void nas_circuit_init(const nas_circuit *t, const nas_rng *rng, float *weights)
{
    for (int i = 0; i < t->n_value; i++)
        if (t->value[i].weight)
            init_value(&t->value[i], nas_rng_child(rng, "weights", (uint64_t)i),
                       weights + t->value[i].at);
}

/* ---- work ---- */

/* Architectures of a block. */
enum { BLOCK = 16 };

static size_t blocks_of(const nas_work *w, size_t n)
{
    return (n + w->block - 1) / w->block;
}

static void new_graphs(const nas_circuit *t, size_t most, work_graphs *g)
{
    size_t cells = most * (size_t)t->cells, nodes = cells * (size_t)t->nodes;
    g->label = nas_alloc(nodes * sizeof *g->label);
    g->from = nas_alloc(nodes * sizeof *g->from);
    g->to = nas_alloc(nodes * sizeof *g->to);
    if (t->rows[NAS_ROWS_STATES])
        g->state = nas_alloc(nodes * sizeof *g->state);
    g->count = nas_alloc(cells * sizeof *g->count);
    g->side = nas_alloc(2 * most * sizeof *g->side);
    for (int m = 0; m < NAS_MIX_COUNT; m++)
        if (t->mixes[m])
            g->mix[m] = nas_alloc(nodes * (size_t)t->nodes * sizeof *g->mix[m]);
}

/* Only what learns keeps the values of all its blocks. */
nas_work *nas_work_new(const nas_circuit *t, const float *weights, size_t most, bool learns)
{
    nas_work *w = nas_zalloc(1, sizeof *w);
    w->circuit = t;
    w->kernels = nas_kernels_choose(NULL);
    if (!w->kernels)
        w->kernels = &nas_kernels_generic;
    w->weights = weights;
    w->most = most;
    w->block = t->whole || most < BLOCK ? most : BLOCK;
    w->learns = learns;
    w->step = 1;
    size_t kept = learns ? blocks_of(w, most) : 1, cols = (size_t)t->value[t->y].cols;
    w->all_x = nas_zalloc_lines(kept * (t->fixed + w->block * (learns ? t->per : t->near_x)) *
                                sizeof(float));
    w->all_scratch =
        nas_zalloc_lines(kept * (t->scratch_fixed + w->block * t->scratch) * sizeof(float));
    if (learns)
        w->dx = nas_zalloc_lines((t->fixed + w->block * t->near_dx) * sizeof *w->dx);
    w->y = nas_alloc(most * cols * sizeof *w->y);
    w->dy = nas_alloc(most * cols * sizeof *w->dy);
    w->pack = nas_zalloc((size_t)t->n_value, sizeof *w->pack);
    new_graphs(t, most, &w->all);
    size_t nodes = work_room(w);
    for (int k = 0; k < NAS_ROWS_COUNT; k++)
        if (t->rows[k]) {
            w->list[k].node = nas_alloc(nodes * sizeof *w->list[k].node);
            w->list[k].set = nas_alloc(nodes * sizeof *w->list[k].set);
            w->list[k].of = nas_alloc(nodes * sizeof *w->list[k].of);
        }
    for (w->slots = 1; w->slots < 2 * nodes; w->slots *= 2)
        ;
    w->slot = nas_alloc(w->slots * sizeof *w->slot);
    return w;
}

void nas_work_free(nas_work *w)
{
    if (!w)
        return;
    work_clear_packs(w);
    free(w->all_x);
    free(w->all_scratch);
    free(w->dx);
    free(w->y);
    free(w->dy);
    free(w->all.label);
    free(w->all.from);
    free(w->all.to);
    free(w->all.state);
    free(w->slot);
    free(w->all.count);
    free(w->all.side);
    for (int m = 0; m < NAS_MIX_COUNT; m++)
        free(w->all.mix[m]);
    for (int k = 0; k < NAS_ROWS_COUNT; k++) {
        free(w->list[k].node);
        free(w->list[k].set);
        free(w->list[k].of);
    }
    free(w);
}

static void unit_rows(float *m, size_t n)
{
    for (size_t i = 0; i < n; i++, m += n) {
        float sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += m[j];
        for (size_t j = 0; sum > 0 && j < n; j++)
            m[j] /= sum;
    }
}

/* One graph's matrix (nodes, nodes); rows and columns beyond count are zero. */
static void fill_mix(nas_mix mix, const uint64_t *from, size_t count, size_t nodes, float *m)
{
    for (size_t i = 0; i < nodes; i++)
        for (size_t j = 0; j < nodes; j++)
            m[i * nodes + j] = i < count && j < count && (i == j || from[j] >> i & 1);
    if (mix == NAS_MIX_SELF_SUCC)
        return;
    unit_rows(m, nodes);
    if (mix == NAS_MIX_FORTH)
        return;
    for (size_t i = 0; i < nodes; i++)
        for (size_t j = 0; j < i; j++) {
            float swap = m[i * nodes + j];
            m[i * nodes + j] = m[j * nodes + i];
            m[j * nodes + i] = swap;
        }
    unit_rows(m, nodes);
}

static void load_graph(nas_work *w, const nas_encoding *e, size_t at, size_t to)
{
    size_t nodes = (size_t)w->circuit->nodes, own = (size_t)e->nodes, first = to * nodes;
    const work_graphs *g = &w->all;
    g->count[to] = e->count[at];
    memset(g->label + first, 0, nodes * sizeof *g->label);
    memset(g->from + first, 0, nodes * sizeof *g->from);
    memset(g->to + first, 0, nodes * sizeof *g->to);
    memcpy(g->label + first, e->label + at * own, own * sizeof *g->label);
    memcpy(g->from + first, e->from + at * own, own * sizeof *g->from);
    for (size_t i = 0; i < own; i++)
        for (uint64_t from = g->from[first + i]; from; from &= from - 1)
            g->to[first + (size_t)__builtin_ctzll(from)] |= UINT64_C(1) << i;
    if (g->state)
        nas_colours_of_states(g->label + first, g->from + first, g->count[to], g->state + first);
    for (int m = 0; m < NAS_MIX_COUNT; m++)
        if (w->circuit->mixes[m])
            fill_mix((nas_mix)m, g->from + first, g->count[to], nodes, g->mix[m] + first * nodes);
}

void nas_work_load(nas_work *w, const nas_encoding *e, const uint32_t *row, size_t first, size_t n)
{
    size_t cells = (size_t)w->circuit->cells;
    assert(n <= w->most && e->nodes <= w->circuit->nodes && e->cells == w->circuit->cells);
    w->loaded = n;
    for (size_t i = 0; i < n; i++) {
        size_t at = row ? row[i] : first + i;
        assert(at < e->n);
        memcpy(w->all.side + 2 * i, e->side + 2 * at, 2 * sizeof *w->all.side);
        for (size_t c = 0; c < cells; c++)
            load_graph(w, e, at * cells + c, i * cells + c);
    }
}

/* Makes block k the one at hand. */
static void select_block(nas_work *w, size_t k)
{
    const nas_circuit *t = w->circuit;
    size_t first = k * w->block, cell = first * (size_t)t->cells, node = cell * (size_t)t->nodes;
    size_t kept = w->learns ? k : 0;
    w->n = w->loaded - first < w->block ? w->loaded - first : w->block;
    w->x = w->all_x + kept * (t->fixed + w->block * (w->learns ? t->per : t->near_x));
    w->scratch = w->all_scratch + kept * (t->scratch_fixed + w->block * t->scratch);
    w->label = w->all.label + node;
    w->from = w->all.from + node;
    w->to = w->all.to + node;
    w->state = w->all.state ? w->all.state + node : NULL;
    w->count = w->all.count + cell;
    w->side = w->all.side + 2 * first;
    for (int m = 0; m < NAS_MIX_COUNT; m++)
        if (t->mixes[m])
            w->mix[m] = w->all.mix[m] + node * (size_t)t->nodes;
    w->block_rng = k ? nas_rng_child(&w->rng, "block", k) : w->rng;
    work_lists(w);
}

void nas_work_forward(nas_work *w, const nas_rng *rng)
{
    const nas_circuit *t = w->circuit;
    const size_t cols = work_cols(w, t->y);
    w->training = rng != NULL;
    w->rng = rng ? *rng : nas_rng_seed(0);
    w->step += w->training;
    for (size_t k = 0; k < blocks_of(w, w->loaded); k++) {
        select_block(w, k);
        for (int i = 0; i < t->n_op; i++)
            t->op[i].forward(w, &t->op[i]);
        memcpy(w->y + k * w->block * cols, work_x(w, t->y), w->n * cols * sizeof *w->y);
    }
}

void nas_work_hold(nas_work *w, bool hold)
{
    w->hold = hold;
}

const float *nas_work_result(const nas_work *w)
{
    return w->y;
}

float *nas_work_gradient(nas_work *w)
{
    memset(w->dy, 0, w->loaded * work_cols(w, w->circuit->y) * sizeof *w->dy);
    return w->dy;
}

/* Each value's gradient begins at zero before its last reader adds to it. */
static void block_backward(nas_work *w, const float *dy)
{
    const nas_circuit *t = w->circuit;
    int opened = 0;
    memset(w->dx, 0, t->fixed * sizeof *w->dx);
    for (int i = t->n_op; i >= 0; i--) {
        for (; opened < t->n_opened && t->reader[t->opened[opened]] == i; opened++) {
            int root = t->opened[opened];
            memset(work_d(w, root), 0, work_rows(w, root) * work_cols(w, root) * sizeof *w->dx);
        }
        if (i == t->n_op)
            memcpy(work_d(w, t->y), dy, w->n * work_cols(w, t->y) * sizeof *dy);
        else if (t->op[i].backward)
            t->op[i].backward(w, &t->op[i]);
    }
}

void nas_work_backward(nas_work *w, float *gradient)
{
    const size_t cols = work_cols(w, w->circuit->y);
    assert(w->learns);
    w->dw = gradient;
    for (size_t k = 0; k < blocks_of(w, w->loaded); k++) {
        select_block(w, k);
        block_backward(w, w->dy + k * w->block * cols);
    }
}

/* ---- optimiser ---- */

void nas_adam_init(nas_adam *adam, size_t n)
{
    *adam = (nas_adam){.n = n};
    adam->mean = nas_zalloc_lines(n * sizeof *adam->mean);
    adam->square = nas_zalloc_lines(n * sizeof *adam->square);
}

void nas_adam_clear(nas_adam *adam)
{
    free(adam->mean);
    free(adam->square);
    *adam = (nas_adam){0};
}

/* Kingma and Ba 2015 with beta 0.9 and 0.999, eps 1e-8; decoupled decay of Loshchilov and Hutter
 * 2019. */
FAST void nas_adam_update(nas_adam *adam, nas_adam_step step, float *weights, float *gradient)
{
    adam->step++;
    const float b1 = 0.9f, b2 = 0.999f;
    const float scale1 = (float)(step.rate / (1 - pow(0.9, (double)adam->step)));
    const float scale2 = (float)(1 / (1 - pow(0.999, (double)adam->step)));
    const float shrink = step.decoupled ? (float)(step.rate * step.decay) : 0;
    const float pull = step.decoupled ? 0 : (float)step.decay;
    float *restrict w = weights, *restrict g = gradient;
    float *restrict m = adam->mean, *restrict s = adam->square;
    for (size_t i = 0; i < adam->n; i++) {
        float slope = g[i] + pull * w[i];
        m[i] = b1 * m[i] + (1 - b1) * slope;
        s[i] = b2 * s[i] + (1 - b2) * slope * slope;
        w[i] -= shrink * w[i] + scale1 * m[i] / (sqrtf(scale2 * s[i]) + 1e-8f);
        g[i] = 0;
    }
}
