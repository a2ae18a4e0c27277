/* surrogate/number: vectors of the public library, identity, masks, ranges, refusals. */
#include "spaces/base/mem.h"
#include "spaces/base/rng.h"
#include "surrogate/number.h"

#include "tests/check.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "FOLDER/name" of the parity vectors; the test is skipped when there is no such file. */
static const char *golden_file(const char *name, char *path, size_t size)
{
    const char *dir = getenv("NASLM_GOLDEN");
    snprintf(path, size, "%s/%s", dir ? dir : "../shared/golden", name);
    FILE *f = fopen(path, "rb");
    if (!f) {
        print_message("no %s: set NASLM_GOLDEN\n", path);
        skip();
    }
    fclose(f);
    return path;
}

static void check_vector(const nas_number *number, double value, const char *tokens, double back)
{
    int32_t id[NAS_NUMBER_MAX];
    double got;
    assert_true(nas_number_encode(number, value, id));
    nas_bytes text = {0};
    for (int i = 0; i < number->length; i++) {
        char spelling[16];
        nas_bytes_print(&text, "%s%s", i ? " " : "",
                        nas_number_spell(number, id[i], spelling, sizeof spelling));
        assert_int_equal(nas_number_find(number, spelling), id[i]);
    }
    assert_string_equal(text.data, tokens);
    nas_bytes_clear(&text);
    assert_true(nas_number_decode(number, id, &got));
    assert_true(got == back);
}

static void test_vectors(void **state)
{
    (void)state;
    char path[4096];
    json_t *all = json_load_file(golden_file("number_tokens.json", path, sizeof path), 0, NULL);
    assert_non_null(all);
    const char *name;
    json_t *vectors;
    size_t n = 0, i;
    json_object_foreach(all, name, vectors)
    {
        nas_number number;
        char text[64];
        json_t *vector;
        assert_int_equal(nas_number_parse(&number, name, NULL), NAS_OK);
        assert_string_equal(nas_number_print(&number, text, sizeof text), name);
        json_array_foreach(vectors, i, vector)
        {
            check_vector(&number, strtod(json_string_value(json_array_get(vector, 0)), NULL),
                         json_string_value(json_array_get(vector, 1)),
                         json_number_value(json_array_get(vector, 2)));
            n++;
        }
    }
    assert_true(n >= 100);
    json_decref(all);
}

/* Copies a tensor of a safetensors file to *data; returns its number of bytes. */
static size_t read_tensor(FILE *f, const json_t *header, uint64_t start, const char *name,
                          void **data)
{
    json_t *at = json_object_get(json_object_get(header, name), "data_offsets");
    size_t from = (size_t)json_integer_value(json_array_get(at, 0));
    size_t size = (size_t)json_integer_value(json_array_get(at, 1)) - from;
    *data = nas_alloc(size);
    assert_int_equal(fseek(f, (long)(start + from), SEEK_SET), 0);
    assert_int_equal(fread(*data, 1, size, f), size);
    return size;
}

/* The labels give the targets of the reference model, its greedy ids give its values. */
static void check_model(const char *file, const char *layout)
{
    char path[4096];
    FILE *f = fopen(golden_file(file, path, sizeof path), "rb");
    uint64_t size;
    assert_int_equal(fread(&size, 1, 8, f), 8);
    char *text = nas_alloc(size);
    assert_int_equal(fread(text, 1, size, f), size);
    json_t *header = json_loadb(text, size, 0, NULL);
    json_t *meta = json_object_get(header, "__metadata__");
    json_t *targets = json_loads(json_string_value(json_object_get(meta, "targets")), 0, NULL);
    nas_number number;
    assert_int_equal(nas_number_parse(&number, layout, NULL), NAS_OK);
    assert_int_equal(number.size, atoi(json_string_value(json_object_get(meta, "decoder_vocab"))));
    void *target, *greedy, *values;
    size_t rows = json_array_size(targets), i, k;
    size_t stride = read_tensor(f, header, 8 + size, "golden.decoder_target", &target) / rows / 4;
    read_tensor(f, header, 8 + size, "golden.greedy_ids", &greedy);
    size_t objects = read_tensor(f, header, 8 + size, "golden.greedy_values", &values) / rows / 8;
    size_t T = (size_t)number.length;
    for (i = 0; i < rows; i++) {
        json_t *labels = json_array_get(targets, i), *label;
        json_array_foreach(labels, k, label)
        {
            int32_t id[NAS_NUMBER_MAX];
            nas_number_encode(&number, json_number_value(label), id);
            assert_memory_equal(id, (int32_t *)target + i * stride + k * T, T * 4);
        }
        for (k = 0; k < objects; k++) {
            double value;
            const int32_t *id = (int32_t *)greedy + (i * objects + k) * T;
            assert_true(nas_number_decode(&number, id, &value));
            assert_true(value == ((double *)values)[i * objects + k]);
        }
    }
    json_decref(targets);
    json_decref(header);
    free(target), free(greedy), free(values), free(text);
    fclose(f);
}

