/* What is inside a tape? For the forward and backward pass only.
 *
 *     layer_tape *l = &tape->encoder.layer[i];
 *     nas_attention self = self_attention(l, spans, false, d);
 *     nas_norm_back(model, w->norm[0], l->x[0], l->stat[0], dy, rows, dx, grad); */
#ifndef NAS_SURROGATE_MODEL_TAPE_PARTS_H
#define NAS_SURROGATE_MODEL_TAPE_PARTS_H

#include "surrogate/model_tape.h"

typedef struct {
    float *x[3];          /* (rows,d) in front of each norm; without training all the same */
    float *stat[3];       /* (rows,2) */
    float *qkv;           /* (rows,3d), turned in the encoder */
    float *mix, *log_sum; /* (rows,d), (rows,heads) */
    float *q, *kv;        /* cross: (rows,d), (memory rows,2d) */
    float *cross_mix, *cross_log_sum;
    float *hidden; /* (rows,ffn) after relu */
} layer_tape;

typedef struct {
    layer_tape *layer;
    float *last; /* (rows,d) behind the last layer */
} stack_tape;

typedef struct nas_rank_mark nas_rank_mark;

struct nas_tape {
    const nas_model *model;
    bool train;
    float dropout; /* share of hidden values left out */
    nas_rng noise;
    float *block;
    size_t used, cap;
    stack_tape encoder, decoder;
    float *normed;               /* (most rows,d), of the step at hand */
    float *memory, *memory_stat; /* (input rows,d), (input rows,2) */
    float *logits;               /* (output rows,decoder_vocab) */
    float *dx, *dnormed, *dwide, *dmix, *dmemory, *dkv;
    nas_scratch scratch;
    nas_packed pack;
    nas_positions positions;
    nas_ranking ranking;
    nas_rank_mark *mark; /* [n_mark] the numbers that are compared */
    size_t n_mark, mark_cap;
};

static inline nas_attention self_attention(const layer_tape *l, nas_spans spans, bool causal,
                                           size_t d)
{
    return (nas_attention){.queries = spans,
                           .keys = spans,
                           .causal = causal,
                           .q = l->qkv,
                           .k = l->qkv + d,
                           .v = l->qkv + 2 * d,
                           .q_stride = 3 * d,
                           .kv_stride = 3 * d};
}

static inline nas_attention cross_attention(const layer_tape *l, nas_spans spans, nas_spans memory,
                                            size_t d)
{
    return (nas_attention){.queries = spans,
                           .keys = memory,
                           .q = l->q,
                           .k = l->kv,
                           .v = l->kv + d,
                           .q_stride = d,
                           .kv_stride = 2 * d};
}

/* Adds scale * the gradient of the ranking loss, found before, to what the logits became. */
void nas_tape_rank_back(nas_tape *t, float scale);

float nas_log_sum_exp(const float *x, size_t n);

#endif
