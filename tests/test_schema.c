/* surrogate/schema: targets, masks, subsets, growth, metadata. */
#include "spaces/base/rng.h"
#include "surrogate/schema.h"

#include "tests/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const name[] = {"accuracy", "latency:raspi4", "latency:fpga", "params"};
enum { N = 4, LONGEST = 64 };

static nas_schema make(const char *layout, bool plain)
{
    nas_schema schema;
    assert_int_equal(nas_schema_init(&schema, layout, NULL), NAS_OK);
    schema.plain = plain;
    for (int i = 0; i < N; i++) {
        nas_metric metric;
        assert_int_equal(nas_metric_make(&metric, name[i], NULL), NAS_OK);
        assert_int_equal(nas_schema_add(&schema, &metric, NULL), NAS_OK);
    }
    return schema;
}

static void test_target(void **state)
{
    (void)state;
    nas_schema s = make("SCI(2,3)", false); /* ids: signs 1, digits 3, E-1 13, E0 16, size 20 */
    int32_t input[LONGEST], target[LONGEST];
    uint8_t loss[LONGEST];
    assert_int_equal(nas_schema_size(&s), 24);
    assert_int_equal(nas_schema_block(&s), 5);
    assert_int_equal(nas_schema_length(&s), 20);
    int32_t e0 = nas_number_find(&s.number, "<E0>"), e1 = nas_number_find(&s.number, "<E1>");
    size_t n = nas_schema_encode(&s, (double[]){94, NAN, -2.5, NAN}, input, target, loss);
    assert_int_equal(n, 10);
    const int32_t want[] = {20, 1, e1, 12, 7, 22, 2, e0, 5, 8};
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(target[i], i < n ? want[i] : 0);
        assert_int_equal(input[i], i > 0 && i < n ? want[i - 1] : 0);
        assert_int_equal(loss[i], i < n && i % 5 != 0);
    }
    assert_int_equal(nas_schema_encode(&s, (double[]){NAN, NAN, NAN, NAN}, input, target, loss), 0);
    nas_schema_clear(&s);
}

/* The layout of regress-lm: the targets of its parity vectors. */
static void test_plain(void **state)
{
    (void)state;
    nas_schema s = make("P10(4,10)", true);
    int32_t input[LONGEST], target[LONGEST];
    uint8_t loss[LONGEST];
    size_t n = nas_schema_encode(&s, (double[]){-1250, 5.5, NAN, 7}, input, target, loss);
    const int32_t want[] = {2, 4, 5, 8, 3, 23, 1, 8, 8, 3, 3, 16};
    assert_int_equal(n, 12);
    assert_int_equal(nas_schema_size(&s), 34);
    assert_memory_equal(target, want, sizeof want);
    assert_memory_equal(input + 1, want, sizeof want - sizeof *want);
    assert_int_equal(input[0] + input[12] + target[12] + loss[12], 0);
    size_t chosen[N], n_chosen;
    nas_err err = {0};
    assert_int_equal(nas_schema_choose(&s, (const char *[]){name[2]}, 1, chosen, &n_chosen, &err),
                     NAS_OK);
    assert_int_equal(n_chosen, 3); /* the earlier numbers must be decoded first */
    assert_int_equal(nas_schema_legal(&s, chosen, want, 6).first[0], 1);
    assert_int_equal(nas_schema_legal(&s, chosen, want, 11).first[0], 13);
    nas_schema_clear(&s);
}

