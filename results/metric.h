/* What is measured, in which unit, and which way is better? Metrics, objectives, constraints.
 *
 *     nas_metric objective[NAS_OBJECTIVE_MOST];
 *     size_t n;
 *     status = nas_objectives_parse("max:accuracy,min:latency:raspi4", objective, &n, &err);
 *     status = nas_constraint_parse("latency:raspi4<=10ms", &constraint, &err);
 *
 * A metric is a family ("accuracy", "params") or a family and a device ("latency:raspi4"). */
#ifndef NAS_RESULTS_METRIC_H
#define NAS_RESULTS_METRIC_H

#include "spaces/base/err.h"

#include <stdbool.h>

enum {
    NAS_METRIC_NAME = 64, /* bytes of a name, with its NUL */
    NAS_METRIC_UNIT = 16,
    NAS_OBJECTIVE_MOST = 8, /* objectives of one search */
};

typedef enum { NAS_MIN, NAS_MAX, NAS_NO_DIRECTION } nas_direction;

typedef struct {
    char name[NAS_METRIC_NAME];   /* as asked for: "latency:raspi4" */
    char column[NAS_METRIC_NAME]; /* as a plain identifier: "latency_raspi4" */
    char unit[NAS_METRIC_UNIT];   /* "ms", "%"; empty for a plain number */
    nas_direction direction;
} nas_metric;

/* The metric of that name with the unit and direction its family has by custom: accuracy % max,
 * latency ms min, energy mJ min, throughput images/s max, counts min; an unknown family has no
 * unit and no direction. NAS_USAGE for a name that is empty, too long or not of [A-Za-z0-9_.:-]. */
nas_status nas_metric_make(nas_metric *metric, const char *name, nas_err *err);

const char *nas_direction_name(nas_direction direction);             /* "min", "max", "none" */
bool nas_direction_read(const char *text, nas_direction *direction); /* "min" or "max" */

/* The index of the metric of that name among n, or -1. */
int nas_metric_find(const nas_metric *list, size_t n, const char *name);

/* As nas_metric_find, but NAS_USAGE with "did you mean" and owner's name when there is none. */
nas_status nas_metric_need(const nas_metric *list, size_t n, const char *name, const char *owner,
                           size_t *index, nas_err *err);

/* Reads "max:accuracy,min:latency:raspi4" into list (NAS_OBJECTIVE_MOST entries) and *n. NAS_USAGE
 * for an empty list, a missing direction, a metric named twice (by name or by column), too many. */
nas_status nas_objectives_parse(const char *text, nas_metric *list, size_t *n, nas_err *err);

/* Turns rows of n points so that less is better in each column: negates where direction is max. */
void nas_objectives_minimise(double *points, size_t n, const nas_metric *list, size_t m);

/* metric <= bound (upper) or metric >= bound. */
typedef struct {
    nas_metric metric; /* its unit is the one written behind the bound, else its family's */
    bool upper;
    bool has_unit; /* a unit was written: a source that measures in another one must refuse */
    double bound;
} nas_constraint;

/* Reads "latency:raspi4<=10", "accuracy >= 93.5 %". NAS_USAGE for anything else. */
nas_status nas_constraint_parse(const char *text, nas_constraint *constraint, nas_err *err);

/* Takes the unit of the metric as its source knows it; NAS_USAGE when the user wrote another. */
nas_status nas_constraint_adopt(nas_constraint *constraint, const nas_metric *known, nas_err *err);

/* How far value is beyond the bound, as a share of the bound's size (of 1 for a bound of 0): 0 when
 * it holds exactly, infinity for NaN. Violations of several constraints are added. */
double nas_constraint_violation(const nas_constraint *constraint, double value);

#endif
