#include "results/csv.h"

#include "spaces/base/mem.h"
#include "spaces/base/option.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

enum { CHUNK = 1 << 16, LONGEST_ROW = 1 << 24, MOST_COLUMNS = 10000 };

typedef struct {
    nas_csv seen; /* first: what the caller holds */
    gzFile file;
    unsigned char buffer[CHUNK];
    size_t at, size;  /* of buffer */
    size_t lines;     /* begun so far */
    nas_bytes text;   /* the fields of a row, each with its NUL */
    size_t *start;    /* [n] where they begin in text */
    size_t n, cap;    /* fields of the row */
    nas_bytes header; /* text of the names */
} reader;

/* The next byte, -1 at the end, -2 on an error. */
static int refill(reader *r, nas_err *err)
{
    int got = gzread(r->file, r->buffer, CHUNK);
    int code = Z_OK;
    const char *why = got > 0 ? "" : gzerror(r->file, &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
        if (code == Z_ERRNO)
            why = strerror(errno);
        nas_fail(err, NAS_FAILED, "%s, line %zu: %s", r->seen.path, r->lines,
                 code == Z_BUF_ERROR ? "the compressed file is truncated" : why);
        return -2;
    }
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, which spreadsheets put in front */
    bool marked = r->size == 0 && got >= 3 && !memcmp(r->buffer, mark, 3);
    r->at = marked ? 3 : 0;
    r->size = (size_t)got;
    if (r->at == r->size)
        return -1;
    return r->buffer[r->at++];
}

static int next_byte(reader *r, nas_err *err)
{
    return r->at < r->size ? r->buffer[r->at++] : refill(r, err);
}

static void begin_field(reader *r)
{
    r->start = nas_grow(r->start, &r->cap, r->n + 1, sizeof *r->start);
    r->start[r->n++] = r->text.size;
}

static bool fault(const reader *r, nas_err *err, const char *what)
{
    nas_fail(err, NAS_FAILED, "%s, line %zu, column %zu: %s", r->seen.path, r->lines, r->n, what);
    return false;
}

/* Adds a byte to the field. */
static bool keep(reader *r, int c, nas_err *err)
{
    if (c == '\0')
        return fault(r, err, "a NUL byte; is this a text file?");
    if (r->text.size >= LONGEST_ROW)
        return fault(r, err, "the row is longer than 16 MiB");
    nas_bytes_putc(&r->text, (char)c);
    return true;
}

/* The rest of a quoted field; returns what follows the closing quote, -2 on an error. */
static int read_quoted(reader *r, nas_err *err)
{
    size_t line = r->lines;
    for (;;) {
        int c = next_byte(r, err);
        if (c == '"') {
            c = next_byte(r, err);
            if (c != '"')
                return c;
        }
        if (c == -1)
            nas_fail(err, NAS_FAILED, "%s, line %zu, column %zu: the quote does not end",
                     r->seen.path, line, r->n);
        if (c < 0 || !keep(r, c, err))
            return -2;
        r->lines += c == '\n';
    }
}

/* One field; returns the separator behind it: ',', '\n', -1 for the end, -2 for an error. */
static int read_field(reader *r, nas_err *err)
{
    begin_field(r);
    int c = next_byte(r, err);
    bool quoted = c == '"';
    if (quoted)
        c = read_quoted(r, err);
    for (; c != ',' && c != '\n' && c >= 0; c = next_byte(r, err)) {
        if (quoted && c == '\r')
            continue;
        if (quoted ? !fault(r, err, "text after a closing quote") : !keep(r, c, err))
            return -2;
    }
    if (c != ',' && r->text.size > r->start[r->n - 1] && r->text.data[r->text.size - 1] == '\r')
        r->text.size--;
    nas_bytes_putc(&r->text, '\0');
    return c;
}

/* Reads one line that is not empty: 1, 0 at the end, -1 on an error. */
static int read_row(reader *r, nas_err *err)
{
    int c;
    do {
        nas_bytes_reset(&r->text);
        r->n = 0;
        r->seen.line = ++r->lines;
        do
            c = read_field(r, err);
        while (c == ',' && r->text.size < LONGEST_ROW);
        if (c == ',') {
            fault(r, err, "the row is longer than 16 MiB");
            return -1;
        }
        if (c == -2)
            return -1;
    } while (c == '\n' && r->n == 1 && r->text.size == 1);
    return r->n > 1 || r->text.size > 1;
}

