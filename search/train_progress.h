/* What does a training say while it runs?
 *
 *     nas_train_progress g = {.line = how};                      // a nas_progress that was opened
 *     nas_train_progress_step(&g, &report, tau, last);           // after each update
 */
#ifndef NAS_TRAIN_PROGRESS_H
#define NAS_TRAIN_PROGRESS_H

#include "search/progress.h"
#include "surrogate/train.h"

typedef struct {
    nas_progress line;
    uint64_t steps, tokens;
    double loss; /* running mean */
} nas_train_progress;

/* tau: the best tau-b so far (nan: none); last: said in any case. */
void nas_train_progress_step(nas_train_progress *progress, const nas_train_report *report,
                             double tau, bool last);

#endif
