#include "surrogate/number.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number taken apart. All layouts share these fields; they differ in order and meaning. */
typedef struct {
    bool negative;
    bool down;        /* IEEE: the exponent's sign, also when the exponent is zero */
    int exponent;     /* signed for an exponent token, its size for exponent digits */
    int64_t mantissa; /* all digits as one integer */
} fields;

struct nas_number_layout {
    const char *name;
    const char *order; /* s sign, t exponent sign, e exponent token, x exponent digits, d digits */
    const char *parameters; /* of the text form: b base, d digits, e exponent */
    fields (*split)(const nas_number *number, double value); /* value is not nan */
    double (*join)(const nas_number *number, fields f);
};

static const char *const special_name[] = {"INF", "INVALID", "NAN", "NINF"};
static const double special_value[] = {INFINITY, NAN, NAN, -INFINITY};
enum { SPECIALS = 4, FIRST_SIGN = 1, FIRST_DIGIT = 3, DIGITS_MAX = 15 };

/* ---- layouts ---- */

/* The correctly rounded decimal of a > 0: mantissa of so many digits, a = d.ddd * 10^exponent. */
static int64_t scientific(double a, int digits, int *exponent)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", digits - 1, a);
    int64_t mantissa = 0;
    const char *p = text;
    for (; *p != 'e'; p++) /* the decimal point may be any character of the locale */
        if (isdigit((unsigned char)*p))
            mantissa = mantissa * 10 + (*p - '0');
    *exponent = atoi(p + 1);
    return mantissa;
}

/* Dividing by a power of ten keeps the nearest double for a short decimal; multiplying by its
 * inverse would not. */
static double scale10(int64_t mantissa, int exponent)
{
    return exponent < 0 ? (double)mantissa / pow(10, -exponent)
                        : (double)mantissa * pow(10, exponent);
}

static fields sci_split(const nas_number *number, double value)
{
    int last = number->digits - 1;
    double most = scale10((int64_t)pow(10, number->digits) - 1, number->exponent - last);
    double a = fmin(fabs(value), most);
    fields f = {.exponent = -number->exponent};
    if (a >= pow(10, -number->exponent))
        f.mantissa = scientific(a, number->digits, &f.exponent);
    else
        f.mantissa = (int64_t)rint(a * pow(10, number->exponent + last));
    f.negative = value < 0 && f.mantissa > 0;
    return f;
}

static double sci_join(const nas_number *number, fields f)
{
    return scale10(f.mantissa, f.exponent - number->digits + 1);
}

/* Below the least value the multiples of it are rounded half to even: to zero or to it. */
static fields p10_split(const nas_number *number, double value)
{
    double most = (pow(10, number->digits) - 1) * pow(10, number->exponent);
    double least = pow(10, number->digits - 1) * pow(10, -number->exponent);
    double a = fmin(fabs(value), most);
    if (a < least)
        a = least * rint(a / least);
    fields f = {.negative = value < 0};
    if (a > 0) {
        f.mantissa = scientific(a, number->digits, &f.exponent);
        f.exponent -= number->digits - 1;
    }
    return f;
}

static double p10_join(const nas_number *number, fields f)
{
    (void)number;
    return (double)f.mantissa * pow(10, f.exponent);
}

static fields ieee_split(const nas_number *number, double value)
{
    double base = number->base;
    int top = (int)pow(base, number->exponent) - 1, last = number->digits - 1;
    double a = fmin(fabs(value), pow(base, top) * (pow(base, last + 1) - 1) / pow(base, last));
    fields f = {.negative = value < 0};
    if (a == 0)
        return f;
    int e = (int)floor(log(a) / log(base));
    while (pow(base, e + 1) <= a)
        e++;
    while (pow(base, e) > a)
        e--;
    f.down = e < 0;
    if (e < -top)
        return f;
    f.exponent = abs(e);
    f.mantissa = (int64_t)fmin(a * pow(base, last - e), pow(base, last + 1) - 1);
    return f;
}

static double ieee_join(const nas_number *number, fields f)
{
    double base = number->base;
    double mantissa = (double)f.mantissa / pow(base, number->digits - 1);
    return mantissa * pow(base, f.down ? -f.exponent : f.exponent);
}

