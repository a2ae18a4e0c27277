/* How fast is the regression language model? Encoder, decoding and training of the size that the
 * public library takes by default (width 512, 2 + 2 layers, 8,192 pieces, 512 tokens, 5 numbers of
 * 6 tokens, batch 32) and of a small one, beside the rate of plain matrix products of the same
 * shapes in the same run. CPU seconds are those of all threads. */
#include "spaces/base/mem.h"
#include "surrogate/decode.h"
#include "surrogate/train.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

typedef struct {
    double wall, cpu;
} moment;

static moment now(void)
{
    struct timespec t;
    struct rusage u;
    clock_gettime(CLOCK_MONOTONIC, &t);
    getrusage(RUSAGE_SELF, &u);
    return (moment){(double)t.tv_sec + 1e-9 * (double)t.tv_nsec,
                    (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                        1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec)};
}

typedef struct {
    const char *name;
    nas_model_config config;
    size_t input, batch, numbers, number_length;
} subject;

static const subject subjects[] = {
    {"d=512 2+2 layers, 512 tokens, 5 numbers", {512, 2, 2, 8, 2048, 8192, 64, 512}, 512, 32, 5, 6},
    {"d=192 2+1 layers, 100 tokens, 6 numbers", {192, 2, 1, 6, 768, 2048, 64, 512}, 100, 256, 6, 6},
};

/* Everything that is measured shares one made-up batch. */
typedef struct {
    const subject *s;
    nas_model *model;
    size_t *in_at, *out_at, length;
    int32_t *tokens, *shifted, *target;
    nas_batch batch;
    double peak; /* flops a CPU second of plain products */
} bench;

static void bench_new(bench *b, const subject *s)
{
    nas_rng rng = nas_rng_seed(1);
    nas_err err = {0};
    size_t n = s->batch;
    *b = (bench){.s = s, .length = s->numbers * s->number_length + 1};
    b->model = nas_model_new(&s->config, &rng, &err);
    b->in_at = nas_alloc((n + 1) * sizeof *b->in_at);
    b->out_at = nas_alloc((n + 1) * sizeof *b->out_at);
    for (size_t i = 0; i <= n; i++) {
        b->in_at[i] = i * s->input;
        b->out_at[i] = i * b->length;
    }
    b->tokens = nas_alloc(n * s->input * sizeof *b->tokens);
    b->shifted = nas_alloc(n * b->length * sizeof *b->shifted);
    b->target = nas_alloc(n * b->length * sizeof *b->target);
    for (size_t i = 0; i < n * s->input; i++)
        b->tokens[i] = (int32_t)nas_rng_below(&rng, s->config.encoder_vocab);
    for (size_t i = 0; i < n * b->length; i++) {
        b->shifted[i] = (int32_t)nas_rng_below(&rng, s->config.decoder_vocab);
        b->target[i] = 1 + (int32_t)nas_rng_below(&rng, s->config.decoder_vocab - 1);
    }
    b->batch = (nas_batch){.input = {n, b->in_at},
                           .output = {n, b->out_at},
                           .tokens = b->tokens,
                           .shifted = b->shifted,
                           .target = b->target};
}

static void bench_clear(bench *b)
{
    nas_model_free(b->model);
    free(b->in_at);
    free(b->out_at);
    free(b->tokens);
    free(b->shifted);
    free(b->target);
}

/* Floating-point operations of products: layers per row, and attention over the keys. */
static double encoder_flops(const subject *s)
{
    const nas_model_config *c = &s->config;
    double rows = (double)(s->batch * s->input), d = (double)c->d;
    double layer = 2 * d * (4 * d + 2 * (double)c->ffn) + 4 * (double)s->input * d;
    return rows * (double)c->encoder_layers * layer;
}

static double decoder_flops(const subject *s)
{
    const nas_model_config *c = &s->config;
    double length = (double)(s->numbers * s->number_length + 1), d = (double)c->d;
    double rows = (double)s->batch * length, memory = (double)(s->batch * s->input);
    double layer =
        rows * (2 * d * (6 * d + 2 * (double)c->ffn) + 4 * d * (double)s->input + 4 * d * length) +
        memory * 2 * d * 2 * d;
    return (double)c->decoder_layers * layer + rows * 2 * d * (double)c->decoder_vocab;
}

static void print(const bench *b, const char *what, moment from, moment to, double flops)
{
    double wall = to.wall - from.wall, cpu = to.cpu - from.cpu;
    printf("  %-28s %8.1f ms wall %8.1f ms CPU", what, wall * 1e3, cpu * 1e3);
    printf(" %8.1f a second", (double)b->s->batch / wall);
    if (flops > 0)
        printf(" %7.1f GFLOP/s wall %7.1f a CPU second", flops / wall * 1e-9, flops / cpu * 1e-9);
    if (flops > 0 && b->peak > 0)
        printf(" %3.0f %% of products", 100 * flops / cpu / b->peak);
    printf("\n");
}

