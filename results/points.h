/* Which points does a text file hold? Sets of points as the moocore tools write them.
 *
 *     nas_points p = {0};
 *     status = nas_points_read(&p, "front.txt", &err);
 *     for (size_t s = 0; s < p.n_set; s++) use(p.value + nas_points_begin(&p, s) * p.m, …);
 *     nas_points_clear(&p);
 *
 * One point a line, numbers separated by blanks; an empty line ends a set; # starts a comment. */
#ifndef NAS_RESULTS_POINTS_H
#define NAS_RESULTS_POINTS_H

#include "spaces/base/err.h"

#include <stddef.h>

typedef struct {
    double *value; /* (n, m) */
    size_t n, m;
    size_t *end; /* [n_set]: set s holds the points from the end of set s - 1 up to end[s] */
    size_t n_set;
} nas_points;

/* path "-" is standard input. NAS_FAILED naming file and line: cannot read, no point at all, a word
 * that is not a number, NaN, rows of different length. Infinity is a number. */
nas_status nas_points_read(nas_points *points, const char *path, nas_err *err);
void nas_points_clear(nas_points *points);

static inline size_t nas_points_begin(const nas_points *points, size_t set)
{
    return set ? points->end[set - 1] : 0;
}

#endif
