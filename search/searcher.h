/* Where do we look next? A searcher is a pure state machine: ask for a candidate, tell results.
 *
 *     nas_searcher s;
 *     status = nas_searcher_open(&s, "nsga2", &setup, options, n, &err);
 *     nas_searcher_ask(&s, &rng, &proposal);      any number of times
 *     nas_searcher_tell(&s, members, n);          all results of a generation, in order
 *
 * No I/O or clock. ask may not change what tell will do: a proposal that was seen before is asked
 * for again with other random numbers. Results come in the order of their ids. */
#ifndef NAS_SEARCHER_H
#define NAS_SEARCHER_H

#include "results/metric.h"
#include "spaces/base/option.h"
#include "spaces/space.h"

/* An evaluated architecture as searchers see it. */
typedef struct {
    nas_arch arch;
    int64_t id, parent;           /* parent: the first one's id, -1: none */
    bool failed;                  /* no numbers: worse than anything that has some */
    double violation;             /* 0: feasible */
    double f[NAS_OBJECTIVE_MOST]; /* objectives, less is better */
    const double *value;          /* [metrics] in own units; good while it is told */
} nas_member;

typedef struct {
    nas_arch arch;
    int64_t parent[2]; /* ids, -1: none */
} nas_proposal;

typedef struct {
    const nas_space *space;
    const nas_task *task;
    size_t m;                 /* objectives */
    size_t population;        /* members of a generation or of the queue */
    const nas_metric *metric; /* [metrics] of values: the objectives, then those of constraints */
    size_t metrics;
    /* Of such values; NULL: no constraints. */
    double (*violation)(const void *context, const double *value);
    const void *context;
    nas_rng rng; /* for children: random numbers that belong to no proposal */
    /* Architecture number `row` of the `listed` that candidates are drawn from; false: a row that
     * names none. listed 0: the whole space. */
    bool (*at)(void *list, size_t row, nas_arch *arch);
    void *list;
    size_t listed;
} nas_search_setup;

typedef struct {
    const char *name;
    double fallback, low, high;
    const char *help;
    const char *(*name_of)(size_t value); /* values are names, 0 the first; NULL: numbers */
    const char *fallback_name;            /* then */
    bool whole;                           /* a count */
} nas_searcher_option;

typedef struct {
    const char *name, *summary;
    bool steady;       /* results are told one by one; else a population at a time */
    size_t population; /* default */
    size_t asks;       /* proposals seen before, in a row, until the space is sampled instead */
    const nas_searcher_option *options; /* ends with a NULL name */
    void *(*open)(const nas_search_setup *setup, const double *options);
    void (*close)(void *state);
    void (*ask)(void *state, nas_rng *rng, nas_proposal *out);
    void (*tell)(void *state, const nas_member *members, size_t n);
} nas_searcher_type;

typedef struct {
    const nas_searcher_type *type;
    void *state;
} nas_searcher;

/* The list. */
extern const nas_searcher_type *const nas_searcher_types[];
int nas_searcher_count(void);
const nas_searcher_type *nas_searcher_need(const char *name, nas_err *err);

enum { NAS_SEARCHER_OPTIONS = 8 };

/* Reads "name=value" into values (the type's options, filled with defaults before). */
nas_status nas_searcher_option_read(const nas_searcher_type *type, const char *text, double *values,
                                    nas_err *err);
void nas_searcher_defaults(const nas_searcher_type *type, double *values);

/* What searchers share. */

/* Constrained domination (Deb et al. 2002): numbers before none, feasible before infeasible, less
 * violation before more, then dominance. */
bool nas_member_dominates(const nas_member *a, const nas_member *b, size_t m);
/* Constrained non-domination rank of each member, 0 the best. */
void nas_member_ranks(const nas_member *members, size_t n, size_t m, uint32_t *rank);
/* Crowding distance of each member within its rank; 0 for members without numbers. */
void nas_member_crowding(const nas_member *members, size_t n, size_t m, const uint32_t *rank,
                         double *distance);

#endif
