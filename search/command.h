/* How does the program talk? Subcommands as a const table, reports in five formats, and the common
 * ways to name a space, a task and architectures.
 *
 *     static nas_status run(nas_options *o, nas_err *err) { ... }
 *     const nas_command nas_command_sample = {"sample", "-s SPACE [-n N]", "...", OPTIONS, run};
 *
 * A new subcommand is one such table and one line in main.c. */
#ifndef NAS_COMMAND_H
#define NAS_COMMAND_H

#include "spaces/base/lines.h"
#include "spaces/base/option.h"
#include "spaces/space.h"

typedef struct {
    const char *name;
    const char *usage;         /* after "naslm NAME" */
    const char *summary;       /* one line */
    const char *details;       /* more help or NULL */
    const nas_option *options; /* without --help, which every command has */
    nas_status (*run)(nas_options *options, nas_err *err);
} nas_command;

/* Options that several commands share. */
#define NAS_OPTION_SPACE                                                                           \
    {                                                                                              \
        "space", 's', "SPACE", "search space (see 'naslm spaces')", NAS_OPTION_TEXT                \
    }
#define NAS_OPTION_TASK                                                                            \
    {                                                                                              \
        "task", 0, "TASK", "task; the default is the space's first", NAS_OPTION_TEXT               \
    }
#define NAS_OPTION_SEED                                                                            \
    {                                                                                              \
        "seed", 0, "K", "seed; without it one is chosen and printed", NAS_OPTION_U64               \
    }
#define NAS_OPTION_FORMAT                                                                          \
    {                                                                                              \
        "format", 0, "F", "table (default), csv, tsv, json or markdown", NAS_OPTION_TEXT           \
    }
#define NAS_OPTION_OUTPUT                                                                          \
    {                                                                                              \
        "output", 'o', "FILE", "write to FILE", NAS_OPTION_TEXT                                    \
    }
#define NAS_OPTION_FORCE                                                                           \
    {                                                                                              \
        "force", 0, NULL, "overwrite an existing file", NAS_OPTION_FLAG                            \
    }
#define NAS_OPTION_THREADS                                                                         \
    {                                                                                              \
        "threads", 0, "N", "threads; results do not depend on it", NAS_OPTION_U64                  \
    }

/* --space, which must be there. NULL with a sentence. */
const nas_space *nas_command_space(const nas_options *options, nas_err *err);
/* --task of the space. */
const nas_task *nas_command_task(const nas_options *options, const nas_space *space, nas_err *err);
/* --seed, or a chosen one that is written to stderr. */
uint64_t nas_command_seed(const nas_options *options);
/* Applies --threads. */
nas_status nas_command_threads(const nas_options *options, nas_err *err);
/* NAS_USAGE unless the command got between low and high operands. */
nas_status nas_command_operands(const nas_options *options, size_t low, size_t high,
                                const char *what, nas_err *err);

/* NAS_FAILED once something could not be written to standard output. */
nas_status nas_command_output(nas_err *err);
/* Reads "1,2.5,3" as n finite numbers; NAS_USAGE naming both counts when there are more or fewer.
 */
nas_status nas_command_numbers(const char *text, double *values, size_t n, const char *what,
                               nas_err *err);
/* The model to use: the given file, else $NASLM_MODEL, else naslm.safetensors where the program was
 * installed (../share/naslm) or built. NAS_USAGE when there is none. */
nas_status nas_command_model(const char *given, nas_bytes *path, nas_err *err);
/* What the program is made of: libraries, CPU path, file schema, each with its version. */
typedef struct {
    const char *name;
    char version[32];
} nas_part;
enum { NAS_PARTS = 7 };
void nas_command_parts(nas_part part[NAS_PARTS]);
/* The same as JSON, for what a result was made with: no host or date. To be freed. */
char *nas_command_provenance(void);

/* The path of an operand that names a file, where "-" stands for standard input. */
const char *nas_command_path(const char *operand);

/* Architectures from operands, where "-" stands for the lines of standard input. */
typedef struct {
    const nas_space *space;
    const nas_options *options;
    size_t next;     /* operand */
    nas_lines lines; /* of standard input */
} nas_arch_input;

/* The next one: NAS_OK, NAS_EMPTY at the end, or a failure naming line or operand. There is none
 * when standard output cannot be written any more. */
nas_status nas_arch_input_next(nas_arch_input *input, nas_arch *arch, nas_err *err);
void nas_arch_input_clear(nas_arch_input *input);

/* ---- reports: rows of named columns on standard output ---- */

typedef enum {
    NAS_FORMAT_TABLE,
    NAS_FORMAT_CSV,
    NAS_FORMAT_TSV,
    NAS_FORMAT_JSON,
    NAS_FORMAT_MARKDOWN
} nas_format;

typedef struct {
    nas_format format;
    const char *const *column; /* [n_column] */
    size_t n_column, n_row;
    size_t at;       /* cells of the row so far */
    nas_bytes cells; /* table: all cells, NUL-terminated, until the end; else the row */
} nas_report;

/* --format from the options; columns must outlive the report. */
nas_status nas_report_open(nas_report *report, const nas_options *options,
                           const char *const *column, size_t n_column, nas_err *err);
void nas_report_text(nas_report *report, const char *text);
void nas_report_int(nas_report *report, int64_t value);
void nas_report_real(nas_report *report, double value); /* NaN and infinity: null in json */
/* Writes what is left; returns NAS_FAILED when standard output could not be written. */
nas_status nas_report_close(nas_report *report, nas_err *err);

/* The shortest decimal that reads back as value. */
const char *nas_real_text(double value, char text[32]);

#endif