/* Every id of every target is legal where it stands, and a metric's token is the only one there. */
static void test_masks(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(2);
    const char *layouts[] = {"SCI(4,12)", "P10(4,10)+special", "IEEE(10,2,5)"};
    for (int k = 0; k < 300; k++) {
        nas_schema s = make(layouts[k % 3], k % 2);
        double label[N];
        size_t chosen[N], n_chosen = 0;
        bool end = false;
        for (size_t i = 0; i < N; i++) {
            bool there = !end && nas_rng_below(&rng, 2);
            end = s.plain && !there;
            label[i] = there ? nas_rng_normal(&rng) * 100 : NAN;
            if (there)
                chosen[n_chosen++] = i;
        }
        int32_t input[LONGEST], target[LONGEST];
        uint8_t loss[LONGEST];
        size_t n = nas_schema_encode(&s, label, input, target, loss);
        assert_int_equal(n, n_chosen * nas_schema_block(&s));
        for (size_t i = 0; i < n; i++) {
            nas_token_set legal = nas_schema_legal(&s, chosen, target, i);
            assert_true(nas_token_set_has(legal, target[i]));
            bool forced = legal.end[0] - legal.first[0] == 1 && legal.first[1] == legal.end[1];
            assert_int_equal(forced, !loss[i]);
        }
        for (size_t i = 0; i < n_chosen; i++) {
            double value;
            const int32_t *id = target + i * nas_schema_block(&s) + !s.plain;
            assert_true(nas_schema_read(&s, chosen[i], id, &value));
            assert_true(fabs(value - label[chosen[i]]) <= 1.1e-3 * fabs(value));
        }
        nas_schema_clear(&s);
    }
}

static void test_choose(void **state)
{
    (void)state;
    nas_schema s = make("SCI(4,12)", false);
    size_t chosen[N], n;
    nas_err err = {0};
    const char *asked[] = {"params", "accuracy", "params"};
    assert_int_equal(nas_schema_choose(&s, asked, 3, chosen, &n, &err), NAS_OK);
    assert_int_equal(n, 2);
    assert_true(chosen[0] == 0 && chosen[1] == 3);
    assert_int_equal(nas_schema_choose(&s, NULL, 0, chosen, &n, &err), NAS_OK);
    assert_int_equal(n, N);
    asked[1] = "latency:raspi";
    assert_int_equal(nas_schema_choose(&s, asked, 2, chosen, &n, &err), NAS_USAGE);
    assert_non_null(strstr(err.text, "did you mean 'latency:raspi4'"));
    nas_schema_clear(&s);
}

/* A later metric takes the next id; targets of the others stay the same bytes. */
static void test_growth(void **state)
{
    (void)state;
    nas_schema s = make("SCI(4,12)", false);
    int32_t before[LONGEST], after[LONGEST], input[LONGEST];
    uint8_t loss[LONGEST];
    double label[N + 1] = {93.1, 4, 5, 6e6, NAN};
    size_t n = nas_schema_encode(&s, label, input, before, loss);
    int32_t size = nas_schema_size(&s);
    nas_metric metric;
    nas_err err = {0};
    nas_metric_make(&metric, "energy:fpga", NULL);
    assert_int_equal(nas_schema_add(&s, &metric, &err), NAS_OK);
    assert_int_equal(nas_schema_token(&s, N), size);
    assert_int_equal(nas_schema_encode(&s, label, input, after, loss), n);
    assert_memory_equal(before, after, n * sizeof *after);
    assert_int_equal(nas_schema_add(&s, &metric, &err), NAS_USAGE);
    assert_non_null(strstr(err.text, "energy:fpga"));
    nas_schema_clear(&s);
}

static void test_metadata(void **state)
{
    (void)state;
    nas_schema s = make("SCI(5,12)", false), back;
    double label[200];
    nas_rng rng = nas_rng_seed(1);
    for (int i = 0; i < 200; i++)
        label[i] = 90 + nas_rng_normal(&rng) / 3;
    assert_int_equal(nas_scale_fit(&s.scale[0], "normal", label, 200, NULL), NAS_OK);
    assert_int_equal(nas_scale_fit(&s.scale[2], "affine", label, 200, NULL), NAS_OK);
    s.scale[2].spread = (nas_calibration){-0.3, 0.25};
    nas_bytes text = {0}, again = {0};
    nas_err err = {0};
    nas_schema_print(&s, &text);
    assert_int_equal(nas_schema_parse(&back, text.data, text.size, &err), NAS_OK);
    nas_schema_print(&back, &again);
    assert_string_equal(text.data, again.data);
    assert_memory_equal(back.metric, s.metric, N * sizeof *s.metric);
    assert_memory_equal(back.scale, s.scale, N * sizeof *s.scale);
    nas_schema_clear(&back);
    for (size_t n = 0; n < text.size; n += 1 + n / 10) {
        err = (nas_err){0};
        assert_int_equal(nas_schema_parse(&back, text.data, n, &err), NAS_FAILED);
        assert_null(back.metric);
    }
    int32_t id[NAS_NUMBER_MAX];
    double value;
    for (int i = 0; i < 200; i++) {
        assert_true(nas_schema_write(&s, 0, label[i], id));
        assert_true(nas_schema_read(&s, 0, id, &value));
        assert_true(fabs(value - label[i]) < 1e-3);
    }
    nas_schema_clear(&s);
    nas_bytes_clear(&text), nas_bytes_clear(&again);
}

