/* Regularised evolution (Real et al. 2019): a queue of the youngest members; the best of a random
 * sample becomes a parent, its mutant joins the queue and the oldest leaves, good or bad. With
 * several objectives the best of a sample is the one of the lowest rank, then of the widest
 * crowding distance, then the one drawn first. */
#include "search/searcher.h"

#include <stdlib.h>

enum { TOURNAMENT };

typedef struct {
    nas_search_setup setup;
    size_t tournament;
    nas_member *queue; /* [population], a ring */
    size_t n, oldest;
    nas_member *sample; /* [tournament] */
    uint32_t *rank;
    double *distance;
} evolution;

static void *open(const nas_search_setup *setup, const double *options)
{
    evolution *e = nas_zalloc(1, sizeof *e);
    e->setup = *setup;
    e->tournament = (size_t)options[TOURNAMENT];
    e->queue = nas_zalloc(setup->population, sizeof *e->queue);
    e->sample = nas_zalloc(e->tournament, sizeof *e->sample);
    e->rank = nas_zalloc(e->tournament, sizeof *e->rank);
    e->distance = nas_zalloc(e->tournament, sizeof *e->distance);
    return e;
}

static void close(void *state)
{
    evolution *e = state;
    free(e->queue);
    free(e->sample);
    free(e->rank);
    free(e->distance);
    free(e);
}

static const nas_member *select_parent(evolution *e, nas_rng *rng)
{
    for (size_t i = 0; i < e->tournament; i++)
        e->sample[i] = e->queue[nas_rng_below(rng, e->n)];
    nas_member_ranks(e->sample, e->tournament, e->setup.m, e->rank);
    nas_member_crowding(e->sample, e->tournament, e->setup.m, e->rank, e->distance);
    size_t best = 0;
    for (size_t i = 1; i < e->tournament; i++)
        if (e->rank[i] < e->rank[best] ||
            (e->rank[i] == e->rank[best] && e->distance[i] > e->distance[best]))
            best = i;
    return &e->sample[best];
}

static void ask(void *state, nas_rng *rng, nas_proposal *out)
{
    evolution *e = state;
    out->parent[0] = out->parent[1] = -1;
    if (e->n < e->setup.population) {
        nas_space_sample(e->setup.space, rng, &out->arch);
        return;
    }
    const nas_member *parent = select_parent(e, rng);
    nas_space_mutate(e->setup.space, rng, &parent->arch, &out->arch);
    out->parent[0] = parent->id;
}

static void tell(void *state, const nas_member *members, size_t n)
{
    evolution *e = state;
    for (size_t i = 0; i < n; i++) {
        if (e->n < e->setup.population) {
            e->queue[e->n++] = members[i];
        } else {
            e->queue[e->oldest] = members[i];
            e->oldest = (e->oldest + 1) % e->n;
        }
    }
}

static const nas_searcher_option OPTIONS[] = {
    [TOURNAMENT] = {"tournament", 10, 1, 10000, "members drawn to find a parent", .whole = true},
    {0}};

const nas_searcher_type nas_searcher_evolution = {
    .name = "evolution",
    .summary = "regularised evolution (Real et al. 2019)",
    .steady = true,
    .population = 30,
    .asks = 16,
    .options = OPTIONS,
    .open = open,
    .close = close,
    .ask = ask,
    .tell = tell,
};
