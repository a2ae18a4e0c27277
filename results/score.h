/* How good was a method, over many draws? Rows of a benchmark: mean, spread and order statistics.
 *
 *     nas_score s = {.method = "nsga2", .target = "...", .measure = "hypervolume", .at = 200};
 *     nas_score_summarise(&s, values, n);
 *     status = nas_scores_save("bench.h5", list, count, settings, false, &err);
 *
 * The file: /: format "naslm-scores", schema_major, schema_minor, producer_version. /settings:
 * JSON. /scores: one row a score. */
#ifndef NAS_RESULTS_SCORE_H
#define NAS_RESULTS_SCORE_H

#include "spaces/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    char space[24], target[128], method[64], measure[40];
    int64_t at; /* queries, training rows, … */
    int64_t n;  /* draws */
    double mean, std, median, p10, p90;
} nas_score;

/* Fills n and the statistics: std with n - 1 (NaN for n below 2), quantiles by linear
 * interpolation. values (n) get sorted; all NaN for n 0. */
void nas_score_summarise(nas_score *score, double *values, size_t n);

/* Writes an HDF5 file. NAS_USAGE: path exists and force is false; NAS_FAILED: the disk. */
nas_status nas_scores_save(const char *path, const nas_score *scores, size_t n,
                           const char *settings, bool force, nas_err *err);

#endif
