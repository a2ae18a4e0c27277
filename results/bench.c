#include "results/bench.h"

#include "results/h5.h"
#include "results/order.h"
#include "results/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- figures ---- */

/* Rows from the best value to the worst; equal ones keep their place. */
static uint32_t *best_first(const double *value, size_t n, bool less)
{
    double *key = nas_alloc(n * sizeof *key);
    uint32_t *order = nas_alloc(n * sizeof *order);
    for (size_t i = 0; i < n; i++)
        key[i] = less ? value[i] : -value[i];
    nas_order_init(order, n);
    nas_order_by(key, 1, order, n);
    free(key);
    return order;
}

/* rank (n): the place of each row in the true order. The share of the true best k that are among
 * the predicted best k. */
static double precision(const uint32_t *predicted, const uint32_t *rank, size_t n, double share)
{
    size_t k = (size_t)((double)n * share), hits = 0;
    if (k == 0)
        k = 1;
    for (size_t i = 0; i < k; i++)
        hits += rank[predicted[i]] < k;
    return (double)hits / (double)k;
}

static double share_within(const double *truth, const double *score, size_t n, double share)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += fabs(score[i] - truth[i]) <= share * fabs(truth[i]);
    return (double)count / (double)n;
}

nas_status nas_bench_measure(nas_bench_draw *d, const nas_metric *metric, const double *truth,
                             const double *score, size_t n, nas_err *err)
{
    nas_rank r;
    bool less = metric->direction == NAS_MIN;
    if (n < 2)
        return nas_fail(err, NAS_FAILED, "%s: %zu test rows are too few", d->method, n);
    if (nas_rank_compare(truth, score, n, &r, err) != NAS_OK)
        return nas_fail_in(err, "%s", d->method);
    uint32_t *predicted = best_first(score, n, less), *order = best_first(truth, n, less);
    uint32_t *rank = nas_alloc(n * sizeof *rank), best = UINT32_MAX;
    for (size_t i = 0; i < n; i++)
        rank[order[i]] = (uint32_t)i;
    for (size_t i = 0; i < 10 && i < n; i++)
        best = rank[predicted[i]] < best ? rank[predicted[i]] : best;
    d->tests = (int64_t)n;
    d->tau_b = isnan(r.tau_b) ? 0 : r.tau_b;
    d->tau_a = r.tau_a;
    d->ties = (double)r.ties_y / ((double)n * (double)(n - 1) / 2);
    d->spearman = isnan(r.spearman) ? 0 : r.spearman;
    d->top1 = precision(predicted, rank, n, 0.01);
    d->top5 = precision(predicted, rank, n, 0.05);
    d->best10 = best + 1.0;
    d->within5 = share_within(truth, score, n, 0.05);
    d->within10 = share_within(truth, score, n, 0.10);
    free(predicted);
    free(order);
    free(rank);
    return NAS_OK;
}

/* ---- many draws ---- */

static int compare_draws(const void *a, const void *b)
{
    const nas_bench_draw *x = a, *y = b;
    int order = strcmp(x->method, y->method);
    if (order)
        return order;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return x->draw < y->draw ? -1 : x->draw > y->draw;
}

void nas_bench_sort(nas_bench_draw *draws, size_t n)
{
    if (n > 0) /* else draws may be NULL */
        qsort(draws, n, sizeof *draws, compare_draws);
}

static double member(const nas_bench_draw *d, size_t offset)
{
    double value;
    memcpy(&value, (const char *)d + offset, sizeof value);
    return value;
}

static bool is_of(const nas_bench_draw *d, const char *method, int64_t rows)
{
    return d->n == rows && !strcmp(d->method, method);
}

static void spread(const double *x, size_t n, double *mean, double *deviation)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    *mean = n ? sum / (double)n : NAN;
    for (size_t i = 0; i < n; i++)
        square += (x[i] - *mean) * (x[i] - *mean);
    *deviation = n > 1 ? sqrt(square / (double)(n - 1)) : 0;
}

size_t nas_bench_mean(const nas_bench_draw *draws, size_t n, const char *method, int64_t rows,
                      size_t offset, double *mean, double *deviation)
{
    double *x = nas_alloc((n + 1) * sizeof *x);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (is_of(&draws[i], method, rows))
            x[count++] = member(&draws[i], offset);
    spread(x, count, mean, deviation);
    free(x);
    return count;
}

/* The 95 % quantile of Student's distribution, from the normal one (Cornish-Fisher expansion; exact
 * values where that is too coarse). */
