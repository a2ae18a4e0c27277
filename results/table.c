#include "results/table.h"

#include "results/table_file.h"

#include <math.h>
#include <stdlib.h>

/* A table in memory: rows packed as in the file, and a set of the keys that look-up tells apart,
 * with the first row of each; further rows of a key are chained. */
typedef struct {
    nas_table seen; /* first: what the caller holds */
    nas_metric *metric;
    nas_h5_field *field;
    size_t n_field, row_size;
    char *rows; /* (n, row_size) */
    nas_arch_set key;
    uint32_t *first; /* [keys] row */
    uint32_t *next;  /* [n] the next row of the same key + 1, or 0 */
} table;

/* Relabelings are the same where the space has a hash for them. */
static nas_arch key_of(const nas_space *space, const nas_arch *arch)
{
    nas_arch key = *arch;
    if (space->hash_kind == NAS_HASH_GRAPH)
        nas_space_canonical(space, arch, &key);
    return key;
}

/* A row that names no member of the space has no key. */
static void index_rows(table *t)
{
    size_t n = t->seen.n;
    uint32_t *last = nas_alloc((n + 1) * sizeof *last);
    t->first = nas_alloc((n + 1) * sizeof *t->first);
    t->next = nas_zalloc(n + 1, sizeof *t->next);
    for (size_t row = 0; row < n; row++) {
        nas_arch arch;
        bool added;
        if (!nas_table_row(&t->seen, row, &arch))
            continue;
        arch = key_of(t->seen.space, &arch);
        int64_t key = nas_arch_set_add(&t->key, &arch, &added);
        if (added)
            t->first[key] = (uint32_t)row;
        else
            t->next[last[key]] = (uint32_t)row + 1;
        last[key] = (uint32_t)row;
    }
    t->seen.n_unique = t->key.n;
    free(last);
}

static bool read_metrics(table *t, hid_t file)
{
    nas_h5_field field[NAS_H5_METRIC_FIELDS];
    size_t n_field = 0, row_size = nas_h5_metric_fields(field, &n_field), n;
    void *rows;
    if (!nas_h5_get_rows(file, "metrics", field, n_field, &rows, &n))
        return false;
    t->metric = nas_zalloc(n + 1, sizeof *t->metric);
    for (size_t i = 0; i < n; i++)
        nas_h5_get_metric((char *)rows + i * row_size, field, &t->metric[i]);
    free(rows);
    t->seen.n_metric = n;
    t->seen.metric = t->metric;
    return true;
}

static bool read_rows(table *t, hid_t file)
{
    bool hash = t->seen.space->hash_kind == NAS_HASH_GRAPH;
    size_t width = nas_h5_width(file, "rows", "arch");
    if (width == 0)
        return false;
    t->field = nas_alloc((NAS_TABLE_FIELDS + t->seen.n_metric) * sizeof *t->field);
    t->n_field = nas_table_fields(t->field, width, hash, t->metric, t->seen.n_metric, &t->row_size);
    void *rows;
    if (!nas_h5_get_rows(file, "rows", t->field, t->n_field, &rows, &t->seen.n))
        return false;
    t->rows = rows;
    return t->seen.n < UINT32_MAX;
}

static nas_status load(table *t, hid_t file, const char *path, nas_err *err)
{
    nas_bytes name = {0};
    nas_status status = NAS_OK;
    if (!nas_h5_text(file, "space", &name))
        status = nas_fail(err, NAS_FAILED, "'%s' is damaged: it names no space", path);
    else if (!(t->seen.space = nas_space_need(name.data, NULL)))
        status = nas_fail(err, NAS_FAILED, "'%s' is of the unknown space '%s'", path, name.data);
    else if (!read_metrics(t, file) || !read_rows(t, file))
        status = nas_fail(err, NAS_FAILED, "'%s' is damaged: its rows cannot be read", path);
    nas_bytes_clear(&name);
    return status ? NAS_FAILED : NAS_OK;
}

nas_table *nas_table_open(const char *path, nas_err *err)
{
    hid_t file = nas_h5_open(path, NAS_TABLE_FORMAT, NAS_TABLE_SCHEMA, err);
    if (file < 0)
        return NULL;
    table *t = nas_zalloc(1, sizeof *t);
    nas_status status = load(t, file, path, err);
    nas_h5_close(file);
    if (status) {
        nas_table_close(&t->seen);
        return NULL;
    }
    index_rows(t);
    return &t->seen;
}

void nas_table_close(nas_table *seen)
{
    table *t = (table *)seen;
    if (!t)
        return;
    free(t->metric);
    free(t->field);
    free(t->rows);
    free(t->first);
    free(t->next);
    nas_arch_set_clear(&t->key);
    free(t);
}

double nas_table_value(const nas_table *seen, size_t row, size_t metric)
{
    const table *t = (const table *)seen;
    const nas_h5_field *field = &t->field[t->n_field - seen->n_metric + metric];
    double value;
    memcpy(&value, t->rows + row * t->row_size + field->offset, sizeof value);
    return value;
}

const char *nas_table_arch(const nas_table *seen, size_t row, nas_bytes *text)
{
    const table *t = (const table *)seen;
    const char *arch = t->rows + row * t->row_size + t->field[0].offset;
    nas_bytes_reset(text);
    nas_bytes_put(text, arch, strnlen(arch, t->field[0].size));
    return text->data;
}

bool nas_table_hash(const nas_table *seen, size_t row, char text[33])
{
    const table *t = (const table *)seen;
    bool there = seen->space->hash_kind == NAS_HASH_GRAPH;
    if (there)
        nas_h5_field_text(t->rows + row * t->row_size, &t->field[1], text, 33);
    return there;
}

bool nas_table_row(const nas_table *seen, size_t row, nas_arch *arch)
{
    nas_bytes text = {0};
    bool good = nas_space_parse(seen->space, nas_table_arch(seen, row, &text), arch, NULL) == 0;
    nas_bytes_clear(&text);
    return good;
}

int64_t nas_table_first(const nas_table *seen, const nas_arch *arch)
{
    const table *t = (const table *)seen;
    const nas_arch own = key_of(seen->space, arch);
    int64_t key = nas_arch_set_find(&t->key, &own);
    return key < 0 ? -1 : (int64_t)t->first[key];
}

bool nas_table_find(const nas_table *seen, const nas_arch *arch, double *values)
{
    const table *t = (const table *)seen;
    int64_t first = nas_table_first(seen, arch);
    for (size_t m = 0; m < seen->n_metric && first >= 0; m++) {
        double sum = 0;
        size_t count = 0;
        for (uint32_t row = (uint32_t)first + 1; row; row = t->next[row - 1]) {
            double value = nas_table_value(seen, row - 1, m);
            if (!isnan(value)) {
                sum += value;
                count++;
            }
        }
        values[m] = count ? sum / (double)count : NAN;
    }
    return first >= 0;
}
