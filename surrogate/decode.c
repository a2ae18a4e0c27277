#include "surrogate/decode.h"

#include "spaces/base/mem.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* One prefix: its tokens but the last are those of parent. */
typedef struct {
    int32_t parent; /* -1: only the start token */
    int32_t input;
    int32_t depth; /* position of its last token */
} prefix_node;

struct nas_decoder {
    const nas_model *model;
    nas_tape *tape;
    size_t n_inputs, input_cap;
    size_t *length;   /* tokens of each input */
    size_t *cross_at; /* floats of the inputs before, in a layer's cross */
    float **cross;    /* for each layer, for input and head: packed k^T (h,length), v (length,h) */
    size_t *cross_cap;
    prefix_node *node;
    size_t n, node_cap;
    float **kv; /* for each layer (nodes, 2d): keys and values of each prefix's last token */
    size_t *kv_cap;
    nas_positions positions;
    /* the rows of the step at hand */
    float *rows;
    size_t rows_cap;
    float *x, *normed, *stat, *qkv, *mix, *hidden, *logits;
    int32_t *path; /* (rows, deepest + 1): the prefixes whose last tokens a row sees */
    size_t path_cap, path_width;
    size_t *order, *order_at, order_cap, order_at_cap; /* rows by input */
    nas_scratch scratch;
};

nas_decoder *nas_decoder_new(const nas_model *model)
{
    nas_decoder *d = nas_zalloc(1, sizeof *d);
    size_t layers = model->config.decoder_layers;
    d->model = model;
    d->tape = nas_tape_new(model, false);
    d->cross = nas_zalloc(layers, sizeof *d->cross);
    d->cross_cap = nas_zalloc(layers, sizeof *d->cross_cap);
    d->kv = nas_zalloc(layers, sizeof *d->kv);
    d->kv_cap = nas_zalloc(layers, sizeof *d->kv_cap);
    return d;
}

void nas_decoder_free(nas_decoder *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->model->config.decoder_layers; i++) {
        free(d->cross[i]);
        free(d->kv[i]);
    }
    void *all[] = {d->cross, d->cross_cap,      d->kv,   d->kv_cap, d->length, d->cross_at,
                   d->node,  d->positions.data, d->rows, d->path,   d->order,  d->order_at};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    nas_tape_free(d->tape);
    nas_scratch_clear(&d->scratch);
    free(d);
}

/* ---- what is kept of the inputs ---- */

static size_t head_width(const nas_decoder *d)
{
    return d->model->config.d / d->model->config.heads;
}

static size_t head_floats(const nas_decoder *d, size_t length)
{
    const nas_product *p = d->model->kernels->attend;
    return p->size(head_width(d), length) + p->size(length, head_width(d));
}

static void place_cross(nas_decoder *d, nas_spans inputs)
{
    size_t cap = d->input_cap;
    d->length = nas_grow(d->length, &cap, inputs.n + 1, sizeof *d->length);
    d->cross_at = nas_grow(d->cross_at, &d->input_cap, inputs.n + 1, sizeof *d->cross_at);
    d->n_inputs = inputs.n;
    d->cross_at[0] = 0;
    for (size_t i = 0; i < inputs.n; i++) {
        d->length[i] = nas_spans_size(inputs, i);
        d->cross_at[i + 1] = d->cross_at[i] + d->model->config.heads * head_floats(d, d->length[i]);
    }
    for (size_t l = 0; l < d->model->config.decoder_layers; l++)
        d->cross[l] =
            nas_grow(d->cross[l], &d->cross_cap[l], d->cross_at[inputs.n], sizeof **d->cross);
}

/* Keys and values of the memory, packed for each input and head. */
static void fill_cross(nas_decoder *d, size_t layer, nas_spans inputs, const float *memory,
                       float *kv)
{
    const nas_model *m = d->model;
    const nas_product *p = m->kernels->attend;
    size_t width = m->config.d, heads = m->config.heads, h = head_width(d);
    nas_dense_forward(m, &m->decoder[layer].cross_kv, memory, nas_spans_rows(inputs), kv,
                      NAS_DENSE_SET);
#pragma omp parallel for schedule(dynamic) if (inputs.at[inputs.n] * width > NAS_ALONE)
    for (size_t task = 0; task < inputs.n * heads; task++) {
        size_t e = task / heads, head = task % heads, length = d->length[e];
        const float *k = kv + inputs.at[e] * 2 * width + head * h;
        float *to = d->cross[layer] + d->cross_at[e] + head * head_floats(d, length);
        p->pack(h, length, (nas_view){k, 1, 2 * width}, to);
        p->pack(length, h, (nas_view){k + width, 2 * width, 1}, to + p->size(h, length));
    }
}

