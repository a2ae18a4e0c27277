/* Local search with restarts. A walk starts at a sampled architecture and goes on to neighbours
 * (mutants) that nothing of the walk dominates; what they dominate leaves the walk. With one
 * objective this is hill climbing to the first better neighbour (White et al. 2021), with several
 * it is Pareto local search (Paquete et al. 2004) from a random member of the walk. When the loop
 * finds no fresh neighbour it samples, and so does ask after `patience` neighbours in a row that
 * were no better: what has no parent starts another walk. */
#include "search/searcher.h"

#include <stdlib.h>

enum { PATIENCE };

typedef struct {
    nas_search_setup setup;
    size_t patience;
    nas_member *walk; /* [n], none dominates another */
    size_t n, cap;
    size_t idle; /* neighbours in a row that did not join */
} local;

static void *open(const nas_search_setup *setup, const double *options)
{
    local *s = nas_zalloc(1, sizeof *s);
    s->setup = *setup;
    s->patience = (size_t)options[PATIENCE];
    return s;
}

static void close(void *state)
{
    local *s = state;
    free(s->walk);
    free(s);
}

static void ask(void *state, nas_rng *rng, nas_proposal *out)
{
    const local *s = state;
    out->parent[0] = out->parent[1] = -1;
    if (s->n == 0 || s->idle >= s->patience) {
        nas_space_sample(s->setup.space, rng, &out->arch);
        return;
    }
    const nas_member *from = &s->walk[nas_rng_below(rng, s->n)];
    nas_space_mutate(s->setup.space, rng, &from->arch, &out->arch);
    out->parent[0] = from->id;
}

/* With one objective a member must be better than the walk's, not just as good. */
static bool joins(const local *s, const nas_member *member)
{
    size_t m = s->setup.m;
    for (size_t i = 0; i < s->n; i++)
        if (m == 1 ? !nas_member_dominates(member, &s->walk[i], m)
                   : nas_member_dominates(&s->walk[i], member, m))
            return false;
    return true;
}

static void tell_one(local *s, const nas_member *member)
{
    if (member->parent < 0)
        s->n = s->idle = 0;
    s->idle++;
    if (!joins(s, member))
        return;
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++)
        if (!nas_member_dominates(member, &s->walk[i], s->setup.m))
            s->walk[kept++] = s->walk[i];
    s->walk = nas_grow(s->walk, &s->cap, kept + 1, sizeof *s->walk);
    s->walk[kept] = *member;
    s->n = kept + 1;
    s->idle = 0;
}

static void tell(void *state, const nas_member *members, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tell_one(state, &members[i]);
}

static const nas_searcher_option OPTIONS[] = {
    [PATIENCE] = {"patience", 200, 1, 1e9, "neighbours in a row without progress before a restart",
                  .whole = true},
    {0}};

const nas_searcher_type nas_searcher_local = {
    .name = "local",
    .summary = "local search with restarts (White et al. 2021, Paquete et al. 2004)",
    .steady = true,
    .population = 1,
    .asks = 256,
    .options = OPTIONS,
    .open = open,
    .close = close,
    .ask = ask,
    .tell = tell,
};