static void test_model_ids(void **state)
{
    (void)state;
    check_model("rlm_p10.safetensors", "P10(4,10)");
    check_model("rlm_ieee.safetensors", "IEEE(10,2,5)");
}

static void expect(const char *layout, double value, const char *tokens, double back)
{
    nas_number number;
    assert_int_equal(nas_number_parse(&number, layout, NULL), NAS_OK);
    check_vector(&number, value, tokens, back);
}

static void test_layouts(void **state)
{
    (void)state;
    expect("SCI(4,12)", 94.37, "<+> <E1> <9> <4> <3> <7>", 94.37);
    expect("SCI(4,12)", -0.00999996, "<-> <E-2> <1> <0> <0> <0>", -0.01);
    expect("SCI(4,12)", 0, "<+> <E-12> <0> <0> <0> <0>", 0);
    expect("SCI(4,12)", -1e-30, "<+> <E-12> <0> <0> <0> <0>", 0);
    expect("SCI(4,3)", 0.0000996, "<+> <E-3> <0> <1> <0> <0>", 0.0001);
    expect("SCI(4,3)", 0.00099999, "<+> <E-3> <1> <0> <0> <0>", 0.001);
    expect("SCI(4,3)", -1e9, "<-> <E3> <9> <9> <9> <9>", -9999);
    expect("SCI(1,2)", 0.25, "<+> <E-1> <2>", 0.2);
    expect("SCI(2,2)", INFINITY, "<+> <E2> <9> <9>", 990);
    expect("SCI(2,2)+special", -INFINITY, "<NINF> <NINF> <NINF> <NINF>", -INFINITY);
    expect("P10(3,10)", 0.9e-8, "<+> <1> <0> <0> <E-10>", 1e-8);
    expect("P10(3,10)", 0.5e-8, "<+> <0> <0> <0> <E0>", 0);
    expect("P10(1,5)", INFINITY, "<+> <9> <E5>", 9e5);
    expect("IEEE(10,1,4)", 1.234e-10, "<+> <-> <0> <0> <0> <0> <0>", 0);
    expect("IEEE(2,3,4)", -6.5, "<-> <+> <0> <1> <0> <1> <1> <0> <1>", -6.5);
    expect("IEEE(10,1,2)+special", INFINITY, "<INF> <INF> <INF> <INF> <INF>", INFINITY);
}

static void test_special_values(void **state)
{
    (void)state;
    nas_number number;
    int32_t id[NAS_NUMBER_MAX] = {7};
    double value = 0;
    nas_number_parse(&number, "P10(4,10)", NULL);
    assert_false(nas_number_encode(&number, NAN, id));
    assert_int_equal(id[0], 7);
    nas_number_parse(&number, "P10(4,10)+special", NULL);
    assert_int_equal(nas_number_find(&number, "<INF>"), 34);
    assert_int_equal(nas_number_find(&number, "<INVALID>"), 35);
    assert_int_equal(nas_number_find(&number, "<NINF>"), 37);
    assert_int_equal(nas_number_find(&number, "<E-10>"), 13);
    assert_int_equal(nas_number_find(&number, "<E1>"), 25);
    assert_int_equal(nas_number_find(&number, "<E11>"), -1);
    assert_true(nas_number_encode(&number, NAN, id));
    for (int i = 0; i < number.length; i++) {
        assert_int_equal(id[i], 36);
        nas_token_set legal = nas_number_legal(&number, id, i);
        for (int32_t t = 0; t < number.size; t++)
            assert_int_equal(nas_token_set_has(legal, t),
                             i ? t == 36 : t == 1 || t == 2 || t >= 34);
    }
    assert_true(nas_number_decode(&number, id, &value));
    assert_true(isnan(value));
}

