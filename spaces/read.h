/* How do spaces read their strings? A cursor that skips blanks and names the column of a fault.
 *
 *     nas_reader r = {text, text, err};
 *     if (nas_read_char(&r, '|') && nas_read_word(&r, words, n, "operator", &op)) ...
 *     return nas_read_end(&r);
 *
 * After the first fault every further call fails too, so a parser may check once at the end. */
#ifndef NAS_READ_H
#define NAS_READ_H

#include "spaces/base/err.h"

#include <stdbool.h>

typedef struct {
    const char *text, *at;
    nas_err *err;
    bool failed;
} nas_reader;

/* Whether the next character after blanks is c; does not move. */
bool nas_read_peek(nas_reader *reader, char c);
bool nas_read_char(nas_reader *reader, char c);
/* A decimal number of at most digits digits within low..high. */
bool nas_read_number(nas_reader *reader, int digits, int low, int high, int *value);
/* One character of digits ("357"); *index is which. */
bool nas_read_digit(nas_reader *reader, const char *digits, int *index);
/* A word of letters, digits, '_' and '-' that is one of words; *index is which. what: for the
 * fault. */
bool nas_read_word(nas_reader *reader, const char *const *words, int n, const char *what,
                   int *index);
/* The same for a word that may stand in single or double quotes. */
bool nas_read_quoted(nas_reader *reader, const char *const *words, int n, const char *what,
                     int *index);
/* NAS_OK when nothing but blanks is left and nothing failed. */
nas_status nas_read_end(nas_reader *reader);
/* Reports a fault at the column of at (NULL: here); returns false. */
__attribute__((format(printf, 3, 4))) bool nas_read_fault(nas_reader *reader, const char *at,
                                                          const char *format, ...);

#endif
