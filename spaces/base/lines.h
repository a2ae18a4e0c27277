/* What does the next line of a foreign text say? Lines of bounded length without NUL bytes, their
 * numbers, and the difference between an end and a failure.
 *
 *     nas_lines in = {0};
 *     for (status = nas_lines_open(&in, path, err); status == NAS_OK;)
 *         if ((status = nas_lines_next(&in, err)) == NAS_OK) use(in.text.data, in.number);
 *     nas_lines_close(&in); // here status is NAS_EMPTY at the end of the text
 */
#ifndef NAS_BASE_LINES_H
#define NAS_BASE_LINES_H

#include "spaces/base/err.h"
#include "spaces/base/mem.h"

#include <stdio.h>

typedef struct {
    FILE *file;
    const char *name; /* for sentences: the path or "standard input" */
    nas_bytes text;   /* the line without its end, CRLF or LF; may be changed in place */
    size_t number;    /* of the line, from 1 */
} nas_lines;

/* "-" is standard input. path must outlive the lines. */
nas_status nas_lines_open(nas_lines *lines, const char *path, nas_err *err);
/* NAS_EMPTY at the end, NAS_FAILED for a read error, a NUL byte or a line above 1 MiB. */
nas_status nas_lines_next(nas_lines *lines, nas_err *err);
void nas_lines_close(nas_lines *lines);

#endif
