#include "spaces/base/option.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool nas_read_u64(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno)
        return false;
    *value = v;
    return true;
}

bool nas_read_real(const char *text, double *value)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || isspace((unsigned char)text[0]) || !isfinite(v))
        return false;
    *value = v;
    return true;
}

static nas_status unknown_option(const nas_option *table, const char *word, size_t length,
                                 nas_err *err)
{
    const char *names[128];
    size_t n = 0;
    for (; table[n].name && n < sizeof names / sizeof *names; n++)
        names[n] = table[n].name;
    char name[80], hint[100];
    snprintf(name, sizeof name, "%.*s", (int)(length < 79 ? length : 79), word);
    return nas_fail(err, NAS_USAGE, "unknown option '--%s'%s", name,
                    nas_hint(hint, sizeof hint, name, names, n));
}

static const nas_option *find_long(const nas_option *table, const char *word, size_t length)
{
    for (; table->name; table++)
        if (strlen(table->name) == length && !memcmp(table->name, word, length))
            return table;
    return NULL;
}

static const nas_option *find_letter(const nas_option *table, char letter)
{
    for (; table->name; table++)
        if (table->letter == letter)
            return table;
    return NULL;
}

static nas_status add_value(nas_options *options, const nas_option *option, const char *text,
                            nas_err *err)
{
    uint64_t whole;
    double real;
    if (option->type != NAS_OPTION_FLAG && !*text)
        return nas_fail(err, NAS_USAGE, "the value of option '--%s' is empty", option->name);
    if (option->type == NAS_OPTION_U64 && !nas_read_u64(text, &whole))
        return nas_fail(err, NAS_USAGE, "option '--%s' needs a whole number, not '%s'",
                        option->name, text);
    if (option->type == NAS_OPTION_REAL && !nas_read_real(text, &real))
        return nas_fail(err, NAS_USAGE, "option '--%s' needs a number, not '%s'", option->name,
                        text);
    options->value =
        nas_grow(options->value, &options->value_cap, options->n_value + 1, sizeof *options->value);
    options->value[options->n_value++] = (nas_option_value){option, text};
    return NAS_OK;
}

/* Reads the option at argv[*i]; *i moves over a separate value. */
static nas_status read_option(nas_options *options, const nas_option *table, int argc,
                              char *const *argv, int *i, nas_err *err)
{
    const char *word = argv[*i], *value = NULL;
    const nas_option *option;
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        option = find_long(table, word + 2, length);
        if (!option)
            return unknown_option(table, word + 2, length, err);
        if (word[2 + length] == '=')
            value = word + 3 + length;
    } else {
        option = find_letter(table, word[1]);
        if (!option)
            return nas_fail(err, NAS_USAGE, "unknown option '-%c'", word[1]);
        if (word[2])
            value = word + 2;
    }
    if (option->type == NAS_OPTION_FLAG) {
        if (value)
            return nas_fail(err, NAS_USAGE, "option '--%s' takes no value ('%s')", option->name,
                            word);
        return add_value(options, option, NULL, err);
    }
    if (!value) {
        if (*i + 1 >= argc)
            return nas_fail(err, NAS_USAGE, "option '--%s' needs a value", option->name);
        value = argv[++*i];
    }
    return add_value(options, option, value, err);
}

nas_status nas_options_read(nas_options *options, const nas_option *table, int argc,
                            char *const *argv, nas_err *err)
{
    bool ended = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (!ended && !strcmp(word, "--")) {
            ended = true;
        } else if (!ended && word[0] == '-' && word[1]) {
            nas_status status = read_option(options, table, argc, argv, &i, err);
            if (status != NAS_OK)
                return status;
        } else {
            options->operand = nas_grow(options->operand, &options->operand_cap,
                                        options->n_operand + 1, sizeof *options->operand);
            options->operand[options->n_operand++] = word;
        }
    }
    return NAS_OK;
}

void nas_options_clear(nas_options *options)
{
    free(options->value);
    free(options->operand);
    *options = (nas_options){0};
}

static const nas_option_value *last_value(const nas_options *options, const char *name)
{
    for (size_t i = options->n_value; i-- > 0;)
        if (!strcmp(options->value[i].option->name, name))
            return &options->value[i];
    return NULL;
}

bool nas_options_has(const nas_options *options, const char *name)
{
    return last_value(options, name) != NULL;
}

const char *nas_options_text(const nas_options *options, const char *name, const char *fallback)
{
    const nas_option_value *value = last_value(options, name);
    return value ? value->text : fallback;
}

uint64_t nas_options_u64(const nas_options *options, const char *name, uint64_t fallback)
{
    const nas_option_value *value = last_value(options, name);
    if (!value)
        return fallback;
    uint64_t v = 0;
    bool read = nas_read_u64(value->text, &v);
    assert(read);
    (void)read;
    return v;
}

double nas_options_real(const nas_options *options, const char *name, double fallback)
{
    const nas_option_value *value = last_value(options, name);
    if (!value)
        return fallback;
    double v = 0;
    bool read = nas_read_real(value->text, &v);
    assert(read);
    (void)read;
    return v;
}

const char *nas_options_nth(const nas_options *options, const char *name, size_t i)
{
    for (size_t j = 0; j < options->n_value; j++)
        if (!strcmp(options->value[j].option->name, name) && i-- == 0)
            return options->value[j].text;
    return NULL;
}

void nas_options_help(nas_bytes *out, const nas_option *table)
{
    for (; table->name; table++) {
        size_t start = out->size;
        if (table->letter)
            nas_bytes_print(out, "  -%c, --%s", table->letter, table->name);
        else
            nas_bytes_print(out, "      --%s", table->name);
        if (table->value)
            nas_bytes_print(out, " %s", table->value);
        size_t width = out->size - start;
        if (width > 29) {
            nas_bytes_putc(out, '\n');
            width = 0;
        }
        nas_bytes_print(out, "%*s%s\n", (int)(30 - width), "", table->help);
    }
}

bool nas_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}
