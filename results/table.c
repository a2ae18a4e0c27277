#include "results/table.h"

#include "results/table_file.h"

#include <math.h>
#include <stdlib.h>

/* A table in memory: rows packed as in the file, and an open-addressing index from key to the first
 * row of that key; further rows of a key are chained. The key is the string or the hash. */
typedef struct {
    nas_table seen; /* first: what the caller holds */
    nas_metric *metric;
    nas_h5_field *field;
    size_t n_field, row_size;
    const nas_h5_field *key;
    char *rows;     /* (n, row_size) */
    uint32_t *slot; /* [slots] row + 1 or 0 */
    uint32_t *next; /* [n] the next row of the same key + 1, or 0 */
    size_t slots;   /* a power of two, at most half full */
} table;

static const char *key_of(const table *t, size_t row)
{
    return t->rows + row * t->row_size + t->key->offset;
}

/* FNV-1a (Fowler, Noll, Vo) over size bytes up to the padding. */
static uint64_t hash_key(const char *key, size_t size)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size && key[i]; i++)
        hash = (hash ^ (unsigned char)key[i]) * 1099511628211u;
    return hash ^ hash >> 32;
}

/* The slot of a key of key->size bytes: its first row's or the empty one where it belongs. */
static uint32_t *find_slot(const table *t, const char *key)
{
    size_t at = hash_key(key, t->key->size) & (t->slots - 1);
    while (t->slot[at] && strncmp(key_of(t, t->slot[at] - 1), key, t->key->size))
        at = (at + 1) & (t->slots - 1);
    return &t->slot[at];
}

/* From the last row to the first, so that a chain runs forward. */
static void index_rows(table *t)
{
    for (t->slots = 16; t->slots < 2 * t->seen.n;)
        t->slots *= 2;
    t->slot = nas_zalloc(t->slots, sizeof *t->slot);
    t->next = nas_zalloc(t->seen.n + 1, sizeof *t->next);
    for (size_t row = t->seen.n; row-- > 0;) {
        uint32_t *slot = find_slot(t, key_of(t, row));
        t->seen.n_unique += *slot == 0;
        t->next[row] = *slot;
        *slot = (uint32_t)row + 1;
    }
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
    t->key = &t->field[hash];
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
    free(t->slot);
    free(t->next);
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

/* The first row of arch + 1, or 0. */
static uint32_t first_row(const table *t, const nas_arch *arch)
{
    nas_bytes key = {0};
    if (t->seen.space->hash_kind == NAS_HASH_GRAPH) {
        char hash[NAS_TABLE_HASH + 1];
        nas_space_hash(t->seen.space, arch, hash);
        nas_bytes_puts(&key, hash);
    } else {
        nas_space_print(t->seen.space, arch, &key);
    }
    uint32_t row = key.size > t->key->size ? 0 : *find_slot(t, key.data);
    nas_bytes_clear(&key);
    return row;
}

bool nas_table_find(const nas_table *seen, const nas_arch *arch, double *values)
{
    const table *t = (const table *)seen;
    uint32_t first = first_row(t, arch);
    for (size_t m = 0; m < seen->n_metric && first; m++) {
        double sum = 0;
        size_t count = 0;
        for (uint32_t row = first; row; row = t->next[row - 1]) {
            double value = nas_table_value(seen, row - 1, m);
            if (!isnan(value)) {
                sum += value;
                count++;
            }
        }
        values[m] = count ? sum / (double)count : NAN;
    }
    return first != 0;
}
