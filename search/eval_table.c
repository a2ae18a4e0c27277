/* The evaluator `table:T.h5`: numbers that were measured elsewhere. */
#include "results/table.h"
#include "search/evaluator.h"

#include <math.h>
#include <stdlib.h>

static nas_status table_open(nas_evaluator *e, const char *argument, nas_err *err)
{
    if (!argument || !*argument)
        return nas_fail(err, NAS_USAGE, "source 'table' needs a file: table:T.h5");
    nas_table *table = nas_table_open(argument, err);
    if (!table)
        return err ? err->code : NAS_FAILED;
    e->state = table;
    e->metrics = table->metric;
    e->n_metrics = table->n_metric;
    e->n_listed = table->n;
    if (table->space != e->space)
        return nas_fail(err, NAS_USAGE, "table '%s' is of space %s, not of %s", argument,
                        table->space->name, e->space->name);
    return NAS_OK;
}

static void table_close(nas_evaluator *e)
{
    nas_table_close(e->state);
}

static bool table_has(nas_evaluator *e, const nas_arch *arch, const size_t *metric, size_t m)
{
    double *all = nas_alloc(e->n_metrics * sizeof *all);
    bool found = nas_table_find(e->state, arch, all);
    for (size_t k = 0; found && k < m; k++)
        found = !isnan(all[metric[k]]);
    free(all);
    return found;
}

static bool table_at(nas_evaluator *e, size_t row, nas_arch *arch)
{
    return nas_table_row(e->state, row, arch);
}

static bool table_hash(nas_evaluator *e, const nas_arch *arch, char text[33])
{
    int64_t row = nas_table_first(e->state, arch);
    return row >= 0 && nas_table_hash(e->state, (size_t)row, text);
}

static nas_status table_evaluate(nas_evaluator *e, const nas_arch *archs, size_t n,
                                 const size_t *metric, size_t m, double *values,
                                 nas_row_state *states, nas_err *err)
{
    (void)err;
    double *all = nas_alloc(e->n_metrics * sizeof *all);
    for (size_t i = 0; i < n; i++) {
        bool found = nas_table_find(e->state, &archs[i], all);
        states[i] = found ? NAS_ROW_OK : NAS_ROW_MISSING;
        for (size_t k = 0; k < m; k++) {
            values[i * m + k] = found ? all[metric[k]] : NAN;
            if (isnan(values[i * m + k]))
                states[i] = NAS_ROW_MISSING;
        }
    }
    free(all);
    return NAS_OK;
}

const nas_evaluator_type nas_evaluator_table = {
    .name = "table",
    .argument = "T.h5",
    .summary = "measured values from 'naslm table import'",
    .open = table_open,
    .close = table_close,
    .has = table_has,
    .at = table_at,
    .hash = table_hash,
    .evaluate = table_evaluate,
};
