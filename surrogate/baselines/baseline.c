#include "surrogate/baselines/baseline.h"

#include "surrogate/baselines/baseline_part.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- from scores to values: a piecewise linear map, rising, endless at both ends ---- */

static double map_value(const baseline_column *c, double score)
{
    const baseline_knot *k = c->knot;
    size_t n = c->n_knot;
    if (n == 1)
        return k[0].value;
    double slope = (k[n - 1].value - k[0].value) / (k[n - 1].score - k[0].score);
    if (score <= k[0].score)
        return k[0].value + slope * (score - k[0].score);
    if (score >= k[n - 1].score)
        return k[n - 1].value + slope * (score - k[n - 1].score);
    size_t low = 0, high = n - 1;
    while (high - low > 1) {
        size_t mid = (low + high) / 2;
        if (k[mid].score <= score)
            low = mid;
        else
            high = mid;
    }
    double share = (score - k[low].score) / (k[high].score - k[low].score);
    return k[low].value + share * (k[high].value - k[low].value);
}

static double mean_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

static double deviation_of(const double *x, size_t n)
{
    double mean = mean_of(x, n), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / (double)n);
}

/* A line: value = at zero + slope * score. */
static void line_map(baseline_column *c, double zero, double slope)
{
    c->knot = nas_alloc(2 * sizeof *c->knot);
    c->n_knot = 2;
    c->knot[0] = (baseline_knot){0, zero};
    c->knot[1] = (baseline_knot){1, zero + slope};
}

/* The quantile of the standard normal distribution (Acklam's rational approximation, relative
 * error 1.2e-9). */
static double normal_quantile(double p)
{
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                               -2.759285104469687e+02, 1.383577518672690e+02,
                               -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                               -1.556989798598866e+02, 6.680131188771972e+01,
                               -1.328068155288572e+01};
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                               -2.400758277161838e+00, -2.549732539343734e+00,
                               4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00};
    if (p > 0.5)
        return -normal_quantile(1 - p);
    if (p < 0.02425) {
        double q = sqrt(-2 * log(p));
        return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
               ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    }
    double q = p - 0.5, r = q * q;
    return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
           (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

typedef struct {
    double y;
    size_t row;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->y < y->y ? -1 : x->y > y->y;
}

/* Normal scores of mid-ranks, and the map back. */
static void normal_targets(baseline_column *c, const double *y, size_t n, double *target)
{
    ranked *order = nas_alloc(n * sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = (ranked){y[i], i};
    qsort(order, n, sizeof *order, compare_ranked);
    c->knot = nas_alloc(n * sizeof *c->knot);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && order[end].y == order[i].y; end++)
            ;
        double z = normal_quantile(((double)(i + end) / 2) / (double)n);
        for (size_t k = i; k < end; k++)
            target[order[k].row] = z;
        c->knot[c->n_knot++] = (baseline_knot){z, order[i].y};
    }
    free(order);
}

static void make_targets(nas_target kind, baseline_column *c, const double *y, size_t n,
                         double *target)
{
    double mean = mean_of(y, n), deviation = deviation_of(y, n);
    if (kind == NAS_TARGET_NORMAL && c->metric.direction != NAS_MIN) {
        normal_targets(c, y, n, target);
        return;
    }
    for (size_t i = 0; i < n; i++)
        target[i] = kind == NAS_TARGET_ORDER ? y[i] : deviation > 0 ? (y[i] - mean) / deviation : 0;
    if (kind != NAS_TARGET_ORDER)
        line_map(c, mean, deviation > 0 ? deviation : 1);
}

/* The rising line that makes scores of training rows values: least squares, or where that falls,
 * equal deviations. */
static void fit_line(baseline_column *c, const double *score, const double *y, size_t n)
{
    double ms = mean_of(score, n), my = mean_of(y, n), ss = 0, sy = 0, yy = deviation_of(y, n);
    for (size_t i = 0; i < n; i++) {
        ss += (score[i] - ms) * (score[i] - ms);
        sy += (score[i] - ms) * (y[i] - my);
    }
    double scale = ss > 0 ? yy / sqrt(ss / (double)n) : 1;
    double slope = sy > 0 && ss > 0 ? sy / ss : scale > 0 ? scale : 1;
    line_map(c, my - slope * ms, slope);
}

