#include "spaces/read.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool nas_read_fault(nas_reader *reader, const char *at, const char *format, ...)
{
    if (reader->failed)
        return false;
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    nas_fail(reader->err, NAS_USAGE, "column %d: %s",
             (int)((at ? at : reader->at) - reader->text) + 1, text);
    reader->failed = true;
    return false;
}

bool nas_read_peek(nas_reader *reader, char c)
{
    while (isspace((unsigned char)*reader->at))
        reader->at++;
    return !reader->failed && *reader->at == c;
}

static const char *found(const nas_reader *reader, char text[24])
{
    if (*reader->at)
        snprintf(text, 24, "not '%.12s'", reader->at);
    else
        snprintf(text, 24, "the string ends here");
    return text;
}

bool nas_read_char(nas_reader *reader, char c)
{
    char text[24];
    if (!nas_read_peek(reader, c))
        return nas_read_fault(reader, NULL, "'%c' expected, %s", c, found(reader, text));
    reader->at++;
    return true;
}

bool nas_read_number(nas_reader *reader, int digits, int low, int high, int *value)
{
    char text[24];
    nas_read_peek(reader, 0);
    const char *start = reader->at;
    int v = 0, n = 0;
    for (; n < digits && isdigit((unsigned char)*reader->at); n++)
        v = 10 * v + *reader->at++ - '0';
    if (n == 0)
        return nas_read_fault(reader, start, "a number expected, %s", found(reader, text));
    if (v < low || v > high)
        return nas_read_fault(reader, start, "%d is not one of %d to %d", v, low, high);
    *value = v;
    return !reader->failed;
}

bool nas_read_digit(nas_reader *reader, const char *digits, int *index)
{
    char text[24];
    nas_read_peek(reader, 0);
    const char *hit = *reader->at ? strchr(digits, *reader->at) : NULL;
    if (!hit)
        return nas_read_fault(reader, NULL, "a digit of %s expected, %s", digits,
                              found(reader, text));
    *index = (int)(hit - digits);
    reader->at++;
    return !reader->failed;
}

bool nas_read_word(nas_reader *reader, const char *const *words, int n, const char *what,
                   int *index)
{
    char word[64], hint[100], text[24];
    nas_read_peek(reader, 0);
    const char *start = reader->at;
    size_t length = 0;
    while (isalnum((unsigned char)start[length]) || start[length] == '_' || start[length] == '-')
        length++;
    if (length == 0)
        return nas_read_fault(reader, start, "%s expected, %s", what, found(reader, text));
    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), start);
    reader->at += length;
    for (int i = 0; i < n; i++)
        if (!strcmp(words[i], word)) {
            *index = i;
            return !reader->failed;
        }
    return nas_read_fault(reader, start, "unknown %s '%s'%s", what, word,
                          nas_hint(hint, sizeof hint, word, words, (size_t)n));
}

bool nas_read_quoted(nas_reader *reader, const char *const *words, int n, const char *what,
                     int *index)
{
    char quote = nas_read_peek(reader, '"') ? '"' : nas_read_peek(reader, '\'') ? '\'' : 0;
    if (quote)
        nas_read_char(reader, quote);
    return nas_read_word(reader, words, n, what, index) && (!quote || nas_read_char(reader, quote));
}

nas_status nas_read_end(nas_reader *reader)
{
    if (!nas_read_peek(reader, '\0'))
        nas_read_fault(reader, NULL, "'%.12s' is too much", reader->at);
    return reader->failed ? NAS_USAGE : NAS_OK;
}
