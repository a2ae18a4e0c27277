/* JSON records as rows: the files of NDS are [{...}, ...] or {"top": [{...}, ...], "mid": [...]};
 * JSON lines are {...} {...} ... */
#include "results/csv.h"
#include "spaces/base/mem.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHUNK = 1 << 16, LONGEST_KEY = 200, MOST_COLUMNS = 10000 };

typedef struct {
    nas_csv seen; /* first: what the caller holds */
    nas_bytes file;
    size_t at;        /* of file */
    bool lines;       /* the records follow each other */
    bool keyed;       /* the lists stand under keys */
    size_t lists, n;  /* begun; records of the list that is open */
    bool open;        /* within a list */
    json_t *record;   /* the one that was read */
    bool pending;     /* and is the next row */
    nas_bytes header; /* the names, each with its NUL */
    nas_bytes text;   /* the fields of a row, each with its NUL */
} reader;

__attribute__((format(printf, 3, 4))) static int fault(const reader *r, nas_err *err,
                                                       const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    nas_fail(err, NAS_FAILED, "%s, record %zu: %s", r->seen.path, r->seen.line + 1, text);
    return -1;
}

/* ---- the file ---- */

/* Python writes numbers that JSON does not have; they are missing values here. */
static void without_nan(const nas_bytes *raw, nas_bytes *out)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    bool quoted = false;
    for (size_t i = 0; i < raw->size; i++) {
        char c = raw->data[i];
        if (quoted && c == '\\' && i + 1 < raw->size)
            nas_bytes_putc(out, raw->data[i++]);
        else if (c == '"')
            quoted = !quoted;
        size_t skip = 0;
        for (int w = 0; w < 3 && !quoted && (c == 'N' || c == 'I' || c == '-'); w++)
            if (raw->size - i >= strlen(words[w]) &&
                !memcmp(raw->data + i, words[w], strlen(words[w])))
                skip = strlen(words[w]);
        if (skip)
            nas_bytes_puts(out, "null");
        else
            nas_bytes_putc(out, raw->data[i]);
        i += skip ? skip - 1 : 0;
    }
}

static nas_status read_file(reader *r, const char *path, nas_err *err)
{
    nas_bytes raw = {0};
    char chunk[CHUNK];
    int got = 0, code = Z_OK;
    gzFile file = gzopen(path, "rb");
    while (file && (got = gzread(file, chunk, CHUNK)) > 0)
        nas_bytes_put(&raw, chunk, (size_t)got);
    const char *why = file ? gzerror(file, &code) : strerror(errno);
    nas_status status = NAS_OK;
    if (!file || got < 0 || (code != Z_OK && code != Z_STREAM_END))
        status = nas_fail(err, NAS_FAILED, "cannot read '%s': %s", path,
                          code == Z_ERRNO ? strerror(errno) : why);
    if (file)
        gzclose(file);
    without_nan(&raw, &r->file);
    nas_bytes_clear(&raw);
    return status;
}

/* ---- records ---- */

/* The next character after blanks, NUL at the end. */
static char peek(reader *r)
{
    while (r->at < r->file.size && strchr(" \t\r\n", r->file.data[r->at]))
        r->at++;
    return r->at < r->file.size ? r->file.data[r->at] : '\0';
}

static bool take(reader *r, char c, nas_err *err)
{
    if (peek(r) != c)
        return fault(r, err, "'%c' expected at byte %zu", c, r->at + 1) == 0;
    r->at++;
    return true;
}

static json_t *take_value(reader *r, nas_err *err)
{
    json_error_t why;
    json_t *value =
        json_loadb(r->file.data + r->at, r->file.size - r->at,
                   JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &why);
    if (value)
        r->at += (size_t)why.position;
    else
        fault(r, err, "%s", why.text);
    return value;
}

/* 1: a list is open; 0: the end; -1: an error. */
static int open_list(reader *r, nas_err *err)
{
    char c = peek(r);
    if (r->lists == 0) {
        r->keyed = c == '{';
        r->at += r->keyed;
    } else if (!r->keyed || c == '}') {
        r->at += r->keyed;
        return peek(r) ? fault(r, err, "more behind the records") : 0;
    } else if (!take(r, ',', err)) {
        return -1;
    }
    if (r->keyed) {
        peek(r);
        json_t *key = take_value(r, err);
        bool good = key && (json_is_string(key) || fault(r, err, "a key expected") == 0);
        json_decref(key);
        if (!good || !take(r, ':', err))
            return -1;
    }
    if (!take(r, '[', err))
        return -1;
    r->lists++;
    r->n = 0;
    r->open = true;
    return 1;
}

