/* The end of a search on estimates: its best architectures are measured. */
#include "search/search.h"

#include <math.h>
#include <stdlib.h>

enum { BATCH = 64 }; /* rows between two snapshots */

size_t nas_search_verified_metric(const nas_search *s, size_t j)
{
    return (size_t)nas_metric_find(s->sources->wanted, s->sources->n_wanted,
                                   s->verify->wanted[j].name);
}

/* ---- which rows ---- */

typedef struct {
    uint32_t rank;
    double distance;
    int64_t id;
} candidate;

static int compare_candidates(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->distance != y->distance)
        return x->distance > y->distance ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* What the search knew of a row: predictions in place of measurements. out: (wanted). */
static void predicted_values(const nas_search *s, const nas_run_row *row, double *out)
{
    size_t wanted = s->sources->n_wanted;
    memcpy(out, row->value, wanted * sizeof *out);
    for (size_t j = 0; j < s->verify->n_wanted; j++)
        out[nas_search_verified_metric(s, j)] = row->value[wanted + j];
}

/* Ids of the best feasible rows in a list to be freed; returns how many. */
static size_t choose(const nas_search *s, const nas_run *run, candidate **list)
{
    size_t rows = nas_run_rows(run), n = 0;
    nas_member *member = nas_alloc((rows + 1) * sizeof *member);
    for (size_t i = 0; i < rows; i++) {
        double values[NAS_WANTED_MOST];
        nas_run_row row = nas_run_get_row(run, i);
        predicted_values(s, &row, values);
        if (row.state != NAS_ROW_OK || nas_search_violation(s, values) > 0)
            continue;
        member[n] = (nas_member){.id = (int64_t)i};
        memcpy(member[n].f, values, s->m * sizeof *values);
        nas_objectives_minimise(member[n++].f, 1, s->sources->wanted, s->m);
    }
    uint32_t *rank = nas_alloc((n + 1) * sizeof *rank);
    double *distance = nas_alloc((n + 1) * sizeof *distance);
    nas_member_ranks(member, n, s->m, rank);
    nas_member_crowding(member, n, s->m, rank, distance);
    *list = nas_alloc((n + 1) * sizeof **list);
    for (size_t i = 0; i < n; i++)
        (*list)[i] = (candidate){rank[i], distance[i], member[i].id};
    qsort(*list, n, sizeof **list, compare_candidates);
    size_t kept = 0;
    while (kept < n && (s->verify_best ? kept < s->verify_best : (*list)[kept].rank == 0))
        kept++;
    free(distance);
    free(rank);
    free(member);
    return kept;
}

/* ---- measuring ---- */

static bool is_verified(const nas_search *s, const nas_run_row *row)
{
    for (size_t j = 0; j < s->verify->n_wanted; j++)
        if (isnan(row->value[nas_search_verified_metric(s, j)]))
            return false;
    return true;
}

static void set_measured(const nas_search *s, nas_run *run, size_t id, const double *measured)
{
    double values[NAS_SEARCH_METRICS];
    nas_run_row row = nas_run_get_row(run, id);
    memcpy(values, row.value, nas_run_get_info(run)->n_metric * sizeof *values);
    for (size_t j = 0; j < s->verify->n_wanted; j++)
        values[nas_search_verified_metric(s, j)] = measured[j];
    row.violation = nas_search_violation(s, values);
    row.feasible = row.violation <= 0;
    row.value = values;
    nas_run_set_numbers(run, id, &row);
}

/* Measures up to BATCH rows of the list from *next on that need it. */
static nas_status measure(nas_search *s, nas_run *run, const candidate *list, size_t n,
                          size_t *next, nas_err *err)
{
    nas_arch arch[BATCH];
    size_t id[BATCH], k = 0, v = s->verify->n_wanted;
    for (; *next < n && k < BATCH; ++*next) {
        id[k] = (size_t)list[*next].id;
        nas_run_row row = nas_run_get_row(run, id[k]);
        if (is_verified(s, &row))
            continue;
        if (nas_space_parse(s->space, row.arch, &arch[k], err) != NAS_OK)
            return NAS_FAILED;
        k += nas_sources_have(s->verify, &arch[k]);
    }
    double *values = nas_alloc((k * v + 1) * sizeof *values);
    nas_row_state state[BATCH];
    nas_status status = k ? nas_sources_evaluate(s->verify, arch, k, values, state, err) : NAS_OK;
    for (size_t i = 0; i < k && status == NAS_OK; i++)
        set_measured(s, run, id[i], values + i * v);
    free(values);
    return status == NAS_OK && k ? nas_run_snapshot(run, err) : status;
}

nas_status nas_search_verify(nas_search *s, nas_run *run, nas_err *err)
{
    candidate *list;
    s->verify->run = run;
    s->verify->first_number = NAS_SOURCES_MOST;
    size_t n = choose(s, run, &list), next = 0;
    nas_status status = NAS_OK;
    while (next < n && status == NAS_OK && !(s->stop && *s->stop))
        status = measure(s, run, list, n, &next, err);
    if (s->stop && *s->stop) {
        s->end = NAS_SEARCH_STOPPED;
        status = status == NAS_EMPTY ? NAS_OK : status;
    }
    s->verified = 0;
    for (size_t i = 0; i < nas_run_rows(run); i++) {
        nas_run_row row = nas_run_get_row(run, i);
        s->verified += is_verified(s, &row);
    }
    free(list);
    return status;
}
