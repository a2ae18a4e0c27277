#include "spaces/base/err.h"

#include "spaces/base/mem.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool inside_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80; /* UTF-8 */
}

/* Bytes of the printable UTF-8 character at c; 0: there is none. The narrower ranges of a second
 * byte keep out long forms, surrogates, controls (C1) and what lies beyond Unicode. */
static size_t printable(const unsigned char *c)
{
    static const struct {
        unsigned char first, last, low, high; /* lead bytes, range of the second byte */
        size_t length;
    } form[] = {{0xc2, 0xc2, 0xa0, 0xbf, 2}, {0xc3, 0xdf, 0x80, 0xbf, 2},
                {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
                {0xe1, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                {0xf4, 0xf4, 0x80, 0x8f, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}};
    if (*c < 0x80)
        return !iscntrl(*c);
    for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
        if (*c < form[i].first || *c > form[i].last)
            continue;
        size_t k = c[1] >= form[i].low && c[1] <= form[i].high ? 2 : 0;
        while (k && k < form[i].length && inside_character((char)c[k]))
            k++;
        return k == form[i].length ? k : 0;
    }
    return 0;
}

void nas_plain(char *text)
{
    for (size_t n; *text; text += n ? n : 1)
        if ((n = printable((unsigned char *)text)) == 0)
            *text = '?';
}

/* What names the thing stands in front, the reason at the end: a middle that does not fit goes. */
static void shorten(const char *whole, size_t length, char *text, size_t size)
{
    static const char gap[] = " ... ";
    size_t tail = size / 2, head = size - tail - sizeof gap;
    while (head > 0 && inside_character(whole[head]))
        head--;
    const char *end = whole + length - tail;
    while (inside_character(*end))
        end++;
    snprintf(text, size, "%.*s%s%s", (int)head, whole, gap, end);
}

nas_status nas_fail(nas_err *err, nas_status code, const char *format, ...)
{
    if (!err || err->code != NAS_OK)
        return code;
    char *whole = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&whole, format, args);
    va_end(args);
    if (length < 0)
        nas_out_of_memory(sizeof err->text);
    else if ((size_t)length < sizeof err->text)
        memcpy(err->text, whole, (size_t)length + 1);
    else
        shorten(whole, (size_t)length, err->text, sizeof err->text);
    free(whole);
    nas_plain(err->text); /* a newline would make two sentences of one */
    return err->code = code;
}

nas_status nas_fail_in(nas_err *err, const char *format, ...)
{
    if (!err)
        return NAS_FAILED;
    const nas_err old = *err;
    char *prefix = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&prefix, format, args) < 0)
        nas_out_of_memory(sizeof err->text);
    va_end(args);
    err->code = NAS_OK;
    nas_fail(err, old.code, "%s: %s", prefix, old.text);
    free(prefix);
    return old.code;
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
