#include "search/search.h"

#include "results/hypervolume.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum {
    STEADY_COMMIT = 64,  /* rows that a steady-state searcher calls a generation */
    DRAWS = 2048,        /* samples before the space is enumerated, or given up */
    SPARSE = 64,         /* a list is drawn from when the space is so many times larger */
    SCAN_MOST = 1 << 24, /* spaces of up to so many strings are enumerated */
};

/* What the run held when it was opened: numbers that need not be asked for again. */
typedef struct {
    size_t n;
    nas_arena *text;
    const char **arch;    /* [n] */
    nas_row_state *state; /* [n] */
    double *value;        /* (n, metrics) */
} stored_rows;

typedef struct {
    nas_search *s;
    nas_run *run;
    size_t metrics; /* of a row of the run: wanted ones, then predicted ones */
    nas_searcher searcher;
    nas_rng seed;
    nas_arch_set seen;   /* classes that have a row or are in the batch */
    nas_arch_set absent; /* strings that the sources have no numbers for */
    nas_archive archive;
    nas_evaluator *list; /* a source that lists what it knows, */
    size_t listed;       /* and how many rows that is; 0: draw from the space */
    stored_rows stored;
    size_t kept;          /* rows of whole stored generations, which are in the run already */
    size_t total;         /* rows so far */
    size_t grouped;       /* rows of the generation in work */
    size_t init_next;     /* of the architectures to start from */
    size_t want;          /* proposals of a batch */
    nas_proposal *batch;  /* [want] */
    nas_member *member;   /* [want] */
    double *values;       /* (want, wanted) */
    nas_row_state *state; /* [want] */
    double reference[NAS_OBJECTIVE_MOST]; /* less is better */
    bool has_reference;
    double worst[NAS_OBJECTIVE_MOST]; /* of the feasible rows, until there is a reference */
} loop;

/* ---- ask ---- */

/* Whether the class of arch is new and the sources know arch; the class then counts as seen. */
static bool is_fresh(loop *l, const nas_arch *arch)
{
    nas_arch key = *arch;
    if (!l->s->by_string)
        nas_space_canonical(l->s->space, arch, &key);
    if (nas_arch_set_find(&l->seen, &key) >= 0) {
        l->s->duplicates++;
        return false;
    }
    if (nas_arch_set_find(&l->absent, arch) >= 0)
        return false;
    if (!nas_sources_have(l->s->sources, arch)) {
        nas_arch_set_add(&l->absent, arch, NULL);
        l->s->unknown++;
        return false;
    }
    nas_arch_set_add(&l->seen, &key, NULL);
    return true;
}

/* The next fresh string in the order of indices from a random one on. */
static bool scan(loop *l, nas_rng *rng, nas_arch *out)
{
    uint64_t points = nas_space_points(l->s->space), start = nas_rng_below(rng, points);
    for (uint64_t i = 0; i < points; i++) {
        nas_space_at(l->s->space, (start + i) % points, out);
        if (nas_space_valid(l->s->space, out) && is_fresh(l, out))
            return true;
    }
    return false;
}

/* The next fresh row of a source that is a list, from a random one on. */
static bool scan_list(loop *l, nas_rng *rng, nas_arch *out)
{
    size_t start = nas_rng_below(rng, l->listed);
    for (size_t i = 0; i < l->listed; i++)
        if (l->list->type->at(l->list, (start + i) % l->listed, out) && is_fresh(l, out))
            return true;
    return false;
}

/* A fresh architecture: drawn from the space, or from a list that knows little of it; then by a
 * scan of whichever is small. */
static bool sample_fresh(loop *l, nas_rng *rng, nas_arch *out)
{
    for (int t = 0; t < DRAWS; t++) {
        bool good = true;
        if (l->listed)
            good = l->list->type->at(l->list, nas_rng_below(rng, l->listed), out);
        else
            nas_space_sample(l->s->space, rng, out);
        if (good && is_fresh(l, out))
            return true;
    }
    uint64_t points = nas_space_points(l->s->space);
    bool small = points > 0 && points <= SCAN_MOST;
    if (l->listed ? scan_list(l, rng, out) : small && scan(l, rng, out))
        return true;
    l->s->end = l->listed || small ? NAS_SEARCH_EXHAUSTED : NAS_SEARCH_TIRED;
    return false;
}

