#include "surrogate/known.h"

#include "spaces/base/mem.h"
#include "surrogate/structure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 300, FOLDS = 10 };

typedef struct {
    const nas_rlm *rlm;
    const nas_space *space;
    const nas_task *task;
    size_t n_known, m;
    size_t *known;  /* (n_known) rows of the schema */
    double *weight; /* (m, n_known) */
    double *shift;  /* (m) */
    double *spread; /* (m) */
} state;

static bool costs_nothing(const char *metric)
{
    for (int i = 0; i < NAS_STRUCTURE_COUNT; i++)
        if (!strcmp(metric, nas_structure_names[i]))
            return true;
    return false;
}

size_t nas_known_metrics(const nas_rlm *rlm, const nas_labels *labels, size_t *metric)
{
    size_t n = 0;
    for (size_t k = 0; k < rlm->schema.n; k++) {
        const char *name = rlm->schema.metric[k].name;
        if (costs_nothing(name) || nas_metric_find(labels->metric, labels->m, name) >= 0 ||
            !nas_rlm_knows(rlm, labels->space->name, labels->task->name, k))
            continue;
        if (metric)
            metric[n] = k;
        n++;
    }
    return n;
}

/* What the model says of one metric, into column k of x (n, n_known). Each is asked alone: what it
 * says must not depend on which others are needed. */
static nas_status ask(const state *s, size_t k, const nas_arch *arch, size_t n, double *x,
                      nas_err *err)
{
    const nas_rlm_ask alone = {.metric = &s->known[k], .m = 1};
    double *value = nas_alloc((n + 1) * sizeof *value);
    nas_status status =
        nas_rlm_predict(s->rlm, &alone, s->space, s->task, arch, n, value, NULL, err);
    for (size_t i = 0; i < n && status == NAS_OK; i++)
        x[i * s->n_known + k] = value[i];
    free(value);
    return status;
}

/* ---- least squares ---- */

/* Rows that count in a fit: those with a label and outside the fold; fold < 0: all. */
static bool counts(double y, size_t i, int fold)
{
    return isfinite(y) && (fold < 0 || (int)(i % FOLDS) != fold);
}

/* Weights w (p) >= 0 and the shift that fit y by x (n,p); columns are scaled alike inside. gram
 * (p, p + 3) is room. Coordinate descent on the normal equations; 0 rows: shift nan. */
static void fit_weights(const double *x, const double *y, size_t n, size_t p, int fold,
                        double *gram, double *w, double *shift)
{
    double *mean = gram + p * p, *scale = mean + p, *b = scale + p, level = 0;
    size_t rows = 0;
    memset(gram, 0, (p * p + 3 * p) * sizeof *gram);
    memset(w, 0, p * sizeof *w);
    for (size_t i = 0; i < n; i++)
        if (counts(y[i], i, fold)) {
            rows++;
            level += y[i];
            for (size_t j = 0; j < p; j++)
                mean[j] += x[i * p + j];
        }
    level /= (double)rows;
    for (size_t j = 0; j < p; j++)
        mean[j] /= (double)rows;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < p && counts(y[i], i, fold); j++) {
            double d = x[i * p + j] - mean[j];
            b[j] += d * (y[i] - level);
            for (size_t l = 0; l < p; l++)
                gram[j * p + l] += d * (x[i * p + l] - mean[l]);
        }
    for (size_t j = 0; j < p; j++)
        scale[j] = gram[j * p + j] > 0 ? 1 / sqrt(gram[j * p + j]) : 0;
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (size_t j = 0; j < p; j++) {
            double left = b[j] * scale[j];
            for (size_t l = 0; l < p; l++)
                left -= l == j ? 0 : gram[j * p + l] * scale[j] * scale[l] * w[l];
            w[j] = scale[j] > 0 && left > 0 ? left : 0;
        }
    *shift = level;
    for (size_t j = 0; j < p; j++) {
        w[j] *= scale[j];
        *shift -= w[j] * mean[j];
    }
}

static double estimate(const double *w, double shift, const double *x, size_t p)
{
    double sum = shift;
    for (size_t j = 0; j < p; j++)
        sum += w[j] > 0 ? w[j] * x[j] : 0;
    return sum;
}

