/* results/rank: against all pairs counted one by one, and the defined edge cases. With arguments it
 * prints the coefficients of a file of two columns: what test_rank.py compares with scipy. */
#include "results/rank.h"
#include "spaces/base/rng.h"

#include "tests/check.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { MOST = 80 };

static nas_rank compare(const double *x, const double *y, size_t n)
{
    nas_rank r;
    assert_int_equal(nas_rank_compare(x, y, n, &r, NULL), NAS_OK);
    return r;
}

static void test_pairs(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(11);
    double x[MOST], y[MOST];
    for (int round = 0; round < 3000; round++) {
        size_t n = nas_rng_below(&rng, MOST);
        unsigned values = round % 3 ? 1 + (unsigned)nas_rng_below(&rng, 12) : 100000;
        for (size_t i = 0; i < n; i++) {
            x[i] = (double)nas_rng_below(&rng, values) - 3;
            y[i] = (double)nas_rng_below(&rng, values) - 3;
            if (round % 7 == 0 && nas_rng_below(&rng, 5) == 0)
                x[i] = nas_rng_below(&rng, 2) ? INFINITY : -INFINITY;
        }
        uint64_t alike = 0, opposite = 0, tie_x = 0, tie_y = 0, both = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++) {
                int a = (x[i] > x[j]) - (x[i] < x[j]), b = (y[i] > y[j]) - (y[i] < y[j]);
                alike += a * b > 0;
                opposite += a * b < 0;
                tie_x += a == 0;
                tie_y += b == 0;
                both += a == 0 && b == 0;
            }
        nas_rank r = compare(x, y, n);
        assert_int_equal(r.n, n);
        assert_int_equal(r.concordant, alike);
        assert_int_equal(r.discordant, opposite);
        assert_int_equal(r.ties_x, tie_x);
        assert_int_equal(r.ties_y, tie_y);
        assert_int_equal(r.ties_both, both);
        double all = (double)n * ((double)n - 1) / 2;
        if (n < 2)
            continue;
        assert_true(fabs(r.tau_a - ((double)alike - (double)opposite) / all) < 1e-14);
        if (!isnan(r.tau_b)) {
            assert_true(r.tau_b >= -1 && r.tau_b <= 1);
            assert_true(r.low <= r.tau_b && r.tau_b <= r.high && r.low >= -1 && r.high <= 1);
        }
    }
}

static void test_known(void **state)
{
    (void)state;
    double up[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, down[] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
    nas_rank r = compare(up, up, 10);
    assert_true(r.tau_a == 1 && r.tau_b == 1 && r.spearman == 1 && r.high == 1);
    r = compare(up, down, 10);
    assert_true(r.tau_a == -1 && r.tau_b == -1 && r.spearman == -1 && r.low == -1);
    double a[] = {1, 2, 2, 3}, b[] = {1, 2, 3, 3};
    r = compare(a, b, 4);
    assert_true(fabs(r.tau_b - 0.8) < 1e-15);
    assert_true(r.low == -1 && r.high == 1); /* too few rows to say */
    double zero[] = {0.0, -0.0, 1, 1};
    r = compare(zero, zero, 4);
    assert_int_equal(r.ties_both, 2);
    assert_true(r.tau_b == 1);
}

static void test_undefined(void **state)
{
    (void)state;
    double x[] = {1, 2, NAN}, constant[] = {7, 7, 7};
    for (size_t n = 0; n < 2; n++) {
        nas_rank r = compare(x, x, n);
        assert_true(isnan(r.tau_a) && isnan(r.tau_b) && isnan(r.spearman) && isnan(r.low));
    }
    nas_rank r = compare(x, x, 2);
    assert_true(r.tau_a == 1 && r.tau_b == 1);
    r = compare(x, constant, 2);
    assert_true(r.tau_a == 0 && isnan(r.tau_b) && isnan(r.spearman) && isnan(r.high));
    nas_err err = {0};
    assert_int_equal(nas_rank_compare(constant, x, 3, &r, &err), NAS_FAILED);
    assert_string_equal(err.text, "row 3 of the second column is not a number");
}

static int print_file(const char *path)
{
    enum { ROWS = 200000 };
    static double x[ROWS], y[ROWS];
    size_t n = 0;
    FILE *file = fopen(path, "r");
    while (file && n < ROWS && fscanf(file, "%lf %lf", &x[n], &y[n]) == 2)
        n++;
    if (file)
        fclose(file);
    nas_rank r;
    if (nas_rank_compare(x, y, n, &r, NULL))
        return 1;
    printf("%zu %.17g %.17g %.17g\n", n, r.tau_a, r.tau_b, r.spearman);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return print_file(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_undefined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
