/* Which part of the plane is dominated? The staircase of the lower left points of a growing set.
 *
 *     nas_stairs s = {0};
 *     size_t k = nas_stairs_find(&s, x);
 *     if (!nas_stairs_covers(&s, k, y)) nas_stairs_put(&s, k, x, y);
 *     free(s.at);
 *
 * Kept as an array, x ascending, y strictly descending: a look-up is a binary search, an insertion
 * moves the tail. Internal to fronts and hypervolume. */
#ifndef NAS_RESULTS_STAIRS_H
#define NAS_RESULTS_STAIRS_H

#include "spaces/base/mem.h"

#include <string.h>

typedef struct {
    double x, y;
} nas_step;

typedef struct {
    nas_step *at;
    size_t n, cap;
} nas_stairs;

/* How many steps have x' <= x. Without branches: the outcomes cannot be predicted. */
static inline size_t nas_stairs_find(const nas_stairs *s, double x)
{
    const nas_step *base = s->at;
    size_t n = s->n;
    while (n > 1) {
        size_t half = n / 2;
        base += half & -(size_t)(base[half - 1].x <= x);
        n -= half;
    }
    return (size_t)(base - s->at) + (n && base->x <= x);
}

/* Is there a step at or before k with y' <= y? k is nas_stairs_find of the point's x. */
static inline int nas_stairs_covers(const nas_stairs *s, size_t k, double y)
{
    return k > 0 && s->at[k - 1].y <= y;
}

/* Puts an uncovered point in place k and drops the steps it covers. */
static inline void nas_stairs_put(nas_stairs *s, size_t k, double x, double y)
{
    size_t end = k;
    while (end < s->n && s->at[end].y >= y)
        end++;
    if (s->n == s->cap)
        s->at = nas_grow(s->at, &s->cap, s->n + 1, sizeof *s->at);
    if (end != k + 1)
        memmove(s->at + k + 1, s->at + end, (s->n - end) * sizeof *s->at);
    s->at[k] = (nas_step){x, y};
    s->n = s->n + 1 + k - end;
}

#endif
