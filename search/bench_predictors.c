#include "search/bench_predictors.h"

#include "results/split.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <time.h>

/* ---- the rows of the table that have the metric ---- */

typedef struct {
    size_t n;
    nas_arch *arch;   /* [n] as in the table */
    nas_arch *same;   /* [n] canonical */
    double *value;    /* (n) */
    const char **key; /* [n] canonical strings */
    nas_arena *arena;
} bench_rows;

static nas_status read_rows(const nas_bench_plan *p, bench_rows *r, nas_err *err)
{
    nas_bytes text = {0};
    const nas_space *space = p->table->space;
    r->arch = nas_alloc(p->table->n * sizeof *r->arch);
    r->same = nas_alloc(p->table->n * sizeof *r->same);
    r->value = nas_alloc(p->table->n * sizeof *r->value);
    r->key = nas_alloc(p->table->n * sizeof *r->key);
    r->arena = nas_arena_new();
    for (size_t i = 0; i < p->table->n && err->code == NAS_OK; i++) {
        double value = nas_table_value(p->table, i, p->metric);
        if (isnan(value))
            continue;
        r->value[r->n] = value;
        nas_space_parse(space, nas_table_arch(p->table, i, &text), &r->arch[r->n++], err);
    }
#pragma omp parallel for schedule(dynamic, 64)
    for (size_t i = 0; i < r->n; i++)
        nas_space_canonical(space, &r->arch[i], &r->same[i]);
    for (size_t i = 0; i < r->n; i++) {
        nas_bytes_reset(&text);
        nas_space_print(space, &r->same[i], &text);
        r->key[i] = nas_arena_copy(r->arena, text.data, text.size + 1);
    }
    nas_bytes_clear(&text);
    return err->code;
}

static void clear_rows(bench_rows *r)
{
    free(r->arch);
    free(r->same);
    free(r->value);
    free(r->key);
    nas_arena_free(r->arena);
}

/* ---- one draw of one method ---- */

typedef struct {
    const nas_bench_method *method;
    size_t n; /* training rows */
    size_t draw;
    bool measured;
    nas_bench_draw figures;
} bench_job;

typedef struct {
    const nas_bench_plan *plan;
    const bench_rows *rows;
    clockid_t clock; /* of a job's CPU time */
} bench;

