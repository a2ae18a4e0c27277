/* The forward pass, and the memory of both passes. */
#include "surrogate/model_tape_parts.h"

#include "spaces/base/mem.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE 0x200000

nas_tape *nas_tape_new(const nas_model *model, bool train)
{
    nas_tape *t = nas_zalloc(1, sizeof *t);
    t->model = model;
    t->train = train;
    t->encoder.layer = nas_zalloc(model->config.encoder_layers, sizeof *t->encoder.layer);
    t->decoder.layer = nas_zalloc(model->config.decoder_layers, sizeof *t->decoder.layer);
    return t;
}

void nas_tape_free(nas_tape *t)
{
    if (!t)
        return;
    free(t->encoder.layer);
    free(t->decoder.layer);
    free(t->block);
    nas_scratch_clear(&t->scratch);
    nas_packed_clear(&t->pack);
    free(t->positions.data);
    free(t->mark);
    free(t);
}

void nas_tape_dropout(nas_tape *t, double share, const nas_rng *rng)
{
    t->dropout = (float)share;
    t->noise = *rng;
}

/* ---- memory: the same walk counts (base NULL) and places ---- */

static float *take(nas_tape *t, size_t floats)
{
    float *p = t->block ? t->block + t->used : NULL;
    t->used += (floats + 15) / 16 * 16;
    return p;
}

static void place_layer(nas_tape *t, layer_tape *l, size_t rows, size_t memory_rows, bool cross)
{
    const nas_model_config *c = &t->model->config;
    for (int i = 0; i < (t->train ? 3 : 1); i++)
        if (i != 1 || cross)
            l->x[i] = take(t, rows * c->d);
    for (int i = 0; i < 3; i++)
        l->stat[i] = take(t, rows * 2);
    if (!t->train)
        l->x[1] = l->x[2] = l->x[0];
    l->qkv = take(t, rows * 3 * c->d);
    l->mix = take(t, rows * c->d);
    l->log_sum = take(t, rows * c->heads);
    l->hidden = take(t, rows * c->ffn);
    if (cross) {
        l->q = take(t, rows * c->d);
        l->kv = take(t, memory_rows * 2 * c->d);
        l->cross_mix = take(t, rows * c->d);
        l->cross_log_sum = take(t, rows * c->heads);
    }
}

static void place_stack(nas_tape *t, stack_tape *s, size_t n_layers, size_t rows,
                        size_t memory_rows, bool cross)
{
    for (size_t i = 0; i < n_layers; i++)
        if (t->train || i == 0)
            place_layer(t, &s->layer[i], rows, memory_rows, cross);
        else
            s->layer[i] = s->layer[0];
    s->last = t->train ? take(t, rows * t->model->config.d) : s->layer[0].x[0];
}

static void place_back(nas_tape *t, size_t rows, size_t memory_rows)
{
    const nas_model_config *c = &t->model->config;
    size_t wide = c->ffn > 3 * c->d ? c->ffn : 3 * c->d;
    t->dx = take(t, rows * c->d);
    t->dnormed = take(t, rows * c->d);
    t->dwide = take(t, rows * wide);
    t->dmix = take(t, rows * c->d);
    t->dmemory = take(t, memory_rows * c->d);
    t->dkv = take(t, memory_rows * 2 * c->d);
}

static void place_all(nas_tape *t, size_t in, size_t out)
{
    const nas_model_config *c = &t->model->config;
    size_t most = in > out ? in : out;
    t->used = 0;
    t->normed = take(t, most * c->d);
    t->memory = take(t, in * c->d);
    t->memory_stat = take(t, in * 2);
    t->logits = take(t, out * c->decoder_vocab);
    place_stack(t, &t->encoder, c->encoder_layers, in, 0, false);
    place_stack(t, &t->decoder, c->decoder_layers, out, in, true);
    if (t->train)
        place_back(t, most, in);
}

static void place(nas_tape *t, size_t in, size_t out)
{
    float *block = t->block;
    t->block = NULL;
    place_all(t, in, out);
    if (t->used > t->cap) {
        free(block);
        t->cap = t->used;
        if (posix_memalign((void **)&block, HUGE_PAGE, t->cap * sizeof *block) != 0)
            nas_out_of_memory(t->cap * sizeof *block);
        madvise(block, t->cap * sizeof *block, MADV_HUGEPAGE); /* rows lie a page apart or more */
    }
    t->block = block;
    place_all(t, in, out);
}

size_t nas_tape_bytes(const nas_model *model, bool train, size_t input_rows, size_t output_rows)
{
    nas_tape *t = nas_tape_new(model, train);
    place_all(t, input_rows, output_rows);
    size_t bytes = t->used * sizeof(float);
    nas_tape_free(t);
    return bytes;
}

/* ---- forward ---- */

/* The stream of the next step: the same memory, or a copy when the old one is remembered. */
static float *next(float *from, float *to, size_t count)
{
    if (from != to)
        memcpy(to, from, count * sizeof *to);
    return to;
}

