#include "search/bench_search.h"

#include "results/front.h"
#include "results/hypervolume.h"
#include "search/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    nas_bench_search *bench;
    const char *text;    /* the objectives as asked for */
    nas_sources sources; /* its own wanted; the evaluators are the bench's */
    nas_metric objective[NAS_OBJECTIVE_MOST];
    size_t m;
    double *front; /* (n_front, m) the truth, less is better; scaled to 0..1 when m > 1 */
    size_t n_front;
    double ideal[NAS_OBJECTIVE_MOST], nadir[NAS_OBJECTIVE_MOST];
    size_t n_measure;
    double *value; /* (n_searcher, n_at, n_measure, seeds) */
    nas_status status;
    nas_err err;
} target;

/* ---- the truth ---- */

/* At chance: what a network without a path from input to output gets. */
static bool is_chance(const target *t, const double *f)
{
    double chance = 100.0 / t->bench->task->classes;
    for (size_t k = 0; k < t->m; k++)
        if (!strncmp(t->objective[k].name, "accuracy", strlen("accuracy")) &&
            fabs(f[k]) <= chance + 1e-9)
            return true;
    return false;
}

/* Keeps what counts among n points of values (n, m) and turns it; returns how many are left. */
static size_t clean_points(const target *t, double *points, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool good = !is_chance(t, points + i * t->m);
        for (size_t k = 0; k < t->m; k++)
            good &= (bool)isfinite(points[i * t->m + k]);
        if (good)
            memmove(points + t->m * kept++, points + t->m * i, t->m * sizeof *points);
    }
    nas_objectives_minimise(points, kept, t->objective, t->m);
    return kept;
}

/* Moves the front of n points to the beginning; returns its size. */
static size_t keep_front(double *points, size_t n, size_t m)
{
    uint32_t *rank = nas_alloc((n + 1) * sizeof *rank);
    size_t kept = 0;
    if (nas_front_sort(points, n, m, 1, rank, NULL) == NAS_OK)
        for (size_t i = 0; i < n; i++)
            if (rank[i] == 0)
                memmove(points + m * kept++, points + m * i, m * sizeof *points);
    free(rank);
    return kept;
}

static void scale(const target *t, double *points, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < t->m; k++) {
            double range = t->nadir[k] - t->ideal[k];
            points[i * t->m + k] = (points[i * t->m + k] - t->ideal[k]) / (range > 0 ? range : 1);
        }
}

static nas_status evaluate_all(target *t, double **points, size_t *n, nas_err *err)
{
    nas_sources *s = &t->sources;
    nas_arch *arch = NULL;
    size_t cap = 0, from = 0;
    *n = 0;
    while (from < s->n_source && !s->source[from].type->at)
        from++;
    if (from == s->n_source)
        return nas_fail(err, NAS_USAGE, "no source lists its architectures, so '%s' has no truth",
                        t->text);
    nas_evaluator *list = &s->source[from];
    for (size_t row = 0; row < list->n_listed; row++) {
        arch = nas_grow(arch, &cap, *n + 1, sizeof *arch);
        *n += list->type->at(list, row, &arch[*n]) && nas_sources_have(s, &arch[*n]);
    }
    *points = nas_alloc((*n + 1) * t->m * sizeof **points);
    nas_row_state *state = nas_alloc((*n + 1) * sizeof *state);
    nas_status status = nas_sources_evaluate(s, arch, *n, *points, state, err);
    free(state);
    free(arch);
    return status;
}

static nas_status find_truth(target *t, nas_err *err)
{
    size_t n;
    if (evaluate_all(t, &t->front, &n, err) != NAS_OK)
        return err->code;
    n = clean_points(t, t->front, n);
    t->n_front = keep_front(t->front, n, t->m);
    if (t->n_front == 0)
        return nas_fail(err, NAS_EMPTY, "the sources have no numbers for '%s'", t->text);
    for (size_t k = 0; k < t->m; k++) {
        t->ideal[k] = INFINITY;
        t->nadir[k] = -INFINITY;
        for (size_t i = 0; i < t->n_front; i++) {
            t->ideal[k] = fmin(t->ideal[k], t->front[i * t->m + k]);
            t->nadir[k] = fmax(t->nadir[k], t->front[i * t->m + k]);
        }
    }
    if (t->m > 1)
        scale(t, t->front, t->n_front);
    return NAS_OK;
}

/* ---- one run ---- */

static double *cell(target *t, size_t searcher, size_t at, size_t measure, size_t seed)
{
    const nas_bench_search *b = t->bench;
    return t->value + ((searcher * b->n_at + at) * t->n_measure + measure) * b->seeds + seed;
}

/* value: (2) the best in own units, and the queries until the optimum, rows when it is not there.
 */
static void measure_single(const target *t, const double *all, size_t rows, double *value)
{
    double best = INFINITY;
    double sign = t->objective[0].direction == NAS_MAX ? -1 : 1;
    value[1] = (double)rows;
    for (size_t i = rows; i-- > 0;) {
        best = fmin(best, sign * all[i]);
        if (sign * all[i] <= t->front[0])
            value[1] = (double)(i + 1);
    }
    value[0] = sign * best;
}

