/* How do tables lie in HDF5? What import and look-up share.
 *
 *     nas_h5_field *field = nas_alloc((NAS_TABLE_FIELDS + n_metric) * sizeof *field);
 *     n = nas_table_fields(field, arch_width, hash, metric, n_metric, &row_size);
 *
 * /: format "naslm-table", schema_major, schema_minor, producer_version, space. /metrics: name,
 * column, unit, direction. /rows: arch, hash (only where the space looks up by it), one f64 a
 * metric under its column. */
#ifndef NAS_RESULTS_TABLE_FILE_H
#define NAS_RESULTS_TABLE_FILE_H

#include "results/h5_metric.h"

#define NAS_TABLE_FORMAT "naslm-table"

enum {
    NAS_TABLE_SCHEMA = 1,
    NAS_TABLE_HASH = 32, /* bytes of a hash that is looked up */
    NAS_TABLE_FIELDS = 2 /* fields beside the metrics */
};

/* Fields of a row into field (NAS_TABLE_FIELDS + n_metric); returns how many. */
static inline size_t nas_table_fields(nas_h5_field *field, size_t arch_width, bool hash,
                                      const nas_metric *metric, size_t n_metric, size_t *row_size)
{
    size_t n = 0;
    *row_size = nas_h5_field_add(field, &n, "arch", NAS_H5_TEXT, arch_width);
    if (hash)
        *row_size = nas_h5_field_add(field, &n, "hash", NAS_H5_TEXT, NAS_TABLE_HASH);
    for (size_t i = 0; i < n_metric; i++)
        *row_size = nas_h5_field_add(field, &n, metric[i].column, NAS_H5_REAL, 0);
    return n;
}

#endif
