/* Which examples come together, and putting them together. */
#include "spaces/base/mem.h"
#include "surrogate/train.h"

#include <stdlib.h>
#include <string.h>

#define POOL 32 /* batches whose examples are sorted by length together */

typedef struct {
    size_t length, index, place;
} sized;

static int by_length(const void *a, const void *b)
{
    const sized *x = a, *y = b;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static void shuffle(size_t *order, size_t n, nas_rng rng)
{
    nas_rng_shuffle(&rng, order, n, sizeof *order);
}

/* Sorts pools of a random order, then shuffles whole batches; the last, short one stays last. */
void nas_train_order(size_t *order, const nas_batch *data, size_t batch, uint64_t seed,
                     uint64_t epoch)
{
    size_t n = data->input.n, whole = n / batch;
    nas_rng root = nas_rng_seed(seed), rng = nas_rng_child(&root, "epoch", epoch);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    shuffle(order, n, nas_rng_child(&rng, "examples", 0));
    sized *pool = nas_alloc((n + 1) * sizeof *pool);
    for (size_t i = 0; i < n; i++)
        pool[i] = (sized){nas_spans_size(data->input, order[i]), order[i], i};
    for (size_t i = 0; i < n; i += POOL * batch)
        qsort(pool + i, n - i < POOL * batch ? n - i : POOL * batch, sizeof *pool, by_length);
    size_t *at = nas_alloc((whole + 1) * sizeof *at);
    for (size_t i = 0; i < whole; i++)
        at[i] = i * batch;
    shuffle(at, whole, nas_rng_child(&rng, "batches", 0));
    for (size_t i = 0; i < whole; i++)
        for (size_t j = 0; j < batch; j++)
            order[i * batch + j] = pool[at[i] + j].index;
    for (size_t i = whole * batch; i < n; i++)
        order[i] = pool[i].index;
    free(pool);
    free(at);
}

static void copy_span(int32_t *to, const int32_t *from, nas_spans spans, size_t index)
{
    if (from)
        memcpy(to, from + spans.at[index], nas_spans_size(spans, index) * sizeof *to);
}

void nas_chosen_fill(nas_chosen *c, const nas_batch *data, const size_t *index, size_t n)
{
    c->in_at = nas_grow(c->in_at, &c->at_cap[0], n + 1, sizeof *c->in_at);
    c->out_at = nas_grow(c->out_at, &c->at_cap[1], n + 1, sizeof *c->out_at);
    c->in_at[0] = c->out_at[0] = 0;
    for (size_t i = 0; i < n; i++) {
        c->in_at[i + 1] = c->in_at[i] + nas_spans_size(data->input, index[i]);
        c->out_at[i + 1] = c->out_at[i] + nas_spans_size(data->output, index[i]);
    }
    c->tokens = nas_grow(c->tokens, &c->token_cap, c->in_at[n], sizeof *c->tokens);
    c->shifted = nas_grow(c->shifted, &c->out_cap[0], c->out_at[n], sizeof *c->shifted);
    c->target = nas_grow(c->target, &c->out_cap[1], c->out_at[n], sizeof *c->target);
    for (size_t i = 0; i < n; i++) {
        copy_span(c->tokens + c->in_at[i], data->tokens, data->input, index[i]);
        copy_span(c->shifted + c->out_at[i], data->shifted, data->output, index[i]);
        copy_span(c->target + c->out_at[i], data->target, data->output, index[i]);
    }
    c->batch = (nas_batch){.input = {n, c->in_at},
                           .output = {n, c->out_at},
                           .tokens = c->tokens,
                           .shifted = c->shifted,
                           .target = c->target};
}

void nas_chosen_clear(nas_chosen *c)
{
    free(c->in_at);
    free(c->out_at);
    free(c->tokens);
    free(c->shifted);
    free(c->target);
    *c = (nas_chosen){0};
}
