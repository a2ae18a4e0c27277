/* What stands in a CSV file? A streaming reader of plain or gzip files with a header line; files of
 * JSON records are read as if they were CSV.
 *
 *     nas_csv *csv = nas_csv_open("t.csv.gz", &err);
 *     status = nas_csv_need(csv, "params", &column, &err);
 *     while ((more = nas_csv_next(csv, &err)) > 0) use(csv->field[column]);
 *     nas_csv_close(csv);
 *
 * Fields are separated by commas; a field in double quotes may hold commas, line ends and doubled
 * quotes. Lines end in LF or CRLF. Memory: one row and one buffer.
 *
 * A file whose name ends in .json or .json.gz holds objects in a list, or in lists under keys, as
 * those of NDS; in .jsonl or .jsonl.gz one object a line. Columns are the keys of the first object,
 * inner ones as "net.width". The field of a list is its last entry, that of an object its JSON;
 * null and NaN are empty. Memory: the file. */
#ifndef NAS_RESULTS_CSV_H
#define NAS_RESULTS_CSV_H

#include "spaces/base/err.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct nas_csv {
    const char *path;
    const char **name;  /* [columns] of the header */
    const char **field; /* [columns] of the row that nas_csv_next read, until its next call */
    size_t columns;
    size_t line;     /* where the row begins, from 1; of JSON the number of the record */
    const char *row; /* what line counts: "line", "record" */
    int (*next)(struct nas_csv *, nas_err *);
    void (*close)(struct nas_csv *);
} nas_csv;

/* Reads the header; path "-" is standard input. NULL with NAS_FAILED: cannot read, empty, a column
 * without a name or named twice. */
nas_csv *nas_csv_open(const char *path, nas_err *err);
/* Whatever its name; lines: of JSON lines. */
nas_csv *nas_csv_open_json(const char *path, bool lines, nas_err *err);
void nas_csv_close(nas_csv *csv); /* NULL is allowed */

/* The column of that name, or NAS_USAGE with the file and the nearest name. */
nas_status nas_csv_need(const nas_csv *csv, const char *name, size_t *column, nas_err *err);

/* 1: a row is in field; 0: the end; -1: an error (a quote that does not end, another number of
 * fields than the header, a NUL byte, a damaged or truncated gzip file). Empty lines are skipped.
 */
int nas_csv_next(nas_csv *csv, nas_err *err);

/* Reads field column as a number, perhaps infinite, into *value. An empty field is NaN, meaning not
 * there; what is not a number is NAS_FAILED naming file, line and column. */
nas_status nas_csv_real(const nas_csv *csv, size_t column, double *value, nas_err *err);

/* Fails with "FILE, line L, column C (NAME): " before the sentence. */
__attribute__((format(printf, 4, 5))) nas_status nas_csv_fail(const nas_csv *csv, size_t column,
                                                              nas_err *err, const char *format,
                                                              ...);

#endif
