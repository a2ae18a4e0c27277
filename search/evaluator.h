/* Where do numbers come from? An evaluator answers metrics of architectures; sources chain several.
 *
 *     nas_sources s = {0};
 *     status = nas_sources_add(&s, space, task, "table:acc.h5", &err);
 *     status = nas_sources_need(&s, metrics, n, &err);         who answers which metric
 *     if (nas_sources_have(&s, &arch))
 *         status = nas_sources_evaluate(&s, archs, k, values, states, &err);
 *
 * Each metric comes from the first source that knows it. Values are in the metric's own unit and
 * direction. The same architecture always gets the same values. */
#ifndef NAS_EVALUATOR_H
#define NAS_EVALUATOR_H

#include "results/metric.h"
#include "results/run.h"
#include "spaces/space.h"

typedef struct nas_evaluator nas_evaluator;

/* How slow evaluators work; zeros: the defaults in brackets. */
typedef struct {
    size_t workers;           /* processes [1] */
    double timeout;           /* seconds for one architecture [3600] */
    size_t tries;             /* of one architecture, the first included [3] */
    const volatile int *stop; /* non-zero: give up soon; may be NULL */
} nas_evaluator_limits;

typedef struct {
    const char *name;     /* "table" in "table:acc.h5" */
    const char *argument; /* how help names what follows the colon; NULL: nothing may follow */
    const char *summary;
    bool slow; /* keeps each answer in the run (nas_run_keep) as soon as it is there */
    nas_status (*open)(nas_evaluator *, const char *argument, nas_err *);
    void (*close)(nas_evaluator *);
    /* Takes in a metric that it does not list and returns its row. NULL: it knows its list only. */
    int (*learn)(nas_evaluator *, const nas_metric *);
    /* Whether every wanted metric of arch is known. NULL: always. */
    bool (*has)(nas_evaluator *, const nas_arch *, const size_t *metric, size_t m);
    /* Architecture number `row` of the n_listed that it knows; false: a row that names none. NULL:
     * not a list. */
    bool (*at)(nas_evaluator *, size_t row, nas_arch *arch);
    /* Whether the hash of arch (see nas_space_hash) is at hand, in text. NULL: never. */
    bool (*hash)(nas_evaluator *, const nas_arch *, char text[33]);
    /* values: (n, m) for the wanted metrics, which are rows of `metrics`; states: [n]. May use
     * threads of its own. NAS_EMPTY without a sentence: limits.stop came first. */
    nas_status (*evaluate)(nas_evaluator *, const nas_arch *, size_t n, const size_t *metric,
                           size_t m, double *values, nas_row_state *states, nas_err *);
} nas_evaluator_type;

struct nas_evaluator {
    const nas_evaluator_type *type;
    const nas_space *space;
    const nas_task *task;
    const nas_metric *metrics; /* [n_metrics] that it knows, set by open */
    size_t n_metrics;
    size_t n_listed; /* architectures that `at` knows, set by open */
    nas_evaluator_limits limits;
    nas_run *run;  /* where a slow one keeps its answers, under its number; NULL: nowhere */
    size_t number; /* among the sources */
    char why[200]; /* the last row that failed did so; empty: unknown */
    void *state;
};

/* Opens "NAME" or "NAME:ARGUMENT". NAS_USAGE for an unknown name. */
nas_status nas_evaluator_open(nas_evaluator *evaluator, const nas_space *space,
                              const nas_task *task, const nas_evaluator_limits *limits,
                              const char *source, nas_err *err);
void nas_evaluator_close(nas_evaluator *evaluator);
/* For slow ones: keeps an answer, values (m), in the run, so that it is not asked for again. */
nas_status nas_evaluator_keep(const nas_evaluator *evaluator, const nas_arch *arch,
                              nas_row_state state, const double *values, size_t m, nas_err *err);

enum { NAS_SOURCES_MOST = 16, NAS_WANTED_MOST = 2 * NAS_OBJECTIVE_MOST };

typedef struct {
    nas_evaluator_limits limits; /* of all that are added later */
    nas_evaluator source[NAS_SOURCES_MOST];
    size_t n_source;
    nas_metric wanted[NAS_WANTED_MOST]; /* name, unit and direction as their source says */
    size_t n_wanted;
    nas_run *run;        /* of the search, for slow sources; may be NULL */
    size_t first_number; /* of these sources in that run */
    size_t from[NAS_WANTED_MOST], column[NAS_WANTED_MOST]; /* source and its metric */
} nas_sources;

nas_status nas_sources_add(nas_sources *sources, const nas_space *space, const nas_task *task,
                           const char *source, nas_err *err);
/* Adds metrics to what is wanted (once each). NAS_USAGE naming a metric that no source knows. */
nas_status nas_sources_need(nas_sources *sources, const nas_metric *metrics, size_t n,
                            nas_err *err);
bool nas_sources_have(nas_sources *sources, const nas_arch *arch);
/* The wanted metric of which a source that lists its numbers says something else than values
 * (wanted); -1: none. */
int nas_sources_differ(nas_sources *sources, const nas_arch *arch, const double *values);
/* nas_space_hash, which may be dear, or what a source has stored of it. */
void nas_sources_hash(nas_sources *sources, const nas_arch *arch, char text[33]);
/* values: (n, n_wanted), NaN where there is none; states: [n], the worst over the metrics. */
nas_status nas_sources_evaluate(nas_sources *sources, const nas_arch *archs, size_t n,
                                double *values, nas_row_state *states, nas_err *err);
void nas_sources_close(nas_sources *sources);

#endif