static double spread_of(const baseline_column *c, const double *score, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double d = map_value(c, score[i]) - y[i];
        sum += d * d;
    }
    return sqrt(sum / (double)n);
}

/* ---- one metric ---- */

static void fit_column(const baseline *b, const nas_labels *labels, size_t metric,
                       const nas_rng *rng, baseline_column *c)
{
    const nas_learner *learner = b->type->data;
    nas_arch *arch = nas_alloc(labels->n * sizeof *arch);
    double *y = nas_alloc(3 * labels->n * sizeof *y), *target = y + labels->n,
           *own = target + labels->n;
    nas_problem p = {
        .space = b->space, .task = b->task, .arch = arch, .y = target, .memo = b->memo};
    for (size_t i = 0; i < labels->n; i++) {
        double value = labels->value[i * labels->m + metric];
        if (isnan(value))
            continue;
        nas_space_canonical(b->space, &labels->arch[i], &arch[p.n]);
        y[p.n++] = value;
    }
    p.rng = nas_rng_child(rng, "metric", metric);
    c->metric = labels->metric[metric];
    make_targets(learner->target, c, y, p.n, target);
    size_t n = learner->fit(learner, &p, &c->learned, own);
    if (n == 0) {
        n = p.n;
        learner->score(learner, &p, &c->learned, arch, n, own);
    }
    if (learner->target == NAS_TARGET_ORDER)
        fit_line(c, own, y, n);
    c->spread = spread_of(c, own, y, n);
    free(y);
    free(arch);
}

/* ---- the predictor ---- */

void *nas_baseline_fit(const nas_predictor_type *type, const nas_labels *labels, uint64_t seed,
                       nas_err *err)
{
    (void)err;
    baseline *b = nas_zalloc(1, sizeof *b);
    nas_rng rng = nas_rng_seed(seed);
    *b = (baseline){.type = type,
                    .space = labels->space,
                    .task = labels->task,
                    .m = labels->m,
                    .memo = labels->memo};
    b->column = nas_zalloc(b->m, sizeof *b->column);
    for (size_t k = 0; k < b->m; k++)
        fit_column(b, labels, k, &rng, &b->column[k]);
    return b;
}

nas_status nas_baseline_predict(const void *state, const nas_arch *arch, size_t n, double *mean,
                                double *spread, nas_err *err)
{
    (void)err;
    const baseline *b = state;
    const nas_learner *learner = b->type->data;
    nas_problem where = {.space = b->space, .task = b->task, .memo = b->memo};
    nas_arch *canonical = nas_alloc(n * sizeof *canonical);
    double *score = nas_alloc(n * sizeof *score);
    for (size_t i = 0; i < n; i++)
        nas_space_canonical(b->space, &arch[i], &canonical[i]);
    for (size_t k = 0; k < b->m; k++) {
        learner->score(learner, &where, &b->column[k].learned, canonical, n, score);
        for (size_t i = 0; i < n; i++) {
            mean[i * b->m + k] = map_value(&b->column[k], score[i]);
            if (spread)
                spread[i * b->m + k] = b->column[k].spread;
        }
    }
    free(score);
    free(canonical);
    return NAS_OK;
}

size_t nas_baseline_parameters(const void *state)
{
    const baseline *b = state;
    const nas_learner *learner = b->type->data;
    nas_problem where = {.space = b->space, .task = b->task};
    size_t sum = 0;
    for (size_t k = 0; k < b->m; k++)
        sum += learner->parameters(learner, &where, &b->column[k].learned);
    return sum;
}

void nas_baseline_free(void *state)
{
    baseline *b = state;
    for (size_t k = 0; k < b->m; k++) {
        free(b->column[k].knot);
        free(b->column[k].learned.number);
        free(b->column[k].learned.arch);
    }
    free(b->column);
    free(b);
}