static double seconds(const bench *b)
{
    struct timespec t;
    clock_gettime(b->clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Rows of one side of a split, gathered. */
typedef struct {
    size_t n;
    nas_arch *arch, *same;
    double *value, *score;
} bench_side;

static bench_side gather(const bench_rows *r, const uint32_t *order, size_t n)
{
    bench_side s = {.n = n};
    s.arch = nas_alloc(n * sizeof *s.arch);
    s.same = nas_alloc(n * sizeof *s.same);
    s.value = nas_alloc(n * sizeof *s.value);
    s.score = nas_alloc(n * sizeof *s.score);
    for (size_t i = 0; i < n; i++) {
        s.arch[i] = r->arch[order[i]];
        s.same[i] = r->same[order[i]];
        s.value[i] = r->value[order[i]];
    }
    return s;
}

static void clear_side(bench_side *s)
{
    free(s->arch);
    free(s->same);
    free(s->value);
    free(s->score);
}

static nas_status learn(const bench *b, bench_job *job, const bench_side *train, bench_side *test,
                        nas_err *err)
{
    const nas_bench_plan *p = b->plan;
    const nas_labels labels = {.space = p->table->space,
                               .task = p->task,
                               .arch = train->arch,
                               .n = train->n,
                               .metric = &p->table->metric[p->metric],
                               .m = 1,
                               .value = train->value};
    nas_predictor predictor;
    double start = seconds(b);
    nas_status status = nas_predictor_fit(&predictor, job->method->type, &labels, job->draw, err);
    double middle = seconds(b);
    if (status == NAS_OK)
        status = nas_predictor_predict(&predictor, test->arch, test->n, test->score, NULL, err);
    job->figures.fit_seconds = middle - start;
    job->figures.predict_seconds = seconds(b) - middle;
    if (status == NAS_OK)
        job->figures.parameters = (double)nas_predictor_parameters(&predictor);
    nas_predictor_clear(&predictor);
    return status;
}

static nas_status look_up_proxies(const nas_bench_method *m, bench_side *test, nas_err *err)
{
    double *values = nas_alloc(m->proxies->n_metric * sizeof *values);
    for (size_t i = 0; i < test->n && err->code == NAS_OK; i++) {
        bool found = nas_table_find(m->proxies, &test->arch[i], values);
        test->score[i] = found ? values[m->column] : NAN;
    }
    free(values);
    return err->code;
}

static void look_up_foreign(const nas_foreign *f, const bench_job *job, bench_side *test)
{
    double *score = nas_alloc(f->arch.n * sizeof *score);
    for (size_t i = 0; i < f->arch.n; i++)
        score[i] = NAN;
    for (const struct nas_foreign_row *r = f->row; r < f->row + f->n; r++)
        if ((r->n < 0 || r->n == (int64_t)job->n) && (r->draw < 0 || r->draw == (int64_t)job->draw))
            score[r->arch] = r->score;
    for (size_t i = 0; i < test->n; i++) {
        int64_t at = nas_arch_set_find(&f->arch, &test->same[i]);
        test->score[i] = at < 0 ? NAN : score[at];
    }
    free(score);
}

static nas_status need_scores(const bench *b, const bench_job *job, const bench_side *test,
                              nas_err *err)
{
    size_t missing = 0, first = 0;
    for (size_t i = test->n; i-- > 0;)
        if (isnan(test->score[i])) {
            missing++;
            first = i;
        }
    if (missing == 0)
        return NAS_OK;
    nas_bytes text = {0};
    nas_space_print(b->plan->table->space, &test->arch[first], &text);
    nas_fail(err, NAS_FAILED,
             "%s has no score for %zu of %zu test rows (n %zu, draw %zu), as of '%.100s'",
             job->method->name, missing, test->n, job->n, job->draw, text.data);
    nas_bytes_clear(&text);
    return NAS_FAILED;
}

static nas_status run_job(const bench *b, bench_job *job, nas_err *err)
{
    const nas_bench_plan *p = b->plan;
    nas_split split = {0};
    nas_split_order(&split, p->table->space->name, job->draw, b->rows->key, b->rows->n);
    size_t first = nas_split_test(&split, job->n), tests = split.n - first;
    if (p->tests && tests > p->tests)
        tests = p->tests;
    bench_side train = gather(b->rows, split.order, job->n);
    bench_side test = gather(b->rows, split.order + first, tests);
    nas_split_clear(&split);
    nas_status status = NAS_OK;
    if (job->method->type)
        status = learn(b, job, &train, &test, err);
    else if (job->method->proxies)
        status = look_up_proxies(job->method, &test, err);
    else
        look_up_foreign(job->method->foreign, job, &test);
    if (status == NAS_OK)
        status = need_scores(b, job, &test, err);
    if (status == NAS_OK)
        status = nas_bench_measure(&job->figures, &p->table->metric[p->metric], test.value,
                                   test.score, test.n, err);
    clear_side(&train);
    clear_side(&test);
    return status;
}

/* ---- all of them ---- */

static bool is_measured(const nas_bench_run *run, const bench_job *job)
{
    for (size_t i = 0; i < run->n; i++)
        if (run->draw[i].n == (int64_t)job->n && run->draw[i].draw == (int64_t)job->draw &&
            !strcmp(run->draw[i].method, job->method->name))
            return true;
    return false;
}

static void add_job(const nas_bench_run *run, bench_job **jobs, size_t *n, size_t *cap,
                    bench_job job)
{
    if (is_measured(run, &job))
        return;
    *jobs = nas_grow(*jobs, cap, *n + 1, sizeof **jobs);
    job.figures.n = (int64_t)job.n;
    job.figures.draw = (int64_t)job.draw;
    memcpy(job.figures.method, job.method->name, sizeof job.figures.method);
    (*jobs)[(*n)++] = job;
}

/* Draws outermost, so that what is there after a while compares all methods. */
static bench_job *list_jobs(const nas_bench_run *run, size_t rows, size_t *n)
{
    const nas_bench_plan *p = run->plan;
    bench_job *jobs = NULL;
    size_t cap = 0, most = p->hold_out ? 1 : p->draws ? p->draws : 20;
    for (size_t draw = 0; draw < most; draw++)
        for (size_t k = 0; k < (p->hold_out ? 1 : p->n_at); k++)
            for (size_t m = 0; m < p->n_method; m++) {
                size_t at = p->hold_out ? rows - rows / 20 : p->at[k];
                if (p->draws || p->hold_out || draw < (at <= 172 ? 20u : 5u))
                    add_job(run, &jobs, n, &cap,
                            (bench_job){.method = &p->method[m], .n = at, .draw = draw});
            }
    return jobs;
}

static void run_jobs(nas_bench_run *run, bench *b, bench_job *jobs, size_t n, nas_err *err)
{
    int threads = omp_get_max_threads();
    size_t left = n;
    if ((size_t)threads > n)
        threads = n ? (int)n : 1;
    b->clock = threads > 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < n; i++) {
        nas_err own = {0};
        bool stop;
#pragma omp critical(bench_predictors)
        stop = err->code != NAS_OK;
        if (stop)
            continue;
        run_job(b, &jobs[i], &own);
#pragma omp critical(bench_predictors)
        {
            if (own.code == NAS_OK) {
                run->draw = nas_grow(run->draw, &run->cap, run->n + 1, sizeof *run->draw);
                run->draw[run->n++] = jobs[i].figures;
                left--;
                if (run->done)
                    run->done(run->context, &jobs[i].figures, left, &own);
            }
            if (own.code != NAS_OK)
                nas_fail(err, own.code, "%s", own.text);
        }
    }
}

nas_status nas_bench_predictors(nas_bench_run *run, nas_err *err)
{
    const nas_bench_plan *p = run->plan;
    bench_rows rows = {0};
    bench b = {.plan = p, .rows = &rows};
    nas_err own = {0};
    size_t n = 0;
    bench_job *jobs = NULL;
    read_rows(p, &rows, &own);
    for (size_t k = 0; k < p->n_at && own.code == NAS_OK; k++)
        if (p->at[k] == 0 || p->at[k] + 2 > rows.n)
            nas_fail(&own, NAS_USAGE, "%zu training rows: the table has %zu rows with %s", p->at[k],
                     rows.n, p->table->metric[p->metric].name);
    if (own.code == NAS_OK) {
        jobs = list_jobs(run, rows.n, &n);
        run_jobs(run, &b, jobs, n, &own);
        nas_bench_sort(run->draw, run->n);
    }
    free(jobs);
    clear_rows(&rows);
    return own.code == NAS_OK ? NAS_OK : nas_fail(err, own.code, "%s", own.text);
}

void nas_bench_run_clear(nas_bench_run *run)
{
    free(run->draw);
    run->draw = NULL;
    run->n = run->cap = 0;
}
