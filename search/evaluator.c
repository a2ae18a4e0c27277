#include "search/evaluator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the list: one line an evaluator ---- */

extern const nas_evaluator_type nas_evaluator_table, nas_evaluator_cost, nas_evaluator_formula,
    nas_evaluator_command, nas_evaluator_model, nas_evaluator_measure;

static const nas_evaluator_type *const TYPES[] = {
    &nas_evaluator_table,   &nas_evaluator_cost,  &nas_evaluator_formula,
    &nas_evaluator_command, &nas_evaluator_model, &nas_evaluator_measure,
};
enum { N_TYPES = sizeof TYPES / sizeof *TYPES };

static nas_status unknown_source(const char *name, nas_err *err)
{
    const char *names[N_TYPES];
    char hint[100];
    for (size_t i = 0; i < N_TYPES; i++)
        names[i] = TYPES[i]->name;
    return nas_fail(err, NAS_USAGE, "unknown source '%s'%s", name,
                    nas_hint(hint, sizeof hint, name, names, N_TYPES));
}

nas_status nas_evaluator_open(nas_evaluator *evaluator, const nas_space *space,
                              const nas_task *task, const nas_evaluator_limits *limits,
                              const char *source, nas_err *err)
{
    char name[32];
    size_t length = strcspn(source, ":");
    snprintf(name, sizeof name, "%.*s", (int)(length < 31 ? length : 31), source);
    const char *argument = source[length] ? source + length + 1 : NULL;
    size_t i = 0;
    while (i < N_TYPES && strcmp(TYPES[i]->name, name))
        i++;
    if (i == N_TYPES)
        return unknown_source(name, err);
    if (argument && !TYPES[i]->argument)
        return nas_fail(err, NAS_USAGE, "source '%s' takes nothing after the colon ('%s')", name,
                        source);
    *evaluator = (nas_evaluator){.type = TYPES[i], .space = space, .task = task, .limits = *limits};
    if (limits->workers == 0)
        evaluator->limits.workers = 1;
    if (limits->timeout <= 0)
        evaluator->limits.timeout = 3600;
    if (limits->tries == 0)
        evaluator->limits.tries = 3;
    nas_status status = TYPES[i]->open(evaluator, argument, err);
    if (status != NAS_OK)
        nas_evaluator_close(evaluator);
    return status;
}

void nas_evaluator_close(nas_evaluator *evaluator)
{
    if (evaluator->type && evaluator->type->close)
        evaluator->type->close(evaluator);
    *evaluator = (nas_evaluator){0};
}

nas_status nas_evaluator_keep(const nas_evaluator *e, const nas_arch *arch, nas_row_state state,
                              const double *values, size_t m, nas_err *err)
{
    if (!e->run)
        return NAS_OK;
    nas_bytes text = {0};
    nas_space_print(e->space, arch, &text);
    const nas_run_answer answer = {e->number, state, text.data, values, m};
    nas_status status = nas_run_keep(e->run, &answer, err);
    nas_bytes_clear(&text);
    return status;
}

/* ---- sources ---- */

nas_status nas_sources_add(nas_sources *sources, const nas_space *space, const nas_task *task,
                           const char *source, nas_err *err)
{
    if (sources->n_source == NAS_SOURCES_MOST)
        return nas_fail(err, NAS_USAGE, "more than %d sources ('%s')", NAS_SOURCES_MOST, source);
    nas_evaluator *evaluator = &sources->source[sources->n_source];
    nas_status status = nas_evaluator_open(evaluator, space, task, &sources->limits, source, err);
    sources->n_source += status == NAS_OK;
    return status;
}

static nas_status unknown_metric(const nas_sources *s, const char *name, nas_err *err)
{
    const char *names[512];
    char hint[100];
    size_t n = 0;
    for (size_t i = 0; i < s->n_source; i++)
        for (size_t k = 0; k < s->source[i].n_metrics && n < 512; k++)
            names[n++] = s->source[i].metrics[k].name;
    return nas_fail(err, NAS_USAGE, "no source knows the metric '%s'%s", name,
                    nas_hint(hint, sizeof hint, name, names, n));
}

nas_status nas_sources_need(nas_sources *s, const nas_metric *metrics, size_t n, nas_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (nas_metric_find(s->wanted, s->n_wanted, metrics[i].name) >= 0)
            continue;
        size_t from = 0;
        int column = -1;
        for (; from < s->n_source; from++) {
            column = nas_metric_find(s->source[from].metrics, s->source[from].n_metrics,
                                     metrics[i].name);
            if (column < 0 && s->source[from].type->learn)
                column = s->source[from].type->learn(&s->source[from], &metrics[i]);
            if (column >= 0)
                break;
        }
        if (column < 0)
            return unknown_metric(s, metrics[i].name, err);
        if (s->n_wanted == NAS_WANTED_MOST)
            return nas_fail(err, NAS_USAGE, "more than %d metrics ('%s')", NAS_WANTED_MOST,
                            metrics[i].name);
        s->from[s->n_wanted] = from;
        s->column[s->n_wanted] = (size_t)column;
        s->wanted[s->n_wanted++] = s->source[from].metrics[column];
    }
    return NAS_OK;
}

