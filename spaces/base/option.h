/* What did the user ask for? A table of long options, its help, and parsed values.
 *
 *     const nas_option table[] = {{"seed", 'S', "K", "seed of all random numbers", NAS_OPTION_U64},
 *                                 {0}};
 *     nas_options o = {0};
 *     status = nas_options_read(&o, table, argc, argv, &err);
 *     if (nas_options_has(&o, "seed")) seed = nas_options_u64(&o, "seed", 0);
 *
 * GNU conventions: long options with hyphens, --name=value or --name value, short letters, operands
 * anywhere, "--" ends options. A repeatable option keeps all its values in order. */
#ifndef NAS_BASE_OPTION_H
#define NAS_BASE_OPTION_H

#include "spaces/base/err.h"
#include "spaces/base/mem.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    NAS_OPTION_FLAG,
    NAS_OPTION_TEXT,
    NAS_OPTION_U64,  /* 0 or more */
    NAS_OPTION_REAL, /* finite */
    NAS_OPTION_LIST, /* text, may be given several times */
} nas_option_type;

typedef struct {
    const char *name;  /* long name without hyphens; NULL ends the table */
    char letter;       /* short form or 0 */
    const char *value; /* how help names the value; NULL for a flag */
    const char *help;
    nas_option_type type;
} nas_option;

typedef struct {
    const nas_option *option;
    const char *text; /* points into argv; NULL for a flag */
} nas_option_value;

typedef struct {
    nas_option_value *value;
    size_t n_value, value_cap;
    const char **operand; /* points into argv */
    size_t n_operand, operand_cap;
} nas_options;

/* argv[0] is skipped. NAS_USAGE for an unknown option (with a hint), a missing or bad value. */
nas_status nas_options_read(nas_options *options, const nas_option *table, int argc,
                            char *const *argv, nas_err *err);
void nas_options_clear(nas_options *options);

bool nas_options_has(const nas_options *options, const char *name);
/* The last value given, or fallback. */
const char *nas_options_text(const nas_options *options, const char *name, const char *fallback);
uint64_t nas_options_u64(const nas_options *options, const char *name, uint64_t fallback);
double nas_options_real(const nas_options *options, const char *name, double fallback);
/* The i-th value of a repeatable option, or NULL. */
const char *nas_options_nth(const nas_options *options, const char *name, size_t i);

/* Appends one aligned line for each option. */
void nas_options_help(nas_bytes *out, const nas_option *table);

/* Reads a whole text as a number; false when it is not one. */
bool nas_read_u64(const char *text, uint64_t *value);
bool nas_read_real(const char *text, double *value); /* finite only */
bool nas_ends_with(const char *text, const char *end);

#endif
