#include "surrogate/optim.h"

#include "spaces/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 4096 /* floats that one thread takes at a time */

nas_optim *nas_optim_new(const nas_tensors *tensors, const nas_optim_config *config)
{
    nas_optim *o = nas_zalloc(1, sizeof *o);
    o->config = *config;
    o->tensors = tensors;
    o->moment = nas_zalloc(tensors->count, sizeof *o->moment);
    o->square = nas_zalloc(tensors->count, sizeof *o->square);
    if (config->average > 0)
        o->average = nas_zalloc(tensors->count, sizeof *o->average);
    o->partial = nas_zalloc(tensors->count / CHUNK + 1, sizeof *o->partial);
    return o;
}

void nas_optim_free(nas_optim *o)
{
    if (!o)
        return;
    free(o->moment);
    free(o->square);
    free(o->average);
    free(o->partial);
    free(o);
}

double nas_optim_rate(const nas_optim_config *c, uint64_t step)
{
    if (step < c->warm)
        return c->rate * (double)(step + 1) / (double)c->warm;
    double done = c->steps > c->warm ? (double)(step - c->warm) / (double)(c->steps - c->warm) : 0;
    double wave = 0.5 * (1 + cos(acos(-1) * fmin(done, 1)));
    return c->rate * (c->floor + (1 - c->floor) * wave);
}

static double norm_of(nas_optim *o, const float *grad)
{
    size_t count = o->tensors->count, chunks = (count + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(dynamic) if (count > NAS_ALONE)
    for (size_t i = 0; i < chunks; i++) {
        size_t end = count < (i + 1) * CHUNK ? count : (i + 1) * CHUNK;
        double sum = 0;
        for (size_t j = i * CHUNK; j < end; j++)
            sum += (double)grad[j] * grad[j];
        o->partial[i] = sum;
    }
    double sum = 0;
    for (size_t i = 0; i < chunks; i++)
        sum += o->partial[i];
    return sqrt(sum);
}

/* What a step multiplies by, as floats. */
typedef struct {
    float scale, keep1, keep2, rate, root, epsilon, shrink;
} factors;

__attribute__((optimize("O3"))) static void update(const factors *f, size_t n, float *restrict w,
                                                   const float *restrict g, float *restrict m,
                                                   float *restrict v)
{
    for (size_t i = 0; i < n; i++) {
        float x = g[i] * f->scale;
        m[i] = f->keep1 * m[i] + (1 - f->keep1) * x;
        v[i] = f->keep2 * v[i] + (1 - f->keep2) * x * x;
        w[i] = w[i] * f->shrink - f->rate * m[i] / (sqrtf(v[i]) * f->root + f->epsilon);
    }
}

static void update_tensor(nas_optim *o, const nas_tensor *t, factors f, float *weights,
                          const float *grad)
{
    if (!t->decay)
        f.shrink = 1;
#pragma omp parallel for schedule(dynamic) if (t->count > NAS_ALONE)
    for (size_t i = 0; i < t->count; i += CHUNK) {
        size_t n = t->count - i < CHUNK ? t->count - i : CHUNK, at = t->at + i;
        update(&f, n, weights + at, grad + at, o->moment + at, o->square + at);
    }
}

/* The average starts as the mean of the first steps, so that it never remembers initial values. */
static void update_average(nas_optim *o, const float *weights)
{
    float share = (float)fmax(1 - o->config.average, 1 / (double)(o->step + 1));
#pragma omp parallel for schedule(dynamic, NAS_ALONE) if (o->tensors->count > NAS_ALONE)
    for (size_t i = 0; i < o->tensors->count; i++)
        o->average[i] += share * (weights[i] - o->average[i]);
}

double nas_optim_step(nas_optim *o, float *weights, const float *grad)
{
    const nas_optim_config *c = &o->config;
    double norm = norm_of(o, grad), rate = nas_optim_rate(c, o->step);
    double age = (double)o->step + 1;
    factors f = {
        .scale = c->clip > 0 && norm > c->clip ? (float)(c->clip / norm) : 1,
        .keep1 = (float)c->beta1,
        .keep2 = (float)c->beta2,
        .rate = (float)(rate / (1 - pow(c->beta1, age))),
        .root = (float)(1 / sqrt(1 - pow(c->beta2, age))),
        .epsilon = (float)c->epsilon,
        .shrink = (float)(1 - rate * c->decay),
    };
    for (size_t i = 0; isfinite(norm) && i < o->tensors->n; i++)
        update_tensor(o, &o->tensors->tensor[i], f, weights, grad);
    if (o->average)
        update_average(o, weights);
    o->step++;
    return norm;
}

size_t nas_optim_blocks(const nas_optim *o, nas_tensor_block blocks[3])
{
    blocks[0] = (nas_tensor_block){"adamw.moment.", o->moment};
    blocks[1] = (nas_tensor_block){"adamw.square.", o->square};
    blocks[2] = (nas_tensor_block){"average.", o->average};
    return o->average ? 3 : 2;
}

nas_status nas_optim_read(nas_optim *o, const nas_safetensors *file, nas_err *err)
{
    nas_tensor_block blocks[3];
    float *own[3] = {o->moment, o->square, o->average};
    size_t n = nas_optim_blocks(o, blocks);
    nas_status status = NAS_OK;
    for (size_t i = 0; i < n && !status; i++) {
        status = nas_tensors_check(o->tensors, file, blocks[i].prefix, err);
        if (!status)
            status = nas_tensors_read(o->tensors, file, blocks[i].prefix, own[i], err);
    }
    return status;
}