/* The candidate that will be row id; false: none is left. */
static bool propose(loop *l, uint64_t id, nas_proposal *out)
{
    nas_search *s = l->s;
    nas_rng candidate = nas_rng_child(&l->seed, "candidate", id);
    out->parent[0] = out->parent[1] = -1;
    while (l->init_next < s->n_init) {
        out->arch = s->init[l->init_next++];
        if (is_fresh(l, &out->arch))
            return true;
    }
    for (uint64_t t = 0; t < l->searcher.type->asks; t++) {
        nas_rng rng = nas_rng_child(&candidate, "ask", t);
        l->searcher.type->ask(l->searcher.state, &rng, out);
        if (is_fresh(l, &out->arch))
            return true;
    }
    nas_rng rng = nas_rng_child(&candidate, "sample", 0);
    out->parent[0] = out->parent[1] = -1;
    return sample_fresh(l, &rng, &out->arch);
}

/* Fills the batch; less than asked for when nothing is left. */
static size_t ask(loop *l)
{
    size_t n = 0, want = l->want;
    if (want > l->s->budget - l->total)
        want = l->s->budget - l->total;
    while (n < want && propose(l, l->total + n, &l->batch[n]))
        n++;
    return n;
}

/* ---- evaluate ---- */

/* What was stored as row is proposal k, with the numbers that sources which list theirs say now. */
static nas_status match_stored(loop *l, size_t row, size_t k, const char *arch, nas_err *err)
{
    nas_sources *sources = l->s->sources;
    if (strcmp(l->stored.arch[row], arch))
        return nas_fail(err, NAS_FAILED,
                        "row %zu of the stored run is '%s' where this search asks for '%s': its "
                        "sources or settings have changed",
                        row, l->stored.arch[row], arch);
    int other = nas_sources_differ(sources, &l->batch[k].arch, l->values + k * sources->n_wanted);
    return other < 0 ? NAS_OK
                     : nas_fail(err, NAS_FAILED,
                                "row %zu of the stored run, '%s', has another %s than its source "
                                "now: the source has changed",
                                row, arch, sources->wanted[other].name);
}

/* Takes what was stored for the batch; *known is how many of it that is. */
static nas_status recall(loop *l, size_t n, size_t *known, nas_err *err)
{
    size_t wanted = l->s->sources->n_wanted, k = 0;
    nas_bytes text = {0};
    nas_status status = NAS_OK;
    for (; k < n && l->total + k < l->stored.n && status == NAS_OK; k++) {
        size_t row = l->total + k;
        const double *from = l->stored.value + row * l->metrics;
        l->state[k] = l->stored.state[row];
        memcpy(l->values + k * wanted, from, wanted * sizeof *from);
        for (size_t j = 0; wanted + j < l->metrics; j++)
            l->values[k * wanted + nas_search_verified_metric(l->s, j)] = from[wanted + j];
        nas_bytes_reset(&text);
        nas_space_print(l->s->space, &l->batch[k].arch, &text);
        status = match_stored(l, row, k, text.data, err);
    }
    nas_bytes_clear(&text);
    *known = k;
    return status;
}

static nas_status evaluate(loop *l, size_t n, nas_err *err)
{
    size_t known = 0, wanted = l->s->sources->n_wanted;
    nas_status status = recall(l, n, &known, err);
    if (status != NAS_OK || known == n)
        return status;
    nas_arch *arch = nas_alloc((n - known) * sizeof *arch);
    for (size_t i = known; i < n; i++)
        arch[i - known] = l->batch[i].arch;
    status = nas_sources_evaluate(l->s->sources, arch, n - known, l->values + known * wanted,
                                  l->state + known, err);
    free(arch);
    return status;
}

/* ---- tell, archive ---- */

double nas_search_violation(const nas_search *s, const double *values)
{
    double sum = 0;
    for (size_t i = 0; i < s->n_constraint; i++)
        sum += nas_constraint_violation(&s->constraint[i], values[s->constraint_column[i]]);
    return sum;
}

static nas_member make_member(const loop *l, size_t k)
{
    const nas_search *s = l->s;
    const double *values = l->values + k * s->sources->n_wanted;
    nas_member member = {.arch = l->batch[k].arch,
                         .id = (int64_t)(l->total + k),
                         .parent = l->batch[k].parent[0],
                         .failed = l->state[k] != NAS_ROW_OK};
    member.violation = member.failed ? NAN : nas_search_violation(s, values);
    member.value = values;
    memcpy(member.f, values, s->m * sizeof *values);
    nas_objectives_minimise(member.f, 1, s->sources->wanted, s->m);
    return member;
}

