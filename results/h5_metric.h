/* How do metrics lie in HDF5? The columns name, column, unit, direction of a compound.
 *
 *     nas_h5_field field[NAS_H5_METRIC_FIELDS];
 *     size_t n = 0, row_size = nas_h5_metric_fields(field, &n);
 *     nas_h5_put_metric(row, field, &metric);
 *     nas_h5_get_metric(row, field, &metric);
 *
 * Tables and runs begin their rows of metrics with these. Internal to results. */
#ifndef NAS_RESULTS_H5_METRIC_H
#define NAS_RESULTS_H5_METRIC_H

#include "results/h5.h"
#include "results/metric.h"

enum { NAS_H5_METRIC_FIELDS = 4 };

/* Appends the fields to field, whose number is *n; returns the size of a row so far. */
size_t nas_h5_metric_fields(nas_h5_field *field, size_t *n);
/* row is cleared before; field is the first of the four. */
void nas_h5_put_metric(char *row, const nas_h5_field *field, const nas_metric *metric);
void nas_h5_get_metric(const char *row, const nas_h5_field *field, nas_metric *metric);

#endif
