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

/* ---- twopath ---- */

static void test_twopath_costs(void **state)
{
    (void)state;
    static const reference row[] = {
        {"conv3x3;conv3x3@01|conv5x5;double3x3@01", 1450858, 29529088},
        {"conv5x5 ; double3x3 | conv3x3 ; conv3x3 @10", 1450858, 29529088},
        {"inception_s3x3+conv1x1;bottleneck-r4-k3;conv3x3+maxpool3x3+inception_s5x5@02|"
         "bottleneck-e2-k3;avgpool3x3+conv5x5;bottleneck-r2-k3;bottleneck-e2-k1+double3x3@13",
         1729354, 46437376},
        {"Path1:[SPBlock(conv3x3;conv), SPBlock(conv3x3;conv)]\nPath1ReduceInds:[0, 1]\n"
         "Path2:[SPBlock(conv5x5;conv), SPBlock(double3x3;conv)]\nPath2ReduceInds:[0, 1]\n",
         1450858, 29529088},
    };
    CHECK_COSTS("twopath", row);
}

/* Blocks by enumeration: 8 + 144 + 1,472 sequences; all strings of two blocks a path count as the
 * formula says. */
static void test_twopath_size(void **state)
{
    (void)state;
    const nas_space *s = nas_space_find("twopath");
    nas_arch a;
    int blocks = 0;
    read_arch(s, "conv3x3;conv3x3|conv3x3;conv3x3", &a);
    for (int i = 0; i < 14 * 14 * 14; i++) {
        a.gene[0] = (uint8_t)(i % 14);
        a.gene[1] = (uint8_t)(i / 14 % 14);
        a.gene[2] = (uint8_t)(i / 196);
        blocks += nas_space_valid(s, &a);
    }
    assert_int_equal(blocks, 1624);
    assert_float_equal(s->size / 1.74e27, 1, 2e-3);
}

static void test_twopath_paths_may_trade_places(void **state)
{
    (void)state;
    const nas_space *s = nas_space_find("twopath");
    nas_rng rng = nas_rng_seed(4);
    for (int i = 0; i < 2000; i++) {
        nas_arch a, b, ca, cb;
        nas_space_sample(s, &rng, &a);
        b = a;
        memcpy(b.gene, &a.gene[13], 13);
        memcpy(&b.gene[13], a.gene, 13);
        nas_space_canonical(s, &a, &ca);
        nas_space_canonical(s, &b, &cb);
        assert_memory_equal(&ca, &cb, sizeof ca);
        assert_true(nas_arch_same(&ca, &a) || nas_arch_same(&ca, &b));
        nas_bytes own = {0}, other = {0};
        nas_space_print(s, &ca, &own);
        nas_space_print(s, nas_arch_same(&ca, &a) ? &b : &a, &other);
        assert_true(strcmp(own.data, other.data) <= 0);
        nas_bytes_clear(&own);
        nas_bytes_clear(&other);
    }
}

/* ---- inception ---- */

static void test_inception_costs(void **state)
{
    (void)state;
    static const reference row[] = {
        {"2*conv3x3|2*conv3x3|2*conv3x3|2*conv3x3", 2369802, 81105920},
        /* by an independent calculator that gives the row above */
        {"2*double1x1+depthwise5x5+depthwise3x3:half|3*depthwise5x5+inception_p5x5,"
         "inception_s3x3+depthwise3x3:half|2*inception_s5x5+conv5x5+inception_p5x5,"
         "conv1x1+inception_p5x5:double,depthwise5x5+inception_p5x5+conv5x5:wide|"
         "5*double1x1+conv3x3,inception_p3x3+conv5x5+double1x1:half,depthwise3x3+depthwise5x5:wide",
         2336458, 72344576},
        {"6*depthwise5x5+avgpool3x3+inception_p5x5,double1x1+depthwise3x3+conv3x3,inception_s3x3+"
         "conv3x3,inception_p3x3+depthwise3x3|5*inception_s5x5+inception_s5x5,inception_p3x3+"
         "inception_s3x3+conv1x1,depthwise3x3+depthwise5x5:half:wide|4*depthwise3x3+inception_p3x3+"
         "double1x1+depthwise5x5,inception_s5x5+depthwise3x3,depthwise3x3+depthwise5x5:half,"
         "inception_p3x3+depthwise5x5:half|3*double1x1+depthwise5x5+inception_s5x5+conv3x3:half,"
         "conv1x1+depthwise5x5:half:wide,depthwise5x5+inception_s3x3:half",
         1801002, 143398912},
        {"2*inception_p3x3+conv3x3+inception_p3x3|4*inception_s5x5+double1x1+conv3x3,depthwise5x5+"
         "maxpool3x3+inception_p5x5,conv3x3+depthwise3x3,inception_p5x5+depthwise5x5:double|"
         "4*inception_p5x5+depthwise3x3+inception_p3x3|5*inception_p5x5+inception_s3x3",
         5491242, 180933632},
    };
    CHECK_COSTS("inception", row);
}

