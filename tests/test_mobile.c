/* Mobile spaces (fbnet, mnasnet, ofa-*): strings, canonical form, operators, and the parameters,
 * multiply-accumulates and convolutions of published and computed reference networks. */
#include "spaces/block.h"

#include "tests/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const SPACES[] = {"fbnet",      "mnasnet", "ofa-mb",
                                     "ofa-mb-w12", "ofa-pn",  "ofa-rn"};
enum { N_SPACES = sizeof SPACES / sizeof *SPACES };

static nas_arch arch_of(const char *space, const char *text)
{
    return check_arch(nas_space_find(space), text);
}

static const char *text_of(const nas_arch *a, nas_bytes *out)
{
    nas_bytes_reset(out);
    nas_space_print(nas_space_of(a), a, out);
    return out->data;
}

static nas_cost cost_of(const nas_arch *a, const char *task)
{
    return check_cost(nas_space_of(a), a, task);
}

/* ---- reference networks ---- */

typedef struct {
    const char *space, *task, *arch;
    int64_t params, macs, convs; /* convs 0: not known */
} reference;

#define K(a) a a a a a
#define MB   "ofa-mb", "imagenet"
#define MB12 "ofa-mb-w12", "imagenet"
#define PN   "ofa-pn", "imagenet"
#define RN   "ofa-rn", "imagenet"

/* Subnets and extremes; the published subnets' exact counts agree with their README. */
static const reference REFERENCES[] = {
    {"fbnet", "imagenet", "0000000000000000000000", 3175096, 118371152, 68},
    {"fbnet", "cifar100", "0000000000000000000000", 1170676, 31322240, 68},
    {"fbnet", "imagenet", "7777777777777777777777", 5754072, 572634080, 68},
    {"fbnet", "cifar100", "7777777777777777777777", 3749652, 160926080, 68},
    {"fbnet", "imagenet", "1111111111111111111111", 2944504, 83302832, 68},
    {"fbnet", "cifar100", "1111111111111111111111", 940084, 21051008, 68},
    {"fbnet", "imagenet", "8888888888888888888888", 2785080, 49419136, 8},
    {"fbnet", "cifar100", "8888888888888888888888", 780660, 11608960, 8},
    {"fbnet", "imagenet", "0123456780123456780123", 4053160, 236580712, 0},
    {MB12, "236/34444/35305535753535733353/34304463663466646663", 9135928, 595189032, 0},
    {MB12, "224/34444/53305353553357357333/33304443463366646663", 9066368, 482413168, 0},
    {MB12, "224/23344/33005530553055333373/33003630443064446663", 8386544, 389487856, 0},
    {MB, "176/23334/33007530555037505733/33004330643044306664", 5809576, 151108528, 0},
    {MB, "220/23334/33007530555037505733/33004330643044306664", 5809576, 229846296, 0},
    {MB, "140/22222/33005500730053003700/33003300430034006600", 4304592, 67196888, 0},
    {PN, "144/223221/530033007370550053003/430033003330340034004", 4158272, 143192752, 0},
    {PN, "208/223331/330053003730553035303/340034006330346064304", 4933568, 364488032, 0},
    {PN, "192/223441/330055007370753735533/330063003340443466464", 6195512, 351764864, 0},
    {PN, "172/324441/333075003555577333535/346034004443433666643", 6163200, 348919456, 0},
    {MB, "224/44444/" K("7777") "/" K("6666"), 7664760, 566170656, 89},
    {MB, "224/22222/" K("3300") "/" K("3300"), 3410792, 121278672, 0},
    {MB12, "224/44444/" K("7777") "/" K("6666"), 10701632, 843101040, 89},
    {MB12, "224/22222/" K("3300") "/" K("3300"), 4602456, 193078200, 0},
    {PN, "224/444441/" K("7777") "7/" K("6666") "6", 7942056, 1004908032, 0},
    {PN, "224/222221/" K("3300") "3/" K("3300") "3", 3718832, 265526256, 0},
    {RN, "224/21221/111011111111111110/222222", 25576264, 4328824832, 0}, /* ResNet-50D */
    {RN, "224/22222/222222222222222222/222222", 48105992, 7491643904, 0},
    {RN, "224/00000/000000000000000000/000000", 6539280, 962192128, 0},
};

