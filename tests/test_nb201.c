/* nb201 and toy: strings, canonical form, operators, graphs and their cost. */
#include "hw/cost.h"
#include "spaces/space.h"

#include "tests/check.h"

#include <stdlib.h>

static const nas_space *nb201(void)
{
    return nas_space_find("nb201");
}

static void read_arch(const char *text, nas_arch *a)
{
    nas_err err = {0};
    if (nas_space_parse(nb201(), text, a, &err) != NAS_OK)
        fail_msg("%s", err.text);
}

static int compare_hash(const void *a, const void *b)
{
    return strcmp(a, b);
}

static size_t distinct(char (*text)[400], size_t n)
{
    size_t count = 0;
    qsort(text, n, sizeof *text, compare_hash);
    for (size_t i = 0; i < n; i++)
        count += i == 0 || strcmp(text[i - 1], text[i]) != 0;
    return count;
}

/* Over all 15,625: parse(print) = id, at(index) = id, canonical is a fixed point that is the
 * smallest string of the class, and the counts of classes are the known ones. */
static void test_whole_space(void **state)
{
    (void)state;
    const nas_space *s = nb201();
    enum { N = 15625 };
    char(*canon)[400] = calloc(N, sizeof *canon), (*functional)[400] = calloc(N, sizeof *canon);
    nas_bytes text = {0}, other = {0};
    assert_int_equal(nas_space_points(s), N);
    for (uint64_t i = 0; i < N; i++) {
        nas_arch a, b, c;
        nas_space_at(s, i, &a);
        assert_int_equal(nas_space_index(s, &a), i);
        nas_bytes_reset(&text);
        nas_space_print(s, &a, &text);
        read_arch(text.data, &b);
        assert_memory_equal(&a, &b, sizeof a);
        nas_space_canonical(s, &a, &c);
        nas_bytes_reset(&other);
        nas_space_print(s, &c, &other);
        assert_true(strcmp(other.data, text.data) <= 0);
        strcpy(canon[i], other.data);
        nas_space_canonical(s, &c, &b);
        assert_memory_equal(&c, &b, sizeof b);
        nas_bytes_reset(&other);
        nas_space_functional(s, &a, &other);
        assert_true(other.size < sizeof *functional);
        strcpy(functional[i], other.data);
    }
    assert_int_equal(distinct(canon, N), 14125);
    assert_int_equal(distinct(functional, N), 6466);
    nas_bytes_clear(&text);
    nas_bytes_clear(&other);
    free(canon);
    free(functional);
}

static void test_mirror_images_share_all(void **state)
{
    (void)state;
    nas_arch a, b, ca, cb;
    char ha[33], hb[33];
    read_arch("|skip_connect~0|+|nor_conv_1x1~0|none~1|+|none~0|avg_pool_3x3~1|nor_conv_3x3~2|",
              &a);
    read_arch("| nor_conv_1x1~0 |+|none~1|skip_connect~0|+|none~0|nor_conv_3x3~1|avg_pool_3x3~2|",
              &b);
    assert_memory_not_equal(&a, &b, sizeof a);
    nas_space_canonical(nb201(), &a, &ca);
    nas_space_canonical(nb201(), &b, &cb);
    assert_memory_equal(&ca, &cb, sizeof ca);
    nas_space_hash(nb201(), &a, ha);
    nas_space_hash(nb201(), &b, hb);
    assert_string_equal(ha, hb);
    assert_int_equal(strlen(ha), 16);
}

static void test_refusals_name_the_column(void **state)
{
    (void)state;
    const struct {
        const char *text, *says;
    } bad[] = {
        {"", "column 1"},
        {"|nor_conv_3x4~0|+|none~0|none~1|+|none~0|none~1|none~2|", "column 2: unknown operator"},
        {"|none~0|+|none~0|none~2|+|none~0|none~1|none~2|", "column 23"},
        {"|none~0|+|none~0|none~0|+|none~0|none~1|none~2|", "two edges from node 0"},
        {"|none~0|+|none~0|none~1|+|none~0|none~1|none~2|x", "column 48"},
        {"|none~0|+|none~0|none~1|", "ends here"},
        {"||||||", "operator expected"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        nas_arch a;
        nas_err err = {0};
        assert_int_equal(nas_space_parse(nb201(), bad[i].text, &a, &err), NAS_USAGE);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].says);
    }
    nas_err err = {0};
    assert_null(nas_space_need("nb2O1", &err));
    assert_non_null(strstr(err.text, "did you mean 'nb201'"));
    nas_err other = {0};
    assert_null(nas_space_task(nb201(), "cifar1O", &other));
    assert_non_null(strstr(other.text, "did you mean 'cifar10'"));
}