/* The wanted metrics that source `from` answers: its own rows and their places in wanted. */
static size_t wanted_of(const nas_sources *s, size_t from, size_t *own, size_t *place)
{
    size_t m = 0;
    for (size_t i = 0; i < s->n_wanted; i++)
        if (s->from[i] == from) {
            own[m] = s->column[i];
            place[m++] = i;
        }
    return m;
}

bool nas_sources_have(nas_sources *s, const nas_arch *arch)
{
    size_t own[NAS_WANTED_MOST], place[NAS_WANTED_MOST];
    for (size_t i = 0; i < s->n_source; i++) {
        size_t m = wanted_of(s, i, own, place);
        if (m && s->source[i].type->has && !s->source[i].type->has(&s->source[i], arch, own, m))
            return false;
    }
    return true;
}

void nas_sources_hash(nas_sources *s, const nas_arch *arch, char text[33])
{
    for (size_t i = 0; i < s->n_source; i++)
        if (s->source[i].type->hash && s->source[i].type->hash(&s->source[i], arch, text))
            return;
    nas_space_hash(s->source[0].space, arch, text);
}

/* Asks e for m metrics of n architectures, save for what the run has kept of its answers. */
static nas_status ask(nas_evaluator *e, const nas_arch *archs, size_t n, const size_t *metric,
                      size_t m, double *values, nas_row_state *states, nas_err *err)
{
    if (!e->run || !e->type->slow)
        return e->type->evaluate(e, archs, n, metric, m, values, states, err);
    nas_arch *rest = nas_alloc(n * sizeof *rest);
    size_t *place = nas_alloc(n * sizeof *place), k = 0;
    double *part = nas_alloc((n * m + 1) * sizeof *part);
    nas_row_state *state = nas_alloc(n * sizeof *state);
    nas_bytes text = {0};
    for (size_t i = 0; i < n; i++) {
        nas_bytes_reset(&text);
        nas_space_print(e->space, &archs[i], &text);
        const nas_run_answer *kept = nas_run_kept(e->run, e->number, text.data);
        if (kept && kept->n == m) {
            memcpy(values + i * m, kept->value, m * sizeof *values);
            states[i] = kept->state;
        } else {
            rest[k] = archs[i];
            place[k++] = i;
        }
    }
    nas_status status = e->type->evaluate(e, rest, k, metric, m, part, state, err);
    for (size_t i = 0; i < k && status == NAS_OK; i++) {
        memcpy(values + place[i] * m, part + i * m, m * sizeof *values);
        states[place[i]] = state[i];
    }
    nas_bytes_clear(&text);
    free(state);
    free(part);
    free(place);
    free(rest);
    return status;
}

nas_status nas_sources_evaluate(nas_sources *s, const nas_arch *archs, size_t n, double *values,
                                nas_row_state *states, nas_err *err)
{
    size_t own[NAS_WANTED_MOST], place[NAS_WANTED_MOST];
    double *part = nas_alloc(n * NAS_WANTED_MOST * sizeof *part);
    nas_row_state *state = nas_alloc(n * sizeof *state);
    nas_status status = NAS_OK;
    for (size_t i = 0; i < n; i++)
        states[i] = NAS_ROW_OK;
    for (size_t from = 0; from < s->n_source && status == NAS_OK; from++) {
        size_t m = wanted_of(s, from, own, place);
        if (m == 0)
            continue;
        nas_evaluator *e = &s->source[from];
        e->run = s->run;
        e->number = s->first_number + from;
        status = ask(e, archs, n, own, m, part, state, err);
        for (size_t i = 0; i < n && status == NAS_OK; i++) {
            if (state[i] > states[i])
                states[i] = state[i];
            for (size_t k = 0; k < m; k++) {
                double value = part[i * m + k];
                if (!isfinite(value) && states[i] == NAS_ROW_OK)
                    states[i] = NAS_ROW_FAILED;
                values[i * s->n_wanted + place[k]] = state[i] == NAS_ROW_OK ? value : NAN;
            }
        }
    }
    free(part);
    free(state);
    return status;
}

int nas_sources_differ(nas_sources *s, const nas_arch *arch, const double *values)
{
    size_t own[NAS_WANTED_MOST], place[NAS_WANTED_MOST];
    double now[NAS_WANTED_MOST];
    for (size_t from = 0; from < s->n_source; from++) {
        nas_evaluator *e = &s->source[from];
        nas_row_state state;
        size_t m = e->type->at ? wanted_of(s, from, own, place) : 0;
        if (m == 0 || e->type->evaluate(e, arch, 1, own, m, now, &state, NULL) != NAS_OK)
            continue;
        for (size_t k = 0; k < m; k++) {
            double value = state == NAS_ROW_OK ? now[k] : NAN, then = values[place[k]];
            if (value != then && !(isnan(value) && isnan(then)))
                return (int)place[k];
        }
    }
    return -1;
}

void nas_sources_close(nas_sources *s)
{
    for (size_t i = 0; i < s->n_source; i++)
        nas_evaluator_close(&s->source[i]);
    *s = (nas_sources){0};
}