static void test_references(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof REFERENCES / sizeof *REFERENCES; i++) {
        const reference *r = &REFERENCES[i];
        nas_arch a = arch_of(r->space, r->arch);
        nas_bytes text = {0};
        assert_string_equal(text_of(&a, &text), r->arch);
        nas_bytes_clear(&text);
        nas_cost cost = cost_of(&a, r->task);
        if (cost.params != r->params || cost.macs != r->macs ||
            (r->convs && cost.convs != r->convs))
            fail_msg("%s %s: %lld params, %lld macs, %lld convs", r->space, r->arch,
                     (long long)cost.params, (long long)cost.macs, (long long)cost.convs);
    }
}

/* FBNet-A, B and C. Two details of the published networks are outside the space and are counted
 * here: A's last convolution is 1504 wide (the space's 1984), and the first 1x1 of blocks without
 * expansion is left out (the space has it). With the first alone the block is HW-NAS-Bench's. */
static void test_fbnet_published(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        int head;
        int64_t params, macs, block_params, block_macs;
    } row[] = {
        {"8208872427657356177677", 1504, 4304584, 244452664, 4321464, 249921848},
        {"0340076377786704674773", 1984, 4801368, 291004424, 4863288, 306210888},
        {"0380076737677777677773", 1984, 5570664, 378136224, 5572200, 384960160},
    };
    static const int WIDTH[] = {16, 16, 24, 32, 64, 112, 184, 352},
                     MAP[] = {112, 112, 56, 28, 14, 14, 7, 7};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        nas_arch a = arch_of("fbnet", row[i].arch);
        nas_cost cost = cost_of(&a, "imagenet");
        int64_t fewer = 1984 - row[i].head;
        cost.params -= fewer * (352 + 2 + 1000);
        cost.macs -= fewer * (352 * 7 * 7 + 1000);
        assert_int_equal(cost.params, row[i].block_params);
        assert_int_equal(cost.macs, row[i].block_macs);
        for (int layer = 0; layer < 22; layer++) {
            int op = row[i].arch[layer] - '0', stage = (layer + 3) / 4; /* 1, 4, 4, 4, 4, 4, 1 */
            if (op != 0 && op != 1 && op != 4 && op != 5)
                continue;
            bool first = layer == 0 || (layer - 1) % 4 == 0;
            int64_t width = WIDTH[first ? stage : stage + 1], map = MAP[first ? stage : stage + 1];
            int64_t weights = width * width / (op % 4 + 1);
            cost.params -= weights + 2 * width;
            cost.macs -= weights * map * map;
        }
        assert_int_equal(cost.params, row[i].params);
        assert_int_equal(cost.macs, row[i].macs);
    }
}

/* ---- tables ---- */

/* Calls each(columns) for the rows of a table of the shared data. */
static size_t each_row(const char *table, void (*each)(char **column))
{
    char name[64];
    check_csv csv;
    size_t rows = 0;
    snprintf(name, sizeof name, "%s.csv.gz", table);
    for (check_csv_open(&csv, name); check_csv_next(&csv); rows++)
        each(csv.field);
    check_csv_close(&csv);
    return rows;
}

static bool without_data(void)
{
    if (check_data_dir())
        return false;
    skip();
    return true;
}

static size_t plain_rows; /* of mnasnet: without squeeze-excite */

/* The batch-norm elements of a network, for the macs column. */
static int64_t norm_elements(const nas_arch *a)
{
    nas_graph *g = nas_space_build(nas_space_of(a), a, &nas_space_of(a)->tasks[0]);
    const nas_fn *main = &nas_graph_flat(g, NULL)->fn[0];
    int64_t elements = 0;
    for (size_t i = 0; i < main->n_node; i++)
        if (main->node[i].op == NAS_OP_BATCHNORM)
            elements += nas_shape_elements(&main->node[i].shape);
    nas_graph_free(g);
    return elements;
}

/* Both columns are in millions. That of macs is Conv and Gemm, 4 for each batch-norm element and
 * 64,000, for rows without squeeze-excite. */
