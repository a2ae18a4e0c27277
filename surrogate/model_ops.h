/* How do the parts of the model compute, forward and backward? Twins on raw pointers.
 *
 *     nas_dense_forward(model, &layer->up, x, rows, h, NAS_DENSE_RELU);
 *     nas_dense_back(model, &layer->up, product, x, dy, rows, dx, finish, grad, &pack);
 *
 * Rows are tokens of all examples one behind the other, without padding; a nas_spans says where
 * each example lies. Everything runs on all threads, in parallel over outputs: no sum is split over
 * threads. A "d" in front names the gradient of what follows. */
#ifndef NAS_SURROGATE_MODEL_OPS_H
#define NAS_SURROGATE_MODEL_OPS_H

#include "surrogate/model.h"

#include <stdint.h>

/* Example i is rows at[i] to at[i + 1]; at[0] is 0. */
typedef struct {
    size_t n;
    const size_t *at;
} nas_spans;

static inline size_t nas_spans_rows(nas_spans s)
{
    return s.at[s.n];
}

static inline size_t nas_spans_size(nas_spans s, size_t i)
{
    return s.at[i + 1] - s.at[i];
}

size_t nas_spans_longest(nas_spans s);

/* ---- rows ---- */

typedef enum { NAS_DENSE_SET, NAS_DENSE_ADD, NAS_DENSE_RELU } nas_dense_use;

/* y (rows,out) = x W^T + b, or y += that, or y = relu of that. */
void nas_dense_forward(const nas_model *m, const nas_dense *l, const float *x, size_t rows,
                       float *y, nas_dense_use use);
/* Adds to the gradients of W and b; dx (rows,in) = dy W with a finish: add, or the gate of a relu
 * in front. pack is memory for one packed piece of x. */
void nas_dense_back(const nas_dense *l, const nas_product *product, const float *x, const float *dy,
                    size_t rows, float *dx, nas_finish finish, float *grad, nas_packed *pack);

void nas_norm_forward(const nas_model *m, nas_norm norm, const float *x, size_t rows, float *y,
                      float *stat); /* stat (rows,2) */
/* dx += ...; normed (rows,d) is scratch of rows x d floats. */
void nas_norm_back(const nas_model *m, nas_norm norm, const float *x, const float *stat,
                   const float *dy, size_t rows, float *dx, float *grad);

/* h (rows,n): leaves out each value with the probability share, scales the others by
 * 1 / (1 - share). Row i takes its numbers from a stream of its own. */
void nas_dropout(float *h, size_t rows, size_t n, float share, const nas_rng *rng);

/* Turns the pairs of q and k in qkv (rows,3d) by each token's position, or back. */
void nas_rotary(const nas_model *m, nas_spans spans, float *qkv, bool back);

/* ---- embeddings ---- */

void nas_embed_forward(const float *table, const int32_t *ids, size_t rows, size_t d, float *x);
void nas_embed_back(float *dtable, const int32_t *ids, size_t rows, size_t d, const float *dx);

/* Sinusoidal positions, made when first needed; {0} is empty, free(data) ends. */
typedef struct {
    float *data; /* (n,d) */
    size_t n, cap;
} nas_positions;

/* The table, of n rows or more. */
const float *nas_positions_to(nas_positions *positions, size_t n, size_t d);

/* ---- attention ---- */

/* Which rows look at which: queries, and keys with values. The strides are floats a row. */
typedef struct {
    nas_spans queries, keys;
    bool causal;
    const float *q, *k, *v;
    size_t q_stride, kv_stride;
} nas_attention;

/* Memory of the threads, grown when needed. */
typedef struct {
    float *data;
    size_t each, threads;
} nas_scratch;

float *nas_scratch_of(nas_scratch *scratch, size_t floats); /* call outside parallel regions */
void nas_scratch_clear(nas_scratch *scratch);

/* mix (rows,d) = softmax(q k^T / sqrt(d / heads)) v for each head; log_sum (rows,heads). */
void nas_attention_forward(const nas_model *m, const nas_attention *a, float *mix, float *log_sum,
                           nas_scratch *scratch);
/* Writes dq (stride q_stride), dk and dv (kv_stride). */
void nas_attention_back(const nas_model *m, const nas_attention *a, const float *mix,
                        const float *log_sum, const float *dmix, float *dq, float *dk, float *dv,
                        nas_scratch *scratch);

#endif
