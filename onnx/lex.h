/* What stands next in an ONNX text? A cursor over the official textual syntax that knows the line
 * and column of a fault. Blanks and comments (# to the end of the line) are skipped.
 *
 *     nas_lexer x = {text, text, text + size, arena, &err};
 *     if (nas_lex_take(&x, '(')) name = nas_lex_name(&x);
 *
 * After the first fault everything fails, so a parser may check now and then. */
#ifndef NAS_ONNX_LEX_H
#define NAS_ONNX_LEX_H

#include "spaces/base/err.h"
#include "spaces/base/mem.h"

typedef struct {
    const char *text, *at, *end;
    nas_arena *arena;
    nas_err *err;
    bool failed;
} nas_lexer;

typedef struct {
    bool real; /* written with a point or an exponent */
    int64_t i;
    double f; /* of integers too */
} nas_lex_value;

/* Reports "line L, column C: …" once; returns false. */
__attribute__((format(printf, 2, 3))) bool nas_lex_fault(nas_lexer *x, const char *format, ...);
/* The next character after blanks, 0 at the end or after a fault; does not move. */
char nas_lex_peek(nas_lexer *x);
bool nas_lex_take(nas_lexer *x, char c); /* moves over c when it stands next */
bool nas_lex_need(nas_lexer *x, char c);
bool nas_lex_need_text(nas_lexer *x, const char *text); /* as "=>" */
/* Letters, digits, '_'; or in quotes. In the arena. NULL after a fault. */
char *nas_lex_name(nas_lexer *x);
/* A name when one stands next, else "". */
char *nas_lex_name_or_none(nas_lexer *x);
/* In double quotes; a backslash protects the next character. */
char *nas_lex_string(nas_lexer *x);
bool nas_lex_number(nas_lexer *x, nas_lex_value *value);
bool nas_lex_integer(nas_lexer *x, int64_t *value);

#endif