/* 1: in r->record; 0: the end; -1: an error. */
static int next_record(reader *r, nas_err *err)
{
    json_decref(r->record);
    r->record = NULL;
    if (r->lines && !peek(r) && r->at == r->file.size)
        return 0;
    while (!r->lines) {
        int got = r->open ? 1 : open_list(r, err);
        if (got <= 0)
            return got;
        if (peek(r) != ']')
            break;
        r->at++;
        r->open = false;
    }
    if (r->n++ && !r->lines && !take(r, ',', err))
        return -1;
    peek(r);
    r->record = take_value(r, err);
    if (!r->record)
        return -1;
    return json_is_object(r->record) ? 1 : fault(r, err, "not an object");
}

/* ---- columns ---- */

/* The names of what is in an object, objects themselves too: "net", "net.width". Long keys and
 * those with a dot have no column. */
static void add_columns(reader *r, const json_t *object, const char *prefix)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        char name[2 * LONGEST_KEY];
        if (strlen(prefix) + strlen(key) + 1 >= LONGEST_KEY || strchr(key, '.') ||
            r->seen.columns == MOST_COLUMNS)
            continue;
        snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", key);
        nas_bytes_put(&r->header, name, strlen(name) + 1);
        r->seen.columns++;
        if (json_is_object(value))
            add_columns(r, value, name);
    }
}

static const json_t *find(const json_t *value, const char *name)
{
    char key[LONGEST_KEY];
    for (;; name++) {
        size_t n = strcspn(name, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, name);
        value = json_object_get(value, key);
        name += n;
        if (!*name)
            return value;
    }
}

/* A number or text as it is, of a list of numbers the last (the last epoch), JSON of the rest. */
static void put_field(const json_t *value, nas_bytes *text)
{
    size_t n = json_array_size(value);
    if (n && !json_is_array(json_array_get(value, n - 1)))
        value = json_array_get(value, n - 1);
    if (json_is_string(value)) {
        nas_bytes_puts(text, json_string_value(value));
    } else if (value && !json_is_null(value)) {
        char *json = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_PRESERVE_ORDER);
        nas_bytes_puts(text, json ? json : "");
        free(json);
    }
}

static int next_row(nas_csv *csv, nas_err *err)
{
    reader *r = (reader *)csv;
    int got = r->pending ? 1 : next_record(r, err);
    r->pending = false;
    if (got <= 0)
        return got;
    csv->line++;
    nas_bytes_reset(&r->text);
    size_t *start = nas_alloc((csv->columns + 1) * sizeof *start);
    for (size_t i = 0; i < csv->columns; i++) {
        start[i] = r->text.size;
        put_field(find(r->record, csv->name[i]), &r->text);
        nas_bytes_putc(&r->text, '\0');
    }
    for (size_t i = 0; i < csv->columns; i++)
        csv->field[i] = r->text.data + start[i];
    free(start);
    return 1;
}

static void close_reader(nas_csv *csv)
{
    reader *r = (reader *)csv;
    json_decref(r->record);
    nas_bytes_clear(&r->file);
    nas_bytes_clear(&r->header);
    nas_bytes_clear(&r->text);
    free(csv->name);
    free((char *)csv->path);
    free(r);
}

nas_csv *nas_csv_open_json(const char *path, bool lines, nas_err *err)
{
    reader *r = nas_zalloc(1, sizeof *r);
    r->lines = lines;
    r->seen = (nas_csv){
        .path = nas_strdup(path), .row = "record", .next = next_row, .close = close_reader};
    int got = read_file(r, path, err) == NAS_OK ? next_record(r, err) : -1;
    if (got == 0)
        nas_fail(err, NAS_FAILED, "%s has no records", path);
    if (got <= 0) {
        close_reader(&r->seen);
        return NULL;
    }
    r->pending = true;
    add_columns(r, r->record, "");
    r->seen.name = nas_alloc((2 * r->seen.columns + 1) * sizeof *r->seen.name);
    r->seen.field = r->seen.name + r->seen.columns;
    const char *name = r->header.data;
    for (size_t i = 0; i < r->seen.columns; i++, name += strlen(name) + 1)
        r->seen.name[i] = name;
    return &r->seen;
}
