#include "results/front.h"

#include "results/cover.h"
#include "results/order.h"
#include "results/stairs.h"

#include <math.h>
#include <stdlib.h>

bool nas_front_dominates(const double *a, const double *b, size_t m)
{
    bool better = false;
    for (size_t j = 0; j < m; j++) {
        if (a[j] > b[j])
            return false;
        better |= a[j] < b[j];
    }
    return better;
}

nas_status nas_front_check(const double *points, size_t n, size_t m, nas_err *err)
{
    if (m == 0 || m > NAS_FRONT_COLUMNS)
        return nas_fail(err, NAS_USAGE, "%zu objectives: 1 to %d can be compared", m,
                        NAS_FRONT_COLUMNS);
    for (size_t i = 0; i < n * m; i++)
        if (isnan(points[i]))
            return nas_fail(err, NAS_FAILED, "row %zu, objective %zu is not a number", i / m + 1,
                            i % m + 1);
    return NAS_OK;
}

/* A front while sorting. Points come in lexicographic order, so the first coordinate of a member is
 * never above that of a newcomer, and only the others are kept. */
typedef struct {
    nas_stairs stairs; /* m 3 */
    nas_cover cover;   /* m > 3 */
} front;

/* Does a member dominate a newcomer that equals none of them? */
static bool front_dominates(const front *f, const double *p, size_t m)
{
    if (m == 3)
        return nas_stairs_covers(&f->stairs, nas_stairs_find(&f->stairs, p[1]), p[2]);
    return nas_cover_has(&f->cover, p + 1);
}

static void front_add(front *f, const double *p, size_t m)
{
    if (m == 3)
        nas_stairs_put(&f->stairs, nas_stairs_find(&f->stairs, p[1]), p[1], p[2]);
    else
        nas_cover_add(&f->cover, p + 1);
}

static bool equal(const double *a, const double *b, size_t m)
{
    for (size_t j = 0; j < m; j++)
        if (a[j] != b[j])
            return false;
    return true;
}

/* The first of n ascending numbers that is above y. Without branches, as their outcomes cannot be
 * predicted. */
static uint32_t first_above(const double *ascending, uint32_t n, double y)
{
    const double *base = ascending;
    for (uint32_t half; n > 1; n -= half) {
        half = n / 2;
        base += half & -(uint32_t)(base[half - 1] <= y);
    }
    return (uint32_t)(base - ascending) + (n && *base <= y);
}

enum { AHEAD = 16 }; /* rows are read in an order that the processor cannot foresee */

/* For m 1 and 2 a front is one number: the least last coordinate so far. It grows with the rank. */
static void sort_flat(const double *points, size_t m, const uint32_t *order, size_t n,
                      uint32_t most, uint32_t *rank)
{
    double *least = nas_alloc(n * sizeof *least);
    uint32_t n_front = 0;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(points + order[i + AHEAD] * m);
        const double *p = points + order[i] * m;
        if (i && equal(p, points + order[i - 1] * m, m)) {
            rank[order[i]] = rank[order[i - 1]];
            continue;
        }
        double y = m == 2 ? p[1] : 0;
        uint32_t low = first_above(least, n_front, y);
        rank[order[i]] = low;
        if (low < most) {
            least[low] = y;
            n_front += low == n_front;
        }
    }
    free(least);
}

static void sort_deep(const double *points, size_t m, const uint32_t *order, size_t n,
                      uint32_t most, uint32_t *rank)
{
    front *fronts = NULL;
    size_t n_front = 0, cap = 0;
    for (size_t i = 0; i < n; i++) {
        const double *p = points + order[i] * m;
        if (i && equal(p, points + order[i - 1] * m, m)) {
            rank[order[i]] = rank[order[i - 1]];
            continue;
        }
        size_t low = 0, high = n_front;
        while (low < high) { /* the first front that does not dominate p */
            size_t middle = (low + high) / 2;
            if (front_dominates(&fronts[middle], p, m))
                low = middle + 1;
            else
                high = middle;
        }
        rank[order[i]] = (uint32_t)low;
        if (low >= most)
            continue;
        if (low == n_front) {
            fronts = nas_grow(fronts, &cap, n_front + 1, sizeof *fronts);
            fronts[n_front++] = (front){.cover.k = m - 1};
        }
        front_add(&fronts[low], p, m);
    }
    for (size_t i = 0; i < n_front; i++) {
        free(fronts[i].stairs.at);
        nas_cover_clear(&fronts[i].cover);
    }
    free(fronts);
}

nas_status nas_front_sort(const double *points, size_t n, size_t m, uint32_t most, uint32_t *rank,
                          nas_err *err)
{
    nas_status status = nas_front_check(points, n, m, err);
    if (status)
        return status;
    uint32_t *order = nas_alloc(n * sizeof *order);
    nas_order_init(order, n);
    nas_order_rows(points, m, order, n);
    (m <= 2 ? sort_flat : sort_deep)(points, m, order, n, most, rank);
    free(order);
    return NAS_OK;
}

void nas_front_crowding(const double *points, size_t n, size_t m, double *distance)
{
    uint32_t *order = nas_alloc(n * sizeof *order);
    for (size_t i = 0; i < n; i++)
        distance[i] = n <= 2 ? INFINITY : 0;
    for (size_t j = 0; j < m && n > 2; j++) {
        nas_order_init(order, n);
        nas_order_by(points + j, m, order, n);
        double range = points[order[n - 1] * m + j] - points[order[0] * m + j];
        if (!(range > 0) || isinf(range))
            continue;
        distance[order[0]] = distance[order[n - 1]] = INFINITY;
        for (size_t i = 1; i + 1 < n; i++)
            distance[order[i]] +=
                (points[order[i + 1] * m + j] - points[order[i - 1] * m + j]) / range;
    }
    free(order);
}

/* How far a lies above z; equal infinities are not apart. */
static double shortfall(double a, double z)
{
    return a == z ? 0 : a - z;
}

double nas_front_igd_plus(const double *points, size_t n, const double *truth, size_t k, size_t m)
{
    double total = 0;
    for (size_t t = 0; t < k; t++) {
        double least = INFINITY;
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (size_t j = 0; j < m; j++) {
                double d = fmax(shortfall(points[i * m + j], truth[t * m + j]), 0);
                sum += d * d;
            }
            least = fmin(least, sum);
        }
        total += sqrt(least);
    }
    return k ? total / (double)k : 0;
}

double nas_front_epsilon(const double *points, size_t n, const double *truth, size_t k, size_t m)
{
    double most = -INFINITY;
    for (size_t t = 0; t < k; t++) {
        double least = INFINITY;
        for (size_t i = 0; i < n; i++) {
            double worst = -INFINITY;
            for (size_t j = 0; j < m; j++)
                worst = fmax(worst, shortfall(points[i * m + j], truth[t * m + j]));
            least = fmin(least, worst);
        }
        most = fmax(most, least);
    }
    return k ? most : 0;
}
