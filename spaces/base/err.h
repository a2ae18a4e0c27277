/* What went wrong? A status and one sentence.
 *
 *     nas_status open_it(const char *path, nas_err *err) {
 *         if (!ok) return nas_fail(err, NAS_FAILED, "cannot open '%s': %s", path, why);
 *         return NAS_OK;
 *     }
 *
 * Bugs are asserts; the world (files, formats, users) returns a status; "no such thing" is NULL,
 * -1 or false. A status is also the exit code of the program. Libraries never print or exit. */
#ifndef NAS_BASE_ERR_H
#define NAS_BASE_ERR_H

#include <stddef.h>

typedef enum {
    NAS_OK = 0,
    NAS_FAILED = 1, /* the work failed: I/O, evaluator, bad file */
    NAS_USAGE = 2,  /* the caller asked for something that does not exist or make sense */
    NAS_EMPTY = 3,  /* finished, but nothing feasible, or a check found differences */
} nas_status;

typedef struct {
    nas_status code;
    char text[1000]; /* one sentence without a newline; empty while code is NAS_OK */
} nas_err;

/* Fills err unless it is NULL or already filled; returns code. A sentence that is too long loses
 * its middle; what it names is made plain. */
__attribute__((format(printf, 3, 4))) nas_status nas_fail(nas_err *err, nas_status code,
                                                          const char *format, ...);

/* Puts "prefix: " before the sentence that err holds and returns its code; NAS_FAILED when err is
 * NULL. */
__attribute__((format(printf, 2, 3))) nas_status nas_fail_in(nas_err *err, const char *format, ...);

/* Makes a foreign text safe to show: control characters and bytes that are no UTF-8 become '?'. */
void nas_plain(char *text);

/* The entry of list nearest to word by edit distance, or NULL when none is near enough to be meant.
 * list holds n strings. */
const char *nas_nearest(const char *word, const char *const *list, size_t n);

/* " (did you mean 'x'?)" for the nearest entry or "", written to text; returns text. */
const char *nas_hint(char *text, size_t size, const char *word, const char *const *list, size_t n);

#endif