/* ---- the rows of a step ---- */

static void place_rows(nas_decoder *d, size_t n)
{
    const nas_model_config *c = &d->model->config;
    size_t each = c->d * 6 + 2 + c->ffn + c->decoder_vocab;
    d->rows = nas_grow(d->rows, &d->rows_cap, n * each, sizeof *d->rows);
    d->x = d->rows;
    d->normed = d->x + n * c->d;
    d->mix = d->normed + n * c->d;
    d->qkv = d->mix + n * c->d;
    d->hidden = d->qkv + n * 3 * c->d;
    d->logits = d->hidden + n * c->ffn;
    d->stat = d->logits + n * c->decoder_vocab;
    for (size_t l = 0; l < c->decoder_layers; l++)
        d->kv[l] = nas_grow(d->kv[l], &d->kv_cap[l], d->n * 2 * c->d, sizeof **d->kv);
}

/* The ancestors of each row from the start token to itself. */
static void fill_paths(nas_decoder *d, size_t first, size_t n, size_t deepest)
{
    d->path_width = deepest + 1;
    d->path = nas_grow(d->path, &d->path_cap, n * d->path_width, sizeof *d->path);
    for (size_t i = 0; i < n; i++) {
        int32_t at = (int32_t)(first + i);
        for (int32_t t = d->node[first + i].depth; t >= 0; t--, at = d->node[at].parent)
            d->path[i * d->path_width + (size_t)t] = at;
    }
}

/* order holds the rows of input e at order_at[e] to order_at[e + 1]. */
static void fill_order(nas_decoder *d, size_t first, size_t n)
{
    d->order = nas_grow(d->order, &d->order_cap, n, sizeof *d->order);
    d->order_at = nas_grow(d->order_at, &d->order_at_cap, d->n_inputs + 2, sizeof *d->order_at);
    memset(d->order_at, 0, (d->n_inputs + 2) * sizeof *d->order_at);
    size_t *next = d->order_at + 1; /* becomes the ends while rows are dealt out */
    for (size_t i = 0; i < n; i++)
        next[d->node[first + i].input + 1]++;
    for (size_t e = 0; e < d->n_inputs; e++)
        next[e + 1] += next[e];
    for (size_t i = 0; i < n; i++)
        d->order[next[d->node[first + i].input]++] = i;
}

/* Row i looks at the last tokens of its path, for each head. */
static void look_back(const nas_decoder *d, size_t layer, size_t first, size_t i, float *score)
{
    const nas_rows *rows = d->model->kernels->rows;
    size_t width = d->model->config.d, h = head_width(d);
    size_t seen = (size_t)d->node[first + i].depth + 1;
    const int32_t *path = d->path + i * d->path_width;
    for (size_t head = 0; head < d->model->config.heads; head++) {
        const float *q = d->qkv + i * 3 * width + head * h;
        const float *k = d->kv[layer] + head * h, *v = k + width;
        float *mix = d->mix + i * width + head * h;
        for (size_t t = 0; t < seen; t++)
            score[t] = rows->dot(q, k + (size_t)path[t] * 2 * width, h);
        rows->softmax(score, seen, 1 / sqrtf((float)h));
        memset(mix, 0, h * sizeof *mix);
        for (size_t t = 0; t < seen; t++)
            rows->add_scaled(mix, score[t], v + (size_t)path[t] * 2 * width, h);
    }
}

