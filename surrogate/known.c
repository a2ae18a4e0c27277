#include "surrogate/known.h"

#include "hw/cost.h"
#include "spaces/base/mem.h"
#include "surrogate/structure.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 300, FOLDS = 10 };

/* What is there to count in a network, for devices whose time is that of its layers? Every node
 * counts, also one that the output does not need: devices compute it. */
enum { SPATIAL, POINTWISE, POOLS, PARAMS, MACS, BYTES, COUNTS };

typedef struct {
    const nas_rlm *rlm;
    const nas_space *space;
    const nas_task *task;
    size_t n_known, m;
    size_t p;       /* n_known and COUNTS: columns of what is known of an architecture */
    size_t *known;  /* (n_known) rows of the schema */
    double *weight; /* (m, p) */
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

static nas_status count(const state *s, const nas_arch *arch, double *x, nas_err *err)
{
    nas_cost cost;
    nas_graph *graph = nas_space_build(s->space, arch, s->task);
    const nas_graph *flat = nas_graph_flat(graph, NULL);
    for (size_t i = 0; i < flat->fn[0].n_node; i++) {
        const nas_node *node = &flat->fn[0].node[i];
        if (node->op == NAS_OP_CONV)
            x[nas_conv_pointwise(node) ? POINTWISE : SPATIAL]++;
        x[POOLS] += node->op == NAS_OP_MAXPOOL || node->op == NAS_OP_AVGPOOL;
    }
    if (nas_cost_of(graph, &cost, err) == NAS_OK) {
        x[PARAMS] = (double)cost.params;
        x[MACS] = (double)cost.macs;
        x[BYTES] = (double)cost.activation_bytes;
    }
    nas_graph_free(graph);
    return err->code;
}

/* x (n, p): what the model says of each metric, asked alone, since it must not depend on which
 * others are known, and what can be counted. */
static nas_status look_up(const state *s, const nas_arch *arch, size_t n, double *x, nas_err *err)
{
    const nas_rlm_ask ask = {.metric = s->known, .m = s->n_known, .alone = true};
    double *value = nas_alloc((n * s->n_known + 1) * sizeof *value);
    nas_status status = nas_rlm_predict(s->rlm, &ask, s->space, s->task, arch, n, value, NULL, err);
    memset(x, 0, n * s->p * sizeof *x);
    for (size_t i = 0; i < n && status == NAS_OK; i++) {
        memcpy(x + i * s->p, value + i * s->n_known, s->n_known * sizeof *x);
        status = count(s, &arch[i], x + i * s->p + s->n_known, err);
    }
    free(value);
    return status;
}

/* ---- least squares ---- */

/* Which columns a mixture has, may their weights be negative, and what do squares of them cost? */
typedef struct {
    size_t from, to;
    bool negative;
    double penalty; /* a column, relative to the squares of labels */
} mixture;

/* Rows that count in a fit: those with a label and outside the fold; fold < 0: all. */
static bool counts(double y, size_t i, int fold)
{
    return isfinite(y) && (fold < 0 || (int)(i % FOLDS) != fold);
}

/* Weights w (p), 0 outside the mixture's columns, and the shift that fit y by x (n,p); columns are
 * scaled alike inside. gram (p, p + 3) is room. Coordinate descent on the normal equations; 0 rows:
 * shift nan. */
static void fit_weights(const double *x, const double *y, size_t n, size_t p, mixture mix, int fold,
                        double *gram, double *w, double *shift)
{
    double *mean = gram + p * p, *scale = mean + p, *b = scale + p, level = 0;
    const double ridge = mix.penalty * (double)(mix.to - mix.from);
    size_t rows = 0;
    memset(gram, 0, (p * p + 3 * p) * sizeof *gram);
    memset(w, 0, p * sizeof *w);
    for (size_t i = 0; i < n; i++)
        if (counts(y[i], i, fold)) {
            rows++;
            level += y[i];
            for (size_t j = mix.from; j < mix.to; j++)
                mean[j] += x[i * p + j];
        }
    level /= (double)rows;
    for (size_t j = mix.from; j < mix.to; j++)
        mean[j] /= (double)rows;
    for (size_t i = 0; i < n; i++)
        for (size_t j = mix.from; j < mix.to && counts(y[i], i, fold); j++) {
            double d = x[i * p + j] - mean[j];
            b[j] += d * (y[i] - level);
            for (size_t l = mix.from; l < mix.to; l++)
                gram[j * p + l] += d * (x[i * p + l] - mean[l]);
        }
    for (size_t j = mix.from; j < mix.to; j++)
        scale[j] = gram[j * p + j] > 0 ? 1 / sqrt(gram[j * p + j]) : 0;
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (size_t j = mix.from; j < mix.to; j++) {
            double left = b[j] * scale[j];
            for (size_t l = mix.from; l < mix.to; l++)
                left -= l == j ? 0 : gram[j * p + l] * scale[j] * scale[l] * w[l];
            left /= 1 + ridge / (double)rows;
            w[j] = scale[j] > 0 && (mix.negative || left > 0) ? left : 0;
        }
    *shift = level;
    for (size_t j = mix.from; j < mix.to; j++) {
        w[j] *= scale[j];
        *shift -= w[j] * mean[j];
    }
}

static double estimate(const double *w, double shift, const double *x, size_t p)
{
    double sum = shift;
    for (size_t j = 0; j < p; j++)
        sum += w[j] * x[j];
    return sum;
}

/* off (n): by how much what the other rows say of a row is wrong, nan without a label; returns the
 * mean of its square, infinite for fewer than three rows. */
static double left_out(const double *x, const double *y, size_t n, size_t p, mixture mix,
                       double *gram, double *w, double *off)
{
    double sum = 0, shift;
    size_t rows = 0;
    for (int fold = 0; fold < FOLDS; fold++) {
        fit_weights(x, y, n, p, mix, fold, gram, w, &shift);
        for (size_t i = (size_t)fold; i < n; i += FOLDS) {
            off[i] = estimate(w, shift, x + i * p, p) - y[i];
            sum += isfinite(y[i]) ? off[i] * off[i] : 0;
            rows += isfinite(y[i]);
        }
    }
    return rows > 2 && isfinite(sum) ? sum / (double)rows : INFINITY;
}

/* The average of MIXTURES mixtures, each as important as it is exact on rows left out, is one
 * mixture again: w (p), *shift. *spread is its deviation of rows left out. */
static void fit_average(const state *s, const double *x, const double *y, size_t n, double *w,
                        double *shift, double *spread)
{
    enum { MIXTURES = 3 };
    const mixture mix[MIXTURES] = {
        {0, s->n_known, false, 0}, {s->n_known, s->p, false, 0}, {0, s->p, true, 0.3}};
    const size_t p = s->p;
    double *gram = nas_alloc((p * (p + 3) + p + MIXTURES * n + n + 1) * sizeof *gram);
    double *part = gram + p * (p + 3), *off = part + p, *all = off + MIXTURES * n;
    double error[MIXTURES], share[MIXTURES], total = 0, square = 0;
    size_t rows = 0;
    for (int k = 0; k < MIXTURES; k++) {
        error[k] = left_out(x, y, n, p, mix[k], gram, part, off + (size_t)k * n);
        total += share[k] = 1 / fmax(error[k], DBL_MIN);
    }
    memset(w, 0, p * sizeof *w);
    memset(all, 0, n * sizeof *all);
    *shift = 0;
    for (int k = 0; k < MIXTURES; k++) {
        double level;
        share[k] = total > 0 ? share[k] / total : k == 0;
        fit_weights(x, y, n, p, mix[k], -1, gram, part, &level);
        *shift += share[k] * level;
        for (size_t j = 0; j < p; j++)
            w[j] += share[k] * part[j];
        for (size_t i = 0; i < n; i++)
            all[i] += share[k] * off[(size_t)k * n + i];
    }
    for (size_t i = 0; i < n; i++)
        if (isfinite(y[i])) {
            square += all[i] * all[i];
            rows++;
        }
    *spread = total > 0 ? sqrt(square / (double)rows) : INFINITY;
    free(gram);
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
    s->p = s->n_known + COUNTS;
    s->weight = nas_zalloc(s->m * (s->p + 2), sizeof *s->weight);
    s->shift = s->weight + s->m * s->p;
    s->spread = s->shift + s->m;
    return s;
}

static void *fit(const nas_predictor_type *type, const nas_labels *labels, uint64_t seed,
                 nas_err *err)
{
    state *s = new_state(type->data, labels);
    size_t n = labels->n, p = s->p;
    double *x = nas_zalloc(n * p + n + 1, sizeof *x), *y = x + n * p;
    (void)seed;
    if (s->n_known == 0)
        nas_fail(err, NAS_FAILED, "the model has measured no other metric of %s",
                 labels->space->name);
    else
        look_up(s, labels->arch, n, x, err);
    for (size_t k = 0; k < s->m && err->code == NAS_OK; k++) {
        for (size_t i = 0; i < n; i++)
            y[i] = labels->value[i * s->m + k];
        fit_average(s, x, y, n, s->weight + k * p, &s->shift[k], &s->spread[k]);
    }
    free(x);
    if (err->code == NAS_OK)
        return s;
    free_state(s);
    return NULL;
}

static nas_status predict(const void *pointer, const nas_arch *arch, size_t n, double *mean,
                          double *spread, nas_err *err)
{
    const state *s = pointer;
    double *x = nas_alloc((n * s->p + 1) * sizeof *x);
    if (look_up(s, arch, n, x, err) == NAS_OK)
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < s->m; k++) {
                mean[i * s->m + k] =
                    estimate(s->weight + k * s->p, s->shift[k], x + i * s->p, s->p);
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
    for (size_t i = 0; i < s->m * s->p; i++)
        count += s->weight[i] != 0;
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
