/* results/metric: names, objectives, constraints. */
#include "results/metric.h"

#include "tests/check.h"

#include <math.h>
#include <string.h>

static void test_names(void **state)
{
    (void)state;
    nas_metric m;
    assert_int_equal(nas_metric_make(&m, "latency:raspi4", NULL), NAS_OK);
    assert_string_equal(m.column, "latency_raspi4");
    assert_string_equal(m.unit, "ms");
    assert_int_equal(m.direction, NAS_MIN);
    assert_int_equal(nas_metric_make(&m, "accuracy", NULL), NAS_OK);
    assert_string_equal(m.unit, "%");
    assert_int_equal(m.direction, NAS_MAX);
    assert_int_equal(nas_metric_make(&m, "1080ti_32", NULL), NAS_OK);
    assert_string_equal(m.column, "_1080ti_32");
    assert_int_equal(m.direction, NAS_NO_DIRECTION);
    nas_err err = {0};
    assert_int_equal(nas_metric_make(&m, "top 1", &err), NAS_USAGE);
    assert_string_equal(err.text,
                        "the metric name 'top 1' has ' ' at column 4; letters, digits and "
                        "_.:- are allowed");
    assert_int_equal(nas_metric_make(&m, "", NULL), NAS_USAGE);
    char longest[80];
    memset(longest, '7', sizeof longest);
    longest[NAS_METRIC_NAME - 2] = '\0';
    assert_int_equal(nas_metric_make(&m, longest, NULL), NAS_OK);
    assert_int_equal(strlen(m.column), NAS_METRIC_NAME - 1);
    longest[NAS_METRIC_NAME - 2] = '7';
    longest[NAS_METRIC_NAME - 1] = '\0';
    assert_int_equal(nas_metric_make(&m, longest, NULL), NAS_USAGE);
}

static void test_need(void **state)
{
    (void)state;
    nas_metric list[2];
    size_t n, index = 9;
    assert_int_equal(nas_objectives_parse("max:accuracy,min:latency:raspi4", list, &n, NULL), 0);
    assert_int_equal(nas_metric_need(list, n, "latency:raspi4", "t.h5", &index, NULL), NAS_OK);
    assert_int_equal(index, 1);
    nas_err err = {0};
    assert_int_equal(nas_metric_need(list, n, "latency:rapsi4", "t.h5", &index, &err), NAS_USAGE);
    assert_string_equal(err.text,
                        "t.h5 has no metric 'latency:rapsi4' (did you mean 'latency:raspi4'?)");
}

static void test_objectives(void **state)
{
    (void)state;
    nas_metric list[NAS_OBJECTIVE_MOST];
    size_t n;
    assert_int_equal(
        nas_objectives_parse("max:accuracy, min:latency:raspi4 ,max:latency:x", list, &n, NULL),
        NAS_OK);
    assert_int_equal(n, 3);
    assert_string_equal(list[1].name, "latency:raspi4");
    assert_int_equal(list[0].direction, NAS_MAX);
    assert_int_equal(list[1].direction, NAS_MIN);
    assert_int_equal(list[2].direction, NAS_MAX);
    double points[] = {1, 2, 3, 4, 5, 6};
    nas_objectives_minimise(points, 2, list, 3);
    double want[] = {-1, 2, -3, -4, 5, -6};
    assert_memory_equal(points, want, sizeof want);
    const char *bad[] = {"",
                         "accuracy",
                         "max:accuracy,",
                         "max:",
                         "best:accuracy",
                         "max:a:b,min:a_b",
                         "max:x,max:x",
                         "min:a,min:b,min:c,min:d,min:e,min:f,min:g,min:h,min:i"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        nas_err err = {0};
        assert_int_equal(nas_objectives_parse(bad[i], list, &n, &err), NAS_USAGE);
        assert_true(strlen(err.text) > 10);
    }
}

static void test_constraints(void **state)
{
    (void)state;
    nas_constraint c;
    assert_int_equal(nas_constraint_parse(" latency:raspi4 <= 10 ms", &c, NULL), NAS_OK);
    assert_string_equal(c.metric.name, "latency:raspi4");
    assert_true(c.upper && c.has_unit);
    assert_true(c.bound == 10);
    assert_true(nas_constraint_violation(&c, 10) == 0);
    assert_true(nas_constraint_violation(&c, 15) == 0.5);
    assert_true(isinf(nas_constraint_violation(&c, NAN)));
    nas_metric known = c.metric;
    assert_int_equal(nas_constraint_adopt(&c, &known, NULL), NAS_OK);
    strcpy(known.unit, "s");
    nas_err err = {0};
    assert_int_equal(nas_constraint_adopt(&c, &known, &err), NAS_USAGE);
    assert_string_equal(err.text,
                        "the constraint on 'latency:raspi4' is in 'ms', but its unit is 's'");
    assert_int_equal(nas_constraint_parse("params<=1.5e6", &c, NULL), NAS_OK);
    assert_true(c.bound == 1.5e6 && !c.has_unit);
    assert_int_equal(nas_constraint_parse("accuracy>=-0", &c, NULL), NAS_OK);
    assert_true(!c.upper && nas_constraint_violation(&c, -2) == 2);
    const char *bad[] = {"latency",      "latency<10",  "latency<=",       "latency<=ten",
                         "<=10",         "a b!<=10",    "latency==10",     "latency<=10<=20",
                         "latency<=inf", "latency<=1e", "latency<=1e99999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        nas_err wrong = {0};
        int status = nas_constraint_parse(bad[i], &c, &wrong);
        if (status != NAS_USAGE)
            print_message("accepted: %s\n", bad[i]);
        assert_int_equal(status, NAS_USAGE);
        assert_true(strlen(wrong.text) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_need),
        cmocka_unit_test(test_objectives),
        cmocka_unit_test(test_constraints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
