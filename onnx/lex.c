#include "onnx/lex.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool nas_lex_fault(nas_lexer *x, const char *format, ...)
{
    char what[300];
    int line = 1, column = 1;
    if (x->failed)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    for (const char *c = x->text; c < x->at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    x->failed = true;
    nas_fail(x->err, NAS_FAILED, "line %d, column %d: %s", line, column, what);
    return false;
}

char nas_lex_peek(nas_lexer *x)
{
    while (!x->failed && x->at < x->end) {
        if (*x->at == '#')
            while (x->at < x->end && *x->at != '\n')
                x->at++;
        else if (isspace((unsigned char)*x->at))
            x->at++;
        else
            return *x->at;
    }
    return 0;
}

bool nas_lex_take(nas_lexer *x, char c)
{
    if (nas_lex_peek(x) != c || x->at == x->end || x->failed)
        return false;
    x->at++;
    return true;
}

bool nas_lex_need(nas_lexer *x, char c)
{
    return nas_lex_take(x, c) || nas_lex_fault(x, "'%c' is missing here", c);
}

bool nas_lex_need_text(nas_lexer *x, const char *text)
{
    size_t n = strlen(text);
    nas_lex_peek(x);
    if (x->failed || (size_t)(x->end - x->at) < n || memcmp(x->at, text, n))
        return nas_lex_fault(x, "'%s' is missing here", text);
    x->at += n;
    return true;
}

static char *copy(nas_lexer *x, const char *from, size_t n)
{
    char *to = nas_arena_get(x->arena, n + 1);
    memcpy(to, from, n);
    to[n] = '\0';
    return to;
}

char *nas_lex_string(nas_lexer *x)
{
    if (!nas_lex_need(x, '"'))
        return NULL;
    const char *start = x->at;
    size_t n = 0;
    for (; x->at < x->end && *x->at != '"'; x->at++)
        if (*x->at == '\\' && x->at + 1 < x->end)
            x->at++;
    if (x->at >= x->end) {
        x->at = start;
        nas_lex_fault(x, "the string does not end");
        return NULL;
    }
    char *to = copy(x, start, (size_t)(x->at - start));
    for (const char *c = to; *c; c++) {
        if (*c == '\\' && c[1])
            c++;
        to[n++] = *c;
    }
    to[n] = '\0';
    x->at++;
    return to;
}

char *nas_lex_name_or_none(nas_lexer *x)
{
    char c = nas_lex_peek(x);
    if (c == '"')
        return nas_lex_string(x);
    const char *start = x->at;
    if (c && (isalpha((unsigned char)c) || c == '_'))
        while (x->at < x->end && (isalnum((unsigned char)*x->at) || *x->at == '_'))
            x->at++;
    return copy(x, start, (size_t)(x->at - start));
}

char *nas_lex_name(nas_lexer *x)
{
    char *name = nas_lex_name_or_none(x);
    if (name && *name)
        return name;
    nas_lex_fault(x, "a name is missing here");
    return NULL;
}

bool nas_lex_number(nas_lexer *x, nas_lex_value *value)
{
    char digits[64];
    size_t n = 0;
    nas_lex_peek(x);
    const char *start = x->at;
    while (!x->failed && x->at < x->end && n < sizeof digits - 1 &&
           (isalnum((unsigned char)*x->at) || memchr("+-.", *x->at, 3)))
        digits[n++] = *x->at++;
    digits[n] = '\0';
    char *end_i, *end_f;
    errno = 0;
    value->i = strtoll(digits, &end_i, 10);
    bool whole = n && !*end_i && errno == 0;
    value->f = strtod(digits, &end_f);
    value->real = !whole;
    if (n && !*end_f && !x->failed && !strpbrk(digits, "xXpP"))
        return true;
    x->at = start;
    return nas_lex_fault(x, "a number is missing here");
}

bool nas_lex_integer(nas_lexer *x, int64_t *value)
{
    nas_lex_value v;
    if (!nas_lex_number(x, &v))
        return false;
    *value = v.i;
    return !v.real || nas_lex_fault(x, "an integer is missing here");
}
