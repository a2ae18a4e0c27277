/* results/front, hypervolume: against brute force on many small sets full of ties. */
#include "results/front.h"
#include "results/hypervolume.h"
#include "results/order.h"
#include "spaces/base/mem.h"
#include "spaces/base/rng.h"

#include "tests/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MOST = 300 };

/* Few distinct values give duplicates and ties; sometimes infinities. */
static void fill(nas_rng *rng, double *points, size_t count, unsigned values, bool infinite)
{
    for (size_t i = 0; i < count; i++) {
        points[i] = values ? (double)nas_rng_below(rng, values) : nas_rng_unit(rng) - 0.5;
        if (infinite && nas_rng_below(rng, 8) == 0)
            points[i] = nas_rng_below(rng, 2) ? INFINITY : -INFINITY;
    }
}

static void test_order(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(3);
    double value[2 * MOST];
    uint32_t order[MOST];
    for (int round = 0; round < 300; round++) {
        size_t n = nas_rng_below(&rng, MOST);
        fill(&rng, value, 2 * n, round % 3 ? 5 : 0, round % 2);
        for (size_t i = 0; i < n; i++)
            if (value[i] == 0 && i % 2)
                value[i] = -0.0;
        nas_order_init(order, n);
        nas_order_by(value + 1, 2, order, n);
        for (size_t i = 1; i < n; i++) {
            double a = value[order[i - 1] * 2 + 1], b = value[order[i] * 2 + 1];
            assert_true(a < b || (a == b && order[i - 1] < order[i]));
        }
        nas_order_init(order, n);
        nas_order_rows(value, 2, order, n);
        for (size_t i = 1; i < n; i++) {
            const double *a = value + order[i - 1] * 2, *b = value + order[i] * 2;
            assert_true(
                a[0] < b[0] ||
                (a[0] == b[0] && (a[1] < b[1] || (a[1] == b[1] && order[i - 1] < order[i]))));
        }
    }
}

/* Ranks by peeling: a point has rank r when only points of ranks below r dominate it. */
static void peel(const double *points, size_t n, size_t m, uint32_t *rank)
{
    memset(rank, 0xff, n * sizeof *rank);
    size_t left = n;
    for (uint32_t r = 0; left > 0; r++) {
        for (size_t i = 0; i < n; i++) {
            bool free = rank[i] == UINT32_MAX;
            for (size_t j = 0; j < n && free; j++)
                free = rank[j] < r || !nas_front_dominates(points + j * m, points + i * m, m);
            if (free) {
                rank[i] = r;
                left--;
            }
        }
    }
}

static void test_sort(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(1);
    double points[60 * 8];
    uint32_t rank[60], want[60];
    for (int round = 0; round < 4000; round++) {
        size_t n = nas_rng_below(&rng, 61), m = 1 + nas_rng_below(&rng, 8);
        fill(&rng, points, n * m, (unsigned[]){0, 2, 3, 6}[round % 4], round % 5 == 0);
        peel(points, n, m, want);
        assert_int_equal(nas_front_sort(points, n, m, UINT32_MAX, rank, NULL), NAS_OK);
        assert_memory_equal(rank, want, n * sizeof *rank);
        uint32_t most = (uint32_t)nas_rng_below(&rng, 4);
        assert_int_equal(nas_front_sort(points, n, m, most, rank, NULL), NAS_OK);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(rank[i], want[i] < most ? want[i] : most);
    }
}

/* Sets that fill the trees of the deep sort. */
static void test_sort_large(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(12);
    static double points[MOST * 8];
    uint32_t rank[MOST], want[MOST];
    for (int round = 0; round < 60; round++) {
        size_t m = 3 + (size_t)round % 6;
        fill(&rng, points, MOST * m, (unsigned[]){0, 4, 40}[round % 3], round % 4 == 0);
        peel(points, MOST, m, want);
        assert_int_equal(nas_front_sort(points, MOST, m, UINT32_MAX, rank, NULL), NAS_OK);
        assert_memory_equal(rank, want, sizeof rank);
    }
}

/* Memory of the process at its peak, in bytes. */
static size_t peak_memory(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (size_t)use.ru_maxrss * 1024;
}

