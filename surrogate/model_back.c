/* The backward pass: the forward pass read from its end. dx holds the gradient of the stream. */
#include "surrogate/model_tape_parts.h"

#include <math.h>
#include <string.h>

/* logits -> scale * (softmax - one at the target) / counted tokens of the example, in place. */
static void loss_back(nas_tape *t, const nas_batch *b, float scale)
{
    size_t vocab = t->model->config.decoder_vocab;
#pragma omp parallel for schedule(dynamic) if (nas_spans_rows(b->output) * vocab > NAS_ALONE)
    for (size_t e = 0; e < b->output.n; e++) {
        size_t begin = b->output.at[e], end = b->output.at[e + 1], counted = 0;
        for (size_t i = begin; i < end; i++)
            counted += b->target[i] != 0;
        for (size_t i = begin; i < end; i++) {
            float *z = t->logits + i * vocab, sum = nas_log_sum_exp(z, vocab);
            float share = b->target[i] ? scale / (float)counted : 0;
            for (size_t j = 0; j < vocab; j++)
                z[j] = share * expf(z[j] - sum);
            z[b->target[i]] -= share;
        }
    }
}

/* A dense layer behind a norm: the norm's output is computed again. */
static void normed_dense_back(nas_tape *t, const nas_dense *w, nas_norm norm, const float *x,
                              float *stat, const float *dy, size_t rows, float *grad)
{
    const nas_model *m = t->model;
    nas_norm_forward(m, norm, x, rows, t->normed, stat);
    nas_dense_back(w, m->kernels->linear, t->normed, dy, rows, t->dnormed, (nas_finish){0}, grad,
                   &t->pack);
    nas_norm_back(m, norm, x, stat, t->dnormed, rows, t->dx, grad);
}

static void ffn_back(nas_tape *t, const nas_layer *w, layer_tape *l, size_t rows, float *grad)
{
    const nas_model *m = t->model;
    nas_finish relu = {.gate = l->hidden, .gate_scale = 1 / (1 - t->dropout)};
    nas_dense_back(&w->down, m->kernels->linear, l->hidden, t->dx, rows, t->dwide, relu, grad,
                   &t->pack);
    normed_dense_back(t, &w->up, w->norm[2], l->x[2], l->stat[2], t->dwide, rows, grad);
}

/* Adds to dmemory. */
static void cross_back(nas_tape *t, const nas_layer *w, layer_tape *l, nas_spans spans,
                       nas_spans memory, float *grad)
{
    const nas_model *m = t->model;
    const nas_product *product = m->kernels->linear;
    size_t rows = nas_spans_rows(spans), d = m->config.d;
    nas_dense_back(&w->cross_out, product, l->cross_mix, t->dx, rows, t->dmix, (nas_finish){0},
                   grad, &t->pack);
    nas_attention a = cross_attention(l, spans, memory, d);
    nas_attention_back(m, &a, l->cross_mix, l->cross_log_sum, t->dmix, t->dwide, t->dkv, t->dkv + d,
                       &t->scratch);
    nas_dense_back(&w->cross_kv, product, t->memory, t->dkv, nas_spans_rows(memory), t->dmemory,
                   (nas_finish){.add = true}, grad, &t->pack);
    normed_dense_back(t, &w->cross_q, w->norm[1], l->x[1], l->stat[1], t->dwide, rows, grad);
}

static void layer_back(nas_tape *t, const nas_layer *w, layer_tape *l, nas_spans spans,
                       nas_spans memory, float *grad)
{
    const nas_model *m = t->model;
    size_t rows = nas_spans_rows(spans), d = m->config.d;
    ffn_back(t, w, l, rows, grad);
    if (w->cross)
        cross_back(t, w, l, spans, memory, grad);
    nas_dense_back(&w->out, m->kernels->linear, l->mix, t->dx, rows, t->dmix, (nas_finish){0}, grad,
                   &t->pack);
    nas_attention a = self_attention(l, spans, w->cross, d);
    nas_attention_back(m, &a, l->mix, l->log_sum, t->dmix, t->dwide, t->dwide + d, t->dwide + 2 * d,
                       &t->scratch);
    if (!w->cross)
        nas_rotary(m, spans, t->dwide, true);
    normed_dense_back(t, &w->qkv, w->norm[0], l->x[0], l->stat[0], t->dwide, rows, grad);
}

void nas_tape_back(nas_tape *t, const nas_batch *b, float scale, float *grad)
{
    const nas_model *m = t->model;
    size_t d = m->config.d, in = nas_spans_rows(b->input), out = nas_spans_rows(b->output);
    if (t->ranking.weight > 0)
        nas_tape_rank_loss(t, b);
    loss_back(t, b, scale);
    if (t->ranking.weight > 0)
        nas_tape_rank_back(t, scale * t->ranking.weight * (float)b->output.n);
    memset(t->dmemory, 0, in * d * sizeof *t->dmemory);
    nas_dense_back(&m->head, m->kernels->exact, t->decoder.last, t->logits, out, t->dx,
                   (nas_finish){0}, grad, &t->pack);
    for (size_t i = m->config.decoder_layers; i-- > 0;)
        layer_back(t, &m->decoder[i], &t->decoder.layer[i], b->output, b->input, grad);
    nas_embed_back(grad + m->target_embedding, b->shifted, out, d, t->dx);
    memset(t->dx, 0, in * d * sizeof *t->dx);
    nas_norm_back(m, m->memory_norm, t->encoder.last, t->memory_stat, t->dmemory, in, t->dx, grad);
    for (size_t i = m->config.encoder_layers; i-- > 0;)
        layer_back(t, &m->encoder[i], &t->encoder.layer[i], b->input, b->input, grad);
    nas_embed_back(grad + m->embedding, b->tokens, in, d, t->dx);
}