/* The deviation of rows from what the others say; infinite for fewer than three. */
static double left_out(const double *x, const double *y, size_t n, size_t p, double *gram,
                       double *w)
{
    double sum = 0, shift;
    size_t rows = 0;
    for (int fold = 0; fold < FOLDS; fold++) {
        fit_weights(x, y, n, p, fold, gram, w, &shift);
        for (size_t i = (size_t)fold; i < n; i += FOLDS)
            if (isfinite(y[i])) {
                double d = estimate(w, shift, x + i * p, p) - y[i];
                sum += d * d;
                rows++;
            }
    }
    return rows > 2 && isfinite(sum) ? sqrt(sum / (double)rows) : INFINITY;
}

/* ---- the verbs ---- */

static void free_state(void *pointer)
{
    state *s = pointer;
    free(s->known);
    free(s->weight);
    free(s);
}

static state *new_state(const nas_rlm *rlm, const nas_labels *labels)
{
    state *s = nas_zalloc(1, sizeof *s);
    *s = (state){.rlm = rlm, .space = labels->space, .task = labels->task, .m = labels->m};
    s->known = nas_alloc((rlm->schema.n + 1) * sizeof *s->known);
    s->n_known = nas_known_metrics(rlm, labels, s->known);
    s->weight = nas_zalloc(s->m * (s->n_known + 2) + 1, sizeof *s->weight);
    s->shift = s->weight + s->m * s->n_known;
    s->spread = s->shift + s->m;
    return s;
}

static void *fit(const nas_predictor_type *type, const nas_labels *labels, uint64_t seed,
                 nas_err *err)
{
    state *s = new_state(type->data, labels);
    size_t n = labels->n, p = s->n_known;
    double *x = nas_zalloc(n * p + n + 1, sizeof *x), *y = x + n * p;
    double *gram = nas_alloc((p * (p + 3) + 1) * sizeof *gram);
    (void)seed;
    if (p == 0)
        nas_fail(err, NAS_FAILED, "the model has measured no other metric of %s",
                 labels->space->name);
    for (size_t k = 0; k < p && err->code == NAS_OK; k++)
        ask(s, k, labels->arch, n, x, err);
    for (size_t k = 0; k < s->m && err->code == NAS_OK; k++) {
        double *w = s->weight + k * p;
        for (size_t i = 0; i < n; i++)
            y[i] = labels->value[i * s->m + k];
        s->spread[k] = left_out(x, y, n, p, gram, w);
        fit_weights(x, y, n, p, -1, gram, w, &s->shift[k]);
    }
    free(x);
    free(gram);
    if (err->code == NAS_OK)
        return s;
    free_state(s);
    return NULL;
}

/* Only metrics with a weight are asked for. */
static nas_status predict(const void *pointer, const nas_arch *arch, size_t n, double *mean,
                          double *spread, nas_err *err)
{
    const state *s = pointer;
    size_t p = s->n_known;
    double *x = nas_zalloc(n * p + 1, sizeof *x);
    for (size_t j = 0; j < p && err->code == NAS_OK; j++) {
        bool needed = false;
        for (size_t k = 0; k < s->m; k++)
            needed |= s->weight[k * p + j] > 0;
        if (needed)
            ask(s, j, arch, n, x, err);
    }
    for (size_t i = 0; i < n && err->code == NAS_OK; i++)
        for (size_t k = 0; k < s->m; k++) {
            mean[i * s->m + k] = estimate(s->weight + k * p, s->shift[k], x + i * p, p);
            if (spread)
                spread[i * s->m + k] = s->spread[k];
        }
    free(x);
    return err->code;
}

static size_t parameters(const void *pointer)
{
    const state *s = pointer;
    size_t count = s->m;
    for (size_t i = 0; i < s->m * s->n_known; i++)
        count += s->weight[i] > 0;
    return count;
}

nas_predictor_type nas_predictor_known(const nas_rlm *rlm)
{
    return (nas_predictor_type){.name = "known",
                                .title = "a mixture of what a trained model knows",
                                .fit = fit,
                                .predict = predict,
                                .parameters = parameters,
                                .free = free_state,
                                .data = rlm};
}