static void self_attend(nas_decoder *d, size_t layer, size_t first, size_t n)
{
    size_t width = d->model->config.d;
#pragma omp parallel for schedule(dynamic, 16) if (n * width > NAS_ALONE)
    for (size_t i = 0; i < n; i++)
        memcpy(d->kv[layer] + (first + i) * 2 * width, d->qkv + i * 3 * width + width,
               2 * width * sizeof(float));
    nas_scratch_of(&d->scratch, d->path_width);
#pragma omp parallel for schedule(dynamic) if (n * width > NAS_ALONE)
    for (size_t i = 0; i < n; i++)
        look_back(d, layer, first, i,
                  d->scratch.data + (size_t)omp_get_thread_num() * d->scratch.each);
}

/* The rows of one input look at its memory, one head; d->qkv holds q (rows,d). */
static void look_at_input(const nas_decoder *d, size_t layer, size_t e, size_t head, float *space)
{
    const nas_model *m = d->model;
    const nas_product *p = m->kernels->attend;
    size_t width = m->config.d, h = head_width(d), length = d->length[e];
    const float *k = d->cross[layer] + d->cross_at[e] + head * head_floats(d, length);
    const size_t *row = d->order + d->order_at[e];
    size_t n = d->order_at[e + 1] - d->order_at[e];
    float *q = space, *mix = q + n * h, *score = mix + n * h;
    for (size_t i = 0; i < n; i++)
        memcpy(q + i * h, d->qkv + row[i] * width + head * h, h * sizeof *q);
    p->run(n, length, h, (nas_view){q, h, 1}, k, score, length, (nas_finish){0});
    for (size_t i = 0; i < n; i++)
        m->kernels->rows->softmax(score + i * length, length, 1 / sqrtf((float)h));
    p->run(n, h, length, (nas_view){score, length, 1}, k + p->size(h, length), mix, h,
           (nas_finish){0});
    for (size_t i = 0; i < n; i++)
        memcpy(d->mix + row[i] * width + head * h, mix + i * h, h * sizeof *q);
}

static void cross_attend(nas_decoder *d, size_t layer)
{
    size_t heads = d->model->config.heads, most = 0;
    for (size_t e = 0; e < d->n_inputs; e++) {
        size_t rows = d->order_at[e + 1] - d->order_at[e];
        size_t need = rows * (2 * head_width(d) + d->length[e]);
        most = need > most ? need : most;
    }
    nas_scratch_of(&d->scratch, most);
#pragma omp parallel for schedule(dynamic) if (d->n_inputs * heads * most / 16 > NAS_ALONE)
    for (size_t task = 0; task < d->n_inputs * heads; task++)
        if (d->order_at[task / heads] < d->order_at[task / heads + 1])
            look_at_input(d, layer, task / heads, task % heads,
                          d->scratch.data + (size_t)omp_get_thread_num() * d->scratch.each);
}

static void step_layer(nas_decoder *d, size_t layer, size_t first, size_t n)
{
    const nas_model *m = d->model;
    const nas_layer *w = &m->decoder[layer];
    nas_norm_forward(m, w->norm[0], d->x, n, d->normed, d->stat);
    nas_dense_forward(m, &w->qkv, d->normed, n, d->qkv, NAS_DENSE_SET);
    self_attend(d, layer, first, n);
    nas_dense_forward(m, &w->out, d->mix, n, d->x, NAS_DENSE_ADD);
    nas_norm_forward(m, w->norm[1], d->x, n, d->normed, d->stat);
    nas_dense_forward(m, &w->cross_q, d->normed, n, d->qkv, NAS_DENSE_SET);
    cross_attend(d, layer);
    nas_dense_forward(m, &w->cross_out, d->mix, n, d->x, NAS_DENSE_ADD);
    nas_norm_forward(m, w->norm[2], d->x, n, d->normed, d->stat);
    nas_dense_forward(m, &w->up, d->normed, n, d->hidden, NAS_DENSE_RELU);
    nas_dense_forward(m, &w->down, d->hidden, n, d->x, NAS_DENSE_ADD);
}