enum { STAGE = 22, PATH_GENES = 5 }; /* genes of a stage, of a path */

/* Exchanges paths p and q of a stage of n paths. */
static void exchange(nas_arch *a, int stage, int p, int q)
{
    uint8_t *genes = &a->gene[stage * STAGE], *wide = &genes[1], held[PATH_GENES];
    uint8_t *one = &genes[2 + p * PATH_GENES], *two = &genes[2 + q * PATH_GENES];
    memcpy(held, one, PATH_GENES);
    memmove(one, two, PATH_GENES);
    memcpy(two, held, PATH_GENES);
    *wide = (uint8_t)(*wide == p ? q : *wide == q ? p : *wide);
}

static int count_paths(const nas_arch *a, int stage)
{
    int n = 0;
    while (n < 4 && a->gene[stage * STAGE + 3 + n * PATH_GENES])
        n++;
    return n;
}

/* Random orders of paths share the canonical form, and none has a smaller string. */
static void test_inception_paths_may_trade_places(void **state)
{
    (void)state;
    const nas_space *s = nas_space_find("inception");
    nas_rng rng = nas_rng_seed(4);
    nas_bytes own = {0}, other = {0};
    for (int i = 0; i < 1000; i++) {
        nas_arch a, ca, cb;
        nas_space_sample(s, &rng, &a);
        nas_space_canonical(s, &a, &ca);
        nas_bytes_reset(&own);
        nas_space_print(s, &ca, &own);
        for (int k = 0; k < 40; k++) {
            int stage = (int)nas_rng_below(&rng, 4);
            int n = count_paths(&a, stage);
            if (n > 1) {
                exchange(&a, stage, (int)nas_rng_below(&rng, (uint64_t)n),
                         (int)nas_rng_below(&rng, (uint64_t)n));
                if (n != 3 || stage == 0)
                    a.gene[stage * STAGE + 1] = 0;
            }
            assert_true(nas_space_valid(s, &a));
            nas_space_canonical(s, &a, &cb);
            assert_memory_equal(&ca, &cb, sizeof ca);
            nas_bytes_reset(&other);
            nas_space_print(s, &a, &other);
            assert_true(strcmp(own.data, other.data) <= 0);
        }
    }
    nas_bytes_clear(&own);
    nas_bytes_clear(&other);
}

/* Paths of length operators where the inner channels have `inner` different values. */
static double path_count(int length, double inner)
{
    const double conv[] = {1, 8, 64, 512, 4096};
    double capable = conv[length] + 2 * length * conv[length - 1],
           pools = 2 * length * conv[length - 1];
    return length == 1 ? 8 : length == 2 ? inner * capable + pools : inner * (capable + pools);
}

/* Blocks of n ordered paths from p on with `left` operators to give. */
static double block_count(int n, int p, int left, const double *inner)
{
    static const int least[] = {0, 1, 1, 2, 2};
    double sum = p == n;
    for (int k = least[n]; p < n && k <= 4 && k <= left - least[n] * (n - p - 1); k++)
        sum += path_count(k, inner[p]) * block_count(n, p + 1, left - k, inner);
    return sum;
}

