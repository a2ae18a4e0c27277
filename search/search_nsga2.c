/* NSGA-II (Deb et al. 2002). Parents by binary tournament on (rank, crowding distance, age);
 * children by crossover with a chance, else a copy, and then mutation with a chance (always for a
 * copy). Parents and children are ranked together; the best ranks survive whole, the last one that
 * fits in part by crowding distance, ties by lower id. Candidates of a class seen before never come
 * back, so a population holds no duplicates. */
#include "search/searcher.h"

#include <stdlib.h>

enum { CROSSOVER, MUTATION };

typedef struct {
    nas_search_setup setup;
    double crossover, mutation;
    nas_member *member; /* [n], at most twice the population while sorting */
    uint32_t *rank;
    double *distance;
    size_t n;
} nsga2;

static void *open(const nas_search_setup *setup, const double *options)
{
    nsga2 *s = nas_zalloc(1, sizeof *s);
    s->setup = *setup;
    s->crossover = options[CROSSOVER];
    s->mutation = options[MUTATION];
    s->member = nas_zalloc(2 * setup->population, sizeof *s->member);
    s->rank = nas_zalloc(2 * setup->population, sizeof *s->rank);
    s->distance = nas_zalloc(2 * setup->population, sizeof *s->distance);
    return s;
}

static void close(void *state)
{
    nsga2 *s = state;
    free(s->member);
    free(s->rank);
    free(s->distance);
    free(s);
}

static const nas_member *tournament(const nsga2 *s, nas_rng *rng)
{
    size_t a = nas_rng_below(rng, s->n), b = nas_rng_below(rng, s->n);
    if (s->rank[a] != s->rank[b])
        return &s->member[s->rank[a] < s->rank[b] ? a : b];
    if (s->distance[a] != s->distance[b])
        return &s->member[s->distance[a] > s->distance[b] ? a : b];
    return &s->member[s->member[a].id < s->member[b].id ? a : b];
}

static void ask(void *state, nas_rng *rng, nas_proposal *out)
{
    const nsga2 *s = state;
    out->parent[0] = out->parent[1] = -1;
    if (s->n < s->setup.population) {
        nas_space_sample(s->setup.space, rng, &out->arch);
        return;
    }
    const nas_member *a = tournament(s, rng), *b = tournament(s, rng);
    bool cross = nas_rng_unit(rng) < s->crossover && a != b;
    out->parent[0] = a->id;
    out->arch = a->arch;
    if (cross) {
        out->parent[1] = b->id;
        nas_space_cross(s->setup.space, rng, &a->arch, &b->arch, &out->arch);
    }
    if (!cross || nas_rng_unit(rng) < s->mutation) {
        nas_arch before = out->arch;
        nas_space_mutate(s->setup.space, rng, &before, &out->arch);
    }
}

/* Survivors first: by rank, then crowding distance, then id. */
typedef struct {
    uint32_t rank;
    double distance;
    nas_member member;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->distance != y->distance)
        return x->distance > y->distance ? -1 : 1;
    return (x->member.id > y->member.id) - (x->member.id < y->member.id);
}

/* Ranks and distances stay those of the merged set, as the crowded comparison asks for. */
static void survive(nsga2 *s)
{
    ranked *all = nas_alloc(s->n * sizeof *all);
    nas_member_ranks(s->member, s->n, s->setup.m, s->rank);
    nas_member_crowding(s->member, s->n, s->setup.m, s->rank, s->distance);
    for (size_t i = 0; i < s->n; i++)
        all[i] = (ranked){s->rank[i], s->distance[i], s->member[i]};
    qsort(all, s->n, sizeof *all, compare_ranked);
    if (s->n > s->setup.population)
        s->n = s->setup.population;
    for (size_t i = 0; i < s->n; i++) {
        s->member[i] = all[i].member;
        s->rank[i] = all[i].rank;
        s->distance[i] = all[i].distance;
    }
    free(all);
}

static void tell(void *state, const nas_member *members, size_t n)
{
    nsga2 *s = state;
    memcpy(s->member + s->n, members, n * sizeof *members);
    s->n += n;
    survive(s);
}

static const nas_searcher_option OPTIONS[] = {
    [CROSSOVER] = {"crossover", 0.9, 0, 1, "chance that a child has two parents"},
    [MUTATION] = {"mutation", 0.5, 0, 1, "chance that a child of two parents is mutated"},
    {0}};

const nas_searcher_type nas_searcher_nsga2 = {
    .name = "nsga2",
    .summary = "NSGA-II (Deb et al. 2002)",
    .population = 20,
    .asks = 16,
    .options = OPTIONS,
    .open = open,
    .close = close,
    .ask = ask,
    .tell = tell,
};
