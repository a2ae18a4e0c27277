/* Attention of one example and head at a time: scores of a block of queries against all keys. */
#include "surrogate/model_ops.h"

#include "spaces/base/mem.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define QUERIES 64 /* rows of a block of scores */

float *nas_scratch_of(nas_scratch *s, size_t floats)
{
    size_t threads = (size_t)omp_get_max_threads();
    floats = (floats + 15) / 16 * 16;
    if (threads > s->threads || floats > s->each) {
        free(s->data);
        s->each = floats > s->each ? floats : s->each;
        s->threads = threads > s->threads ? threads : s->threads;
        s->data = nas_alloc_lines(s->each * s->threads * sizeof(float));
    }
    return s->data;
}

void nas_scratch_clear(nas_scratch *s)
{
    free(s->data);
    *s = (nas_scratch){0};
}

/* One (example, head): where its rows are. n queries, keys; h floats a row. */
typedef struct {
    const nas_kernels *kernels;
    size_t queries, keys, h, q0, k0, head;
    bool causal;
    const float *q, *k, *v;
    size_t q_stride, kv_stride;
    float scale;
} job;

static job job_of(const nas_model *m, const nas_attention *a, size_t task)
{
    size_t example = task / m->config.heads, head = task % m->config.heads;
    job j = {.kernels = m->kernels, .head = head, .h = m->config.d / m->config.heads};
    j.q0 = a->queries.at[example];
    j.k0 = a->keys.at[example];
    j.queries = nas_spans_size(a->queries, example);
    j.keys = nas_spans_size(a->keys, example);
    j.causal = a->causal;
    j.q_stride = a->q_stride;
    j.kv_stride = a->kv_stride;
    j.q = a->q + j.q0 * a->q_stride + head * j.h;
    j.k = a->k + j.k0 * a->kv_stride + head * j.h;
    j.v = a->v + j.k0 * a->kv_stride + head * j.h;
    j.scale = 1 / sqrtf((float)j.h);
    return j;
}

/* Keys that query i sees. */
static size_t seen(const job *j, size_t i)
{
    return j->causal ? i + 1 : j->keys;
}

static float *pack(const job *j, size_t k, size_t n, nas_view b, float *to)
{
    j->kernels->attend->pack(k, n, b, to);
    return to + j->kernels->attend->size(k, n);
}

/* mix rows of one job; packed_k is k^T (h,keys), packed_v is v (keys,h). */
static void mix_rows(const job *j, const float *packed_k, const float *packed_v, float *scores,
                     float *mix, float *log_sum, size_t d, size_t heads)
{
    const nas_product *p = j->kernels->attend;
    for (size_t first = 0; first < j->queries; first += QUERIES) {
        size_t rows = j->queries - first < QUERIES ? j->queries - first : QUERIES;
        p->run(rows, j->keys, j->h, (nas_view){j->q + first * j->q_stride, j->q_stride, 1},
               packed_k, scores, j->keys, (nas_finish){0});
        for (size_t r = 0; r < rows; r++) {
            float *s = scores + r * j->keys;
            size_t n = seen(j, first + r), row = j->q0 + first + r;
            log_sum[row * heads + j->head] = j->kernels->rows->softmax(s, n, j->scale);
            memset(s + n, 0, (j->keys - n) * sizeof *s);
        }
        p->run(rows, j->h, j->keys, (nas_view){scores, j->keys, 1}, packed_v,
               mix + (j->q0 + first) * d + j->head * j->h, d, (nas_finish){0});
    }
}

void nas_attention_forward(const nas_model *m, const nas_attention *a, float *mix, float *log_sum,
                           nas_scratch *scratch)
{
    size_t heads = m->config.heads, d = m->config.d, h = d / heads;
    size_t longest = nas_spans_longest(a->keys);
    const nas_product *p = m->kernels->attend;
    nas_scratch_of(scratch, p->size(h, longest) + p->size(longest, h) + QUERIES * longest);
#pragma omp parallel for schedule(dynamic) if (nas_spans_rows(a->queries) * longest * d / 16 >     \
                                               NAS_ALONE)
    for (size_t task = 0; task < a->queries.n * heads; task++) {
        job j = job_of(m, a, task);
        float *packed_k = scratch->data + (size_t)omp_get_thread_num() * scratch->each;
        float *packed_v = pack(&j, h, j.keys, (nas_view){j.k, 1, j.kv_stride}, packed_k);
        float *scores = pack(&j, j.keys, h, (nas_view){j.v, j.kv_stride, 1}, packed_v);
        mix_rows(&j, packed_k, packed_v, scores, mix, log_sum, d, heads);
    }
}

/* ---- backward ---- */