/* The numbers of a row: a metric that is to be verified has what was measured before, or none, and
 * what the search was told stands beside it. */
static void fill_values(const loop *l, size_t k, double *out)
{
    size_t wanted = l->s->sources->n_wanted, row = l->total + k;
    memcpy(out, l->values + k * wanted, wanted * sizeof *out);
    for (size_t j = 0; wanted + j < l->metrics; j++) {
        size_t own = nas_search_verified_metric(l->s, j);
        out[wanted + j] = out[own];
        out[own] = row < l->stored.n ? l->stored.value[row * l->metrics + own] : NAN;
    }
}

static void add_row(loop *l, size_t k, bool feasible, nas_bytes *text)
{
    const nas_search *s = l->s;
    double values[NAS_SEARCH_METRICS];
    fill_values(l, k, values);
    nas_run_row row = {.parent1 = l->batch[k].parent[0],
                       .parent2 = l->batch[k].parent[1],
                       .state = l->state[k],
                       .feasible = feasible,
                       .violation = l->member[k].violation,
                       .value = values};
    nas_bytes_reset(text);
    nas_space_print(s->space, &l->batch[k].arch, text);
    row.arch = text->data;
    nas_sources_hash(s->sources, &l->batch[k].arch, row.hash);
    nas_run_add(l->run, &row);
}

static void tell(loop *l, size_t n)
{
    nas_bytes text = {0};
    for (size_t k = 0; k < n; k++) {
        nas_member *member = &l->member[k];
        *member = make_member(l, k);
        bool feasible = !member->failed && member->violation <= 0;
        if (feasible)
            nas_archive_add(&l->archive, member->id, member->f);
        for (size_t i = 0; feasible && i < l->s->m; i++)
            if (member->f[i] > l->worst[i])
                l->worst[i] = member->f[i];
        l->s->failed += member->failed;
        if (l->total + k >= l->kept)
            add_row(l, k, feasible, &text);
    }
    nas_bytes_clear(&text);
    l->searcher.type->tell(l->searcher.state, l->member, n);
    l->total += n;
    l->grouped += n;
}

/* ---- commit ---- */

/* The worst feasible values of the first generation that has any, unless one was given. */
static void fix_reference(loop *l)
{
    if (l->has_reference || l->archive.n == 0)
        return;
    l->has_reference = true;
    memcpy(l->reference, l->worst, sizeof l->reference);
    double own[NAS_OBJECTIVE_MOST];
    memcpy(own, l->worst, sizeof own);
    nas_objectives_minimise(own, 1, l->s->sources->wanted, l->s->m); /* turns it back */
    nas_run_set_reference(l->run, own);
}

static nas_status commit(loop *l, nas_err *err)
{
    nas_run_step step = {
        .evaluations = (int64_t)l->total, .front_size = (int64_t)l->archive.n, .tau = NAN};
    fix_reference(l);
    nas_status status = NAS_OK;
    if (l->has_reference)
        status = nas_hypervolume(l->archive.f, l->archive.n, l->s->m, l->reference,
                                 &step.hypervolume, err);
    if (status == NAS_OK && l->total > l->kept)
        status = nas_run_commit(l->run, &step, err);
    l->grouped = 0;
    if (l->s->progress)
        l->s->progress(l->s->progress_context, l->total, l->archive.n, step.hypervolume);
    return status;
}

/* ---- the loop ---- */

/* Copies the stored rows. The last stored generation is taken back: it may be a part of what it
 * is with this budget. Its numbers are not asked for again. */
static nas_status open_stored(loop *l, nas_err *err)
{
    stored_rows *stored = &l->stored;
    stored->n = l->kept = nas_run_rows(l->run);
    stored->text = nas_arena_new();
    stored->arch = nas_alloc(stored->n * sizeof *stored->arch);
    stored->state = nas_alloc(stored->n * sizeof *stored->state);
    stored->value = nas_alloc(stored->n * l->metrics * sizeof *stored->value);
    for (size_t i = 0; i < stored->n; i++) {
        nas_run_row row = nas_run_get_row(l->run, i);
        stored->arch[i] = nas_arena_copy(stored->text, row.arch, strlen(row.arch) + 1);
        stored->state[i] = row.state;
        memcpy(stored->value + i * l->metrics, row.value, l->metrics * sizeof *row.value);
    }
    if (stored->n > l->s->budget)
        return nas_fail(err, NAS_USAGE, "the run has %zu rows already, more than a budget of %llu",
                        stored->n, (unsigned long long)l->s->budget);
    if (stored->n > 0 && stored->n < l->s->budget) {
        nas_run_truncate(l->run, nas_run_generations(l->run) - 1);
        l->kept = nas_run_rows(l->run);
    }
    return NAS_OK;
}

