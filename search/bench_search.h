/* Which searcher finds more with fewer evaluations? The search bench: searchers over many seeds on
 * sources that list all they know, so that the optimum and the front are known too.
 *
 *     nas_bench_search b = {.space = space, .task = task, .sources = &sources, ...};
 *     status = nas_bench_search_run(&b, "max:accuracy,min:latency:raspi4", &err);
 *     use(b.score, b.n_score);     // runs append
 *     nas_bench_search_clear(&b);
 *
 * One objective: the mean best value after `at` queries (measure best) and the queries to the
 * optimum, at most the largest of `at` (measure queries). Several: the share of the true front's
 * hypervolume (share), IGD+ and additive epsilon, with objectives scaled by the ideal and the
 * nadir point of the true front and the reference point at the nadir. Architectures at chance
 * accuracy, 100 / classes or below, do not count for the front. */
#ifndef NAS_BENCH_SEARCH_H
#define NAS_BENCH_SEARCH_H

#include "results/score.h"
#include "search/evaluator.h"
#include "search/searcher.h"

enum { NAS_BENCH_CHECKPOINTS = 16 };

typedef struct {
    const nas_space *space;
    const nas_task *task;
    nas_sources *sources; /* shared by threads: table, formula or cost; nothing is wanted yet */
    const nas_searcher_type *const *searcher; /* [n_searcher] */
    size_t n_searcher;
    size_t population;                /* 0: each searcher's own */
    size_t at[NAS_BENCH_CHECKPOINTS]; /* [n_at] queries, ascending */
    size_t n_at, seeds;
    uint64_t first_seed;
    const char *const *option; /* [n_option] "name=value", of every searcher */
    size_t n_option;
    bool by_string;
    nas_score *score; /* [n_score] */
    size_t n_score, cap;
} nas_bench_search;

/* Seeds first_seed … first_seed + seeds - 1 of every searcher, in parallel over them. NAS_USAGE: an
 * unknown metric or option, no source that lists its architectures. */
nas_status nas_bench_search_run(nas_bench_search *bench, const char *objectives, nas_err *err);
void nas_bench_search_clear(nas_bench_search *bench);

#endif
