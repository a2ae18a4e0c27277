#include "results/csv_metric.h"
#include "results/table.h"
#include "results/table_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARCH_COLUMNS = 8 };

/* A table while it is read. */
typedef struct {
    const nas_table_source *source;
    nas_csv *csv;
    size_t arch_column[ARCH_COLUMNS], n_arch_column;
    nas_metric *metric;         /* [n_metric] */
    nas_csv_metric *where;      /* [n_metric] its numbers */
    nas_bytes arch;             /* strings, each with its NUL */
    nas_bytes hash;             /* (n, NAS_TABLE_HASH) where the space looks up by it */
    double *value;              /* (n, n_metric) */
    size_t value_cap, n, width; /* width: of the longest string */
} import;

static nas_status find_arch_columns(import *in, nas_err *err)
{
    char *text = nas_strdup(in->source->arch), *part[ARCH_COLUMNS];
    size_t n = nas_csv_cut(text, part, ARCH_COLUMNS);
    nas_status status = NAS_OK;
    if (n > ARCH_COLUMNS)
        status = nas_fail(err, NAS_USAGE, "an architecture of more than %d columns", ARCH_COLUMNS);
    for (size_t i = 0; i < n && !status; i++)
        status = nas_csv_need(in->csv, part[i], &in->arch_column[i], err);
    in->n_arch_column = n;
    free(text);
    return status;
}

static nas_status find_columns(import *in, nas_err *err)
{
    size_t n = in->source->n_metric;
    in->metric = nas_zalloc(n + 1, sizeof *in->metric);
    in->where = nas_zalloc(n + 1, sizeof *in->where);
    nas_status status = find_arch_columns(in, err);
    if (!status && n == 0)
        status = nas_fail(err, NAS_USAGE, "a table needs at least one metric");
    for (size_t i = 0; i < n && !status; i++) {
        status =
            nas_csv_metric_find(in->csv, in->source->metric[i], &in->metric[i], &in->where[i], err);
        bool taken = !strcmp(in->metric[i].column, "arch") || !strcmp(in->metric[i].column, "hash");
        for (size_t j = 0; j < i && !status; j++)
            taken |= !strcmp(in->metric[i].column, in->metric[j].column);
        if (!status && taken)
            status = nas_fail(err, NAS_USAGE, "metric '%s': the column '%s' is there already",
                              in->source->metric[i], in->metric[i].column);
    }
    return status;
}

/* The fields of the architecture joined by '/', without blanks. */
static void join_arch(const import *in, nas_bytes *text)
{
    nas_bytes_reset(text);
    for (size_t i = 0; i < in->n_arch_column; i++) {
        if (i)
            nas_bytes_putc(text, '/');
        for (const char *c = in->csv->field[in->arch_column[i]]; *c; c++)
            if (!isspace((unsigned char)*c))
                nas_bytes_putc(text, *c);
    }
}

static nas_status read_row(import *in, nas_bytes *text, nas_err *err)
{
    const nas_space *space = in->source->space;
    nas_arch arch;
    nas_err why = {0};
    join_arch(in, text);
    if (nas_space_parse(space, nas_bytes_text(text), &arch, &why))
        return nas_csv_fail(in->csv, in->arch_column[0], err, "%s", why.text);
    size_t start = in->arch.size;
    nas_space_print(space, &arch, &in->arch);
    size_t length = in->arch.size - start;
    in->width = length > in->width ? length : in->width;
    nas_bytes_putc(&in->arch, '\0');
    if (space->hash_kind == NAS_HASH_GRAPH) {
        char hash[NAS_TABLE_HASH + 1];
        nas_space_hash(space, &arch, hash);
        nas_bytes_put(&in->hash, hash, NAS_TABLE_HASH);
    }
    size_t m = in->source->n_metric;
    in->value = nas_grow(in->value, &in->value_cap, (in->n + 1) * m, sizeof *in->value);
    double *value = in->value + in->n++ * m;
    for (size_t i = 0; i < m; i++) {
        nas_status status = nas_csv_metric_read(in->csv, &in->where[i], &value[i], err);
        if (status)
            return status;
    }
    return NAS_OK;
}

static nas_status read_rows(import *in, nas_err *err)
{
    nas_bytes text = {0};
    nas_status status = NAS_OK;
    int more = 0;
    while (!status && (more = nas_csv_next(in->csv, err)) > 0)
        status = read_row(in, &text, err);
    if (more < 0)
        status = NAS_FAILED;
    if (!status && in->n == 0)
        status = nas_fail(err, NAS_FAILED, "%s has no rows", in->csv->path);
    nas_bytes_clear(&text);
    return status;
}

static void put_metrics(const import *in, hid_t file)
{
    nas_h5_field field[NAS_H5_METRIC_FIELDS];
    size_t n_field = 0, row_size = nas_h5_metric_fields(field, &n_field);
    char *rows = nas_zalloc(in->source->n_metric, row_size);
    for (size_t i = 0; i < in->source->n_metric; i++)
        nas_h5_put_metric(rows + i * row_size, field, &in->metric[i]);
    nas_h5_put_rows(file, "metrics", field, n_field, rows, in->source->n_metric);
    free(rows);
}

static void put_rows(const import *in, hid_t file)
{
    size_t m = in->source->n_metric, row_size;
    bool hash = in->hash.size > 0;
    nas_h5_field *field = nas_alloc((NAS_TABLE_FIELDS + m) * sizeof *field);
    size_t n_field = nas_table_fields(field, in->width, hash, in->metric, m, &row_size);
    char *rows = nas_zalloc(in->n, row_size), *row = rows;
    const char *arch = in->arch.data;
    for (size_t i = 0; i < in->n; i++, row += row_size) {
        size_t length = strlen(arch);
        memcpy(row, arch, length);
        arch += length + 1;
        if (hash)
            memcpy(row + field[1].offset, in->hash.data + i * NAS_TABLE_HASH, NAS_TABLE_HASH);
        memcpy(row + field[1 + hash].offset, in->value + i * m, m * sizeof *in->value);
    }
    nas_h5_put_rows(file, "rows", field, n_field, rows, in->n);
    free(rows);
    free(field);
}

static nas_status write_table(const import *in, const char *out, const nas_disk *disk, nas_err *err)
{
    nas_bytes bytes = {0};
    hid_t file = nas_h5_create();
    nas_h5_set_text(file, "format", NAS_TABLE_FORMAT);
    nas_h5_set_int(file, "schema_major", NAS_TABLE_SCHEMA);
    nas_h5_set_int(file, "schema_minor", 0);
    nas_h5_set_text(file, "producer_version", NAS_VERSION);
    nas_h5_set_text(file, "space", in->source->space->name);
    put_metrics(in, file);
    put_rows(in, file);
    nas_h5_close_into(file, &bytes);
    nas_status status = nas_disk_replace(disk, out, bytes.data, bytes.size, err);
    nas_bytes_clear(&bytes);
    return status;
}

nas_status nas_table_import(const char *csv, const nas_table_source *source, const char *out,
                            bool force, const nas_disk *disk, nas_err *err)
{
import in = {.source = source };
    nas_status status = nas_disk_vacant(out, force, err);
    if (status)
        return status;
    in.csv = nas_csv_open(csv, err);
    if (!in.csv)
        return NAS_FAILED;
    status = find_columns(&in, err);
    if (!status)
        status = read_rows(&in, err);
    if (!status)
        status = write_table(&in, out, disk, err);
    nas_csv_close(in.csv);
    nas_bytes_clear(&in.arch);
    nas_bytes_clear(&in.hash);
    free(in.metric);
    free(in.where);
    free(in.value);
    return status;
}
