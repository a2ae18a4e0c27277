/* How do rows become HDF5 and back? Whole files in memory, compound datasets, attributes.
 *
 *     hid_t file = nas_h5_create();
 *     nas_h5_put_rows(file, "rows", field, n_field, rows, row_size, n);
 *     nas_h5_close_into(file, &bytes);                       // the file's bytes, always the same
 *     file = nas_h5_open("t.h5", "naslm-table", 1, &err);    // or negative
 *
 * Files are built and read in memory: HDF5 makes no system call and takes no lock. Behind the HDF5
 * bytes stand 16 more with a checksum, which HDF5 ignores: the library can crash on damaged files,
 * so a file whose checksum differs or is missing (truncated, or changed elsewhere) never reaches
 * it. Format: earliest version that can hold it, no times, shuffle + gzip, strings fixed UTF-8
 * padded with NUL, numbers little-endian, truth values as h5py writes them. HDF5's own messages are
 * switched off. */
#ifndef NAS_RESULTS_H5_H
#define NAS_RESULTS_H5_H

#include "spaces/base/err.h"
#include "spaces/base/mem.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum { NAS_H5_TEXT, NAS_H5_BOOL, NAS_H5_INT64, NAS_H5_REAL } nas_h5_kind;

/* A column of a compound: size bytes at offset of a row in memory and in the file. */
typedef struct {
    const char *name;
    nas_h5_kind kind;
    size_t size; /* TEXT: most bytes, not NUL-terminated when full; else 1 or 8 */
    size_t offset;
} nas_h5_field;

/* Appends a field behind the others and returns the size of a row so far. */
size_t nas_h5_field_add(nas_h5_field *field, size_t *n, const char *name, nas_h5_kind kind,
                        size_t size);

/* Copies a text out of a row, cut to size - 1 bytes, with its NUL. */
void nas_h5_field_text(const char *row, const nas_h5_field *field, char *text, size_t size);

hid_t nas_h5_create(void);
void nas_h5_close_into(hid_t file, nas_bytes *bytes);

void nas_h5_put_rows(hid_t file, const char *name, const nas_h5_field *field, size_t n_field,
                     const void *rows, size_t n);
void nas_h5_put_ids(hid_t file, const char *name, const int64_t *ids, size_t n);
void nas_h5_put_text(hid_t file, const char *name, const char *text); /* scalar dataset */
void nas_h5_set_text(hid_t file, const char *name, const char *text); /* attributes of the root */
void nas_h5_set_int(hid_t file, const char *name, int64_t value);
void nas_h5_set_uint(hid_t file, const char *name, uint64_t value);
void nas_h5_set_reals(hid_t file, const char *name, const double *value, size_t n);

/* Opens path and checks that its attribute format is format and schema_major at most major.
 * Negative, with NAS_FAILED: cannot read, not HDF5, truncated or damaged, foreign, too new. */
hid_t nas_h5_open(const char *path, const char *format, int64_t major, nas_err *err);
void nas_h5_close(hid_t file);

/* Readers: false when it is not there or of another shape. Texts are appended. */
bool nas_h5_get_text(hid_t file, const char *name, nas_bytes *text);
bool nas_h5_text(hid_t file, const char *name, nas_bytes *text);
bool nas_h5_int(hid_t file, const char *name, int64_t *value);
bool nas_h5_uint(hid_t file, const char *name, uint64_t *value);
size_t nas_h5_reals(hid_t file, const char *name, double *value, size_t most); /* how many */

/* The size in the file of the text column of a compound dataset; 0: no such column. */
size_t nas_h5_width(hid_t file, const char *name, const char *column);

/* Reads all rows of a compound dataset into *rows (to be freed), columns by name. False when the
 * dataset or a column is missing, or more rows are said to be there than the file can hold. */
bool nas_h5_get_rows(hid_t file, const char *name, const nas_h5_field *field, size_t n_field,
                     void **rows, size_t *n);

#endif
