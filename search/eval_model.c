/* The evaluator that guesses: a trained surrogate's estimate of every metric it has a number for.
 */
#include "search/command.h"
#include "search/evaluator.h"
#include "surrogate/rlm.h"

#include <stdlib.h>

static nas_status model_open(nas_evaluator *e, const char *argument, nas_err *err)
{
    nas_bytes path = {0};
    nas_rlm *rlm = NULL;
    if (nas_command_model(argument, &path, err) == NAS_OK)
        rlm = nas_rlm_load(path.data, err);
    nas_bytes_clear(&path);
    if (!rlm)
        return err->code;
    e->state = rlm;
    e->metrics = rlm->schema.metric;
    e->n_metrics = rlm->schema.n;
    return NAS_OK;
}

static void model_close(nas_evaluator *e)
{
    nas_rlm_free(e->state);
}

static int by_index(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* The model writes metrics in its own order; the caller's may be another. */
static nas_status model_evaluate(nas_evaluator *e, const nas_arch *archs, size_t n,
                                 const size_t *metric, size_t m, double *values,
                                 nas_row_state *states, nas_err *err)
{
    size_t sorted[NAS_WANTED_MOST];
    nas_rlm_ask ask = {.metric = sorted, .m = m};
    double *value = nas_alloc((n * m + 1) * sizeof *value);
    memcpy(sorted, metric, m * sizeof *sorted);
    qsort(sorted, m, sizeof *sorted, by_index);
    nas_status status =
        nas_rlm_predict(e->state, &ask, e->space, e->task, archs, n, value, NULL, err);
    for (size_t k = 0; k < m && status == NAS_OK; k++) {
        const size_t *at = bsearch(&metric[k], sorted, m, sizeof *sorted, by_index);
        for (size_t i = 0; i < n; i++)
            values[i * m + k] = value[i * m + (size_t)(at - sorted)];
    }
    for (size_t i = 0; i < n; i++)
        states[i] = NAS_ROW_OK;
    free(value);
    return status;
}

const nas_evaluator_type nas_evaluator_model = {
    .name = "model",
    .argument = "FILE",
    .summary = "estimates of a trained surrogate; without FILE as naslm predict",
    .open = model_open,
    .close = model_close,
    .evaluate = model_evaluate,
};
