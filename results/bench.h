/* How well does a predictor rank what it has not seen? The figures of one draw, and a file of many.
 *
 *     nas_bench_draw d = {.method = "gcn", .n = 78, .draw = 3};
 *     status = nas_bench_measure(&d, &metric, truth, score, tests, &err);
 *     status = nas_bench_save("bench.h5", &about, draws, count, &nas_disk_real, &err);
 *
 * The file: /: format "naslm-bench", schema_major, schema_minor, producer_version, space, task,
 * metric, setting. /draws: one row a draw, its columns named as the members below. */
#ifndef NAS_RESULTS_BENCH_H
#define NAS_RESULTS_BENCH_H

#include "results/disk.h"
#include "results/metric.h"
#include "results/plot.h"

typedef struct {
    char method[64];
    int64_t n, draw;          /* training rows; seed of the split */
    int64_t tests;            /* test rows */
    double tau_b, tau_a;      /* tau_b: 0 where it is undefined (constant predictions) */
    double ties;              /* share of pairs with equal predictions */
    double spearman;          /* 0 where it is undefined */
    double top1, top5;        /* precision: share of the true best 1 % (5 %) among the predicted */
    double best10;            /* best true rank, from 1, among the 10 predicted best */
    double within5, within10; /* share of predictions within 5 % (10 %) of the truth */
    double parameters;
    double fit_seconds, predict_seconds; /* of CPU */
} nas_bench_draw;

/* Fills tests to within10 from truth and score (tests), larger scores standing for larger values.
 * Best is the direction of the metric; without one, the largest. NAS_FAILED: NaN, naming the row.
 */
nas_status nas_bench_measure(nas_bench_draw *draw, const nas_metric *metric, const double *truth,
                             const double *score, size_t tests, nas_err *err);

typedef struct {
    char space[64], task[64], metric[64], setting[16];
} nas_bench_about;

/* Replaces path. */
nas_status nas_bench_save(const char *path, const nas_bench_about *about,
                          const nas_bench_draw *draws, size_t n, const nas_disk *disk,
                          nas_err *err);
/* *draws comes sorted and is to be freed. NAS_FAILED: cannot read, foreign, damaged. */
nas_status nas_bench_load(const char *path, nas_bench_about *about, nas_bench_draw **draws,
                          size_t *n, nas_err *err);

/* By method, training rows and draw. */
void nas_bench_sort(nas_bench_draw *draws, size_t n);

/* Mean and standard deviation (n - 1; 0 for one) of a member, given by its offset, over draws that
 * have the method and the number of rows; returns how many there are. */
size_t nas_bench_mean(const nas_bench_draw *draws, size_t n, const char *method, int64_t rows,
                      size_t offset, double *mean, double *deviation);
/* The paired 90 % interval (Student) of tau_b of method less other over common draws; returns how
 * many there are, an interval needs two. */
size_t nas_bench_compare(const nas_bench_draw *draws, size_t n, const char *method,
                         const char *other, int64_t rows, double *low, double *high);

/* Tau-b against training rows, a line with error bars (standard deviation over draws) a method.
 * what is a nas_bench_picture; see nas_plot_draw. NAS_EMPTY: no draws. */
typedef struct {
    nas_bench_about about;
    const nas_bench_draw *draw; /* [n] sorted by method and rows */
    size_t n;
} nas_bench_picture;
nas_status nas_bench_script(const void *what, const char *terminal, nas_bytes *script,
                            nas_err *err);

#endif
