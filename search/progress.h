/* How far is it? Progress of a search on standard error: a bar on a terminal, else a line now and
 * then.
 *
 *     nas_progress p;
 *     status = nas_progress_open(&p, options, budget, &err);     --progress auto|bar|plain|none
 *     nas_progress_show(&p, rows, front, hypervolume);           as often as one likes
 *     nas_progress_close(&p); */
#ifndef NAS_SEARCH_PROGRESS_H
#define NAS_SEARCH_PROGRESS_H

#include "spaces/base/option.h"

typedef struct {
    bool bar, plain;
    uint64_t budget;
    double next; /* seconds of a monotonic clock before which nothing is shown */
} nas_progress;

#define NAS_OPTION_PROGRESS                                                                        \
    {                                                                                              \
        "progress", 0, "HOW", "auto (default), bar, plain or none", NAS_OPTION_TEXT                \
    }

/* NAS_USAGE for another word than the four. */
nas_status nas_progress_open(nas_progress *progress, const nas_options *options, uint64_t budget,
                             nas_err *err);
/* progress is a nas_progress, so that this can be nas_search.progress. */
void nas_progress_show(void *progress, size_t rows, size_t front, double hypervolume);
void nas_progress_close(nas_progress *progress);

#endif