/* Looks for a source that is a list of a small share of the space: random draws would miss it. */
static void find_list(loop *l)
{
    nas_sources *sources = l->s->sources;
    for (size_t i = 0; i < sources->n_source && !l->list; i++)
        if (sources->source[i].type->at)
            l->list = &sources->source[i];
    if (l->list && (double)l->list->n_listed * SPARSE <= l->s->space->size)
        l->listed = l->list->n_listed;
}

static double violation_of(const void *search, const double *values)
{
    return nas_search_violation(search, values);
}

static bool list_at(void *list, size_t row, nas_arch *arch)
{
    nas_evaluator *e = list;
    return e->type->at(e, row, arch);
}

static void open_searcher(loop *l)
{
    const nas_search *s = l->s;
    nas_search_setup setup = {.space = s->space,
                              .task = s->task,
                              .m = s->m,
                              .population = s->population,
                              .metric = s->sources->wanted,
                              .metrics = s->sources->n_wanted,
                              .violation = s->n_constraint ? violation_of : NULL,
                              .context = s,
                              .rng = nas_rng_child(&l->seed, "searcher", 0),
                              .at = list_at,
                              .list = l->list,
                              .listed = l->listed};
    l->searcher = (nas_searcher){s->searcher, s->searcher->open(&setup, s->options)};
}

static void open_loop(loop *l, nas_search *s, nas_run *run)
{
    size_t wanted = s->sources->n_wanted;
    *l = (loop){.s = s, .run = run, .seed = nas_rng_seed(s->seed), .archive.m = s->m};
    l->metrics = wanted + (s->verify ? s->verify->n_wanted : 0);
    assert(nas_run_get_info(run)->n_metric == l->metrics);
    l->want = !s->searcher->steady ? s->population : s->batch ? s->batch : 1;
    l->batch = nas_zalloc(l->want, sizeof *l->batch);
    l->member = nas_zalloc(l->want, sizeof *l->member);
    l->values = nas_zalloc(l->want * wanted, sizeof *l->values);
    l->state = nas_zalloc(l->want, sizeof *l->state);
    for (size_t i = 0; i < s->m; i++)
        l->worst[i] = -INFINITY;
    if (s->reference) {
        l->has_reference = true;
        memcpy(l->reference, s->reference, s->m * sizeof *s->reference);
        nas_objectives_minimise(l->reference, 1, s->sources->wanted, s->m);
        nas_run_set_reference(run, s->reference);
    }
    find_list(l);
    open_searcher(l);
    s->sources->run = run;
    s->end = NAS_SEARCH_BUDGET;
    s->failed = s->duplicates = s->unknown = 0;
}

static void close_loop(loop *l)
{
    l->searcher.type->close(l->searcher.state);
    nas_arch_set_clear(&l->seen);
    nas_arch_set_clear(&l->absent);
    nas_archive_clear(&l->archive);
    nas_arena_free(l->stored.text);
    free(l->stored.arch);
    free(l->stored.state);
    free(l->stored.value);
    free(l->batch);
    free(l->member);
    free(l->values);
    free(l->state);
}

static nas_status worse(nas_status a, nas_status b)
{
    return a != NAS_OK ? a : b;
}

nas_status nas_search_run(nas_search *s, nas_run *run, nas_err *err)
{
    loop l;
    open_loop(&l, s, run);
    nas_status status = open_stored(&l, err);
    size_t group = s->searcher->steady ? STEADY_COMMIT : 1;
    while (status == NAS_OK && l.total < s->budget && s->end == NAS_SEARCH_BUDGET) {
        size_t n = ask(&l);
        status = evaluate(&l, n, err);
        if (status == NAS_OK)
            tell(&l, n);
        if (s->stop && *s->stop)
            s->end = NAS_SEARCH_STOPPED;
        if (status == NAS_EMPTY) /* stopped in a batch, of which a slow source kept its answers */
            status = NAS_OK;
        bool last = l.total == s->budget || s->end != NAS_SEARCH_BUDGET || status != NAS_OK;
        if (l.grouped >= group || (last && l.grouped > 0))
            status = worse(status, commit(&l, err));
    }
    close_loop(&l);
    return status;
}
