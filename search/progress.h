/* How far is it? Progress on standard error: a line that is rewritten on a terminal, else a new one
 * now and then.
 *
 *     nas_progress p;
 *     status = nas_progress_open(&p, options, budget, &err);     --progress auto|bar|plain|none
 *     nas_progress_show(&p, rows, front, hypervolume);           as often as one likes, of a search
 *     if (nas_progress_due(&p)) fprintf(stderr, "%sstep 3%s", p.before, p.after);    of others
 *     nas_progress_close(&p); */
#ifndef NAS_SEARCH_PROGRESS_H
#define NAS_SEARCH_PROGRESS_H

#include "spaces/base/option.h"

typedef struct {
    bool bar, plain;
    const char *before, *after; /* what is printed is to stand between these */
    uint64_t budget;
    double start, next; /* seconds of a monotonic clock; nothing is shown before the latter */
} nas_progress;

#define NAS_OPTION_PROGRESS                                                                        \
    {                                                                                              \
        "progress", 0, "HOW", "auto (default), bar, plain or none", NAS_OPTION_TEXT                \
    }

/* NAS_USAGE for another word than the four. */
nas_status nas_progress_open(nas_progress *progress, const nas_options *options, uint64_t budget,
                             nas_err *err);
/* Is it time to show something? */
bool nas_progress_due(nas_progress *progress);
double nas_progress_seconds(const nas_progress *progress); /* since it was opened */
/* progress is a nas_progress, so that this can be nas_search.progress. */
void nas_progress_show(void *progress, size_t rows, size_t front, double hypervolume);
void nas_progress_close(nas_progress *progress);

#endif