/* Many points take memory for each, not for each pair of them. */
static void test_sort_memory(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(13);
    for (size_t m = 2; m < 4; m++) {
        size_t n = m == 2 ? 200000 : 50000, before;
        double *points = nas_alloc(n * m * sizeof *points);
        uint32_t *rank = nas_zalloc(n, sizeof *rank);
        fill(&rng, points, n * m, 0, false);
        before = peak_memory();
        assert_int_equal(nas_front_sort(points, n, m, UINT32_MAX, rank, NULL), NAS_OK);
        assert_true(peak_memory() - before < 400 * n); /* bits of all pairs: n * n / 8 */
        free(points);
        free(rank);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    double points[40] = {1, 2, 3, NAN};
    double reference[20] = {9, 9}, v = 0;
    uint32_t rank[20];
    nas_err err = {0};
    assert_int_equal(nas_front_sort(points, 2, 2, 1, rank, &err), NAS_FAILED);
    assert_string_equal(err.text, "row 2, objective 2 is not a number");
    assert_int_equal(nas_hypervolume(points, 2, 2, reference, &v, NULL), NAS_FAILED);
    err = (nas_err){0};
    assert_int_equal(nas_hypervolume(points, 1, 2, points + 2, &v, &err), NAS_FAILED);
    assert_string_equal(err.text, "the reference point: row 1, objective 2 is not a number");
    err = (nas_err){0};
    assert_int_equal(nas_front_sort(points, 1, NAS_FRONT_COLUMNS + 1, 1, rank, &err), NAS_USAGE);
    assert_string_equal(err.text, "17 objectives: 1 to 16 can be compared");
    assert_int_equal(nas_front_sort(points, 1, 0, 1, rank, NULL), NAS_USAGE);
}

static void test_crowding(void **state)
{
    (void)state;
    double d[8];
    double line[] = {0, 4, 1, 3, 2, 2, 4, 0}; /* gaps 2 of 4, then 3 of 4, in both objectives */
    nas_front_crowding(line, 4, 2, d);
    assert_true(isinf(d[0]) && isinf(d[3]));
    assert_true(d[1] == 1.0 && d[2] == 1.5);
    double constant[] = {7, 1, 7, 2, 7, 5};
    nas_front_crowding(constant, 3, 2, d);
    assert_true(isinf(d[0]) && isinf(d[2]) && d[1] == 1);
    double same[] = {3, 3, 3, 3, 3, 3};
    nas_front_crowding(same, 3, 2, d);
    assert_true(d[0] == 0 && d[1] == 0 && d[2] == 0);
    nas_front_crowding(same, 2, 2, d);
    assert_true(isinf(d[0]) && isinf(d[1]));
    nas_front_crowding(same, 1, 2, d);
    assert_true(isinf(d[0]));
    nas_front_crowding(same, 0, 2, d);
    double endless[] = {-INFINITY, 3, 1, 2, 2, 1, INFINITY, 0};
    nas_front_crowding(endless, 4, 2, d);
    for (int i = 0; i < 4; i++)
        assert_false(isnan(d[i]));
}

static void test_distances(void **state)
{
    (void)state;
    double truth[] = {0, 1, 1, 0}, worse[] = {0.5, 1, 1, 0.25}, better[] = {-1, -1};
    assert_true(nas_front_epsilon(worse, 2, truth, 2, 2) == 0.5);
    assert_true(nas_front_epsilon(better, 1, truth, 2, 2) == -1);
    assert_true(nas_front_igd_plus(worse, 2, truth, 2, 2) == (0.5 + 0.25) / 2);
    assert_true(nas_front_igd_plus(better, 1, truth, 2, 2) == 0);
    assert_true(nas_front_igd_plus(truth, 2, truth, 2, 2) == 0);
    assert_true(isinf(nas_front_epsilon(worse, 0, truth, 2, 2)));
    assert_true(isinf(nas_front_igd_plus(worse, 0, truth, 2, 2)));
    assert_true(nas_front_epsilon(worse, 2, truth, 0, 2) == 0);
    assert_true(nas_front_igd_plus(worse, 2, truth, 0, 2) == 0);
    double endless[] = {-INFINITY, INFINITY};
    assert_true(nas_front_epsilon(endless, 1, endless, 1, 2) == 0);
    assert_true(nas_front_igd_plus(endless, 1, endless, 1, 2) == 0);
}

/* Volume of integer points below a reference (side, …, side): counts unit cells. */
static double count_cells(const double *points, size_t n, size_t m, unsigned side)
{
    size_t cells = 1, covered = 0;
    for (size_t j = 0; j < m; j++)
        cells *= side;
    for (size_t c = 0; c < cells; c++) {
        bool in = false;
        for (size_t i = 0; i < n && !in; i++) {
            size_t rest = c, j = 0;
            for (; j < m && points[i * m + j] <= (double)(rest % side); j++)
                rest /= side;
            in = j == m;
        }
        covered += in;
    }
    return (double)covered;
}

static double volume_of(const double *points, size_t n, size_t m, const double *reference)
{
    double volume = NAN;
    assert_int_equal(nas_hypervolume(points, n, m, reference, &volume, NULL), NAS_OK);
    return volume;
}

static void test_volume_cells(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(5);
    double points[40 * 6], reference[6];
    for (int round = 0; round < 3000; round++) {
        size_t n = nas_rng_below(&rng, 40), m = 1 + nas_rng_below(&rng, 6);
        unsigned side = m > 4 ? 4 : 6;
        fill(&rng, points, n * m, side + 1, false); /* value side: not below the reference */
        for (size_t j = 0; j < m; j++)
            reference[j] = side;
        assert_true(volume_of(points, n, m, reference) == count_cells(points, n, m, side));
    }
}

static double *sphere(nas_rng *rng, size_t n, size_t m)
{
    double *points = nas_alloc(n * m * sizeof *points);
    for (size_t i = 0; i < n; i++) {
        double length = 0;
        for (size_t j = 0; j < m; j++) {
            points[i * m + j] = fabs(nas_rng_normal(rng));
            length += points[i * m + j] * points[i * m + j];
        }
        for (size_t j = 0; j < m; j++)
            points[i * m + j] /= sqrt(length);
    }
    return points;
}

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b))))
        print_message("%.17g is not %.17g\n", a, b);
    assert_true(fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b)));
}

