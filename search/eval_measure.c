/* The evaluator `measure`: the latency of each network on this machine, `latency:cpu`, by ONNX
 * Runtime on one thread. Networks are measured one after the other; where the runs of one disagree,
 * as beside a busy neighbour, it is measured again and the calmest time counts. */
#include "hw/runtime.h"
#include "search/evaluator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double CALM = 0.1; /* spread of the runs, a share of the median */

typedef struct {
    nas_runtime *runtime;
    nas_metric metric;
} meter;

static nas_status measure_open(nas_evaluator *e, const char *argument, nas_err *err)
{
    bool file = argument && (strchr(argument, '/') || strstr(argument, ".so"));
    if (argument && !file && strcmp(argument, "onnxruntime"))
        return nas_fail(err, NAS_USAGE,
                        "source 'measure' takes 'onnxruntime' or its library FILE.so, not '%s'",
                        argument);
    meter *m = e->state = nas_zalloc(1, sizeof *m);
    e->metrics = &m->metric;
    e->n_metrics = 1;
    if (nas_metric_make(&m->metric, "latency:cpu", err) != NAS_OK)
        return err->code;
    m->runtime = nas_runtime_open(file ? argument : NULL, err);
    return m->runtime ? NAS_OK : NAS_FAILED;
}

static void measure_close(nas_evaluator *e)
{
    meter *m = e->state;
    if (m)
        nas_runtime_close(m->runtime);
    free(m);
}

static nas_status measure(nas_evaluator *e, const nas_arch *arch, nas_latency *best, nas_err *err)
{
    meter *m = e->state;
    nas_graph *graph = nas_space_build(e->space, arch, e->task);
    nas_status status = nas_runtime_measure(m->runtime, graph, best, err);
    for (size_t i = 1; i < e->limits.tries && status == NAS_OK; i++) {
        nas_latency again;
        if (best->spread <= CALM * best->median)
            break;
        status = nas_runtime_measure(m->runtime, graph, &again, err);
        if (status == NAS_OK && again.spread < best->spread)
            *best = again;
    }
    nas_graph_free(graph);
    return status;
}

static nas_status measure_evaluate(nas_evaluator *e, const nas_arch *archs, size_t n,
                                   const size_t *metric, size_t m, double *values,
                                   nas_row_state *states, nas_err *err)
{
    (void)metric; /* there is one: m is 1 */
    for (size_t i = 0; i < n; i++) {
        if (e->limits.stop && *e->limits.stop)
            return NAS_EMPTY;
        nas_latency latency;
        nas_err why = {0};
        bool good = measure(e, &archs[i], &latency, &why) == NAS_OK;
        if (!good)
            snprintf(e->why, sizeof e->why, "%.*s", (int)sizeof e->why - 1, why.text);
        values[i * m] = good ? latency.median : NAN;
        states[i] = good ? NAS_ROW_OK : NAS_ROW_FAILED;
        if (nas_evaluator_keep(e, &archs[i], states[i], &values[i * m], m, err) != NAS_OK)
            return NAS_FAILED;
    }
    return NAS_OK;
}

const nas_evaluator_type nas_evaluator_measure = {
    .name = "measure",
    .argument = "onnxruntime",
    .summary = "latency:cpu on this machine, by ONNX Runtime",
    .slow = true,
    .open = measure_open,
    .close = measure_close,
    .evaluate = measure_evaluate,
};
