#include "spaces/base/err.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

nas_status nas_fail(nas_err *err, nas_status code, const char *format, ...)
{
    if (err && err->code == NAS_OK) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        err->code = code;
    }
    return code;
}

nas_status nas_fail_in(nas_err *err, const char *format, ...)
{
    char old[sizeof err->text];
    memcpy(old, err->text, sizeof old);
    const int most = (int)sizeof err->text;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (n >= 0 && n + 2 < most)
        snprintf(err->text + n, (size_t)(most - n), ": %.*s", most - n - 3, old);
    return err->code;
}

enum { WORD_MAX = 64 };

/* Levenshtein distance without regard to case, one row of the table at a time. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1];
    size_t nb = strlen(b);
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < nb; j++) {
            size_t change =
                diagonal + (tolower((unsigned char)a[i]) != tolower((unsigned char)b[j]));
            diagonal = row[j + 1];
            size_t gap = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            row[j + 1] = change < gap ? change : gap;
        }
    }
    return row[nb];
}

const char *nas_nearest(const char *word, const char *const *list, size_t n)
{
    size_t length = strlen(word);
    if (length > WORD_MAX)
        return NULL;
    const char *best = NULL;
    size_t least = (length < 3 ? 1 : length / 3 + 1) + 1;
    for (size_t i = 0; i < n; i++) {
        if (strlen(list[i]) > WORD_MAX)
            continue;
        size_t d = edit_distance(word, list[i]);
        if (d < least) {
            least = d;
            best = list[i];
        }
    }
    return best;
}

const char *nas_hint(char *text, size_t size, const char *word, const char *const *list, size_t n)
{
    const char *near = nas_nearest(word, list, n);
    text[0] = '\0';
    if (near)
        snprintf(text, size, " (did you mean '%s'?)", near);
    return text;
}