/* x (rows,d) in l->x[0]; the result goes to out. */
static void layer_forward(nas_tape *t, const nas_layer *w, layer_tape *l, nas_spans spans,
                          nas_spans memory, float *out)
{
    const nas_model *m = t->model;
    size_t rows = nas_spans_rows(spans), d = m->config.d;
    nas_norm_forward(m, w->norm[0], l->x[0], rows, t->normed, l->stat[0]);
    nas_dense_forward(m, &w->qkv, t->normed, rows, l->qkv, NAS_DENSE_SET);
    if (!w->cross)
        nas_rotary(m, spans, l->qkv, false);
    nas_attention self = self_attention(l, spans, w->cross, d);
    nas_attention_forward(m, &self, l->mix, l->log_sum, &t->scratch);
    float *x = next(l->x[0], w->cross ? l->x[1] : l->x[2], rows * d);
    nas_dense_forward(m, &w->out, l->mix, rows, x, NAS_DENSE_ADD);
    if (w->cross) {
        nas_norm_forward(m, w->norm[1], x, rows, t->normed, l->stat[1]);
        nas_dense_forward(m, &w->cross_q, t->normed, rows, l->q, NAS_DENSE_SET);
        nas_dense_forward(m, &w->cross_kv, t->memory, nas_spans_rows(memory), l->kv, NAS_DENSE_SET);
        nas_attention cross = cross_attention(l, spans, memory, d);
        nas_attention_forward(m, &cross, l->cross_mix, l->cross_log_sum, &t->scratch);
        x = next(x, l->x[2], rows * d);
        nas_dense_forward(m, &w->cross_out, l->cross_mix, rows, x, NAS_DENSE_ADD);
    }
    nas_norm_forward(m, w->norm[2], x, rows, t->normed, l->stat[2]);
    nas_dense_forward(m, &w->up, t->normed, rows, l->hidden, NAS_DENSE_RELU);
    if (t->dropout > 0) {
        nas_rng noise = nas_rng_child(&t->noise, w->cross ? "decoder" : "encoder", w->up.weight);
        nas_dropout(l->hidden, rows, m->config.ffn, t->dropout, &noise);
    }
    x = next(x, out, rows * d);
    nas_dense_forward(m, &w->down, l->hidden, rows, x, NAS_DENSE_ADD);
}

static void stack_forward(nas_tape *t, const nas_layer *layers, stack_tape *s, size_t n,
                          nas_spans spans, nas_spans memory)
{
    for (size_t i = 0; i < n; i++)
        layer_forward(t, &layers[i], &s->layer[i], spans, memory,
                      i + 1 < n ? s->layer[i + 1].x[0] : s->last);
}

static void encode(nas_tape *t, const nas_batch *b)
{
    const nas_model *m = t->model;
    size_t rows = nas_spans_rows(b->input);
    assert(nas_spans_longest(b->input) <= m->config.max_input);
    nas_embed_forward(m->weights + m->embedding, b->tokens, rows, m->config.d,
                      t->encoder.layer[0].x[0]);
    stack_forward(t, m->encoder, &t->encoder, m->config.encoder_layers, b->input, b->input);
    nas_norm_forward(m, m->memory_norm, t->encoder.last, rows, t->memory, t->memory_stat);
}

void nas_tape_encode(nas_tape *t, const nas_batch *b)
{
    place(t, nas_spans_rows(b->input), 0);
    encode(t, b);
}

void nas_tape_forward(nas_tape *t, const nas_batch *b)
{
    const nas_model *m = t->model;
    size_t rows = nas_spans_rows(b->output), d = m->config.d;
    place(t, nas_spans_rows(b->input), rows);
    encode(t, b);
    float *x = t->decoder.layer[0].x[0];
    const float *positions = nas_positions_to(&t->positions, nas_spans_longest(b->output), d);
    nas_embed_forward(m->weights + m->target_embedding, b->shifted, rows, d, x);
#pragma omp parallel for schedule(dynamic) if (rows * d > NAS_ALONE)
    for (size_t e = 0; e < b->output.n; e++)
        for (size_t i = b->output.at[e]; i < b->output.at[e + 1]; i++)
            m->kernels->rows->add_scaled(x + i * d, 1, positions + (i - b->output.at[e]) * d, d);
    stack_forward(t, m->decoder, &t->decoder, m->config.decoder_layers, b->output, b->input);
    nas_dense_forward(m, &m->head, t->decoder.last, rows, t->logits, NAS_DENSE_SET);
}

const float *nas_tape_memory(const nas_tape *t)
{
    return t->memory;
}

const float *nas_tape_logits(const nas_tape *t)
{
    return t->logits;
}

/* ---- loss ---- */

float nas_log_sum_exp(const float *x, size_t n)
{
    float max = x[0], sum = 0;
    for (size_t i = 1; i < n; i++)
        max = fmaxf(max, x[i]);
    for (size_t i = 0; i < n; i++)
        sum += expf(x[i] - max);
    return max + logf(sum);
}

void nas_tape_loss(const nas_tape *t, const nas_batch *b, float *loss, float *log_prob)
{
    size_t vocab = t->model->config.decoder_vocab;
#pragma omp parallel for schedule(dynamic) if (nas_spans_rows(b->output) * vocab > NAS_ALONE)
    for (size_t e = 0; e < b->output.n; e++) {
        size_t counted = 0;
        float sum = 0;
        for (size_t i = b->output.at[e]; i < b->output.at[e + 1]; i++)
            if (b->target[i]) {
                const float *z = t->logits + i * vocab;
                sum += z[b->target[i]] - nas_log_sum_exp(z, vocab);
                counted++;
            }
        if (log_prob)
            log_prob[e] = sum;
        if (loss)
            loss[e] = counted ? -sum / (float)counted : 0;
    }
}
