/* What is a search? One loop: ask, evaluate, tell, archive, commit; the only place where rooms
 * meet.
 *
 *     nas_search s = {.space = space, .task = task, .sources = &sources, .searcher = type, ...};
 *     status = nas_search_run(&s, run, &err);
 *
 * A run is a function of its settings and the numbers that its sources answer, whatever the
 * threads. So resuming is running again: rows that the file holds already answer for their
 * architectures, and every proposal is checked against them. No class of isomorphic architectures
 * is evaluated twice; what the sources have no numbers for costs nothing and is passed over. */
#ifndef NAS_SEARCH_H
#define NAS_SEARCH_H

#include "results/run.h"
#include "search/archive.h"
#include "search/evaluator.h"
#include "search/searcher.h"

typedef enum {
    NAS_SEARCH_BUDGET,    /* as many rows as asked for */
    NAS_SEARCH_EXHAUSTED, /* every class that the sources know was evaluated */
    NAS_SEARCH_TIRED,     /* a large space, and no new class in very many draws */
    NAS_SEARCH_STOPPED,   /* asked to stop */
} nas_search_end;

typedef struct {
    /* settings */
    const nas_space *space;
    const nas_task *task;
    nas_sources *sources; /* wanted: the m objectives first, then the metrics of constraints */
    size_t m;
    const nas_constraint *constraint; /* [n_constraint], metric i is wanted[constraint_column[i]] */
    const size_t *constraint_column;
    size_t n_constraint;
    const nas_searcher_type *searcher;
    const double *options; /* the searcher's */
    size_t population;
    size_t batch; /* rows that a steady searcher is asked for at once; 0: one */
    uint64_t budget, seed;
    const double *reference; /* [m] of the hypervolume in own units, or NULL */
    bool by_string;          /* only equal strings are the same, not relabelings */
    const nas_arch *init;    /* [n_init] evaluated first */
    size_t n_init;
    nas_sources *verify;      /* wanted: what it measures of sources->wanted; NULL: nothing */
    size_t verify_best;       /* how many rows; 0: the front */
    const volatile int *stop; /* non-zero: commit and return; may be NULL */
    void (*progress)(void *context, size_t rows, size_t front, double hypervolume);
    void *progress_context;
    /* what happened */
    nas_search_end end;
    size_t failed;     /* rows without numbers */
    size_t duplicates; /* proposals of a class seen before */
    size_t unknown;    /* proposals that the sources have no numbers for */
    size_t verified;   /* rows with measured values */
} nas_search;

/* Metrics of the run: sources->wanted, then, for each of verify->wanted, its "M_predicted". With a
 * verify, a row of M itself has no number (NaN) until it is verified. */
enum { NAS_SEARCH_METRICS = 2 * NAS_WANTED_MOST };

/* Runs from the rows that `run` holds to the end; the run is committed but not finished. */
nas_status nas_search_run(nas_search *search, nas_run *run, nas_err *err);

/* Measures the best rows of a finished search, unless they have been: the front as predicted, or
 * verify_best rows by rank, crowding distance and age. What was measured stays, in a snapshot after
 * each batch. end may become NAS_SEARCH_STOPPED. */
nas_status nas_search_verify(nas_search *search, nas_run *run, nas_err *err);

/* For both: the metric of sources->wanted that number j of verify->wanted is; the violation of
 * constraints by values (wanted). */
size_t nas_search_verified_metric(const nas_search *search, size_t j);
double nas_search_violation(const nas_search *search, const double *values);

#endif
