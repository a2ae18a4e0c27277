/* What was measured elsewhere? Benchmark tables: CSV in, HDF5 at rest, look-up by architecture.
 *
 *     nas_table_source from = {.space = nb201, .arch = "arch", .metric = specs, .n_metric = 2};
 *     status = nas_table_import("acc.csv.gz", &from, "acc.h5", false, &nas_disk_real, &err);
 *     nas_table *t = nas_table_open("acc.h5", &err);
 *     if (nas_table_find(t, &arch, values)) …              // values: (t->n_metric), NaN: missing
 *
 * Look-up is exact, or finds relabelings too in a space with an isomorphism hash of its own. A
 * table may measure an architecture several times; it keeps all rows and look-up answers their
 * mean. */
#ifndef NAS_RESULTS_TABLE_H
#define NAS_RESULTS_TABLE_H

#include "results/disk.h"
#include "results/metric.h"
#include "spaces/space.h"

typedef struct {
    const nas_space *space;
    const char *arch;          /* the column of the string, or several "triu,ops": joined by '/' */
    const char *const *metric; /* [n_metric] "NAME=COL[,unit[,max|min[,xFACTOR[+OFFSET]]]]" */
    size_t n_metric;
} nas_table_source;

/* Reads a CSV or JSON file, maybe gzip (see csv.h), and writes a table. Strings may be spelled in
 * any way the space reads and are stored as it prints them, blanks dropped; numbers become FACTOR *
 * number + OFFSET; empty fields are missing. Errors name file, line and column; NAS_USAGE: out
 * exists and force is false, a column that is not there, a bad metric; NAS_FAILED: the file's
 * content or the disk. */
nas_status nas_table_import(const char *csv, const nas_table_source *source, const char *out,
                            bool force, const nas_disk *disk, nas_err *err);

typedef struct {
    const nas_space *space;
    size_t n;        /* rows */
    size_t n_unique; /* architectures: rows that look-up tells apart */
    size_t n_metric;
    const nas_metric *metric; /* [n_metric] */
} nas_table;

/* NULL with NAS_FAILED: cannot read, truncated, foreign, too new, of an unknown space. */
nas_table *nas_table_open(const char *path, nas_err *err);
void nas_table_close(nas_table *table); /* NULL is allowed */

/* The mean over the rows of arch into values (n_metric), NaN where none has a value; false when the
 * table has no row of it. arch is of the table's space. */
bool nas_table_find(const nas_table *table, const nas_arch *arch, double *values);

/* The first row of arch, -1: none. */
int64_t nas_table_first(const nas_table *table, const nas_arch *arch);

/* Row by row, 0..n-1, in the order of the CSV file. nas_table_row: the row's architecture; false
 * when its string names none (the file is wrong, and look-up does not find the row). */
bool nas_table_row(const nas_table *table, size_t row, nas_arch *arch);
/* The stored hash, which only spaces with one of their own have (see nas_space_hash). */
bool nas_table_hash(const nas_table *table, size_t row, char text[33]);
const char *nas_table_arch(const nas_table *table, size_t row, nas_bytes *text); /* replaces text */
double nas_table_value(const nas_table *table, size_t row, size_t metric);

#endif