static const char *const some[] = {"SCI(4,12)",    "SCI(6,10)+special", "SCI(1,1)",
                                   "P10(4,10)",    "P10(6,99)",         "IEEE(10,1,4)",
                                   "IEEE(10,2,5)", "IEEE(2,5,12)",      "IEEE(7,2,3)+special"};
enum { SOME = sizeof some / sizeof *some };

/* Random legal tokens: the value lies in the range of every prefix, ranges shrink, and encoding the
 * value gives tokens of the same value (the spelling may differ, leading zeros being legal). */
static void check_tokens(const nas_number *number, nas_rng *rng)
{
    int32_t id[NAS_NUMBER_MAX], again[NAS_NUMBER_MAX];
    for (int i = 0; i < number->length; i++) {
        nas_token_set legal = nas_number_legal(number, id, i);
        int32_t n = legal.end[0] - legal.first[0];
        id[i] = legal.first[0] + (int32_t)nas_rng_below(rng, (uint64_t)n);
    }
    double value, back, low, high, outer_low = -INFINITY, outer_high = INFINITY;
    assert_true(nas_number_decode(number, id, &value));
    for (int n = 0; n <= number->length; n++) {
        nas_number_range(number, id, n, &low, &high);
        assert_true(low >= outer_low && high <= outer_high && low <= value && value <= high);
        outer_low = low;
        outer_high = high;
    }
    assert_true(low == high);
    assert_true(nas_number_encode(number, value, again));
    assert_true(nas_number_decode(number, again, &back));
    if (!strncmp(nas_number_print(number, (char[64]){0}, 64), "SCI", 3))
        assert_true(back == value);
}

static void test_random_tokens(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(6);
    for (int s = 0; s < SOME; s++) {
        nas_number number;
        assert_int_equal(nas_number_parse(&number, some[s], NULL), NAS_OK);
        for (int i = 0; i < 5000; i++)
            check_tokens(&number, &rng);
    }
}

/* Random values come back within the layout's resolution, and coding again changes nothing. */
static void test_random_values(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(7);
    for (int s = 0; s < SOME; s++) {
        nas_number number;
        int32_t id[NAS_NUMBER_MAX];
        double back, low, high;
        nas_number_parse(&number, some[s], NULL);
        nas_number_range(&number, NULL, 0, &low, &high);
        double unit = pow(number.base, 1 - number.digits);
        for (int i = 0; i < 5000; i++) {
            double value = nas_rng_normal(&rng) * pow(10, 30 * nas_rng_unit(&rng) - 15);
            assert_true(nas_number_encode(&number, value, id));
            assert_true(nas_number_decode(&number, id, &back));
            assert_true(back >= low && back <= high && back * value >= 0);
            if (fabs(value) > 0.1 && fabs(value) < 10 && strcmp(some[s], "SCI(1,1)"))
                assert_true(fabs(back - value) <= unit * fabs(value) * 1.0001);
        }
    }
}

static void test_refusals(void **state)
{
    (void)state;
    const char *bad[] = {"",
                         "P10",
                         "P10(",
                         "P10()",
                         "P10(4)",
                         "P10(4,10",
                         "P10(4,10)x",
                         "P10(4,10,1)",
                         "p10(4,10)",
                         "P10(0,10)",
                         "P10(16,10)",
                         "P10(4,100)",
                         "SCI(4,0)",
                         "SCI(-4,3)",
                         "IEEE(11,1,4)",
                         "IEEE(1,1,4)",
                         "IEEE(10,3,4)",
                         "IEEE(10,2)",
                         "SCI(99999999999999999999,1)",
                         "SCI(4,12)+specials"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        nas_number number;
        nas_err err = {0};
        assert_int_equal(nas_number_parse(&number, bad[i], &err), NAS_USAGE);
        assert_non_null(strstr(err.text, "number layout"));
    }
    nas_number number;
    nas_number_parse(&number, "P10(2,3)", NULL);
    double value;
    assert_false(nas_number_decode(&number, (int32_t[]){1, 3, 3, 3}, &value));
    assert_false(nas_number_decode(&number, (int32_t[]){3, 3, 3, 14}, &value));
    assert_false(nas_number_decode(&number, (int32_t[]){0, 0, 0, 0}, &value));
    assert_false(nas_number_decode(&number, (int32_t[]){1, -5, 3, 900}, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),       cmocka_unit_test(test_model_ids),
        cmocka_unit_test(test_layouts),       cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_random_tokens), cmocka_unit_test(test_random_values),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
