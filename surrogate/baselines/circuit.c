#include "surrogate/baselines/circuit_op.h"

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
    value.at = *sum;
    *sum += (size_t)(value.per ? value.per : value.rows) * (size_t)value.cols;
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

void circuit_scratch(nas_circuit *t, circuit_op *op, size_t per, size_t fixed)
{
    op->scratch = t->scratch;
    op->scratch_fixed = t->scratch_fixed;
    t->scratch += per;
    t->scratch_fixed += fixed;
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

nas_work *nas_work_new(const nas_circuit *t, const float *weights, size_t most)
{
    nas_work *w = nas_zalloc(1, sizeof *w);
    size_t cells = most * (size_t)t->cells, nodes = cells * (size_t)t->nodes;
    w->circuit = t;
    w->kernels = nas_kernels_choose(NULL);
    if (!w->kernels)
        w->kernels = &nas_kernels_generic;
    w->weights = weights;
    w->most = most;
    w->x = nas_zalloc(t->fixed + most * t->per, sizeof *w->x);
    w->dx = nas_alloc((t->fixed + most * t->per) * sizeof *w->dx);
    w->scratch = nas_zalloc(t->scratch_fixed + most * t->scratch, sizeof *w->scratch);
    w->label = nas_alloc(nodes * sizeof *w->label);
    w->from = nas_alloc(nodes * sizeof *w->from);
    w->to = nas_alloc(nodes * sizeof *w->to);
    w->count = nas_alloc(cells * sizeof *w->count);
    w->side = nas_alloc(2 * most * sizeof *w->side);
    for (int m = 0; m < NAS_MIX_COUNT; m++)
        if (t->mixes[m])
            w->mix[m] = nas_alloc(nodes * (size_t)t->nodes * sizeof *w->mix[m]);
    return w;
}

void nas_work_free(nas_work *w)
{
    if (!w)
        return;
    free(w->x);
    free(w->dx);
    free(w->scratch);
    free(w->packed);
    free(w->label);
    free(w->from);
    free(w->to);
    free(w->count);
    free(w->side);
    for (int m = 0; m < NAS_MIX_COUNT; m++)
        free(w->mix[m]);
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
    w->count[to] = e->count[at];
    memset(w->label + first, 0, nodes * sizeof *w->label);
    memset(w->from + first, 0, nodes * sizeof *w->from);
    memset(w->to + first, 0, nodes * sizeof *w->to);
    memcpy(w->label + first, e->label + at * own, own * sizeof *w->label);
    memcpy(w->from + first, e->from + at * own, own * sizeof *w->from);
    for (size_t i = 0; i < own; i++)
        for (size_t j = 0; j < own; j++)
            w->to[first + j] |= (w->from[first + i] >> j & 1) << i;
    for (int m = 0; m < NAS_MIX_COUNT; m++)
        if (w->circuit->mixes[m])
            fill_mix((nas_mix)m, w->from + first, w->count[to], nodes, w->mix[m] + first * nodes);
}

void nas_work_load(nas_work *w, const nas_encoding *e, const uint32_t *row, size_t first, size_t n)
{
    size_t cells = (size_t)w->circuit->cells;
    assert(n <= w->most && e->nodes <= w->circuit->nodes && e->cells == w->circuit->cells);
    w->n = n;
    for (size_t i = 0; i < n; i++) {
        size_t at = row ? row[i] : first + i;
        assert(at < e->n);
        memcpy(w->side + 2 * i, e->side + 2 * at, 2 * sizeof *w->side);
        for (size_t c = 0; c < cells; c++)
            load_graph(w, e, at * cells + c, i * cells + c);
    }
}

void nas_work_forward(nas_work *w, const nas_rng *rng)
{
    w->training = rng != NULL;
    if (rng)
        w->rng = *rng;
    for (int i = 0; i < w->circuit->n_op; i++)
        w->circuit->op[i].forward(w, &w->circuit->op[i]);
}

void nas_work_hold(nas_work *w, bool hold)
{
    w->hold = hold;
}

const float *nas_work_result(const nas_work *w)
{
    return work_x(w, w->circuit->y);
}

float *nas_work_gradient(nas_work *w)
{
    memset(w->dx, 0, (w->circuit->fixed + w->most * w->circuit->per) * sizeof *w->dx);
    return work_d(w, w->circuit->y);
}

void nas_work_backward(nas_work *w, float *gradient)
{
    w->dw = gradient;
    for (int i = w->circuit->n_op; i-- > 0;)
        if (w->circuit->op[i].backward)
            w->circuit->op[i].backward(w, &w->circuit->op[i]);
}

/* ---- optimiser ---- */

void nas_adam_init(nas_adam *adam, size_t n)
{
    *adam = (nas_adam){.n = n};
    adam->mean = nas_zalloc(n, sizeof *adam->mean);
    adam->square = nas_zalloc(n, sizeof *adam->square);
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
