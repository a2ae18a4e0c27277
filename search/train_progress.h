/* What does a training say while it runs? A line on standard error, now and then.
 *
 *     nas_train_progress g = nas_train_progress_start("auto");
 *     double seconds = nas_train_progress_step(&g, &report, tau, last);   // after each update
 *     nas_train_progress_end(&g);
 */
#ifndef NAS_TRAIN_PROGRESS_H
#define NAS_TRAIN_PROGRESS_H

#include "surrogate/train.h"

typedef struct {
    bool any, bar;
    double start, told; /* when, in seconds */
    uint64_t steps, tokens;
    double loss; /* running mean */
} nas_train_progress;

/* how: "bar" rewrites its line, "plain" writes a new one every ten seconds, "none" nothing; "auto"
 * is a bar on a terminal, else plain. */
nas_train_progress nas_train_progress_start(const char *how);
/* tau: the best tau-b so far (nan: none); last: said in any case. Returns seconds since the start.
 */
double nas_train_progress_step(nas_train_progress *progress, const nas_train_report *report,
                               double tau, bool last);
void nas_train_progress_end(const nas_train_progress *progress);

#endif