#define ONE(fields) "{\"number\":\"SCI(4,12)\",\"plain\":false,\"metrics\":[{" fields "}]}"
#define TOP(direction, unit)                                                                       \
    "\"name\":\"accuracy\",\"unit\":\"" unit "\",\"direction\":\"" direction "\","

static void test_refusals(void **state)
{
    (void)state;
    const char *bad[][2] = {
        {"", "not JSON"},
        {"[]", "holds number"},
        {"{\"number\":\"SCI(4,12)\",\"plain\":false,\"metrics\":{}}", "holds number"},
        {"{\"number\":\"SCI(4,12)\",\"plain\":0,\"metrics\":[]}", "holds number"},
        {"{\"number\":\"SCI(4)\",\"plain\":false,\"metrics\":[]}", "number layout"},
        {ONE("\"name\":\"accuracy\""), "not complete"},
        {ONE(TOP("max", "%") "\"scale\":\"raw\",\"knots\":[],\"x\":1"), "not complete"},
        {ONE(TOP("up", "%") "\"scale\":\"raw\",\"knots\":[]"), "direction"},
        {ONE(TOP("max", "0123456789abcdef") "\"scale\":\"raw\",\"knots\":[]"), "unit"},
        {ONE(TOP("max", "%") "\"scale\":\"log\",\"knots\":[]"), "bad scale"},
        {ONE(TOP("max", "%") "\"scale\":\"raw\",\"knots\":[[1,2]]"), "bad scale"},
        {ONE(TOP("max", "%") "\"scale\":\"affine\",\"knots\":[[1,1],[1,9]]"), "bad scale"},
        {ONE(TOP("max", "%") "\"scale\":\"affine\",\"knots\":[[1,1],[2,\"9\"]]"), "bad scale"},
        {ONE(TOP("max", "%") "\"scale\":\"affine\",\"knots\":[[1,1],[2]]"), "bad scale"},
        {ONE(TOP("max", "%") "\"scale\":\"affine\",\"knots\":7"), "bad scale"},
        {ONE(TOP("max", "%") "\"scale\":\"raw\",\"knots\":[],\"spread\":[1]"), "not complete"},
        {ONE(TOP("max", "%") "\"scale\":\"raw\",\"knots\":[],\"spread\":[0,-1]"), "bad scale"},
        {ONE(TOP("max", "%") "\"scale\":\"raw\",\"knots\":[],\"spread\":[99,0]"), "bad scale"},
        {"{\"number\":\"SCI(4,12)\",\"plain\":false,\"metrics\":[{\"name\":\"a b\",\"unit\":\"\","
         "\"direction\":\"max\",\"scale\":\"raw\",\"knots\":[]}]}",
         "a b"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        nas_schema schema;
        nas_err err = {0};
        assert_int_equal(nas_schema_parse(&schema, bad[i][0], strlen(bad[i][0]), &err), NAS_FAILED);
        assert_int_equal(err.code, NAS_FAILED);
        if (!strstr(err.text, bad[i][1]))
            fail_msg("'%s' does not say '%s'", err.text, bad[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_target),   cmocka_unit_test(test_plain),
        cmocka_unit_test(test_masks),    cmocka_unit_test(test_choose),
        cmocka_unit_test(test_growth),   cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