/* Published or computed reference values: FLOPs there are MACs + one for each class. */
static void test_reference_costs(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        int64_t params[3];
        double flops[3]; /* in millions, 0: not known */
        int64_t convs;
    } row[] = {
        {"|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|nor_conv_1x1~0|skip_connect~1|"
         "skip_connect~2|",
         {129306, 135156, 136456},
         {15.64737, 15.65322, 3.91948},
         0},
        {"|nor_conv_3x3~0|+|nor_conv_3x3~0|avg_pool_3x3~1|+|none~0|nor_conv_3x3~1|avg_pool_3x3~2|",
         {802426, 808276, 809576},
         {113.95137, 113.95722, 28.49548},
         0},
        {"|skip_connect~0|+|skip_connect~0|skip_connect~1|+|none~0|nor_conv_1x1~1|none~2|",
         {101306, 107156, 108456},
         {11.71521, 11.72106, 2.93644},
         0},
        {"|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|"
         "nor_conv_3x3~2|",
         {1531546, 0, 0},
         {220.11969, 0, 0},
         97},
        {"|nor_conv_1x1~0|+|nor_conv_1x1~0|nor_conv_1x1~1|+|nor_conv_1x1~0|nor_conv_1x1~1|"
         "nor_conv_1x1~2|",
         {241306, 0, 0},
         {31.37601, 0, 0},
         97},
        {"|skip_connect~0|+|skip_connect~0|skip_connect~1|+|skip_connect~0|skip_connect~1|"
         "skip_connect~2|",
         {73306, 0, 0},
         {7.78305, 0, 0},
         7},
        {"|none~0|+|none~0|none~1|+|none~0|none~1|none~2|", {73306, 0, 0}, {7.78305, 0, 0}, 7},
        {"|avg_pool_3x3~0|+|avg_pool_3x3~0|avg_pool_3x3~1|+|avg_pool_3x3~0|avg_pool_3x3~1|"
         "avg_pool_3x3~2|",
         {73306, 0, 0},
         {7.78305, 0, 0},
         7},
        {"|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|skip_connect~2|",
         {559386, 0, 0},
         {78.56193, 0, 0},
         0},
        {"|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|"
         "nor_conv_3x3~2|",
         {1288506, 0, 0},
         {184.73025, 0, 0},
         0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int t = 0; t < 3; t++) {
            if (!row[i].params[t])
                continue;
            nas_arch a;
            nas_cost cost;
            nas_err err = {0};
            read_arch(row[i].arch, &a);
            const nas_task *task = &nb201()->tasks[t];
            nas_graph *g = nas_space_build(nb201(), &a, task);
            assert_int_equal(nas_cost_of(g, &cost, &err), NAS_OK);
            assert_int_equal(cost.params, row[i].params[t]);
            assert_int_equal(cost.macs + task->classes, (int64_t)(row[i].flops[t] * 1e6 + 0.5));
            if (row[i].convs)
                assert_int_equal(cost.convs, row[i].convs);
            nas_graph_free(g);
        }
}

/* Skips are no tensors, so the peak of this one is in the first residual block: its input
 * (16x32x32, read again by the pool), the ReLU of it, and the convolution's 32x16x16 output. */
static void test_peak_activation(void **state)
{
    (void)state;
    nas_arch a;
    nas_cost cost;
    read_arch("|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|", &a);
    nas_graph *g = nas_space_build(nb201(), &a, &nb201()->tasks[0]);
    assert_int_equal(nas_cost_of(g, &cost, NULL), NAS_OK);
    assert_int_equal(cost.activation_bytes, 4 * (2 * 16 * 32 * 32 + 32 * 16 * 16));
    nas_graph_free(g);
}

static void test_mutation_reaches_all_neighbours(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(1);
    nas_arch a, b;
    nas_arch_set seen = {0};
    nas_space_at(nb201(), 777, &a);
    for (int i = 0; i < 2000; i++) {
        nas_space_mutate(nb201(), &rng, &a, &b);
        nas_arch_set_add(&seen, &b, NULL);
    }
    assert_int_equal(seen.n, 24);
    assert_int_equal(nas_arch_set_find(&seen, &a), -1);
    assert_int_equal(nas_arch_set_find(&seen, &b) >= 0, 1);
    nas_arch_set_clear(&seen);
}

static void test_toy_front(void **state)
{
    (void)state;
    const nas_space *s = nas_space_find("toy");
    nas_arch a;
    double v[2];
    nas_err err = {0};
    assert_int_equal(nas_space_parse(s, "30 30 30 30 30", &a, &err), NAS_OK);
    s->evaluate(s, &a, v);
    assert_true(v[0] == 90 && v[1] == 16);
    assert_int_equal(nas_space_parse(s, "3030303040", &a, &err), NAS_USAGE);
    assert_non_null(strstr(err.text, "column 9: 4 is not one of 0 to 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_space),
        cmocka_unit_test(test_mirror_images_share_all),
        cmocka_unit_test(test_refusals_name_the_column),
        cmocka_unit_test(test_reference_costs),
        cmocka_unit_test(test_peak_activation),
        cmocka_unit_test(test_mutation_reaches_all_neighbours),
        cmocka_unit_test(test_toy_front),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
