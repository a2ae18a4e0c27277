/* How fast are sorting, hypervolume and rank correlation? CPU milliseconds of each, and of a plain
 * quadratic peer where that is bearable. */
#include "results/front.h"
#include "results/hypervolume.h"
#include "results/rank.h"
#include "spaces/base/mem.h"
#include "spaces/base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double *uniform(size_t n, size_t m)
{
    nas_rng rng = nas_rng_seed(n * 16 + m);
    double *points = nas_alloc(n * m * sizeof *points);
    for (size_t i = 0; i < n * m; i++)
        points[i] = nas_rng_unit(&rng);
    return points;
}

/* Points on the sphere around (1, …, 1) that faces the origin, and its mirror image for concave. */
static double *spherical(size_t n, size_t m, int concave)
{
    nas_rng rng = nas_rng_seed(n + m);
    double *points = nas_alloc(n * m * sizeof *points);
    for (size_t i = 0; i < n; i++) {
        double *p = points + i * m, length = 0;
        for (size_t j = 0; j < m; j++) {
            p[j] = fabs(nas_rng_normal(&rng));
            length += p[j] * p[j];
        }
        for (size_t j = 0; j < m; j++)
            p[j] = concave ? p[j] / sqrt(length) : 1 - p[j] / sqrt(length);
    }
    return points;
}

/* Peer of sorting: the first front by comparing all pairs. */
static double sort_peer(const double *points, size_t n, size_t m, uint32_t *rank)
{
    double start = milliseconds();
    for (size_t i = 0; i < n; i++) {
        rank[i] = 0;
        for (size_t j = 0; j < n && !rank[i]; j++)
            rank[i] = nas_front_dominates(points + j * m, points + i * m, m);
    }
    return milliseconds() - start;
}

static int covers(const double *a, const double *b, size_t m)
{
    size_t j = 0;
    while (j < m && a[j] <= b[j])
        j++;
    return j == m;
}

/* Drops points that others cover; returns how many stay, at the front of the array. */
static size_t keep_undominated(double *points, size_t n, size_t m)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        double p[8];
        int covered = 0;
        memcpy(p, points + i * m, m * sizeof *p);
        for (size_t k = 0; k < kept && !covered; k++)
            covered = covers(points + k * m, p, m);
        if (covered)
            continue;
        size_t stay = 0;
        for (size_t k = 0; k < kept; k++)
            if (!covers(p, points + k * m, m))
                memmove(points + stay++ * m, points + k * m, m * sizeof *p);
        memcpy(points + stay * m, p, m * sizeof *p);
        kept = stay + 1;
    }
    return kept;
}

/* Peer of the hypervolume: WFG as in the paper (While et al. 2012), without its slicing: the box of
 * each point less the volume of the later ones limited to it. */
static double volume_peer(const double *points, size_t n, size_t m, const double *reference)
{
    double volume = 0, *limited = nas_alloc((n + 1) * m * sizeof *limited);
    for (size_t i = 0; i < n; i++) {
        const double *p = points + i * m;
        double box = 1;
        for (size_t j = 0; j < m; j++)
            box *= reference[j] - p[j];
        size_t k = n - i - 1;
        for (size_t c = 0; c < k * m; c++)
            limited[c] = fmax(p[c % m], p[m + c]);
        k = keep_undominated(limited, k, m);
        volume += box - volume_peer(limited, k, m, reference);
    }
    free(limited);
    return volume;
}

static void bench_sort(size_t n, size_t m)
{
    double *points = uniform(n, m);
    uint32_t *rank = nas_alloc(n * sizeof *rank);
    double best = INFINITY;
    for (int k = 0; k < 5; k++) {
        double start = milliseconds();
        nas_front_sort(points, n, m, UINT32_MAX, rank, NULL);
        best = fmin(best, milliseconds() - start);
    }
    uint32_t last = 0;
    for (size_t i = 0; i < n; i++)
        last = rank[i] > last ? rank[i] : last;
    printf("sort %7zu x %zu  %10.2f ms  (%u fronts)\n", n, m, best, last + 1);
    if (n <= 10000) {
        double peer = sort_peer(points, n, m, rank);
        printf("  peer: the first front by all pairs %10.2f ms, %.0f times as long\n", peer,
               peer / best);
    }
    free(points);
    free(rank);
}

static void bench_volume(size_t n, size_t m, int concave)
{
    double *points = spherical(n, m, concave), reference[8], best = INFINITY, volume = 0;
    for (size_t j = 0; j < m; j++)
        reference[j] = 1.1;
    for (int k = 0; k < 7; k++) {
        double start = milliseconds();
        nas_hypervolume(points, n, m, reference, &volume, NULL);
        best = fmin(best, milliseconds() - start);
    }
    double start = milliseconds(), peer = 0;
    if (n * m <= 600 || m == 3) {
        double same = volume_peer(points, n, m, reference);
        peer = milliseconds() - start;
        if (fabs(same - volume) > 1e-9 * volume)
            printf("DIFFERENT from the peer: %.17g\n", same);
    }
    start = milliseconds();
    double *share = nas_alloc(n * sizeof *share);
    nas_hypervolume_each(points, n, m, reference, share, NULL);
    printf("hypervolume %6zu x %zu %s %10.3f ms  (%.12g), shares %10.3f ms\n", n, m,
           concave ? "concave" : "convex ", best, volume, milliseconds() - start);
    if (peer > 0)
        printf("  peer: WFG without slicing %10.2f ms, %.0f times as long\n", peer, peer / best);
    free(points);
    free(share);
}

static void bench_rank(size_t n)
{
    double *points = uniform(n, 2), best = INFINITY;
    nas_rank rank;
    for (size_t i = 0; i < n; i++)
        points[n + i] += points[i];
    for (int k = 0; k < 5; k++) {
        double start = milliseconds();
        nas_rank_compare(points, points + n, n, &rank, NULL);
        best = fmin(best, milliseconds() - start);
    }
    printf("tau of %zu pairs %10.2f ms (%.6f)\n", n, best, rank.tau_b);
    free(points);
}

int main(void)
{
    bench_rank(100000);
    bench_sort(200000, 2);
    bench_sort(50000, 3);
    bench_sort(10000, 4);
    bench_sort(10000, 5);
    bench_sort(10000, 8);
    for (size_t m = 2; m <= 6; m++)
        for (int concave = 0; concave < 2; concave++)
            bench_volume(m < 6 ? 1000 : 200, m, concave);
    for (size_t m = 4; m <= 5; m++)
        bench_volume(120, m, 1);
    return 0;
}