static bool read_header(reader *r, nas_err *err)
{
    int got = read_row(r, err);
    if (got == 0)
        nas_fail(err, NAS_FAILED, "%s is empty", r->seen.path);
    if (got <= 0)
        return false;
    if (r->n > MOST_COLUMNS) {
        nas_fail(err, NAS_FAILED, "%s has %zu columns, more than %d", r->seen.path, r->n,
                 MOST_COLUMNS);
        return false;
    }
    r->header = r->text;
    r->text = (nas_bytes){0};
    r->seen.columns = r->n;
    r->seen.name = nas_alloc(2 * r->n * sizeof *r->seen.name);
    r->seen.field = r->seen.name + r->n;
    for (size_t i = 0; i < r->n; i++) {
        const char *name = r->header.data + r->start[i];
        if (i == 0 && !strncmp(name, "\357\273\277", 3)) /* a byte order mark */
            name += 3;
        r->seen.name[i] = name;
        if (!*name)
            nas_fail(err, NAS_FAILED, "%s, line 1, column %zu has no name", r->seen.path, i + 1);
        for (size_t j = 0; j < i; j++)
            if (!strcmp(name, r->seen.name[j]))
                nas_fail(err, NAS_FAILED, "%s, line 1: columns %zu and %zu are both named '%s'",
                         r->seen.path, j + 1, i + 1, name);
        if (!*name || err->code)
            return false;
    }
    return true;
}

static int next_row(nas_csv *csv, nas_err *err)
{
    reader *r = (reader *)csv;
    int got = read_row(r, err);
    if (got <= 0)
        return got;
    if (r->n != csv->columns) {
        nas_fail(err, NAS_FAILED, "%s, line %zu has %zu fields, the header %zu", csv->path,
                 csv->line, r->n, csv->columns);
        return -1;
    }
    for (size_t i = 0; i < r->n; i++)
        csv->field[i] = r->text.data + r->start[i];
    return 1;
}

static void close_reader(nas_csv *csv)
{
    reader *r = (reader *)csv;
    gzclose(r->file);
    nas_bytes_clear(&r->text);
    nas_bytes_clear(&r->header);
    free(r->start);
    free(csv->name);
    free((char *)csv->path);
    free(r);
}

nas_csv *nas_csv_open(const char *path, nas_err *err)
{
    nas_err own = {0};
    err = err ? err : &own;
    bool lines = nas_ends_with(path, ".jsonl") || nas_ends_with(path, ".jsonl.gz");
    if (lines || nas_ends_with(path, ".json") || nas_ends_with(path, ".json.gz"))
        return nas_csv_open_json(path, lines, err);
    bool standard = !strcmp(path, "-");
    int fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    gzFile file = fd < 0 ? NULL : gzdopen(fd, "rb");
    if (!file) {
        nas_fail(err, NAS_FAILED, "cannot read '%s': %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    reader *r = nas_zalloc(1, sizeof *r);
    r->seen.path = nas_strdup(standard ? "standard input" : path);
    r->seen.row = "line";
    r->seen.next = next_row;
    r->seen.close = close_reader;
    r->file = file;
    gzbuffer(file, CHUNK);
    if (!read_header(r, err)) {
        nas_csv_close(&r->seen);
        return NULL;
    }
    return &r->seen;
}

void nas_csv_close(nas_csv *csv)
{
    if (csv)
        csv->close(csv);
}

nas_status nas_csv_need(const nas_csv *csv, const char *name, size_t *column, nas_err *err)
{
    for (size_t i = 0; i < csv->columns; i++)
        if (!strcmp(csv->name[i], name)) {
            *column = i;
            return NAS_OK;
        }
    char hint[128];
    return nas_fail(err, NAS_USAGE, "%s has no column '%s'%s", csv->path, name,
                    nas_hint(hint, sizeof hint, name, csv->name, csv->columns));
}

int nas_csv_next(nas_csv *csv, nas_err *err)
{
    return csv->next(csv, err);
}

nas_status nas_csv_real(const nas_csv *csv, size_t column, double *value, nas_err *err)
{
    const char *text = csv->field[column];
    *value = NAN;
    if (!*text || nas_read_real(text, value))
        return NAS_OK;
    const char *word = *text == '-' || *text == '+' ? text + 1 : text;
    if (!strcasecmp(word, "inf") || !strcasecmp(word, "infinity")) {
        *value = *text == '-' ? -INFINITY : INFINITY;
        return NAS_OK;
    }
    return nas_csv_fail(csv, column, err, "'%.40s' is not a number", text);
}

nas_status nas_csv_fail(const nas_csv *csv, size_t column, nas_err *err, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return nas_fail(err, NAS_FAILED, "%s, %s %zu, column %zu (%s): %s", csv->path, csv->row,
                    csv->line, column + 1, csv->name[column], text);
}