static void check_mnasnet(char **column)
{
    char text[200];
    snprintf(text, sizeof text, "%s/%s/%s/%s", column[1], column[2], column[3], column[4]);
    nas_arch a = arch_of("mnasnet", text);
    nas_cost cost = cost_of(&a, NULL);
    if (cost.params != llround(1e6 * atof(column[9])))
        fail_msg("row %s (%s): %lld params", column[0], text, (long long)cost.params);
    if (strchr(column[4], '1'))
        return;
    plain_rows++;
    long long macs = cost.macs + 4 * norm_elements(&a) + 64000;
    if (macs != llround(1e6 * atof(column[8])))
        fail_msg("row %s (%s): %lld macs", column[0], text, macs);
}

static void test_mnasnet_rows(void **state)
{
    (void)state;
    if (without_data())
        return;
    assert_int_equal(each_row("mnasnet", check_mnasnet), 4737);
    assert_in_range(plain_rows, 100, 4737);
}

/* The rows list all slots: what is unused is read and forgotten. */
static void check_ofa(char **column)
{
    char text[400];
    snprintf(text, sizeof text, "%s/%s/%s/%s", column[3], column[2], column[0], column[1]);
    nas_arch a = arch_of("ofa-mb", text);
    nas_cost cost = cost_of(&a, NULL);
    if (cost.params != atoll(column[4]) || cost.macs != atoll(column[5]))
        fail_msg("%s: %lld params, %lld macs", text, (long long)cost.params, (long long)cost.macs);
}

static void test_ofa_rows(void **state)
{
    (void)state;
    if (!without_data())
        assert_int_equal(each_row("ofa_mb_accuracy", check_ofa), 2023);
}

static void check_ofa_latency(char **column)
{
    char text[400];
    snprintf(text, sizeof text, "%s/%s/%s/%s", column[4], column[3], column[1], column[2]);
    arch_of("ofa-mb", text);
}

/* The table names its operators too. */
static void check_fbnet_latency(char **column)
{
    nas_bytes shown = {0};
    static const char *const OP[] = {"k3_e1",    "k3_e1_g2", "k3_e3", "k3_e6", "k5_e1",
                                     "k5_e1_g2", "k5_e3",    "k5_e6", "skip"};
    nas_arch a = arch_of("fbnet", column[1]);
    for (int i = 0; i < 22; i++)
        nas_bytes_print(&shown, "%s%s", i ? " " : "", OP[a.gene[i]]);
    assert_string_equal(shown.data, column[2]);
    nas_bytes_clear(&shown);
}

static void test_latency_rows_are_read(void **state)
{
    (void)state;
    if (without_data())
        return;
    assert_int_equal(each_row("ofa_mb_latency", check_ofa_latency), 4600);
    assert_int_equal(each_row("fbnet_latency", check_fbnet_latency), 4600);
}

/* ---- strings ---- */