static void test_inception_size(void **state)
{
    (void)state;
    const nas_space *s = nas_space_find("inception");
    nas_arch a;
    int paths = 0;
    read_arch(s, "2*conv3x3|2*conv3x3|2*conv3x3|2*conv3x3", &a);
    for (int i = 0; i < 3 * 13 * 13 * 13 * 13; i++) {
        for (int k = 0, rest = i / 3; k < 4; k++, rest /= 13)
            a.gene[3 + k] = (uint8_t)(rest % 13);
        a.gene[2] = (uint8_t)(i % 3);
        paths += nas_space_valid(s, &a);
    }
    assert_true(paths == path_count(1, 3) + path_count(2, 3) + path_count(3, 3));
    const double two[] = {2, 2, 2, 2}, three[] = {3, 3, 3, 3},
                 mixed[][3] = {{3, 2, 2}, {2, 3, 2}, {2, 2, 3}};
    double narrow = block_count(1, 0, 3, three) + block_count(2, 0, 4, two) +
                    block_count(3, 0, 8, two) + block_count(4, 0, 10, two);
    double middle =
        block_count(1, 0, 3, three) + block_count(2, 0, 4, three) + block_count(4, 0, 10, two);
    for (int w = 0; w < 3; w++)
        middle += block_count(3, 0, 8, mixed[w]);
    double large = block_count(1, 0, 3, three) + block_count(2, 0, 4, three) +
                   3 * block_count(3, 0, 8, three) + block_count(4, 0, 10, three);
    assert_float_equal(s->size / (625 * narrow * middle * large * large), 1, 1e-12);
}

/* ---- all ---- */

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
        {"twopath", "conv3x3;conv1x1@01|conv3x3;conv3x3@01",
         "column 9: here are a convolution at least"},
        {"twopath", "conv3x3;conv3x3@01", "column 19: '|' expected, the string ends here"},
        {"twopath", "conv3x3;conv3x3@02|", "column 18: 2 is not one of 0 to 1"},
        {"twopath", "conv3x3;conv3x3@00|", "column 17: two different blocks"},
        {"twopath", "conv3x3;conv5x5;conv3x3|", "'@' expected"},
        {"twopath", "conv3x3|conv3x3;conv3x3", "column 8: a path has at least 2 blocks"},
        {"twopath", "conv3x3+conv3x3+conv3x3+conv3x3;", "column 25: at most 3 operators"},
        {"twopath", "conv3x3;conv3x3;conv3x3;conv3x3;conv3x3", "column 33: a path has at most 4"},
        {"twopath", "Path1:[SPBlock(conv3x3;supp)", "column 24: 'conv3x3' is 'conv'"},
        {"inception", "7*conv3x3", "column 1: 7 is not one of 2 to 6"},
        {"inception", "2*conv3x3:half", "column 11: inner channels need two"},
        {"inception", "2*conv3x3+conv3x3:half:double", "column 24: a path has one mark of a kind"},
        {"inception", "2*conv3x3:wide|", "column 3: one of three paths may be wide, here are 1"},
        {"inception", "2*conv1x1|", "column 3: here are a convolution at least"},
        {"inception", "2*conv3x3,conv3x3,conv3x3|", "3 paths have 8 operators at most and 2 each"},
        {"inception", "2*conv3x3,conv3x3,conv3x3,conv3x3,conv3x3|", "at most 4 paths"},
        {"inception", "2*conv3x3+conv3x3+conv3x3+conv3x3+conv3x3|",
         "at most 4 operators are joined"},
        {"inception", "2*conv3x3|2*conv3x3|2*conv3x3", "'|' expected, the string ends here"},
        {"twopath", "bottleneck-r2-k5;", "column 1: unknown operator 'bottleneck-r2-k5' (did you"},
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
        cmocka_unit_test(test_twopath_costs),
        cmocka_unit_test(test_twopath_size),
        cmocka_unit_test(test_twopath_paths_may_trade_places),
        cmocka_unit_test(test_inception_costs),
        cmocka_unit_test(test_inception_paths_may_trade_places),
        cmocka_unit_test(test_inception_size),
        cmocka_unit_test(test_refusals_name_the_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
