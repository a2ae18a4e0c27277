#include "search/pick.h"

#include "results/front.h"

#include <math.h>
#include <stdlib.h>

/* ---- by rank ---- */

typedef struct {
    uint32_t rank;
    double distance;
    size_t at;
} placed;

static int compare_placed(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->distance != y->distance)
        return x->distance > y->distance ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

void nas_pick_by_order(const nas_member *member, size_t n, size_t m, size_t *order)
{
    uint32_t *rank = nas_alloc((n + 1) * sizeof *rank);
    double *distance = nas_alloc((n + 1) * sizeof *distance);
    placed *all = nas_alloc((n + 1) * sizeof *all);
    nas_member_ranks(member, n, m, rank);
    nas_member_crowding(member, n, m, rank, distance);
    for (size_t i = 0; i < n; i++)
        all[i] = (placed){rank[i], distance[i], i};
    qsort(all, n, sizeof *all, compare_placed);
    for (size_t i = 0; i < n; i++)
        order[i] = all[i].at;
    free(all);
    free(distance);
    free(rank);
}

/* ---- by direction ---- */

#define MARGIN 0.1 /* of the range, between its upper end and the reference point */

static bool counts(const nas_member *member)
{
    return !member->failed && !(member->violation > 0) && !isnan(member->violation);
}

/* The range of the front of candidates that count, its upper end a little beyond. False: none
 * counts. */
static bool find_range(const nas_member *candidate, size_t n, size_t m, double *low, double *high)
{
    size_t left = 0;
    double *point = nas_alloc((n + 1) * m * sizeof *point);
    uint32_t *rank = nas_alloc((n + 1) * sizeof *rank);
    for (size_t i = 0; i < n; i++) {
        bool good = counts(&candidate[i]);
        for (size_t k = 0; k < m; k++)
            good &= (bool)isfinite(candidate[i].f[k]);
        if (good)
            memcpy(point + m * left++, candidate[i].f, m * sizeof *point);
    }
    bool any = left > 0 && nas_front_sort(point, left, m, 1, rank, NULL) == NAS_OK;
    for (size_t k = 0; k < m; k++) {
        low[k] = INFINITY;
        high[k] = -INFINITY;
        for (size_t i = 0; i < left && any; i++)
            if (rank[i] == 0) {
                low[k] = fmin(low[k], point[i * m + k]);
                high[k] = fmax(high[k], point[i * m + k]);
            }
        high[k] += MARGIN * (high[k] - low[k]);
    }
    free(rank);
    free(point);
    return any;
}

/* weight (m): 1 / (range * direction), so that a difference from the reference becomes a share of
 * the way along the direction. */
static void draw_direction(nas_rng *rng, const double *low, const double *high, size_t m,
                           double *weight)
{
    for (size_t k = 0; k < m; k++) {
        double range = high[k] - low[k];
        weight[k] = 1 / ((range > 0 ? range : 1) * fmax(fabs(nas_rng_normal(rng)), 1e-9));
    }
}

static double along(const nas_member *member, size_t m, const double *high, const double *weight)
{
    double least = INFINITY;
    for (size_t k = 0; k < m; k++)
        least = fmin(least, (high[k] - member->f[k]) * weight[k]);
    return least;
}

size_t nas_pick_by_direction(const nas_member *candidate, size_t n, size_t m, size_t most,
                             nas_rng *rng, size_t *order)
{
    size_t picked = 0, left = 0;
    double low[NAS_OBJECTIVE_MOST], high[NAS_OBJECTIVE_MOST], weight[NAS_OBJECTIVE_MOST];
    if (!find_range(candidate, n, m, low, high))
        return 0;
    size_t *at = nas_alloc((n + 1) * sizeof *at); /* [left] not yet taken */
    for (size_t i = 0; i < n; i++)
        if (counts(&candidate[i]))
            at[left++] = i;
    for (; picked < most && left > 0; left--) {
        size_t best = 0;
        double value = -INFINITY;
        draw_direction(rng, low, high, m, weight);
        for (size_t i = 0; i < left; i++) {
            double next = along(&candidate[at[i]], m, high, weight);
            if (next > value) {
                best = i;
                value = next;
            }
        }
        order[picked++] = at[best];
        memmove(at + best, at + best + 1, (left - best - 1) * sizeof *at);
    }
    free(at);
    return picked;
}