static void test_spellings(void **state)
{
    (void)state;
    static const struct {
        const char *space, *text, *prints;
    } row[] = {
        {"fbnet", " 0 1 2 3 4 5 6 7 8 0 1 2 3 4 5 6 7 8 0 1 2 3 ", "0123456780123456780123"},
        {"mnasnet", "6114 666/ 3533335/1212133/0000000", "6114666/3533335/1212133/0000000"},
        {"mnasnet", "6114666/3533335/1111141", "6114666/3533335/1111141/0000000"},
        {"ofa-mb", "22222/" K("3377") "/" K("3399"), "224/22222/" K("3300") "/" K("3300")},
        {"ofa-pn", "256/22222/" K("3300") "7/" K("4400") "6",
         "256/222221/" K("3300") "7/" K("4400") "6"},
        {"ofa-rn", "0 0000/222222222222222222/111 111", "224/00000/220022002222002200/111111"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        nas_bytes text = {0};
        nas_arch a = arch_of(row[i].space, row[i].text);
        assert_string_equal(text_of(&a, &text), row[i].prints);
        nas_bytes_clear(&text);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *space, *text, *says;
    } row[] = {
        {"fbnet", "", "column 1: a number expected, the string ends here"},
        {"fbnet", "0123456789012345678012", "column 10: 9 is not one of 0 to 8"},
        {"fbnet", "000000000000000000000", "column 22"},
        {"fbnet", "00000000000000000000000", "column 23: '0' is too much"},
        {"mnasnet", "6114663/3533335/1212133/0000000", "column 7: a digit of 146 expected"},
        {"mnasnet", "6114666/3533335/4212133/0000000", "column 17: a digit of 123 expected"},
        {"mnasnet", "6114666/3533335/1212151/0000000", "column 22: a digit of 1234 expected"},
        {"mnasnet", "6114666/3533335", "column 16: '/' expected"},
        {"mnasnet", "6114666/3533335/1212133/00000002", "column 32: '2' is too much"},
        {"ofa-mb", "124/22222/" K("3300") "/" K("3300"), "column 1: 124 is not one of 128 to 256"},
        {"ofa-mb", "222/22222/" K("3300") "/" K("3300"), "column 1: resolution 222 is not"},
        {"ofa-mb", "224/22522/" K("3300") "/" K("3300"), "column 7: a digit of 234 expected"},
        {"ofa-mb", "224/22322/" K("3300") "/" K("3300"), "column 21: a digit of 357 expected, not"},
        {"ofa-mb", "224/22222/" K("3300") "/" K("5300"), "column 32: a digit of 346 expected"},
        {"ofa-mb", "224/22222/" K("3300"), "column 31: '/' expected"},
        {"ofa-pn", "224/222222/" K("3300") "3/" K("3300") "3", "column 10: a digit of 1 expected"},
        {"ofa-rn", "224/10000/220022002222002200/000000", "column 5: a digit of 02 expected"},
        {"ofa-rn", "224/00000/220022002222002200/00000", "column 35"},
        {"ofa-rn", "224/00000/220022002222002200/000003", "column 35"},
        {"ofa-rn", "224/00000/220022002222002200/0000001", "column 36: '1' is too much"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        nas_arch a;
        nas_err err = {0};
        assert_int_equal(nas_space_parse(nas_space_find(row[i].space), row[i].text, &a, &err),
                         NAS_USAGE);
        if (!strstr(err.text, row[i].says))
            fail_msg("'%s' does not say '%s'", err.text, row[i].says);
    }
}

/* ---- canonical form ---- */

static void test_canonical(void **state)
{
    (void)state;
    static const struct {
        const char *space, *text, *canonical;
    } row[] = {
        {"fbnet", "8888888888888888888888", "8888888888888888888888"},
        {"fbnet", "8880188180082387777777", "8801881880028377877777"},
        {"fbnet", "7088801238882888807777", "7088801238288888807777"},
        {"ofa-rn", "224/00000/220022002222002200/111111", "224/00000/220022002222002200/011111"},
        {"ofa-rn", "224/00000/220022002222002200/222222", "224/00000/220022002222002200/222222"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        nas_bytes text = {0};
        nas_arch a = arch_of(row[i].space, row[i].text), b;
        nas_space_canonical(nas_space_of(&a), &a, &b);
        assert_string_equal(text_of(&b, &text), row[i].canonical);
        nas_bytes_clear(&text);
        nas_cost ca = cost_of(&a, NULL), cb = cost_of(&b, NULL);
        assert_memory_equal(&ca, &cb, sizeof ca);
    }
}

/* A network as it stands, without the canonical form: operators, edges and integer attributes. */
static uint64_t graph_hash(const nas_arch *a)
{
    const nas_space *s = nas_space_of(a);
    nas_graph *g = nas_graph_new("raw");
    s->build(s, a, &s->tasks[0], g);
    const nas_fn *main = &nas_graph_flat(g, NULL)->fn[0];
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < main->n_node; i++) {
        const nas_node *node = &main->node[i];
        h = (h ^ node->op) * 1099511628211u;
        for (int k = 0; k < node->n_in; k++)
            h = (h ^ (uint64_t)node->in[k]) * 1099511628211u;
        for (int k = 0; k < node->n_attr; k++)
            for (int v = 0; v < node->attr[k].n; v++)
                h = (h ^ (uint64_t)node->attr[k].v[v]) * 1099511628211u;
    }
    nas_graph_free(g);
    return h;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
    return (p > q) - (p < q);
}

static size_t distinct(uint64_t *v, size_t n)
{
    size_t count = 0;
    qsort(v, n, sizeof *v, compare_u64);
    for (size_t i = 0; i < n; i++)
        count += i == 0 || v[i] != v[i - 1];
    return count;
}

/* All values of some genes behind each other: as many canonical forms as networks, each canonical
 * form of the same network as the string. */
static void check_classes(const char *space, int first, int genes, size_t base, size_t classes)
{
    const nas_space *s = nas_space_find(space);
    nas_arch_set canonical = {0};
    size_t n = 1;
    for (int i = 0; i < genes; i++)
        n *= base;
    uint64_t *graph = calloc(n, sizeof *graph);
    for (size_t i = 0; i < n; i++) {
        nas_arch a, c;
        size_t rest = i;
        nas_space_init(s, &a);
        for (int k = 0; k < genes; k++, rest /= base)
            a.gene[first + k] = (uint8_t)(rest % base);
        nas_space_canonical(s, &a, &c);
        nas_arch_set_add(&canonical, &c, NULL);
        graph[i] = graph_hash(&a);
        assert_true(graph[i] == graph_hash(&c));
    }
    assert_int_equal(canonical.n, classes);
    assert_int_equal(distinct(graph, n), classes);
    nas_arch_set_clear(&canonical);
    free(graph);
}

static void test_classes_are_networks(void **state)
{
    (void)state;
    check_classes("fbnet", 1, 4, 9, 9 * (1 + 8 + 64 + 512)); /* of 9 * 729 fillings of a stage */
    check_classes("ofa-rn", 24, 6, 3, 2 * 243);              /* of 729 widths */
    check_classes("ofa-rn", 6, 2, 3, 9);                     /* expansions of the first blocks */
}

/* ---- networks ---- */

/* What varies is the main graph alone: calls of the prelude with at most 4 numbers each. */
static void test_main_is_short(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(15);
    for (int k = 0; k < N_SPACES; k++)
        for (int i = 0; i < 200; i++) {
            const nas_space *s = nas_space_find(SPACES[k]);
            nas_arch a;
            nas_space_sample(s, &rng, &a);
            nas_graph *g = nas_space_build(s, &a, &s->tasks[0]);
            for (size_t f = 1; f < g->n_fn; f++)
                assert_true(g->fn[f].prelude);
            assert_in_range(g->fn[0].n_node, 4, 31);
            for (size_t n = 0; n < g->fn[0].n_node; n++)
                assert_in_range(g->fn[0].node[n].n_attr, 0, 4);
            nas_graph_free(g);
        }
}

/* Maps that are not square pass through the shuffle too: 2 groups of 4 channels. */
static void test_shuffle(void **state)
{
    (void)state;
    nas_graph *g = nas_graph_new("net");
    nas_body main = nas_graph_main(g);
    int x = nas_graph_input(g, &(nas_shape){4, {0, 8, 6, 10}});
    nas_body_return(main, nas_block_shuffle(main, x, 8, 4, 2));
    nas_err err = {0};
    const nas_graph *flat = nas_graph_flat(g, &err);
    if (!flat)
        fail_msg("%s", err.text);
    static const char *const shape[] = {"Nx8x6x10", "Nx2x4x10x6", "Nx4x2x10x6", "Nx8x6x10"};
    assert_int_equal(flat->fn[0].n_node, 4);
    for (int i = 0; i < 4; i++) {
        char text[96];
        assert_string_equal(nas_shape_print(&flat->fn[0].node[i].shape, text), shape[i]);
    }
    nas_graph_free(g);
}

static void test_channels(void **state)
{
    (void)state;
    static const int64_t is[][2] = {{1, 8},   {12, 16}, {18, 24}, {19, 24},
                                    {20, 24}, {28, 32}, {36, 40}, {168, 168}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++)
        assert_int_equal(nas_channels(is[i][0]), is[i][1]);
}

/* ---- operators ---- */

static bool is_ofa(const nas_space *s)
{
    return !strncmp(s->name, "ofa", 3);
}

/* parse(print) is the identity, also on unused slots; canonical is a fixed point. */
static void test_random_architectures(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(11);
    nas_bytes text = {0};
    for (int k = 0; k < N_SPACES; k++)
        for (int i = 0; i < 10000; i++) {
            const nas_space *s = nas_space_find(SPACES[k]);
            nas_arch a, b, c;
            nas_space_sample(s, &rng, &a);
            assert_true(nas_space_valid(s, &a));
            b = arch_of(s->name, text_of(&a, &text));
            assert_memory_equal(&a, &b, sizeof a);
            nas_space_canonical(s, &a, &b);
            nas_space_canonical(s, &b, &c);
            assert_memory_equal(&b, &c, sizeof b);
        }
    nas_bytes_clear(&text);
}

/* Mutation changes the network; crossover takes every digit of the string from a parent at the
 * same place, but 0 may also be a slot of ofa-* that only the child does not use. */
static void test_variation(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(12);
    nas_bytes text[3] = {{0}};
    for (int k = 0; k < N_SPACES; k++)
        for (int i = 0; i < 5000; i++) {
            const nas_space *s = nas_space_find(SPACES[k]);
            nas_arch a, b, c, ca, cc;
            nas_space_sample(s, &rng, &a);
            nas_space_sample(s, &rng, &b);
            nas_space_mutate(s, &rng, &a, &c);
            assert_true(nas_space_valid(s, &c));
            nas_space_canonical(s, &a, &ca);
            nas_space_canonical(s, &c, &cc);
            assert_memory_not_equal(&ca, &cc, sizeof ca);
            nas_space_cross(s, &rng, &a, &b, &c);
            assert_true(nas_space_valid(s, &c));
            const char *ta = text_of(&a, &text[0]), *tb = text_of(&b, &text[1]),
                       *tc = text_of(&c, &text[2]);
            if (is_ofa(s))
                assert_memory_equal(ta, tc, 3);
            for (size_t j = is_ofa(s) ? 3 : 0; tc[j]; j++)
                if (tc[j] != ta[j] && tc[j] != tb[j] && !(is_ofa(s) && tc[j] == '0'))
                    fail_msg("%s is no child of %s and %s", tc, ta, tb);
        }
    for (int i = 0; i < 3; i++)
        nas_bytes_clear(&text[i]);
}

/* Every choice of a gene is as frequent as the others, within 5 standard deviations: resolutions,
 * depths and the first slots, which are always used. */
static void test_sampling_is_uniform(void **state)
{
    (void)state;
    enum { N = 20000 };
    nas_rng rng = nas_rng_seed(13);
    for (int k = 0; k < N_SPACES; k++) {
        const nas_space *s = nas_space_find(SPACES[k]);
        int genes = is_ofa(s) ? 8 : s->n_genes, count[28][33] = {{0}};
        for (int i = 0; i < N; i++) {
            nas_arch a;
            nas_space_sample(s, &rng, &a);
            for (int g = 0; g < genes; g++)
                count[g][a.gene[g]]++;
        }
        for (int g = 0; g < genes; g++) {
            int choices = is_ofa(s) && g == 0 ? 25 : s->arity[g];
            double mean = (double)N / choices, most = 5 * sqrt(mean * (1 - 1.0 / choices));
            for (int v = 0; v < choices; v++)
                if (fabs(count[g][v] - mean) > most)
                    fail_msg("%s gene %d is %d %d times, not %g", s->name, g, v, count[g][v], mean);
        }
    }
}

/* From one subnet, mutation reaches every resolution below 224, every depth, and fills new slots
 * with every kernel. */
static void test_ofa_mutation_reaches_all(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(14);
    nas_arch a = arch_of("ofa-mb", "224/22222/" K("3300") "/" K("3300")), b;
    unsigned depths = 0, kernels = 0;
    uint64_t sizes = 0;
    for (int i = 0; i < 5000; i++) {
        nas_space_mutate(nas_space_of(&a), &rng, &a, &b);
        sizes |= UINT64_C(1) << b.gene[0];
        depths |= 1u << b.gene[1];
        if (b.gene[1] == 2)
            kernels |= 1u << b.gene[9]; /* the fourth slot of the first stage */
    }
    assert_true(sizes == (1u << 25) - 1);
    assert_int_equal(depths, 7);
    assert_int_equal(kernels, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_fbnet_published),
        cmocka_unit_test(test_mnasnet_rows),
        cmocka_unit_test(test_ofa_rows),
        cmocka_unit_test(test_latency_rows_are_read),
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_canonical),
        cmocka_unit_test(test_classes_are_networks),
        cmocka_unit_test(test_main_is_short),
        cmocka_unit_test(test_shuffle),
        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_random_architectures),
        cmocka_unit_test(test_variation),
        cmocka_unit_test(test_sampling_is_uniform),
        cmocka_unit_test(test_ofa_mutation_reaches_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
