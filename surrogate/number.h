/* How is a number written as decoder tokens? Three layouts, their ids, and which ids may follow.
 *
 *     nas_number number;  int32_t id[NAS_NUMBER_MAX];  double back;
 *     status = nas_number_parse(&number, "SCI(4,12)", &err);
 *     nas_number_encode(&number, 94.37, id);   // number.length ids: <+> <E1> <9> <4> <3> <7>
 *     nas_number_decode(&number, id, &back);
 *
 * Every number takes exactly number.length tokens, sign first. Id 0 is the pad (and the start), the
 * others follow in byte order of their spelling, as in regress-lm: <+> 1, <-> 2, <0> 3 .. <9> 12,
 * exponents (<E-10> before <E-1>), then the special values <INF> <INVALID> <NAN> <NINF>. */
#ifndef NAS_SURROGATE_NUMBER_H
#define NAS_SURROGATE_NUMBER_H

#include "spaces/base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    NAS_NUMBER_MAX = 32,          /* most tokens of one number */
    NAS_NUMBER_EXPONENT_MAX = 99, /* largest exponent of a single exponent token */
    NAS_NUMBER_PAD = 0,
};

/* What stands at a position; each role has its own contiguous range of ids. */
typedef enum {
    NAS_ROLE_SIGN,
    NAS_ROLE_EXPONENT_SIGN,
    NAS_ROLE_EXPONENT, /* the whole exponent as one token */
    NAS_ROLE_EXPONENT_DIGIT,
    NAS_ROLE_DIGIT,
    NAS_ROLE_COUNT,
} nas_token_role;

typedef struct nas_number_layout nas_number_layout;

typedef struct {
    const nas_number_layout *layout;
    int base;     /* of the digits; 10 but for IEEE */
    int digits;   /* of the mantissa */
    int exponent; /* SCI, P10: the largest |exponent|; IEEE: how many exponent digits */
    bool special; /* are there tokens for nan and infinities? */
    /* derived */
    int length;                   /* tokens of one number */
    int32_t size;                 /* ids 0..size-1, the pad included */
    int32_t special_id;           /* the first of the special ids; == size without them */
    uint8_t role[NAS_NUMBER_MAX]; /* (length), nas_token_role */
    int8_t exponent_of[2 * NAS_NUMBER_EXPONENT_MAX + 1];    /* by id - first exponent id */
    uint8_t exponent_rank[2 * NAS_NUMBER_EXPONENT_MAX + 1]; /* the inverse, by exponent + largest */
} nas_number;

/* A set of ids: first[i] <= id < end[i] for i = 0 or 1; unused ranges are empty and come last. */
typedef struct {
    int32_t first[2], end[2];
} nas_token_set;

/* Reads "LAYOUT(numbers)", with "+special" behind it for nan and infinities; NAS_USAGE if unknown.
 *   SCI(D,R)     sign, exponent, D digits: +-d.ddd * 10^k with |k| <= R; below 10^-R leading zeros.
 *                The project's own: after two tokens the magnitude is known, so trees prune early.
 *   P10(D,R)     sign, D digits, exponent: +-dddd * 10^k with |k| <= R.
 *   IEEE(B,E,M)  sign, exponent sign, E exponent digits, M digits in base B: +-m.mmm * B^e; the
 *                mantissa is truncated.
 * P10 and IEEE give the tokens and values of regress-lm. */
nas_status nas_number_parse(nas_number *number, const char *text, nas_err *err);
/* The text that nas_number_parse reads, into text (at least 32 bytes); returns text. */
const char *nas_number_print(const nas_number *number, char *text, size_t size);

/* Writes length ids. Values beyond the largest saturate, values too small become zero. False, with
 * nothing written, for a nan (there is no token for it) unless number.special. */
bool nas_number_encode(const nas_number *number, double value, int32_t *id);
/* False when the ids are not a number. <NAN> and <INVALID> give nan. */
bool nas_number_decode(const nas_number *number, const int32_t *id, double *value);

/* The ids that may stand at position (0..length-1) of a number whose earlier ids are prefix. It
 * depends on the position only, except that a special value repeats its token. */
nas_token_set nas_number_legal(const nas_number *number, const int32_t *prefix, int position);
static inline bool nas_token_set_has(nas_token_set set, int32_t id)
{
    return (id >= set.first[0] && id < set.end[0]) || (id >= set.first[1] && id < set.end[1]);
}

/* The least and the greatest value that a number with these first n ids can have. A special first
 * id gives its value twice (nan for <NAN>); special values do not count for n = 0. */
void nas_number_range(const nas_number *number, const int32_t *prefix, int n, double *low,
                      double *high);

/* "<E-3>" for an id below number.size, into text (at least 16 bytes); returns text. */
const char *nas_number_spell(const nas_number *number, int32_t id, char *text, size_t size);
/* The id of a spelling, or -1. */
int32_t nas_number_find(const nas_number *number, const char *spelling);

#endif
