/* naslm table import, info, get: benchmark tables. */
#include "results/table.h"
#include "search/command.h"

#include <stdio.h>
#include <stdlib.h>

static const nas_option OPTIONS[] = {
    NAS_OPTION_SPACE,
    {"arch", 0, "COLS", "column of the architecture, or several to join", NAS_OPTION_TEXT},
    {"metric", 0, "SPEC", "NAME=COL[,unit[,max|min[,xFACTOR[+OFFSET]]]], repeatable",
     NAS_OPTION_LIST},
    NAS_OPTION_OUTPUT,
    NAS_OPTION_FORCE,
    NAS_OPTION_FORMAT,
    {0}};

static nas_status import(nas_options *o, nas_err *err)
{
    const nas_space *space = nas_command_space(o, err);
    if (!space || nas_command_operands(o, 2, 2, "the CSV file", err) != NAS_OK)
        return err->code;
    const char *arch = nas_options_text(o, "arch", NULL);
    const char *out = nas_options_text(o, "output", NULL);
    const char *missing = !arch ? "arch" : !out ? "output" : NULL;
    const char *specs[128];
    size_t n = 0;
    while (n < 128 && (specs[n] = nas_options_nth(o, "metric", n)))
        n++;
    if (n == 0 && !missing)
        missing = "metric";
    if (missing)
        return nas_fail(err, NAS_USAGE, "option '--%s' is missing", missing);
    const nas_table_source from = {.space = space, .arch = arch, .metric = specs, .n_metric = n};
    return nas_table_import(o->operand[1], &from, out, nas_options_has(o, "force"), &nas_disk_real,
                            err);
}

static nas_table *open_table(nas_options *o, nas_err *err)
{
    nas_table *table = nas_table_open(o->operand[1], err);
    const char *name = nas_options_text(o, "space", NULL);
    const nas_space *space = table && name ? nas_space_need(name, err) : NULL;
    if (space && space != table->space)
        nas_fail(err, NAS_USAGE, "table '%s' is of space %s, not of %s", o->operand[1],
                 table->space->name, space->name);
    if (err->code == NAS_OK)
        return table;
    nas_table_close(table);
    return NULL;
}

static nas_status info(nas_options *o, nas_err *err)
{
    static const char *const columns[] = {"space", "rows",      "architectures", "metric",
                                          "unit",  "direction", "measured"};
    nas_report report;
    nas_table *table = NULL;
    if (nas_command_operands(o, 2, 2, "the table", err) != NAS_OK || !(table = open_table(o, err)))
        return err->code;
    nas_status status = nas_report_open(&report, o, columns, 7, err);
    for (size_t k = 0; k < table->n_metric && status == NAS_OK; k++) {
        int64_t measured = 0;
        for (size_t i = 0; i < table->n; i++)
            measured += nas_table_value(table, i, k) == nas_table_value(table, i, k);
        nas_report_text(&report, table->space->name);
        nas_report_int(&report, (int64_t)table->n);
        nas_report_int(&report, (int64_t)table->n_unique);
        nas_report_text(&report, table->metric[k].name);
        nas_report_text(&report, table->metric[k].unit);
        nas_report_text(&report, nas_direction_name(table->metric[k].direction));
        nas_report_int(&report, measured);
    }
    nas_table_close(table);
    return status == NAS_OK ? nas_report_close(&report, err) : status;
}

static nas_status get(nas_options *o, nas_err *err)
{
    nas_report report;
    nas_table *table = NULL;
    if (nas_command_operands(o, 3, SIZE_MAX, "an architecture", err) != NAS_OK ||
        !(table = open_table(o, err)))
        return err->code;
    const char **columns = nas_alloc((table->n_metric + 1) * sizeof *columns);
    double *values = nas_alloc(table->n_metric * sizeof *values);
    columns[0] = "arch";
    for (size_t k = 0; k < table->n_metric; k++)
        columns[k + 1] = table->metric[k].name;
    nas_status status = nas_report_open(&report, o, columns, table->n_metric + 1, err);
    nas_arch_input input = {.space = table->space, .options = o, .next = 2};
    nas_bytes text = {0};
    nas_arch arch;
    bool opened = status == NAS_OK;
    while (status == NAS_OK && (status = nas_arch_input_next(&input, &arch, err)) == NAS_OK) {
        nas_bytes_reset(&text);
        nas_space_print(table->space, &arch, &text);
        if (!nas_table_find(table, &arch, values)) {
            status = nas_fail(err, NAS_FAILED, "table '%s' has no row of '%s'", o->operand[1],
                              text.data);
            break;
        }
        nas_report_text(&report, text.data);
        for (size_t k = 0; k < table->n_metric; k++)
            nas_report_real(&report, values[k]);
    }
    nas_status closed = opened ? nas_report_close(&report, err) : status;
    nas_arch_input_clear(&input);
    nas_bytes_clear(&text);
    free(columns);
    free(values);
    nas_table_close(table);
    return status == NAS_EMPTY ? closed : status;
}

static nas_status run(nas_options *o, nas_err *err)
{
    static const char *const verbs[] = {"import", "info", "get"};
    char hint[100];
    if (nas_command_operands(o, 1, SIZE_MAX, "one of import, info, get", err) != NAS_OK)
        return err->code;
    const char *verb = o->operand[0];
    if (!strcmp(verb, "import"))
        return import(o, err);
    if (!strcmp(verb, "info"))
        return info(o, err);
    if (!strcmp(verb, "get"))
        return get(o, err);
    return nas_fail(err, NAS_USAGE, "'%s' is not one of import, info, get%s", verb,
                    nas_hint(hint, sizeof hint, verb, verbs, 3));
}

const nas_command nas_command_table = {
    "table",
    "import -s SPACE FILE.csv|json[.gz] --arch COLS --metric SPEC... -o T.h5\n"
    "       naslm table info T.h5\n"
    "       naslm table get T.h5 ARCH... | -",
    "turn CSV tables and NDS files into HDF5 tables, look architectures up",
    "Several columns are joined in the order of the string form: nb101 'triu,ops', ofa "
    "'r,d,ks,e',\n"
    "mnasnet 'e,k,l,se', fbnet 'op_idx'. Empty fields are missing values.\n"
    "Files of NDS: keys are columns, of a list the last entry; errors become accuracies by\n"
    "  import -s darts DARTS.json --arch net --metric accuracy=min_test_top1,%,max,x-1+100 -o T.h5",
    OPTIONS,
    run};
