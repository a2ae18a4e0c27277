#include "results/score.h"

#include "results/disk.h"
#include "results/h5.h"

#include <math.h>
#include <stdlib.h>

static int compare_real(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* sorted: (n), n > 0. */
static double quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t low = (size_t)at, high = low + 1 < n ? low + 1 : low;
    return sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
}

void nas_score_summarise(nas_score *score, double *values, size_t n)
{
    double sum = 0, squares = 0;
    score->n = (int64_t)n;
    score->mean = score->std = score->median = score->p10 = score->p90 = NAN;
    if (n == 0)
        return;
    qsort(values, n, sizeof *values, compare_real);
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    score->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - score->mean) * (values[i] - score->mean);
    if (n > 1)
        score->std = sqrt(squares / (double)(n - 1));
    score->median = quantile(values, n, 0.5);
    score->p10 = quantile(values, n, 0.1);
    score->p90 = quantile(values, n, 0.9);
}

nas_status nas_scores_save(const char *path, const nas_score *scores, size_t n,
                           const char *settings, bool force, nas_err *err)
{
    const nas_h5_field field[] = {
        {"space", NAS_H5_TEXT, sizeof scores->space, offsetof(nas_score, space)},
        {"target", NAS_H5_TEXT, sizeof scores->target, offsetof(nas_score, target)},
        {"method", NAS_H5_TEXT, sizeof scores->method, offsetof(nas_score, method)},
        {"measure", NAS_H5_TEXT, sizeof scores->measure, offsetof(nas_score, measure)},
        {"at", NAS_H5_INT64, 8, offsetof(nas_score, at)},
        {"n", NAS_H5_INT64, 8, offsetof(nas_score, n)},
        {"mean", NAS_H5_REAL, 8, offsetof(nas_score, mean)},
        {"std", NAS_H5_REAL, 8, offsetof(nas_score, std)},
        {"median", NAS_H5_REAL, 8, offsetof(nas_score, median)},
        {"p10", NAS_H5_REAL, 8, offsetof(nas_score, p10)},
        {"p90", NAS_H5_REAL, 8, offsetof(nas_score, p90)},
    };
    if (nas_disk_vacant(path, force, err) != NAS_OK)
        return err ? err->code : NAS_USAGE;
    nas_bytes bytes = {0};
    hid_t file = nas_h5_create();
    nas_h5_set_text(file, "format", "naslm-scores");
    nas_h5_set_int(file, "schema_major", 1);
    nas_h5_set_int(file, "schema_minor", 0);
    nas_h5_set_text(file, "producer_version", NAS_VERSION);
    nas_h5_put_text(file, "settings", settings);
    nas_h5_put_rows(file, "scores", field, sizeof field / sizeof *field, scores, n);
    nas_h5_close_into(file, &bytes);
    nas_status status = nas_disk_replace(&nas_disk_real, path, bytes.data, bytes.size, err);
    nas_bytes_clear(&bytes);
    return status;
}