/* Logits of the n youngest prefixes; token NULL: they are the starts. */
static const float *run_step(nas_decoder *d, size_t n, const int32_t *token)
{
    const nas_model *m = d->model;
    size_t first = d->n - n, width = m->config.d, deepest = 0;
    for (size_t i = first; i < d->n; i++)
        if ((size_t)d->node[i].depth > deepest)
            deepest = (size_t)d->node[i].depth;
    place_rows(d, n);
    const float *positions = nas_positions_to(&d->positions, deepest + 1, width);
    fill_paths(d, first, n, deepest);
    fill_order(d, first, n);
    for (size_t i = 0; i < n; i++) {
        size_t id = token ? (size_t)token[i] : NAS_NUMBER_PAD;
        const float *embedding = m->weights + m->target_embedding + id * width;
        const float *position = positions + (size_t)d->node[first + i].depth * width;
        for (size_t j = 0; j < width; j++)
            d->x[i * width + j] = embedding[j] + position[j];
    }
    for (size_t l = 0; l < m->config.decoder_layers; l++)
        step_layer(d, l, first, n);
    nas_dense_forward(m, &m->head, d->x, n, d->logits, NAS_DENSE_SET);
    return d->logits;
}

/* ---- verbs ---- */

void nas_decoder_start(nas_decoder *d, nas_spans inputs, const int32_t *tokens)
{
    nas_batch batch = {.input = inputs, .tokens = tokens};
    nas_tape_encode(d->tape, &batch);
    place_cross(d, inputs);
    size_t rows = nas_spans_rows(inputs), width = d->model->config.d;
    d->rows = nas_grow(d->rows, &d->rows_cap, rows * 2 * width, sizeof *d->rows);
    for (size_t l = 0; l < d->model->config.decoder_layers; l++)
        fill_cross(d, l, inputs, nas_tape_memory(d->tape), d->rows);
    d->n = inputs.n;
    d->node = nas_grow(d->node, &d->node_cap, d->n, sizeof *d->node);
    for (size_t i = 0; i < d->n; i++)
        d->node[i] = (prefix_node){-1, (int32_t)i, 0};
    run_step(d, d->n, NULL);
}

const float *nas_decoder_first(const nas_decoder *d)
{
    return d->logits;
}

const float *nas_decoder_step(nas_decoder *d, size_t n, const int32_t *prefix, const int32_t *token)
{
    d->node = nas_grow(d->node, &d->node_cap, d->n + n, sizeof *d->node);
    for (size_t i = 0; i < n; i++, d->n++) {
        assert(prefix[i] >= 0 && (size_t)prefix[i] < d->n);
        const prefix_node *parent = &d->node[prefix[i]];
        d->node[d->n] = (prefix_node){prefix[i], parent->input, parent->depth + 1};
    }
    return run_step(d, n, token);
}

size_t nas_decoder_count(const nas_decoder *d)
{
    return d->n;
}

void nas_decoder_forget(nas_decoder *d, size_t count)
{
    assert(count >= d->n_inputs && count <= d->n);
    d->n = count;
}

/* ---- one token ---- */

int32_t nas_token_best(const float *logit, nas_token_set legal)
{
    int32_t best = -1;
    for (int r = 0; r < 2; r++)
        for (int32_t i = legal.first[r]; i < legal.end[r]; i++)
            if (best < 0 || logit[i] > logit[best] || (logit[i] == logit[best] && i < best))
                best = i;
    return best;
}

typedef struct {
    int32_t id;
    double p;
} candidate;

static int by_probability(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return x->p != y->p ? (x->p < y->p) - (x->p > y->p) : (x->id > y->id) - (x->id < y->id);
}

int32_t nas_token_draw(const float *logit, nas_token_set legal, double temperature, double top_p,
                       nas_rng *rng)
{
    int32_t best = nas_token_best(logit, legal);
    size_t n = 0, room = (size_t)(legal.end[0] - legal.first[0] + legal.end[1] - legal.first[1]);
    candidate *all = nas_alloc(room * sizeof *all);
    double sum = 0, kept = 0;
    for (int r = 0; r < 2; r++)
        for (int32_t i = legal.first[r]; i < legal.end[r]; i++) {
            all[n] = (candidate){i, exp(((double)logit[i] - logit[best]) / temperature)};
            sum += all[n++].p;
        }
    qsort(all, n, sizeof *all, by_probability);
    size_t keep = 0;
    while (keep < n && (keep == 0 || kept < top_p * sum))
        kept += all[keep++].p;
    double left = nas_rng_unit(rng) * kept;
    size_t i = 0;
    while (i + 1 < keep && (left -= all[i].p) >= 0)
        i++;
    int32_t id = all[i].id;
    free(all);
    return id;
}