/* rows x d times d x ffn, the largest product of the encoder. */
static void bench_products(bench *b)
{
    const nas_model_config *c = &b->s->config;
    size_t rows = b->s->batch * b->s->input;
    float *x = nas_zalloc(rows * c->d, sizeof *x), *y = nas_zalloc(rows * c->ffn, sizeof *y);
    nas_linear(rows, (nas_view){x, c->d, 1}, &b->model->encoder[0].up.forward, y, c->ffn,
               (nas_finish){0});
    moment best[2] = {{0, 0}, {1e9, 1e9}};
    for (int i = 0; i < 4; i++) {
        moment from = now();
        nas_linear(rows, (nas_view){x, c->d, 1}, &b->model->encoder[0].up.forward, y, c->ffn,
                   (nas_finish){0});
        moment to = now();
        if (to.cpu - from.cpu < best[1].cpu - best[0].cpu) {
            best[0] = from;
            best[1] = to;
        }
    }
    double flops = 2 * (double)rows * (double)c->d * (double)c->ffn;
    print(b, "products", best[0], best[1], flops);
    b->peak = flops / (best[1].cpu - best[0].cpu);
    free(x);
    free(y);
}

static void bench_encoder(bench *b)
{
    nas_tape *tape = nas_tape_new(b->model, false);
    nas_tape_encode(tape, &b->batch);
    moment from = now();
    nas_tape_encode(tape, &b->batch);
    print(b, "encoder", from, now(), encoder_flops(b->s));
    nas_tape_free(tape);
}

/* Greedy tokens of all numbers for one piece of the batch. */
static void decode_piece(const bench *b, nas_decoder *d, size_t first, size_t n)
{
    size_t vocab = b->s->config.decoder_vocab;
    size_t *at = nas_alloc((n + 1) * sizeof *at);
    int32_t *prefix = nas_alloc(n * sizeof *prefix), *token = nas_alloc(n * sizeof *token);
    nas_token_set all = {{1, 0}, {(int32_t)vocab, 0}};
    for (size_t i = 0; i <= n; i++)
        at[i] = i * b->s->input;
    nas_decoder_start(d, (nas_spans){n, at}, b->tokens + first * b->s->input);
    const float *z = nas_decoder_first(d);
    for (size_t t = 0; t + 1 < b->length; t++) {
        for (size_t i = 0; i < n; i++) {
            prefix[i] = (int32_t)(t * n + i);
            token[i] = nas_token_best(z + i * vocab, all);
        }
        z = nas_decoder_step(d, n, prefix, token);
    }
    free(at);
    free(prefix);
    free(token);
}

/* Each thread decodes pieces of its own from input to numbers: threads never wait for each other.
 */
static void bench_decode(bench *b)
{
    size_t piece = 16;
    for (int round = 0; round < 2; round++) {
        moment from = now();
#pragma omp parallel
        {
            nas_decoder *d = nas_decoder_new(b->model);
#pragma omp for schedule(dynamic)
            for (size_t i = 0; i < b->s->batch; i += piece)
                decode_piece(b, d, i, b->s->batch - i < piece ? b->s->batch - i : piece);
            nas_decoder_free(d);
        }
        if (round)
            print(b, "encode and decode", from, now(), encoder_flops(b->s) + decoder_flops(b->s));
    }
}

static void bench_training(bench *b)
{
    nas_train_config config = {.optim = {.rate = 1e-4, .beta1 = 0.9, .beta2 = 0.95, .clip = 1},
                               .batch = b->s->batch,
                               .epochs = 2};
    nas_trainer *t = nas_trainer_new(b->model, &b->batch, &config);
    nas_train_report report;
    nas_trainer_step(t, &report);
    moment from = now();
    nas_trainer_step(t, &report);
    print(b, "training step", from, now(), 3 * (encoder_flops(b->s) + decoder_flops(b->s)));
    nas_trainer_free(t);
}

/* The same model in PyTorch, in a process of its own. */
static void bench_peer(const bench *b)
{
    const nas_model_config *c = &b->s->config;
    char command[400];
    snprintf(command, sizeof command,
             "/usr/bin/python3 tests/bench_rlm_peer.py %zu %zu %zu %zu %zu %zu %zu %zu %zu %zu",
             c->d, c->encoder_layers, c->decoder_layers, c->heads, c->ffn, c->encoder_vocab,
             c->decoder_vocab, b->s->input, b->s->batch, b->length);
    fflush(stdout);
    if (system(command) != 0)
        printf("  # SKIP the PyTorch peer failed\n");
}

int main(void)
{
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        bench b;
        bench_new(&b, &subjects[i]);
        printf("%s, batch %zu: %zu parameters, path %s, %d threads\n", subjects[i].name,
               subjects[i].batch, b.model->tensors.count, b.model->kernels->name,
               omp_get_max_threads());
        bench_products(&b);
        bench_encoder(&b);
        bench_decode(&b);
        bench_training(&b);
        bench_peer(&b);
        bench_clear(&b);
    }
    return 0;
}