static const nas_number_layout layouts[] = {
    {"SCI", "sed", "de", sci_split, sci_join},
    {"P10", "sde", "de", p10_split, p10_join},
    {"IEEE", "stxd", "bed", ieee_split, ieee_join},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

/* ---- the text form and the tables ---- */

static int *parameter(nas_number *number, char which)
{
    return which == 'b' ? &number->base : which == 'd' ? &number->digits : &number->exponent;
}

/* A single exponent token stays within what a double holds; exponent digits too. */
static bool in_range(const nas_number *number)
{
    if (number->base < 2 || number->base > 10 || number->digits < 1 || number->exponent < 1 ||
        number->digits * log2(number->base) > DIGITS_MAX * log2(10))
        return false;
    if (!strchr(number->layout->order, 'x'))
        return number->exponent <= NAS_NUMBER_EXPONENT_MAX;
    return number->exponent <= 8 && pow(number->base, number->exponent) * log2(number->base) < 1000;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Exponent tokens stand in byte order of "<Ek>". */
static void order_exponents(nas_number *number)
{
    int most = number->exponent, n = 2 * most + 1;
    char spelling[2 * NAS_NUMBER_EXPONENT_MAX + 1][8];
    for (int i = 0; i < n; i++)
        snprintf(spelling[i], sizeof spelling[i], "%d>", (i - most) % 100);
    qsort(spelling, (size_t)n, sizeof *spelling, compare_text);
    for (int i = 0; i < n; i++) {
        number->exponent_of[i] = (int8_t)atoi(spelling[i]);
        number->exponent_rank[number->exponent_of[i] + most] = (uint8_t)i;
    }
}

static void place(nas_number *number, nas_token_role role, int times)
{
    for (int i = 0; i < times; i++)
        number->role[number->length++] = (uint8_t)role;
}

static void derive(nas_number *number)
{
    number->size = FIRST_DIGIT + number->base;
    for (const char *p = number->layout->order; *p; p++)
        if (*p == 's')
            place(number, NAS_ROLE_SIGN, 1);
        else if (*p == 't')
            place(number, NAS_ROLE_EXPONENT_SIGN, 1);
        else if (*p == 'x')
            place(number, NAS_ROLE_EXPONENT_DIGIT, number->exponent);
        else if (*p == 'd')
            place(number, NAS_ROLE_DIGIT, number->digits);
        else {
            place(number, NAS_ROLE_EXPONENT, 1);
            number->size += 2 * number->exponent + 1;
            order_exponents(number);
        }
    number->special_id = number->size;
    number->size += number->special ? SPECIALS : 0;
}

nas_status nas_number_parse(nas_number *number, const char *text, nas_err *err)
{
    *number = (nas_number){.base = 10};
    const char *p = text;
    for (int i = 0; i < LAYOUTS && !number->layout; i++) {
        size_t n = strlen(layouts[i].name);
        if (!strncmp(text, layouts[i].name, n) && text[n] == '(') {
            number->layout = &layouts[i];
            p = text + n;
        }
    }
    const char *which = number->layout ? number->layout->parameters : "";
    for (; *which && isdigit((unsigned char)p[1]); which++) {
        char *end;
        long v = strtol(p + 1, &end, 10);
        *parameter(number, *which) = v < 1000 ? (int)v : 1000;
        if (*end != (which[1] ? ',' : ')'))
            break;
        p = end;
    }
    bool complete = number->layout && !*which;
    number->special = complete && !strcmp(p + 1, "+special");
    if (!complete || (p[1] && !number->special))
        return nas_fail(err, NAS_USAGE,
                        "'%.60s' is no number layout; SCI(digits,exponent), P10(digits,exponent) "
                        "and IEEE(base,exponent digits,digits) are, each with +special or without",
                        text);
    if (!in_range(number))
        return nas_fail(err, NAS_USAGE, "number layout '%.60s' is out of range", text);
    derive(number);
    return NAS_OK;
}

const char *nas_number_print(const nas_number *number, char *text, size_t size)
{
    nas_number copy = *number;
    int n = snprintf(text, size, "%s(", number->layout->name);
    for (const char *which = number->layout->parameters; *which; which++)
        n += snprintf(text + n, size - (size_t)n, "%d%s", *parameter(&copy, *which),
                      which[1] ? "," : ")");
    snprintf(text + n, size - (size_t)n, "%s", number->special ? "+special" : "");
    return text;
}

/* ---- tokens ---- */

static int32_t first_exponent(const nas_number *number)
{
    return FIRST_DIGIT + number->base;
}

bool nas_number_encode(const nas_number *number, double value, int32_t *id)
{
    if (!number->special && isnan(value))
        return false;
    if (number->special && !isfinite(value)) {
        int which = isnan(value) ? 2 : value > 0 ? 0 : 3;
        for (int i = 0; i < number->length; i++)
            id[i] = number->special_id + which;
        return true;
    }
    fields f = number->layout->split(number, value);
    for (int i = number->length - 1; i >= 0; i--) /* digits come out last first */
        switch ((nas_token_role)number->role[i]) {
        case NAS_ROLE_SIGN:
            id[i] = FIRST_SIGN + f.negative;
            break;
        case NAS_ROLE_EXPONENT_SIGN:
            id[i] = FIRST_SIGN + f.down;
            break;
        case NAS_ROLE_EXPONENT:
            assert(abs(f.exponent) <= number->exponent);
            id[i] = first_exponent(number) + number->exponent_rank[f.exponent + number->exponent];
            break;
        case NAS_ROLE_EXPONENT_DIGIT:
            id[i] = FIRST_DIGIT + f.exponent % number->base;
            f.exponent /= number->base;
            break;
        default:
            id[i] = FIRST_DIGIT + (int32_t)(f.mantissa % number->base);
            f.mantissa /= number->base;
        }
    return true;
}

static bool is_special(const nas_number *number, int32_t id)
{
    return id >= number->special_id && id < number->size;
}

bool nas_number_decode(const nas_number *number, const int32_t *id, double *value)
{
    if (is_special(number, id[0])) {
        *value = special_value[id[0] - number->special_id];
        return true;
    }
    fields f = {0};
    for (int i = 0; i < number->length; i++) {
        if (!nas_token_set_has(nas_number_legal(number, id, i), id[i]))
            return false;
        int digit = id[i] - FIRST_DIGIT;
        switch ((nas_token_role)number->role[i]) {
        case NAS_ROLE_SIGN:
            f.negative = id[i] != FIRST_SIGN;
            break;
        case NAS_ROLE_EXPONENT_SIGN:
            f.down = id[i] != FIRST_SIGN;
            break;
        case NAS_ROLE_EXPONENT:
            f.exponent = number->exponent_of[id[i] - first_exponent(number)];
            break;
        case NAS_ROLE_EXPONENT_DIGIT:
            f.exponent = f.exponent * number->base + digit;
            break;
        default:
            f.mantissa = f.mantissa * number->base + digit;
        }
    }
    double size = number->layout->join(number, f);
    *value = f.negative ? -size : size;
    return true;
}

nas_token_set nas_number_legal(const nas_number *number, const int32_t *prefix, int position)
{
    assert(position >= 0 && position < number->length);
    if (position > 0 && is_special(number, prefix[0]))
        return (nas_token_set){{prefix[0], 0}, {prefix[0] + 1, 0}};
    int32_t special = position == 0 && number->special ? number->special_id : 0;
    int32_t special_end = special ? number->size : 0;
    switch ((nas_token_role)number->role[position]) {
    case NAS_ROLE_SIGN:
    case NAS_ROLE_EXPONENT_SIGN:
        return (nas_token_set){{FIRST_SIGN, special}, {FIRST_DIGIT, special_end}};
    case NAS_ROLE_EXPONENT:
        return (nas_token_set){{first_exponent(number), 0}, {number->special_id, 0}};
    default:
        return (nas_token_set){{FIRST_DIGIT, 0}, {first_exponent(number), 0}};
    }
}

/* ---- ranges ---- */

/* The token at a position that makes the size of a number smallest or largest. */
static int32_t extreme(const nas_number *number, int position, bool largest, bool negative,
                       bool down)
{
    switch ((nas_token_role)number->role[position]) {
    case NAS_ROLE_SIGN:
        return FIRST_SIGN + negative;
    case NAS_ROLE_EXPONENT_SIGN:
        return FIRST_SIGN + !largest;
    case NAS_ROLE_EXPONENT:
        return first_exponent(number) + number->exponent_rank[largest ? 2 * number->exponent : 0];
    case NAS_ROLE_EXPONENT_DIGIT: /* a greater digit of a negative exponent makes it smaller */
        return largest != down ? FIRST_DIGIT + number->base - 1 : FIRST_DIGIT;
    default:
        return FIRST_DIGIT + (largest ? number->base - 1 : 0);
    }
}

static double bound(const nas_number *number, const int32_t *prefix, int n, bool high)
{
    int32_t id[NAS_NUMBER_MAX];
    bool down = false, negative = n > 0 ? prefix[0] != FIRST_SIGN : !high;
    for (int i = 0; i < number->length; i++) {
        id[i] = i < n ? prefix[i] : extreme(number, i, high != negative, negative, down);
        if (number->role[i] == NAS_ROLE_EXPONENT_SIGN)
            down = id[i] != FIRST_SIGN;
    }
    double value = NAN;
    bool legal = nas_number_decode(number, id, &value);
    assert(legal);
    (void)legal;
    return value;
}

void nas_number_range(const nas_number *number, const int32_t *prefix, int n, double *low,
                      double *high)
{
    *low = bound(number, prefix, n, false);
    *high = bound(number, prefix, n, true);
}

/* ---- spelling ---- */

const char *nas_number_spell(const nas_number *number, int32_t id, char *text, size_t size)
{
    assert(id >= 0 && id < number->size);
    if (id == NAS_NUMBER_PAD)
        snprintf(text, size, "<pad>");
    else if (id < FIRST_DIGIT)
        snprintf(text, size, "<%c>", id == FIRST_SIGN ? '+' : '-');
    else if (id < first_exponent(number))
        snprintf(text, size, "<%d>", id - FIRST_DIGIT);
    else if (id < number->special_id)
        snprintf(text, size, "<E%d>", number->exponent_of[id - first_exponent(number)]);
    else
        snprintf(text, size, "<%s>", special_name[id - number->special_id]);
    return text;
}

int32_t nas_number_find(const nas_number *number, const char *spelling)
{
    char text[16];
    for (int32_t id = 0; id < number->size; id++)
        if (!strcmp(nas_number_spell(number, id, text, sizeof text), spelling))
            return id;
    return -1;
}
