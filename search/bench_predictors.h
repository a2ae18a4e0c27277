/* Which predictor ranks best from few labels? Methods on the same rows of a table, draw by draw.
 *
 *     nas_bench_plan plan = {.table = table, .metric = 0, .task = task, ...};
 *     nas_bench_run run = {.plan = &plan};
 *     status = nas_bench_predictors(&run, &err);     // run.draw holds the figures
 *     nas_bench_run_clear(&run);
 *
 * Splits are those of results/split.h: draw k has the seed k, which also seeds the training. */
#ifndef NAS_SEARCH_BENCH_PREDICTORS_H
#define NAS_SEARCH_BENCH_PREDICTORS_H

#include "results/bench.h"
#include "results/table.h"
#include "surrogate/predictor.h"

/* Scores made elsewhere: n rows of architecture and one score; at and draw -1: for all. */
typedef struct {
    nas_arch_set arch; /* canonical */
    struct nas_foreign_row {
        uint32_t arch; /* entry of the set */
        int64_t n, draw;
        double score;
    } * row;
    size_t n, cap;
} nas_foreign;

/* One of: type (learns), proxies (a metric of another table), foreign. */
typedef struct {
    char name[64];
    const nas_predictor_type *type;
    const nas_table *proxies;
    size_t column;
    const nas_foreign *foreign;
} nas_bench_method;

typedef struct {
    const nas_table *table;
    const nas_task *task;
    size_t metric;
    const nas_bench_method *method; /* [n_method] */
    size_t n_method;
    const size_t *at; /* [n_at] training rows */
    size_t n_at;
    size_t draws;  /* 0: 20 up to 172 training rows, 5 above */
    size_t tests;  /* most test rows, 0: all behind the training rows */
    bool hold_out; /* train on all but the last 5 % of the order of seed 0; at and draws are unused
                    */
} nas_bench_plan;

typedef struct {
    const nas_bench_plan *plan;
    nas_bench_draw *draw; /* [n]: what a file had already, then what was measured */
    size_t n, cap;
    /* Called after each draw, one thread at a time, with the run so far; may be NULL. */
    nas_status (*done)(void *context, const nas_bench_draw *draw, size_t left, nas_err *err);
    void *context;
} nas_bench_run;

/* Measures every method at every size for every draw that run->draw has not yet, in parallel.
 * NAS_USAGE: more training rows than the table has; NAS_FAILED: a method that failed, an
 * architecture without a score. */
nas_status nas_bench_predictors(nas_bench_run *run, nas_err *err);
void nas_bench_run_clear(nas_bench_run *run);

/* Reads "arch,METHOD,…" with optional columns n and draw; one foreign for each method column into
 * *list and their names (to be freed). */
nas_status nas_foreign_read(const char *path, const nas_space *space, nas_foreign **list,
                            char (**name)[64], size_t *n, nas_err *err);
void nas_foreign_free(nas_foreign *list, size_t n);

#endif
