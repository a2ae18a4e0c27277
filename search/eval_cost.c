/* The evaluators that need no data: `cost` counts the graph, `formula` asks the space itself. */
#include "hw/cost.h"
#include "search/evaluator.h"

#include <stdlib.h>

/* ---- cost ---- */

enum { PARAMS, MACS, ACTIVATION, CONVS, COSTS };

static nas_status cost_open(nas_evaluator *e, const char *argument, nas_err *err)
{
    (void)argument;
    static const char *const names[COSTS] = {"params", "macs", "activation_bytes", "convs"};
    nas_metric *metrics = nas_zalloc(COSTS, sizeof *metrics);
    e->state = metrics;
    e->metrics = metrics;
    e->n_metrics = COSTS;
    for (size_t i = 0; i < COSTS; i++) {
        if (nas_metric_make(&metrics[i], names[i], err) != NAS_OK)
            return err->code;
        metrics[i].direction = NAS_MIN;
    }
    return NAS_OK;
}

static void free_state(nas_evaluator *e)
{
    free(e->state);
}

static nas_status cost_evaluate(nas_evaluator *e, const nas_arch *archs, size_t n,
                                const size_t *metric, size_t m, double *values,
                                nas_row_state *states, nas_err *err)
{
    (void)err;
#pragma omp parallel for schedule(dynamic, 8) if (n > 16)
    for (size_t i = 0; i < n; i++) {
        nas_cost cost;
        nas_graph *graph = nas_space_build(e->space, &archs[i], e->task);
        states[i] = nas_cost_of(graph, &cost, NULL) == NAS_OK ? NAS_ROW_OK : NAS_ROW_FAILED;
        nas_graph_free(graph);
        const int64_t all[COSTS] = {cost.params, cost.macs, cost.activation_bytes, cost.convs};
        for (size_t k = 0; k < m; k++)
            values[i * m + k] = (double)all[metric[k]];
    }
    return NAS_OK;
}

const nas_evaluator_type nas_evaluator_cost = {
    .name = "cost",
    .summary = "params, macs, activation_bytes and convs of the network",
    .open = cost_open,
    .close = free_state,
    .evaluate = cost_evaluate,
};

/* ---- formula ---- */

static nas_status formula_open(nas_evaluator *e, const char *argument, nas_err *err)
{
    (void)argument;
    if (!e->space->evaluate)
        return nas_fail(err, NAS_USAGE, "space %s has no formula for its objectives",
                        e->space->name);
    size_t n = 0;
    while (e->space->objectives[n])
        n++;
    nas_metric *metrics = nas_zalloc(n, sizeof *metrics);
    e->state = metrics;
    e->metrics = metrics;
    e->n_metrics = n;
    e->n_listed = nas_space_points(e->space);
    for (size_t i = 0; i < n; i++)
        if (nas_metric_make(&metrics[i], e->space->objectives[i], err) != NAS_OK)
            return err->code;
    return NAS_OK;
}

static bool formula_at(nas_evaluator *e, size_t row, nas_arch *arch)
{
    nas_space_at(e->space, row, arch);
    return true;
}

static nas_status formula_evaluate(nas_evaluator *e, const nas_arch *archs, size_t n,
                                   const size_t *metric, size_t m, double *values,
                                   nas_row_state *states, nas_err *err)
{
    (void)err;
    double all[NAS_WANTED_MOST];
    for (size_t i = 0; i < n; i++) {
        e->space->evaluate(e->space, &archs[i], all);
        for (size_t k = 0; k < m; k++)
            values[i * m + k] = all[metric[k]];
        states[i] = NAS_ROW_OK;
    }
    return NAS_OK;
}

const nas_evaluator_type nas_evaluator_formula = {
    .name = "formula",
    .summary = "the closed form of a made space (toy)",
    .open = formula_open,
    .close = free_state,
    .at = formula_at,
    .evaluate = formula_evaluate,
};
