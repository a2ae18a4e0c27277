/* hiaml, twopath and inception: strings, canonical form, operators, reference costs. */
#include "hw/cost.h"
#include "spaces/space.h"

#include "tests/check.h"

static void read_arch(const nas_space *s, const char *text, nas_arch *a)
{
    nas_err err = {0};
    if (nas_space_parse(s, text, a, &err) != NAS_OK)
        fail_msg("%s", err.text);
}

static nas_cost cost_of(const nas_space *s, const nas_arch *a)
{
    nas_cost cost;
    nas_err err = {0};
    nas_graph *g = nas_space_build(s, a, &s->tasks[0]);
    if (nas_cost_of(g, &cost, &err) != NAS_OK)
        fail_msg("%s", err.text);
    nas_graph_free(g);
    return cost;
}

typedef struct {
    const char *arch;
    int64_t params, macs;
} reference;

static void check_costs(const char *space, const reference *row, size_t n)
{
    const nas_space *s = nas_space_find(space);
    for (size_t i = 0; i < n; i++) {
        nas_arch a;
        read_arch(s, row[i].arch, &a);
        nas_cost cost = cost_of(s, &a);
        if (cost.params != row[i].params || cost.macs != row[i].macs)
            fail_msg("%s: %lld params and %lld MACs, not %lld and %lld", row[i].arch,
                     (long long)cost.params, (long long)cost.macs, (long long)row[i].params,
                     (long long)row[i].macs);
    }
}
#define CHECK_COSTS(space, row) check_costs(space, row, sizeof row / sizeof *row)

static void test_hiaml_costs(void **state)
{
    (void)state;
    static const reference row[] = {
        {"z,z,z,z", 2714698, 116836864},
        {"a22,a22,a22,a22", 1895498, 83282432},
        {"b23,b23,b23,b23", 2390090, 99011072},
        {"j30,j30,j30,j30", 2756426, 117885440},
        {"g30,g30,g30,g30", 2597194, 107399680},
        {"r30,r30,r30,r30", 2638922, 108448256},
        {"t31,t31,t31,t31", 2638922, 108448256},
        {"l20,l20,l20,l20", 1688394, 74893824},
        {"t20,t20,t20,t20", 1281098, 54970880},
        {"src0,src0,src0,src0", 3861578, 158779904},
        {"src1,src1,src1,src1", 2939594, 149342720},
        {"src3,src3,src3,src3", 1999818, 90622464},
        {"src7,src7,src7,src7", 2637386, 108448256},
        {"src8,src8,src8,src8", 1611082, 66505216},
        {"[ \"hiaml_z\", 'hiaml_a22', hiaml_src0, t31 ]", 2717770, 116836864},
    };
    CHECK_COSTS("hiaml", row);
}

/* All 38,416: parse(print) = id. */
static void test_hiaml_whole_space(void **state)
{
    (void)state;
    const nas_space *s = nas_space_find("hiaml");
    nas_bytes text = {0};
    assert_int_equal(nas_space_points(s), 38416);
    for (uint64_t i = 0; i < 38416; i++) {
        nas_arch a, b;
        nas_space_at(s, i, &a);
        nas_bytes_reset(&text);
        nas_space_print(s, &a, &text);
        read_arch(s, text.data, &b);
        assert_memory_equal(&a, &b, sizeof a);
    }
    nas_bytes_clear(&text);
}

static void test_refusals_name_the_column(void **state)
{
    (void)state;
    static const struct {
        const char *space, *text, *says;
    } bad[] = {
        {"hiaml", "z,a22,src0,t3l", "column 12: unknown block 't3l' (did you mean 't31'?)"},
        {"hiaml", "z,a22,src0", "column 11: ',' expected, the string ends here"},
        {"hiaml", "z,a22,src0,t31,z", "column 15"},
        {"hiaml", "['z',a22,src0,t31", "']' expected"},
        {"hiaml", "\"z',a22,src0,t31", "column 3"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        nas_arch a;
        nas_err err = {0};
        const nas_space *s = nas_space_find(bad[i].space);
        assert_int_equal(nas_space_parse(s, bad[i].text, &a, &err), NAS_USAGE);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hiaml_costs),
        cmocka_unit_test(test_hiaml_whole_space),
        cmocka_unit_test(test_refusals_name_the_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
