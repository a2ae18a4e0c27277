/* How did a training go? Some 200 points of its curve, and those at which it was watched.
 *
 *     nas_train_log log = {0};
 *     nas_train_log_step(&log, &report, rate);            // after each update
 *     nas_train_log_point(&log, tau);                     // closes a point; nan: not watched there
 *     status = nas_train_log_save(&log, "run.h5", &err);  nas_train_log_clear(&log);
 *
 * The file: /: format "naslm-training", schema_major, schema_minor, producer_version. /steps: one
 * row a point, columns as the members of nas_train_point. No times: equal trainings give equal
 * bytes, also when they were stopped and resumed. */
#ifndef NAS_TRAIN_LOG_H
#define NAS_TRAIN_LOG_H

#include "spaces/base/mem.h"
#include "surrogate/train.h"

typedef struct {
    int64_t step, epoch; /* of its last update; epochs count from 0 */
    int64_t tokens;      /* read and written since the start */
    double loss, norm;   /* means over the updates since the point before; not finite: as 0 */
    double rate;         /* of learning, at the last update */
    double tau;          /* mean tau-b on the rows that watch; nan: not looked at here */
} nas_train_point;

typedef struct {
    nas_train_point *point;
    size_t n, cap;
    nas_train_point open; /* sums since the last point */
    int64_t updates;      /* in them */
} nas_train_log;

void nas_train_log_step(nas_train_log *log, const nas_train_report *report, double rate);
void nas_train_log_point(nas_train_log *log, double tau);
void nas_train_log_clear(nas_train_log *log);

/* The best tau so far (nan: none), and how many were looked at since, without it. */
double nas_train_log_best(const nas_train_log *log, size_t *since);

/* Replaces path. */
nas_status nas_train_log_save(const nas_train_log *log, const char *path, nas_err *err);

/* As text, for a checkpoint, with what has no point yet. NAS_FAILED: text is no such log. */
void nas_train_log_print(const nas_train_log *log, nas_bytes *text);
nas_status nas_train_log_parse(nas_train_log *log, const char *text, nas_err *err);

#endif
