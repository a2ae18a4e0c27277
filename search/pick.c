#include "search/pick.h"

#include "results/front.h"
#include "results/hypervolume.h"

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

/* ---- by volume ---- */

/* The volume that x adds to a front (n, m), by what the front leaves of x's box. room: (n, m). */
static double added_volume(const double *front, size_t n, size_t m, const double *x,
                           const double *reference, double *room)
{
    double box = 1, rest = 0;
    for (size_t k = 0; k < m; k++)
        box *= fmax(reference[k] - x[k], 0);
    if (box <= 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        bool covers = true;
        for (size_t k = 0; k < m; k++) {
            room[i * m + k] = fmax(front[i * m + k], x[k]);
            covers &= front[i * m + k] <= x[k];
        }
        if (covers)
            return 0;
    }
    return nas_hypervolume(room, n, m, reference, &rest, NULL) == NAS_OK ? box - rest : 0;
}

static bool counts(const nas_member *member)
{
    return !member->failed && !(member->violation > 0) && !isnan(member->violation);
}

/* The worst values of the front of rows and candidates that count, and a little beyond. False:
 * none counts. */
static bool find_reference(const nas_member *row, size_t rows, const nas_member *candidate,
                           size_t candidates, size_t m, double *reference)
{
    size_t n = 0;
    double *point = nas_alloc((rows + candidates + 1) * m * sizeof *point);
    double low[NAS_OBJECTIVE_MOST];
    uint32_t *rank = nas_alloc((rows + candidates + 1) * sizeof *rank);
    for (size_t i = 0; i < rows + candidates; i++) {
        const nas_member *member = i < rows ? &row[i] : &candidate[i - rows];
        bool good = counts(member);
        for (size_t k = 0; k < m; k++)
            good &= (bool)isfinite(member->f[k]);
        if (good)
            memcpy(point + m * n++, member->f, m * sizeof *point);
    }
    bool any = n > 0 && nas_front_sort(point, n, m, 1, rank, NULL) == NAS_OK;
    for (size_t k = 0; k < m; k++) {
        low[k] = INFINITY;
        reference[k] = -INFINITY;
        for (size_t i = 0; i < n && any; i++)
            if (rank[i] == 0) {
                low[k] = fmin(low[k], point[i * m + k]);
                reference[k] = fmax(reference[k], point[i * m + k]);
            }
        reference[k] += 0.01 * (reference[k] - low[k]);
    }
    free(rank);
    free(point);
    return any;
}

/* The points (m) of the rows that nothing dominates; returns how many. */
static size_t find_front(const nas_member *row, size_t rows, size_t m, double *front)
{
    uint32_t *rank = nas_alloc((rows + 1) * sizeof *rank);
    size_t n = 0;
    nas_member_ranks(row, rows, m, rank);
    for (size_t i = 0; i < rows; i++)
        if (rank[i] == 0 && counts(&row[i]))
            memcpy(front + m * n++, row[i].f, m * sizeof *front);
    free(rank);
    return n;
}

size_t nas_pick_by_volume(const nas_member *row, size_t rows, const nas_member *candidate,
                          size_t candidates, size_t m, size_t most, size_t *order)
{
    size_t picked = 0;
    double reference[NAS_OBJECTIVE_MOST];
    if (!find_reference(row, rows, candidate, candidates, m, reference))
        return 0;
    double *front = nas_alloc((rows + most + 1) * m * sizeof *front);
    double *room = nas_alloc((rows + most + 1) * m * sizeof *room);
    double *gain = nas_zalloc(candidates + 1, sizeof *gain);
    size_t *fresh = nas_zalloc(candidates + 1, sizeof *fresh); /* picks that gain knows of */
    size_t n = find_front(row, rows, m, front);
    for (size_t i = 0; i < candidates; i++)
        if (counts(&candidate[i]))
            gain[i] = added_volume(front, n, m, candidate[i].f, reference, room);
    while (picked < most) {
        size_t best = 0;
        for (size_t i = 1; i < candidates; i++)
            if (gain[i] > gain[best])
                best = i;
        if (!(gain[best] > 0))
            break;
        if (fresh[best] < picked) { /* gains only shrink: it may still be the largest */
            gain[best] = added_volume(front, n, m, candidate[best].f, reference, room);
            fresh[best] = picked;
            continue;
        }
        memcpy(front + m * n++, candidate[best].f, m * sizeof *front);
        gain[best] = 0;
        order[picked++] = best;
    }
    free(fresh);
    free(gain);
    free(room);
    free(front);
    return picked;
}
