#include "surrogate/model_ops.h"

#include "spaces/base/mem.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#pragma GCC optimize("O3") /* the loops over floats here are worth vectors */

#define COLUMNS 64 /* columns of a sum over rows that one thread takes */

size_t nas_spans_longest(nas_spans s)
{
    size_t longest = 0;
    for (size_t i = 0; i < s.n; i++)
        if (nas_spans_size(s, i) > longest)
            longest = nas_spans_size(s, i);
    return longest;
}

/* to[j] += sum over rows of x[i, j], row after row; n of stride columns. */
NAS_WIDE static void add_rows(const float *x, size_t rows, size_t n, size_t stride, float *to)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < n; j++)
            to[j] += x[i * stride + j];
}

static void add_columns(const float *x, size_t rows, size_t n, float *to)
{
#pragma omp parallel for schedule(dynamic) if (rows * n > NAS_ALONE)
    for (size_t first = 0; first < n; first += COLUMNS) {
        size_t width = n - first < COLUMNS ? n - first : COLUMNS;
        add_rows(x + first, rows, width, n, to + first);
    }
}

void nas_dense_forward(const nas_model *m, const nas_dense *l, const float *x, size_t rows,
                       float *y, nas_dense_use use)
{
    nas_finish finish = {
        .add = use == NAS_DENSE_ADD, .bias = m->weights + l->bias, .relu = use == NAS_DENSE_RELU};
    nas_linear(rows, (nas_view){x, l->in, 1}, &l->forward, y, l->out, finish);
}

void nas_dense_back(const nas_dense *l, const nas_product *product, const float *x, const float *dy,
                    size_t rows, float *dx, nas_finish finish, float *grad, nas_packed *pack)
{
    const size_t piece = 2048; /* rows of x packed at a time */
    add_columns(dy, rows, l->out, grad + l->bias);
    for (size_t i = 0; i < rows; i += piece) {
        size_t k = rows - i < piece ? rows - i : piece;
        nas_packed_fill(pack, product, k, l->in, (nas_view){x + i * l->in, l->in, 1});
        nas_linear(l->out, (nas_view){dy + i * l->out, 1, l->out}, pack, grad + l->weight, l->in,
                   (nas_finish){.add = true});
    }
    nas_linear(rows, (nas_view){dy, l->out, 1}, &l->back, dx, l->in, finish);
}

void nas_norm_forward(const nas_model *m, nas_norm norm, const float *x, size_t rows, float *y,
                      float *stat)
{
    size_t d = m->config.d;
#pragma omp parallel for schedule(dynamic, 32) if (rows * d > NAS_ALONE)
    for (size_t i = 0; i < rows; i++)
        m->kernels->rows->norm(x + i * d, m->weights + norm.weight, m->weights + norm.bias, d,
                               y + i * d, stat + 2 * i);
}

NAS_WIDE static void add_norm_grads(const float *x, const float *dy, const float *stat, size_t n,
                                    float *restrict dw, float *restrict db)
{
    for (size_t j = 0; j < n; j++) {
        dw[j] += dy[j] * (x[j] - stat[0]) * stat[1];
        db[j] += dy[j];
    }
}

void nas_norm_back(const nas_model *m, nas_norm norm, const float *x, const float *stat,
                   const float *dy, size_t rows, float *dx, float *grad)
{
    size_t d = m->config.d;
    float *dw = grad + norm.weight, *db = grad + norm.bias;
#pragma omp parallel for schedule(dynamic) if (rows * d > NAS_ALONE)
    for (size_t first = 0; first < d; first += COLUMNS) {
        size_t n = d - first < COLUMNS ? d - first : COLUMNS;
        for (size_t i = 0; i < rows; i++)
            add_norm_grads(x + i * d + first, dy + i * d + first, stat + 2 * i, n, dw + first,
                           db + first);
    }
#pragma omp parallel for schedule(dynamic, 32) if (rows * d > NAS_ALONE)
    for (size_t i = 0; i < rows; i++)
        m->kernels->rows->norm_back(x + i * d, m->weights + norm.weight, dy + i * d, stat + 2 * i,
                                    d, dx + i * d);
}

void nas_dropout(float *h, size_t rows, size_t n, float share, const nas_rng *rng)
{
    uint64_t limit = (uint64_t)(share * 0x1p64);
    float scale = 1 / (1 - share);
#pragma omp parallel for schedule(dynamic, 32) if (rows * n > NAS_ALONE)
    for (size_t i = 0; i < rows; i++) {
        nas_rng r = nas_rng_child(rng, "row", i);
        for (size_t j = 0; j < n; j++)
            h[i * n + j] = nas_rng_next(&r) < limit ? 0 : scale * h[i * n + j];
    }
}

NAS_WIDE static void turn_pairs(float *x, size_t heads, size_t half, const float *restrict turn,
                                float sign)
{
    for (size_t h = 0; h < heads; h++, x += 2 * half)
        for (size_t p = 0; p < 2 * half; p += 2) {
            float c = turn[p], s = sign * turn[p + 1], even = x[p] * c - x[p + 1] * s;
            x[p + 1] = x[p] * s + x[p + 1] * c;
            x[p] = even;
        }
}

void nas_rotary(const nas_model *m, nas_spans spans, float *qkv, bool back)
{
    size_t d = m->config.d, half = d / m->config.heads / 2;
#pragma omp parallel for schedule(dynamic) if (nas_spans_rows(spans) * d > NAS_ALONE)
    for (size_t e = 0; e < spans.n; e++)
        for (size_t i = spans.at[e]; i < spans.at[e + 1]; i++) /* the heads of q and k */
            turn_pairs(qkv + i * 3 * d, 2 * m->config.heads, half,
                       m->rotary + (i - spans.at[e]) * half * 2, back ? -1 : 1);
}

void nas_embed_forward(const float *table, const int32_t *ids, size_t rows, size_t d, float *x)
{
#pragma omp parallel for schedule(dynamic, 32) if (rows * d > NAS_ALONE)
    for (size_t i = 0; i < rows; i++)
        memcpy(x + i * d, table + (size_t)ids[i] * d, d * sizeof *x);
}

void nas_embed_back(float *dtable, const int32_t *ids, size_t rows, size_t d, const float *dx)
{
#pragma omp parallel for schedule(dynamic) if (rows * d > NAS_ALONE)
    for (size_t first = 0; first < d; first += COLUMNS) {
        size_t end = d - first < COLUMNS ? d : first + COLUMNS;
        for (size_t i = 0; i < rows; i++)
            for (size_t j = first; j < end; j++)
                dtable[(size_t)ids[i] * d + j] += dx[i * d + j];
    }
}

const float *nas_positions_to(nas_positions *p, size_t n, size_t d)
{
    p->data = nas_grow(p->data, &p->cap, n * d, sizeof *p->data);
    for (; p->n < n; p->n++)
        for (size_t i = 0; i < d; i += 2) {
            double angle = (double)p->n * exp(-(double)i * log(10000) / (double)d);
            p->data[p->n * d + i] = (float)sin(angle);
            if (i + 1 < d)
                p->data[p->n * d + i + 1] = (float)cos(angle);
        }
    return p->data;
}
