/* Random search: every candidate is drawn by the space's own sampler. */
#include "search/searcher.h"

#include <stdlib.h>

static void *open(const nas_search_setup *setup, const double *options)
{
    (void)options;
    nas_search_setup *state = nas_alloc(sizeof *state);
    *state = *setup;
    return state;
}

static void ask(void *state, nas_rng *rng, nas_proposal *out)
{
    const nas_search_setup *setup = state;
    nas_space_sample(setup->space, rng, &out->arch);
    out->parent[0] = out->parent[1] = -1;
}

static void tell(void *state, const nas_member *members, size_t n)
{
    (void)state, (void)members, (void)n;
}

static const nas_searcher_option OPTIONS[] = {{0}};

const nas_searcher_type nas_searcher_random = {
    .name = "random",
    .summary = "uniform sampling without replacement",
    .population = 64,
    .asks = 16,
    .options = OPTIONS,
    .open = open,
    .close = free,
    .ask = ask,
    .tell = tell,
};