static void test_volume_invariance(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(6);
    for (int round = 0; round < 60; round++) {
        size_t m = 1 + (size_t)round % 6, n = m < 5 ? 120 : 40;
        double *points = sphere(&rng, n, m), reference[6], moved[6], want, factor = 1;
        for (size_t j = 0; j < m; j++)
            reference[j] = 1.1;
        want = volume_of(points, n, m, reference);
        double *other = nas_alloc(2 * n * m * sizeof *other);
        for (size_t i = 0; i < n; i++) /* doubled and in another order: the same set */
            for (size_t j = 0; j < m; j++)
                other[i * m + j] = other[(2 * n - 1 - i) * m + j] = points[i * m + j];
        assert_near(volume_of(other, 2 * n, m, reference), want);
        for (size_t j = 0; j < m; j++) { /* scaled by 1e-9 … 1e12, moved below zero */
            double scale = (double[]){1e-9, 1e12, 3, 1e-3, 7e5, 1}[j], shift = -2 * scale;
            factor *= scale;
            moved[j] = reference[j] * scale + shift;
            for (size_t i = 0; i < n; i++)
                other[i * m + j] = points[i * m + j] * scale + shift;
        }
        assert_near(volume_of(other, n, m, moved) / factor, want);
        for (size_t j = 0; j < m; j++) { /* objectives turned round */
            moved[j] = reference[m - 1 - j];
            for (size_t i = 0; i < n; i++)
                other[i * m + j] = points[i * m + m - 1 - j];
        }
        assert_near(volume_of(other, n, m, moved), want);
        free(other);
        free(points);
    }
}

static void test_volume_edges(void **state)
{
    (void)state;
    double points[] = {1, 1, 5, 0, -INFINITY, 5, INFINITY, -INFINITY};
    double reference[] = {3, 3}, zero[] = {0, 0}, endless[] = {INFINITY, 3};
    assert_true(volume_of(points, 0, 2, reference) == 0);
    assert_true(volume_of(points, 1, 2, reference) == 4);
    assert_true(volume_of(points, 2, 2, reference) == 4);
    assert_true(volume_of(points, 4, 2, reference) == 4); /* infinities beyond the reference */
    assert_true(volume_of(points, 2, 2, zero) == 0);
    assert_true(isinf(volume_of(points, 1, 2, endless)));
    double negative[] = {-3, -2}, low[] = {-1, -1}, free_fall[] = {-INFINITY, 0}, share[2];
    assert_true(volume_of(negative, 1, 2, low) == 2);
    assert_true(isinf(volume_of(free_fall, 1, 2, reference)));
    assert_int_equal(nas_hypervolume_each(free_fall, 1, 2, reference, share, NULL), NAS_FAILED);
    double giant[] = {1e300, 1e300, -1e300, 1e-300}, above[] = {1.7e308, 1.7e308, 1e300, 1};
    assert_false(isnan(volume_of(giant, 1, 4, above)));
    double one[] = {4, 2, 2, 9}, five[] = {5};
    assert_true(volume_of(one, 4, 1, five) == 3);
}

static void test_shares(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(7);
    double points[30 * 6], rest[30 * 6], reference[6], share[30];
    for (int round = 0; round < 2000; round++) {
        size_t n = nas_rng_below(&rng, 30), m = 1 + nas_rng_below(&rng, 6);
        unsigned values = round % 2 ? 0 : 5;
        fill(&rng, points, n * m, values, false);
        for (size_t j = 0; j < m; j++)
            reference[j] = values ? 4 : 0.4;
        double all = volume_of(points, n, m, reference);
        assert_int_equal(nas_hypervolume_each(points, n, m, reference, share, NULL), NAS_OK);
        for (size_t i = 0; i < n; i++) {
            memcpy(rest, points, n * m * sizeof *points);
            memmove(rest + i * m, rest + (i + 1) * m, (n - i - 1) * m * sizeof *rest);
            double want = all - volume_of(rest, n - 1, m, reference);
            if (!(fabs(share[i] - want) <= 1e-12 * all))
                print_message("n %zu m %zu row %zu: %g, not %g\n", n, m, i, share[i], want);
            assert_true(fabs(share[i] - want) <= 1e-12 * all);
            assert_true(values == 0 || share[i] == want); /* integers are exact */
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_sort_large),
        cmocka_unit_test(test_sort_memory),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_crowding),
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_volume_cells),
        cmocka_unit_test(test_volume_invariance),
        cmocka_unit_test(test_volume_edges),
        cmocka_unit_test(test_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
