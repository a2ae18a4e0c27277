/* Where in a file do the numbers of a metric stand? The specification NAME=COL[,…] of a column.
 *
 *     nas_csv_metric where;
 *     status = nas_csv_metric_find(csv, "latency:pi=ms,ms,min", &metric, &where, &err);
 *     while (nas_csv_next(csv, &err) > 0) nas_csv_metric_read(csv, &where, &value, &err);
 */
#ifndef NAS_RESULTS_CSV_METRIC_H
#define NAS_RESULTS_CSV_METRIC_H

#include "results/csv.h"
#include "results/metric.h"

#define NAS_CSV_METRIC "NAME=COL[,unit[,max|min[,xFACTOR[+OFFSET]]]]"

typedef struct {
    size_t column;
    double factor, offset; /* value = factor * field + offset */
} nas_csv_metric;

/* Cuts text at commas in place; returns the number of parts, most + 1 when there are more. */
size_t nas_csv_cut(char *text, char **part, size_t most);

/* Reads a specification as NAS_CSV_METRIC says; NAS_USAGE, with the specification, when it is none
 * or the file has no such column. */
nas_status nas_csv_metric_find(const nas_csv *csv, const char *spec, nas_metric *metric,
                               nas_csv_metric *where, nas_err *err);
/* The value in the row that was read; NaN and errors as nas_csv_real. */
nas_status nas_csv_metric_read(const nas_csv *csv, const nas_csv_metric *where, double *value,
                               nas_err *err);

#endif