static double student95(size_t freedom)
{
    static const double small[] = {6.3138, 2.9200, 2.3534, 2.1318, 2.0150};
    if (freedom <= 5)
        return small[freedom - 1];
    double z = 1.6448536, f = (double)freedom, z3 = z * z * z, z5 = z3 * z * z;
    return z + (z3 + z) / (4 * f) + (5 * z5 + 16 * z3 + 3 * z) / (96 * f * f);
}

size_t nas_bench_compare(const nas_bench_draw *draws, size_t n, const char *method,
                         const char *other, int64_t rows, double *low, double *high)
{
    double *x = nas_alloc((n + 1) * sizeof *x), mean, deviation;
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n && is_of(&draws[i], method, rows); k++)
            if (is_of(&draws[k], other, rows) && draws[k].draw == draws[i].draw)
                x[count++] = draws[i].tau_b - draws[k].tau_b;
    spread(x, count, &mean, &deviation);
    free(x);
    *low = *high = NAN;
    if (count > 1) {
        double half = student95(count - 1) * deviation / sqrt((double)count);
        *low = mean - half;
        *high = mean + half;
    }
    return count;
}

/* ---- file ---- */

#define FORMAT "naslm-bench"
enum { SCHEMA = 1 };

#define REAL(name)                                                                                 \
    {                                                                                              \
#name, NAS_H5_REAL, sizeof(double), offsetof(nas_bench_draw, name)                         \
    }
#define WHOLE(name)                                                                                \
    {                                                                                              \
#name, NAS_H5_INT64, sizeof(int64_t), offsetof(nas_bench_draw, name)                       \
    }
static const nas_h5_field FIELDS[] = {
    {"method", NAS_H5_TEXT, sizeof((nas_bench_draw *)0)->method, offsetof(nas_bench_draw, method)},
    WHOLE(n),
    WHOLE(draw),
    WHOLE(tests),
    REAL(tau_b),
    REAL(tau_a),
    REAL(ties),
    REAL(spearman),
    REAL(top1),
    REAL(top5),
    REAL(best10),
    REAL(within5),
    REAL(within10),
    REAL(parameters),
    REAL(fit_seconds),
    REAL(predict_seconds)};
enum { N_FIELDS = sizeof FIELDS / sizeof *FIELDS };

nas_status nas_bench_save(const char *path, const nas_bench_about *about,
                          const nas_bench_draw *draws, size_t n, const nas_disk *disk, nas_err *err)
{
    nas_bytes bytes = {0};
    hid_t file = nas_h5_create();
    nas_h5_set_text(file, "format", FORMAT);
    nas_h5_set_int(file, "schema_major", SCHEMA);
    nas_h5_set_int(file, "schema_minor", 0);
    nas_h5_set_text(file, "producer_version", NAS_VERSION);
    nas_h5_set_text(file, "space", about->space);
    nas_h5_set_text(file, "task", about->task);
    nas_h5_set_text(file, "metric", about->metric);
    nas_h5_set_text(file, "setting", about->setting);
    nas_h5_put_rows(file, "draws", FIELDS, N_FIELDS, draws, n);
    nas_h5_close_into(file, &bytes);
    nas_status status = nas_disk_replace(disk, path, bytes.data, bytes.size, err);
    nas_bytes_clear(&bytes);
    return status;
}

static bool get_text(hid_t file, const char *name, char *to, size_t room)
{
    nas_bytes text = {0};
    bool ok = nas_h5_text(file, name, &text) && text.size < room;
    if (ok)
        memcpy(to, nas_bytes_text(&text), text.size + 1);
    nas_bytes_clear(&text);
    return ok;
}

nas_status nas_bench_load(const char *path, nas_bench_about *about, nas_bench_draw **draws,
                          size_t *n, nas_err *err)
{
    hid_t file = nas_h5_open(path, FORMAT, SCHEMA, err);
    void *rows = NULL;
    if (file < 0)
        return NAS_FAILED;
    bool ok = get_text(file, "space", about->space, sizeof about->space) &&
              get_text(file, "task", about->task, sizeof about->task) &&
              get_text(file, "metric", about->metric, sizeof about->metric) &&
              get_text(file, "setting", about->setting, sizeof about->setting) &&
              nas_h5_get_rows(file, "draws", FIELDS, N_FIELDS, &rows, n);
    nas_h5_close(file);
    *draws = rows;
    if (ok)
        nas_bench_sort(*draws, *n);
    return ok ? NAS_OK : nas_fail(err, NAS_FAILED, "'%s' is damaged: it cannot be read", path);
}
