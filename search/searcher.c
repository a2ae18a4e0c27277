#include "search/searcher.h"

#include "results/front.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the list: one line a searcher ---- */

extern const nas_searcher_type nas_searcher_random, nas_searcher_evolution, nas_searcher_local,
    nas_searcher_nsga2, nas_searcher_guided;

const nas_searcher_type *const nas_searcher_types[] = {
    &nas_searcher_nsga2, &nas_searcher_guided, &nas_searcher_evolution,
    &nas_searcher_local, &nas_searcher_random,
};

int nas_searcher_count(void)
{
    return (int)(sizeof nas_searcher_types / sizeof *nas_searcher_types);
}

const nas_searcher_type *nas_searcher_need(const char *name, nas_err *err)
{
    const char *names[sizeof nas_searcher_types / sizeof *nas_searcher_types];
    char hint[100];
    for (int i = 0; i < nas_searcher_count(); i++) {
        names[i] = nas_searcher_types[i]->name;
        if (!strcmp(names[i], name))
            return nas_searcher_types[i];
    }
    nas_fail(err, NAS_USAGE, "unknown searcher '%s'%s", name,
             nas_hint(hint, sizeof hint, name, names, (size_t)nas_searcher_count()));
    return NULL;
}

/* The number of a name; false, and the nearest one in hint, where there is none. */
static bool read_name(const nas_searcher_option *option, const char *text, double *value,
                      char hint[100])
{
    const char *names[64];
    size_t n = 0;
    for (; n < 64 && (names[n] = option->name_of(n)); n++)
        if (!strcmp(names[n], text)) {
            *value = (double)n;
            return true;
        }
    if (hint)
        nas_hint(hint, 100, text, names, n);
    return false;
}

void nas_searcher_defaults(const nas_searcher_type *type, double *values)
{
    for (size_t i = 0; type->options[i].name; i++)
        if (type->options[i].name_of)
            read_name(&type->options[i], type->options[i].fallback_name, &values[i], NULL);
        else
            values[i] = type->options[i].fallback;
}

nas_status nas_searcher_option_read(const nas_searcher_type *type, const char *text, double *values,
                                    nas_err *err)
{
    const char *names[NAS_SEARCHER_OPTIONS];
    char name[64], hint[100];
    size_t length = strcspn(text, "="), n = 0;
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), text);
    for (; type->options[n].name; n++) {
        const nas_searcher_option *o = &type->options[n];
        names[n] = o->name;
        if (strcmp(o->name, name))
            continue;
        double v;
        if (o->name_of) {
            const char *value = text + length + (text[length] == '=');
            if (read_name(o, value, &values[n], hint))
                return NAS_OK;
            return nas_fail(err, NAS_USAGE, "unknown %s '%s'%s", name, value, hint);
        }
        if (!text[length] || !nas_read_real(text + length + 1, &v) || v < o->low || v > o->high ||
            (o->whole && v != floor(v)))
            return nas_fail(err, NAS_USAGE,
                            "option %s of searcher %s needs a %snumber from %g to %g, not '%s'",
                            name, type->name, o->whole ? "whole " : "", o->low, o->high,
                            text[length] ? text + length + 1 : "");
        values[n] = v;
        return NAS_OK;
    }
    return nas_fail(err, NAS_USAGE, "searcher %s has no option '%s'%s", type->name, name,
                    nas_hint(hint, sizeof hint, name, names, n));
}

/* ---- comparing members ---- */

/* 0: feasible, 1: infeasible, 2: no numbers. */
static int class_of(const nas_member *a)
{
    return a->failed ? 2 : a->violation > 0 || isnan(a->violation);
}

bool nas_member_dominates(const nas_member *a, const nas_member *b, size_t m)
{
    int ca = class_of(a), cb = class_of(b);
    if (ca != cb)
        return ca < cb;
    if (ca == 1)
        return a->violation < b->violation;
    return ca == 0 && nas_front_dominates(a->f, b->f, m);
}

static int compare_real(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Ranks of the infeasible: the place of their violation among the distinct ones, after `first`. */
static uint32_t rank_infeasible(const nas_member *members, size_t n, uint32_t first, uint32_t *rank)
{
    double *v = nas_alloc(n * sizeof *v);
    size_t k = 0, distinct = 0;
    for (size_t i = 0; i < n; i++)
        if (class_of(&members[i]) == 1)
            v[k++] = members[i].violation;
    qsort(v, k, sizeof *v, compare_real);
    for (size_t i = 0; i < k; i++)
        if (i == 0 || v[i] != v[distinct - 1])
            v[distinct++] = v[i];
    for (size_t i = 0; i < n; i++)
        if (class_of(&members[i]) == 1) {
            const double *place =
                bsearch(&members[i].violation, v, distinct, sizeof *v, compare_real);
            rank[i] = first + (uint32_t)(place - v);
        }
    free(v);
    return first + (uint32_t)distinct;
}

void nas_member_ranks(const nas_member *members, size_t n, size_t m, uint32_t *rank)
{
    double *points = nas_alloc(n * m * sizeof *points);
    uint32_t *own = nas_alloc(n * sizeof *own), next = 0;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (class_of(&members[i]) == 0)
            memcpy(points + m * k++, members[i].f, m * sizeof *points);
    nas_status status = nas_front_sort(points, k, m, UINT32_MAX, own, NULL);
    assert(status == NAS_OK); /* members with numbers have no NaN */
    (void)status;
    k = 0;
    for (size_t i = 0; i < n; i++)
        if (class_of(&members[i]) == 0) {
            rank[i] = own[k++];
            next = rank[i] >= next ? rank[i] + 1 : next;
        }
    next = rank_infeasible(members, n, next, rank);
    for (size_t i = 0; i < n; i++)
        if (class_of(&members[i]) == 2)
            rank[i] = next;
    free(own);
    free(points);
}

void nas_member_crowding(const nas_member *members, size_t n, size_t m, const uint32_t *rank,
                         double *distance)
{
    double *points = nas_alloc(n * m * sizeof *points), *own = nas_alloc(n * sizeof *own);
    size_t *order = nas_alloc(n * sizeof *order); /* members by rank, then by place */
    uint32_t ranks = 0;
    for (size_t i = 0; i < n; i++)
        ranks = rank[i] >= ranks ? rank[i] + 1 : ranks;
    size_t *next = nas_zalloc((size_t)ranks + 1, sizeof *next), begin = 0;
    for (size_t i = 0; i < n; i++)
        next[rank[i] + 1]++;
    for (size_t r = 0; r < ranks; r++)
        next[r + 1] += next[r];
    for (size_t i = 0; i < n; i++)
        order[next[rank[i]]++] = i; /* then next is where the rank ends */
    for (size_t r = 0; r < ranks; begin = next[r++]) {
        size_t k = 0;
        for (size_t j = begin; j < next[r]; j++)
            if (!members[order[j]].failed)
                memcpy(points + m * k++, members[order[j]].f, m * sizeof *points);
        nas_front_crowding(points, k, m, own);
        k = 0;
        for (size_t j = begin; j < next[r]; j++)
            distance[order[j]] = members[order[j]].failed ? 0 : own[k++];
    }
    free(next);
    free(order);
    free(own);
    free(points);
}