/* value: (3) share of the hypervolume, IGD+, epsilon. */
static nas_status measure_front(const target *t, const double *all, size_t rows, double *value,
                                nas_err *err)
{
    size_t m = t->m;
    double one[NAS_OBJECTIVE_MOST], volume, whole;
    double *points = nas_alloc((rows + 1) * m * sizeof *points);
    memcpy(points, all, rows * m * sizeof *points);
    size_t n = clean_points(t, points, rows);
    n = keep_front(points, n, m);
    scale(t, points, n);
    for (size_t k = 0; k < m; k++)
        one[k] = 1;
    nas_status status = nas_hypervolume(points, n, m, one, &volume, err);
    if (status == NAS_OK)
        status = nas_hypervolume(t->front, t->n_front, m, one, &whole, err);
    if (status == NAS_OK) {
        value[0] = volume / whole;
        value[1] = nas_front_igd_plus(points, n, t->front, t->n_front, m);
        value[2] = nas_front_epsilon(points, n, t->front, t->n_front, m);
    }
    free(points);
    return status;
}

static nas_status measure(target *t, const nas_run *run, size_t searcher, size_t seed, nas_err *err)
{
    nas_bench_search *b = t->bench;
    size_t rows = nas_run_rows(run);
    double *all = nas_alloc((rows + 1) * t->m * sizeof *all), value[3];
    for (size_t i = 0; i < rows; i++)
        memcpy(all + i * t->m, nas_run_get_row(run, i).value, t->m * sizeof *all);
    nas_status status = NAS_OK;
    for (size_t a = 0; a < b->n_at && status == NAS_OK; a++) {
        size_t n = b->at[a] < rows ? b->at[a] : rows;
        if (t->m == 1)
            measure_single(t, all, n, value);
        else
            status = measure_front(t, all, n, value, err);
        for (size_t k = 0; k < t->n_measure; k++)
            *cell(t, searcher, a, k, seed) = value[k];
    }
    free(all);
    return status;
}

static nas_status run_one(target *t, size_t searcher, size_t seed, nas_err *err)
{
    nas_bench_search *b = t->bench;
    const nas_searcher_type *type = b->searcher[searcher];
    double options[NAS_SEARCHER_OPTIONS];
    nas_searcher_defaults(type, options);
    for (size_t i = 0; i < b->n_option; i++)
        if (nas_searcher_option_read(type, b->option[i], options, err) != NAS_OK)
            return err->code;
    nas_sources sources = t->sources;
    nas_search search = {.space = b->space,
                         .task = b->task,
                         .sources = &sources,
                         .m = t->m,
                         .searcher = type,
                         .options = options,
                         .population = b->population ? b->population : type->population,
                         .budget = b->at[b->n_at - 1],
                         .seed = b->first_seed + seed,
                         .by_string = b->by_string};
    nas_run *run = nas_run_new(&(nas_run_info){.space = b->space->name,
                                               .task = b->task->name,
                                               .seed = b->first_seed + seed,
                                               .config = "",
                                               .provenance = "",
                                               .metric = t->objective,
                                               .n_metric = t->m,
                                               .n_objective = t->m});
    nas_status status = nas_search_run(&search, run, err);
    if (status == NAS_OK)
        status = measure(t, run, searcher, seed, err);
    nas_run_close(run);
    return status;
}

/* ---- all runs of one target ---- */

static void add_scores(target *t)
{
    static const char *const single[] = {"best", "queries"};
    static const char *const several[] = {"share", "igd_plus", "epsilon"};
    nas_bench_search *b = t->bench;
    for (size_t s = 0; s < b->n_searcher; s++)
        for (size_t k = 0; k < t->n_measure; k++)
            for (size_t a = 0; a < b->n_at; a++) {
                if (t->m == 1 && k == 1 && a + 1 < b->n_at)
                    continue; /* queries: with the largest cap only */
                b->score = nas_grow(b->score, &b->cap, b->n_score + 1, sizeof *b->score);
                nas_score *score = &b->score[b->n_score++];
                *score = (nas_score){.at = (int64_t)b->at[a]};
                snprintf(score->space, sizeof score->space, "%s", b->space->name);
                snprintf(score->target, sizeof score->target, "%s", t->text);
                snprintf(score->method, sizeof score->method, "%s", b->searcher[s]->name);
                snprintf(score->measure, sizeof score->measure, "%s",
                         (t->m == 1 ? single : several)[k]);
                nas_score_summarise(score, cell(t, s, a, k, 0), b->seeds);
            }
}

static void run_all(target *t)
{
    nas_bench_search *b = t->bench;
    size_t runs = b->n_searcher * b->seeds;
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < runs; i++) {
        nas_err err = {0};
        if (run_one(t, i / b->seeds, i % b->seeds, &err) != NAS_OK) {
#pragma omp critical
            {
                t->status = err.code;
                t->err = err;
            }
        }
    }
}

nas_status nas_bench_search_run(nas_bench_search *b, const char *objectives, nas_err *err)
{
    target t = {.bench = b, .text = objectives, .sources = *b->sources};
    nas_status status = nas_objectives_parse(objectives, t.objective, &t.m, err);
    if (status == NAS_OK)
        status = nas_sources_need(&t.sources, t.objective, t.m, err);
    for (size_t k = 0; k < t.m && status == NAS_OK; k++)
        t.sources.wanted[k].direction = t.objective[k].direction;
    if (status == NAS_OK)
        status = find_truth(&t, err);
    if (status == NAS_OK) {
        t.n_measure = t.m == 1 ? 2 : 3;
        t.value = nas_zalloc(b->n_searcher * b->n_at * t.n_measure * b->seeds, sizeof *t.value);
        run_all(&t);
        status = t.status;
        if (status != NAS_OK && err)
            *err = t.err;
        else
            add_scores(&t);
    }
    free(t.value);
    free(t.front);
    return status;
}

void nas_bench_search_clear(nas_bench_search *b)
{
    free(b->score);
    b->score = NULL;
    b->n_score = b->cap = 0;
}