/* Memory of one job's backward pass. */
typedef struct {
    float *k_t, *k, *v_t;     /* packed k^T (h,keys), k (keys,h), v^T (h,keys) */
    float *weights, *dscores; /* (QUERIES, keys) */
    float *block;             /* packed (rows,h) piece of q or dmix */
} back_space;

/* dscores from the weights of one block: w * (dmix . v - dmix . mix) * scale. */
static void score_grads(const job *j, const back_space *s, size_t first, size_t rows,
                        const float *mix, const float *dmix, size_t d, const float *log_sum,
                        size_t heads)
{
    const nas_kernels *kernels = j->kernels;
    nas_view q = {j->q + first * j->q_stride, j->q_stride, 1};
    size_t row = j->q0 + first, at = row * d + j->head * j->h;
    kernels->attend->run(rows, j->keys, j->h, q, s->k_t, s->weights, j->keys, (nas_finish){0});
    kernels->attend->run(rows, j->keys, j->h, (nas_view){dmix + at, d, 1}, s->v_t, s->dscores,
                         j->keys, (nas_finish){0});
    for (size_t r = 0; r < rows; r++, row++, at += d) {
        float *w = s->weights + r * j->keys, *ds = s->dscores + r * j->keys;
        size_t n = seen(j, first + r);
        kernels->rows->softmax_again(w, n, j->scale, log_sum[row * heads + j->head]);
        float along = kernels->rows->dot(dmix + at, mix + at, j->h);
        for (size_t i = 0; i < n; i++)
            ds[i] = w[i] * (ds[i] - along) * j->scale;
        memset(w + n, 0, (j->keys - n) * sizeof *w);
        memset(ds + n, 0, (j->keys - n) * sizeof *ds);
    }
}

static void job_back(const job *j, const back_space *s, const float *mix, const float *log_sum,
                     const float *dmix, float *dq, float *dk, float *dv, size_t d, size_t heads)
{
    const nas_product *p = j->kernels->attend;
    size_t column = j->head * j->h;
    for (size_t first = 0; first < j->queries; first += QUERIES) {
        size_t rows = j->queries - first < QUERIES ? j->queries - first : QUERIES;
        size_t row = j->q0 + first;
        score_grads(j, s, first, rows, mix, dmix, d, log_sum, heads);
        p->run(rows, j->h, j->keys, (nas_view){s->dscores, j->keys, 1}, s->k,
               dq + row * j->q_stride + column, j->q_stride, (nas_finish){0});
        p->pack(rows, j->h, (nas_view){j->q + first * j->q_stride, j->q_stride, 1}, s->block);
        p->run(j->keys, j->h, rows, (nas_view){s->dscores, 1, j->keys}, s->block,
               dk + j->k0 * j->kv_stride + column, j->kv_stride, (nas_finish){.add = first > 0});
        p->pack(rows, j->h, (nas_view){dmix + row * d + column, d, 1}, s->block);
        p->run(j->keys, j->h, rows, (nas_view){s->weights, 1, j->keys}, s->block,
               dv + j->k0 * j->kv_stride + column, j->kv_stride, (nas_finish){.add = first > 0});
    }
}

void nas_attention_back(const nas_model *m, const nas_attention *a, const float *mix,
                        const float *log_sum, const float *dmix, float *dq, float *dk, float *dv,
                        nas_scratch *scratch)
{
    size_t heads = m->config.heads, d = m->config.d, h = d / heads;
    size_t longest = nas_spans_longest(a->keys);
    const nas_product *p = m->kernels->attend;
    nas_scratch_of(scratch, 2 * p->size(h, longest) + p->size(longest, h) + p->size(QUERIES, h) +
                                2 * QUERIES * longest);
#pragma omp parallel for schedule(dynamic) if (nas_spans_rows(a->queries) * longest * d / 16 >     \
                                               NAS_ALONE)
    for (size_t task = 0; task < a->queries.n * heads; task++) {
        job j = job_of(m, a, task);
        back_space s = {.k_t = scratch->data + (size_t)omp_get_thread_num() * scratch->each};
        s.k = pack(&j, h, j.keys, (nas_view){j.k, 1, j.kv_stride}, s.k_t);
        s.v_t = pack(&j, j.keys, h, (nas_view){j.k, j.kv_stride, 1}, s.k);
        s.block = pack(&j, h, j.keys, (nas_view){j.v, 1, j.kv_stride}, s.v_t);
        s.weights = s.block + p->size(QUERIES, h);
        s.dscores = s.weights + QUERIES * j.keys;
        job_back(&j, &s, mix, log_sum, dmix, dq, dk, dv, d, heads);
    }
}
