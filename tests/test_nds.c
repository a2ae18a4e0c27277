/* The cell spaces of NDS: genotypes in all spellings, canonical form against brute force,
 * operators, reference costs. */
#include "hw/cost.h"
#include "onnx/export.h"
#include "spaces/nds.h"

#include "tests/check.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const SPACES[] = {"nasnet", "nasnet-fix", "amoeba", "amoeba-fix",
                                     "pnas",   "pnas-fix",   "enas",   "enas-fix",
                                     "darts",  "darts-fix"};
enum { N_SPACES = 10 };

static void read_arch(const nas_space *s, const char *text, nas_arch *a)
{
    nas_err err = {0};
    if (nas_space_parse(s, text, a, &err) != NAS_OK)
        fail_msg("%s", err.text);
}

static nas_cost cost_of(const nas_space *s, const nas_arch *a, int task)
{
    nas_cost cost;
    nas_err err = {0};
    nas_graph *g = nas_space_build(s, a, &s->tasks[task]);
    if (nas_cost_of(g, &cost, &err) != NAS_OK)
        fail_msg("%s", err.text);
    nas_graph_free(g);
    return cost;
}

/* ---- published cells, in short names ---- */

static const char *full_name(const char *word)
{
    static const char *const NAME[][2] = {
        {"max3", "max_pool_3x3"}, {"avg3", "avg_pool_3x3"},    {"skip", "skip_connect"},
        {"sep3", "sep_conv_3x3"}, {"sep5", "sep_conv_5x5"},    {"sep7", "sep_conv_7x7"},
        {"dil3", "dil_conv_3x3"}, {"dil5", "dil_conv_5x5"},    {"conv7", "conv_7x1_1x7"},
        {"c31", "conv_3x1_1x3"},  {"ds3", "dil_sep_conv_3x3"}, {"none", "none"}};
    for (size_t i = 0; i < sizeof NAME / sizeof *NAME; i++)
        if (!strcmp(word, NAME[i][0]))
            return NAME[i][1];
    return word;
}

/* "sep3 0 sep3 1" as a JSON list of pairs. */
static void put_pairs(nas_bytes *out, const char *cell)
{
    char word[16];
    int state, used;
    const char *comma = "[";
    for (; sscanf(cell, "%15s %d%n", word, &state, &used) == 2; cell += used, comma = ",")
        nas_bytes_print(out, "%s[\"%s\",%d]", comma, full_name(word), state);
    nas_bytes_putc(out, ']');
}

typedef struct {
    const char *space, *normal, *reduce;
} cells;

static const cells
    V2 = {"darts", "sep3 0 sep3 1 sep3 0 sep3 1 sep3 1 skip 0 skip 0 dil3 2",
          "max3 0 max3 1 skip 2 max3 1 max3 0 skip 2 skip 2 max3 1"},
    V1 = {"darts", "sep3 1 sep3 0 skip 0 sep3 1 skip 0 sep3 1 sep3 0 skip 2",
          "max3 0 max3 1 skip 2 max3 0 max3 0 skip 2 skip 2 avg3 0"},
    PDARTS = {"darts", "skip 0 dil3 1 skip 0 sep3 1 sep3 1 sep3 3 sep3 0 dil5 4",
              "avg3 0 sep5 1 sep3 0 dil5 2 max3 0 dil3 1 dil3 1 dil5 3"},
    PCDARTS = {"darts", "sep3 1 skip 0 sep3 0 dil3 1 sep5 0 sep3 1 avg3 0 dil3 1",
               "sep5 1 max3 0 sep5 1 sep5 2 sep3 0 sep3 3 sep3 1 sep3 2"},
    SAMPLE4 = {"darts", "avg3 1 sep3 1 sep5 1 dil5 1 none 0 dil3 2 dil3 2 sep3 1",
               "sep3 0 dil3 0 skip 0 dil3 0 none 1 dil5 1 dil3 4 skip 4"},
    AMOEBANET = {"amoeba", "avg3 0 max3 1 sep3 0 sep5 2 sep3 0 avg3 3 sep3 1 skip 1 skip 0 avg3 1",
                 "avg3 0 sep3 1 max3 0 sep7 2 sep7 0 avg3 1 max3 0 max3 1 conv7 0 sep3 5"},
    NASNET = {"nasnet", "sep5 1 sep3 0 sep5 0 sep3 0 avg3 1 skip 0 avg3 0 avg3 0 sep3 1 skip 1",
              "sep5 1 sep7 0 max3 1 sep7 0 avg3 1 sep5 0 skip 3 avg3 2 sep3 2 max3 1"},
    PNASNET = {"pnas", "sep5 0 max3 0 sep7 1 max3 1 sep5 1 sep3 1 sep3 4 max3 1 sep3 0 skip 1",
               "sep5 0 max3 0 sep7 1 max3 1 sep5 1 sep3 1 sep3 4 max3 1 sep3 0 skip 1"};

static void make_arch(const cells *c, int width, int depth, nas_arch *a)
{
    nas_bytes text = {0};
    nas_bytes_puts(&text, "{\"normal\": ");
    put_pairs(&text, c->normal);
    nas_bytes_puts(&text, ", \"reduce\": ");
    put_pairs(&text, c->reduce);
    nas_bytes_print(&text, ", \"width\": %d, \"depth\": %d}", width, depth);
    read_arch(nas_space_find(c->space), text.data, a);
    nas_bytes_clear(&text);
}

/* Published values, and values computed by an independent calculator that reproduces them. */
static void test_reference_costs(void **state)
{
    (void)state;
    static const struct {
        const cells *cells;
        int width, depth, task;
        int64_t params, macs, convs; /* 0: not known */
    } row[] = {
        {&V2, 36, 20, 0, 3349342, 528359040, 439},
        {&V1, 36, 20, 0, 3169414, 500987520, 0},
        {&PDARTS, 36, 20, 0, 3433798, 532174464, 0},
        {&PCDARTS, 36, 20, 0, 3634678, 556670592, 0},
        {&V2, 48, 14, 1, 4718752, 529911552, 0},
        {&AMOEBANET, 36, 20, 0, 3145078, 488931552, 0},
        {&NASNET, 36, 20, 0, 3830950, 603452448, 0},
        {&PNASNET, 36, 20, 0, 4481110, 706026528, 0},
        {&V2, 16, 20, 0, 710682, 114567680, 0},
        {&AMOEBANET, 16, 20, 0, 682938, 108840832, 0},
        {&NASNET, 16, 20, 0, 843770, 136801408, 0},
        {&PNASNET, 16, 20, 0, 1007290, 166005888, 0},
        {&AMOEBANET, 24, 8, 0, 692626, 111356736, 0},
        {&AMOEBANET, 32, 12, 0, 1541482, 259297024, 0},
        {&NASNET, 16, 4, 0, 181338, 28658816, 0},
        {&SAMPLE4, 16, 20, 0, 707546, 114821632, 0},
        {&V2, 32, 8, 0, 919722, 159765504, 0},
        {&V1, 32, 8, 0, 871786, 152441856, 0},
        {&PDARTS, 32, 8, 0, 1071978, 174396416, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const nas_space *s = nas_space_find(row[i].cells->space);
        nas_arch a;
        make_arch(row[i].cells, row[i].width, row[i].depth, &a);
        nas_cost cost = cost_of(s, &a, row[i].task);
        if (cost.params != row[i].params || cost.macs != row[i].macs ||
            (row[i].convs && cost.convs != row[i].convs))
            fail_msg("row %zu: %lld params, %lld MACs, %lld convolutions", i,
                     (long long)cost.params, (long long)cost.macs, (long long)cost.convs);
    }
}

/* ---- strings ---- */

static const char V2_PRINTED[] =
    "{\"normal\":[[\"sep_conv_3x3\",0],[\"sep_conv_3x3\",1],[\"sep_conv_3x3\",0],"
    "[\"sep_conv_3x3\",1],[\"sep_conv_3x3\",1],[\"skip_connect\",0],[\"skip_connect\",0],"
    "[\"dil_conv_3x3\",2]],\"normal_concat\":[2,3,4,5],\"reduce\":[[\"max_pool_3x3\",0],"
    "[\"max_pool_3x3\",1],[\"skip_connect\",2],[\"max_pool_3x3\",1],[\"max_pool_3x3\",0],"
    "[\"skip_connect\",2],[\"skip_connect\",2],[\"max_pool_3x3\",1]],"
    "\"reduce_concat\":[2,3,4,5],\"width\":16,\"depth\":20}";

static void test_spellings(void **state)
{
    (void)state;
    static const char *const text[] = {
        V2_PRINTED,
        "Genotype(normal=[('sep_conv_3x3', 0), ('sep_conv_3x3', 1), ('sep_conv_3x3', 0), "
        "('sep_conv_3x3', 1), ('sep_conv_3x3', 1), ('skip_connect', 0), ('skip_connect', 0), "
        "('dil_conv_3x3', 2)], normal_concat=range(2, 6), reduce=[('max_pool_3x3', 0), "
        "('max_pool_3x3', 1), ('skip_connect', 2), ('max_pool_3x3', 1), ('max_pool_3x3', 0), "
        "('skip_connect', 2), ('skip_connect', 2), ('max_pool_3x3', 1)], "
        "reduce_concat=[2, 3, 4, 5])",
        "Genotype([('sep_conv_3x3', 0), ('sep_conv_3x3', 1), ('sep_conv_3x3', 0), "
        "('sep_conv_3x3', 1), ('sep_conv_3x3', 1), ('skip_connect', 0), ('skip_connect', 0), "
        "('dil_conv_3x3', 2)], range(2, 6), [('max_pool_3x3', 0), ('max_pool_3x3', 1), "
        "('skip_connect', 2), ('max_pool_3x3', 1), ('max_pool_3x3', 0), ('skip_connect', 2), "
        "('skip_connect', 2), ('max_pool_3x3', 1)], reduce_concat=[2, 3, 4, 5])",
        "[[(('sep_conv_3x3', 0), ('sep_conv_3x3', 1)), [['sep_conv_3x3', 0], ['sep_conv_3x3', 1]], "
        "(('sep_conv_3x3', 1), ('skip_connect', 0)), ('skip_connect', 0), ('dil_conv_3x3', 2)], "
        "[2, 3, 4, 5], ((('max_pool_3x3', 0), ('max_pool_3x3', 1)), (('skip_connect', 2), "
        "('max_pool_3x3', 1)), (('max_pool_3x3', 0), ('skip_connect', 2)), ( ('skip_connect', 2), "
        "('max_pool_3x3', 1))), (2, 3, 4, 5)]",
        "{\"net\": {\"depth\": 20, \"aux\": true, \"drop_prob\": 0.2, \"genotype\": {\"reduce\": "
        "[[\"max_pool_3x3\", 0], [\"max_pool_3x3\", 1], [\"skip_connect\", 2], "
        "[\"max_pool_3x3\", 1], [\"max_pool_3x3\", 0], [\"skip_connect\", 2], [\"skip_connect\", "
        "2], [\"max_pool_3x3\", 1]], \"reduce_concat\": [5, 4, 3, 2], \"normal\": "
        "[[\"sep_conv_3x3\", 0], [\"sep_conv_3x3\", 1], [\"sep_conv_3x3\", 0], "
        "[\"sep_conv_3x3\", 1], [\"sep_conv_3x3\", 1], [\"skip_connect\", 0], "
        "[\"skip_connect\", 0], [\"dil_conv_3x3\", 2]]}, \"width\": 16}, \"optim\": {\"wd\": "
        "[1, {\"a}\": \"]\\\"\"}]}, \"flops\": 1e8}",
    };
    const nas_space *s = nas_space_find("darts");
    nas_arch first, a;
    make_arch(&V2, 16, 20, &first);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        read_arch(s, text[i], &a);
        assert_memory_equal(&a, &first, sizeof a);
    }
    nas_bytes printed = {0};
    nas_space_print(s, &a, &printed);
    assert_string_equal(printed.data, V2_PRINTED);
    nas_bytes_clear(&printed);
}

#define CELL                                                                                       \
    "[[\"none\",0],[\"none\",1],[\"none\",0],[\"none\",1],[\"none\",0],[\"none\",1],[\"none\",0],"

static void test_refusals_name_the_column(void **state)
{
    (void)state;
    static const struct {
        const char *space, *text, *says;
    } bad[] = {
        {"darts", "", "column 1: '{' expected"},
        {"darts", "{\"normal\":[[\"nome\",0],", "column 14: unknown operator 'nome' (did you"},
        {"darts", "{\"normal\":[[\"none\",2],", "column 20: 2 is not one of 0 to 1"},
        {"darts", "{\"normal\":" CELL "[\"none\",1]]}", "there is no 'reduce' cell"},
        {"darts", "{\"normal\":" CELL "[\"none\",1]],\"reduce\":" CELL "[\"none\",5]]}", "0 to 4"},
        {"darts", "{\"normal\":" CELL "[\"none\",1]],\"normal\":" CELL "[\"none\",1]]}", "twice"},
        {"darts",
         "{\"normal\":" CELL "[\"none\",1]],\"reduce\":" CELL "[\"none\",1]],\"widht\":16}",
         "this key is not one of a genotype"},
        {"darts",
         "{\"normal\":" CELL "[\"none\",1]],\"reduce\":" CELL "[\"none\",1]],\"width\":17}",
         "an odd width cannot be halved"},
        {"darts", "{\"normal\":" CELL "[\"none\",1]],\"reduce\":" CELL "[\"none\",1]],\"depth\":0}",
         "0 is not one of 1 to 254"},
        {"darts-fix",
         "{\"normal\":" CELL "[\"none\",1]],\"reduce\":" CELL "[\"none\",1]],\"width\":36}",
         "36 is not one of 16 to 16"},
        {"darts",
         "{\"normal\":" CELL "[\"none\",1]],\"reduce\":" CELL "[\"none\",1]],"
         "\"reduce_concat\":[2,3,4]}",
         "in darts these nodes make \"reduce_concat\":[2,3,4,5]"},
        {"darts", "{\"net\":{\"genotype\":{\"net\":{}}}}", "column 21: 'net' is there twice"},
        {"darts", "{\"net\":{\"genotype\":", "'{' expected, the string ends here"},
        {"enas", "{\"normal\":[[\"none\",0],", "unknown operator 'none'"},
        {"darts", "Genotype(" CELL "[\"none\",1]], range(2, 6))", "there is no 'reduce' cell"},
        {"darts", "Genotype(" CELL "[\"none\",1]], range(2, 6), normal=" CELL "[\"none\",1]])",
         "'normal' is there twice"},
        {"darts", "[" CELL "[\"none\",1]], [2,3,4,5], " CELL "[\"none\",1]], [2,3,4,5], [2]]",
         "':' expected"},
        {"darts", "[[[[\"none\",0],[\"none\",1],[\"none\",0]]]]", "']' expected"},
        {"darts", "{" CELL "[\"none\",1]]}", "':' expected"},
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

/* Strings with random damage are read or refused; what is read prints and reads again. */
static void test_damaged_strings(void **state)
{
    (void)state;
    static const char SIGNS[] = "{}[]()\"',:=0123456789abc_\\ ";
    const nas_space *s = nas_space_find("nasnet");
    nas_rng rng = nas_rng_seed(9);
    nas_bytes text = {0}, again = {0};
    for (int i = 0; i < 20000; i++) {
        nas_arch a, b;
        nas_err err = {0};
        nas_space_sample(s, &rng, &a);
        nas_bytes_reset(&text);
        nas_bytes_puts(&text, i % 2 ? "{\"rng_seed\":1,\"net\":{\"aux\":true,\"genotype\":" : "");
        nas_space_print(s, &a, &text);
        nas_bytes_puts(&text, i % 2 ? "},\"optim\":{\"wd\":[0.1,{\"max_ep\":100}]}}" : "");
        for (int k = 0; k < 3; k++)
            text.data[nas_rng_below(&rng, text.size)] = SIGNS[nas_rng_below(&rng, sizeof SIGNS)];
        if (nas_space_parse(s, text.data, &a, &err) != NAS_OK) {
            assert_non_null(strstr(err.text, "column"));
            continue;
        }
        nas_bytes_reset(&again);
        nas_space_print(s, &a, &again);
        read_arch(s, again.data, &b);
        assert_memory_equal(&a, &b, sizeof a);
    }
    nas_bytes_clear(&text);
    nas_bytes_clear(&again);
}

/* A made file in the layout of the released ones: each record is read as it stands. */
static void test_record_file(void **state)
{
    (void)state;
    nas_bytes file = {0};
    nas_bytes_puts(&file, "{\"top\": [");
    const cells *cell[] = {&V2, &V1, &SAMPLE4};
    for (int i = 0; i < 3; i++) {
        nas_bytes_print(&file,
                        "%s{\"net\": {\"aux\": false, \"depth\": %d, \"genotype\": ", i ? ", " : "",
                        4 * i + 4);
        nas_bytes_puts(&file, "{\"normal\": ");
        put_pairs(&file, cell[i]->normal);
        nas_bytes_puts(&file, ", \"normal_concat\": [2, 3, 4, 5], \"reduce\": ");
        put_pairs(&file, cell[i]->reduce);
        nas_bytes_puts(&file,
                       ", \"reduce_concat\": [2, 3, 4, 5]}, \"drop_prob\": 0.0, \"width\": 24}, "
                       "\"optim\": {\"base_lr\": 0.1}, \"params\": 1, \"rng_seed\": 3, "
                       "\"test_ep_top1\": [90.0, 12.5], \"min_test_top1\": 12.5}");
    }
    nas_bytes_puts(&file, "], \"mid\": []}");
    json_t *root = json_loads(file.data, 0, NULL);
    assert_non_null(root);
    json_t *top = json_object_get(root, "top");
    for (size_t i = 0; i < json_array_size(top); i++) {
        char *record = json_dumps(json_array_get(top, i), 0);
        nas_arch a, b;
        read_arch(nas_space_find("darts"), record, &a);
        make_arch(cell[i], 24, 4 * (int)i + 4, &b);
        assert_memory_equal(&a, &b, sizeof a);
        free(record);
    }
    json_decref(root);
    nas_bytes_clear(&file);
}

/* ---- canonical form ---- */

/* Gives node j of a cell the place to[j] and swaps the inputs where swap has bit j; false when a
 * node would read a later one. */
static bool relabel(const nas_nds_family *f, const nas_arch *a, int cell, const int *to,
                    unsigned swap, nas_arch *out)
{
    for (int j = 0; j < f->nodes; j++)
        for (int i = 0; i < 2; i++) {
            const uint8_t *from = &a->gene[nas_nds_gene(f, cell, j, i)];
            int source = from[1] < 2 ? from[1] : 2 + to[from[1] - 2];
            if (source >= to[j] + 2)
                return false;
            uint8_t *pair = &out->gene[nas_nds_gene(f, cell, to[j], swap >> j & 1 ? !i : i)];
            pair[0] = from[0];
            pair[1] = (uint8_t)source;
        }
    return true;
}

/* The next permutation in lexicographic order; false after the last. */
static bool next_permutation(int *v, int n)
{
    int i = n - 2, k = n - 1;
    while (i >= 0 && v[i] > v[i + 1])
        i--;
    if (i < 0)
        return false;
    while (v[k] < v[i])
        k--;
    int t = v[i];
    v[i] = v[k], v[k] = t;
    for (int a = i + 1, b = n - 1; a < b; a++, b--)
        t = v[a], v[a] = v[b], v[b] = t;
    return true;
}

/* The smallest printed string over all orders of nodes and inputs of one cell. */
static void smallest_by_force(const nas_space *s, int cell, nas_arch *a, nas_bytes *best)
{
    const nas_nds_family *f = nas_nds_of(s)->family;
    nas_bytes text = {0};
    nas_arch from = *a, image = *a;
    int to[NAS_NDS_NODES] = {0, 1, 2, 3, 4};
    nas_bytes_reset(best);
    nas_space_print(s, a, best);
    do
        for (unsigned swap = 0; swap < 1u << f->nodes; swap++)
            if (relabel(f, &from, cell, to, swap, &image)) {
                nas_bytes_reset(&text);
                nas_space_print(s, &image, &text);
                if (strcmp(text.data, best->data) < 0) {
                    *a = image;
                    nas_bytes_reset(best);
                    nas_bytes_puts(best, text.data);
                }
            }
    while (next_permutation(to, f->nodes));
    nas_bytes_clear(&text);
}

static void test_canonical_is_the_smallest_by_force(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(3);
    nas_bytes best = {0}, text = {0};
    for (int k = 0; k < N_SPACES; k += 2) {
        const nas_space *s = nas_space_find(SPACES[k]);
        for (int i = 0; i < 24; i++) {
            nas_arch a, c;
            nas_space_sample(s, &rng, &a);
            for (int g = NAS_NDS_CELLS; i % 2 && g < s->n_genes; g += 2)
                a.gene[g] = a.gene[g] % 2; /* few operators: many nodes alike */
            nas_space_canonical(s, &a, &c);
            smallest_by_force(s, NAS_NDS_NORMAL, &a, &best);
            smallest_by_force(s, NAS_NDS_REDUCE, &a, &best);
            nas_bytes_reset(&text);
            nas_space_print(s, &c, &text);
            assert_string_equal(text.data, best.data);
        }
    }
    nas_bytes_clear(&best);
    nas_bytes_clear(&text);
}

static void random_image(const nas_space *s, nas_rng *rng, const nas_arch *a, nas_arch *out)
{
    const nas_nds_family *f = nas_nds_of(s)->family;
    *out = *a;
    for (int cell = NAS_NDS_NORMAL; cell <= NAS_NDS_REDUCE; cell++) {
        int to[NAS_NDS_NODES] = {0, 1, 2, 3, 4};
        do
            nas_rng_shuffle(rng, to, (size_t)f->nodes, sizeof *to);
        while (!relabel(f, a, cell, to, (unsigned)nas_rng_below(rng, 32), out));
    }
}

static void put_prompt(const nas_space *s, const nas_arch *a, nas_bytes *text)
{
    nas_graph *g = nas_space_build(s, a, &s->tasks[0]);
    nas_bytes_reset(text);
    assert_int_equal(nas_export_prompt(g, s->name, s->tasks[0].name, text, NULL), NAS_OK);
    nas_graph_free(g);
}

/* The canonical form, the hash and what the surrogate reads. */
static void test_relabelings_share_all(void **state)
{
    (void)state;
    nas_bytes own = {0}, other = {0};
    for (int k = 0; k < N_SPACES; k++) {
        const nas_space *s = nas_space_find(SPACES[k]);
        nas_rng rng = nas_rng_seed((uint64_t)k);
        for (int i = 0; i < 3000; i++) {
            nas_arch a, b, ca, cb;
            char ha[33], hb[33];
            nas_space_sample(s, &rng, &a);
            random_image(s, &rng, &a, &b);
            nas_space_canonical(s, &a, &ca);
            nas_space_canonical(s, &b, &cb);
            assert_memory_equal(&ca, &cb, sizeof ca);
            nas_space_hash(s, &a, ha);
            nas_space_hash(s, &b, hb);
            assert_string_equal(ha, hb);
            if (i >= 30)
                continue;
            put_prompt(s, &a, &own);
            put_prompt(s, &b, &other);
            assert_string_equal(own.data, other.data);
        }
    }
    nas_bytes_clear(&own);
    nas_bytes_clear(&other);
}

/* ---- sizes and bounds ---- */

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *space;
        double cells; /* of one kind: (product of operators * states)^2 */
    } row[] = {{"nasnet", 7.1466e16},
               {"amoeba", 5.5663e14},
               {"pnas", 5.5663e14},
               {"enas", 5.0625e12},
               {"darts", 2.4159e11}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const nas_space *s = nas_space_find(row[i].space);
        const nas_nds_family *f = nas_nds_of(s)->family;
        double cell = 1;
        for (int g = 0; g < 4 * f->nodes; g++)
            cell *= s->arity[NAS_NDS_CELLS + g];
        assert_float_equal(cell / row[i].cells, 1, 1e-4);
        assert_true(s->size == cell * cell * 15);
        char fixed[16];
        snprintf(fixed, sizeof fixed, "%s-fix", row[i].space);
        assert_true(nas_space_find(fixed)->size == cell * cell);
    }
}

/* No more parameters than the largest released network of each kind, and near to it. */
static void test_observed_maxima(void **state)
{
    (void)state;
    static const struct {
        const char *space;
        int64_t most;
    } row[] = {{"nasnet", 12152490},  {"amoeba", 12514794},  {"pnas", 12187242},
               {"enas", 3685994},     {"darts", 3427242},    {"pnas-fix", 3577690},
               {"enas-fix", 1293818}, {"darts-fix", 1024186}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const nas_space *s = nas_space_find(row[i].space);
        nas_rng rng = nas_rng_seed(2);
        int64_t most = 0;
        for (int k = 0; k < 300; k++) {
            nas_arch a;
            nas_space_sample(s, &rng, &a);
            int64_t params = cost_of(s, &a, 0).params;
            most = params > most ? params : most;
        }
        if (most > row[i].most || 2 * most < row[i].most)
            fail_msg("%s: %lld parameters, the largest known has %lld", row[i].space,
                     (long long)most, (long long)row[i].most);
    }
}

/* Cells of zeros, cells that are their input, every small depth, both tasks. */
static void test_odd_networks(void **state)
{
    (void)state;
    static const cells odd[] = {
        {"darts", "none 0 none 1 none 2 none 0 none 0 none 0 none 1 none 1",
         "none 0 none 1 none 0 none 2 none 2 none 0 none 3 none 2"},
        {"darts", "skip 0 none 1 skip 0 skip 0 skip 1 none 0 none 0 skip 2",
         "skip 0 none 1 skip 2 none 0 skip 3 none 1 skip 0 skip 4"},
        {"enas", "skip 0 skip 0 skip 2 skip 2 skip 3 skip 3 skip 4 skip 4 skip 5 skip 5",
         "skip 1 skip 0 skip 2 skip 2 skip 3 skip 3 skip 4 skip 4 skip 5 skip 1"},
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (int depth = 1; depth < 8; depth++)
            for (int task = 0; task < 2; task++) {
                nas_arch a;
                make_arch(&odd[i], 2, depth, &a);
                assert_true(cost_of(nas_space_find(odd[i].space), &a, task).params > 0);
            }
}

/* AmoebaNet's normal cell as graph networks see it. */
static void test_cell_graph(void **state)
{
    (void)state;
    nas_arch a;
    nas_cells c = {0};
    const nas_space *s = nas_space_find("amoeba");
    make_arch(&AMOEBANET, 24, 8, &a);
    s->cell(s, &a, &c);
    assert_int_equal(c.n, 2);
    assert_int_equal(c.cell[0].n, 13);
    assert_int_equal(c.cell[0].from[2], 1);          /* avg3 0 */
    assert_int_equal(c.cell[0].from[5], 3 << 2);     /* sep5 2 */
    assert_int_equal(c.cell[0].from[7], 3 << 4);     /* avg3 3 */
    assert_int_equal(c.cell[0].from[12], 0x3f << 6); /* nodes 4, 5, 6 */
    assert_int_equal(c.cell[0].label[9], NAS_CELL_SKIP);
    assert_int_equal(c.cell[0].label[12], NAS_CELL_OUTPUT);
    assert_true(c.side[0] == 0.75f && c.side[1] == 0.4f);
    for (int i = 0; i < 13; i++)
        assert_true(c.cell[0].from[i] >> i == 0 && c.cell[0].label[i] < s->cell_labels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_costs),
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_refusals_name_the_column),
        cmocka_unit_test(test_damaged_strings),
        cmocka_unit_test(test_record_file),
        cmocka_unit_test(test_canonical_is_the_smallest_by_force),
        cmocka_unit_test(test_relabelings_share_all),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_observed_maxima),
        cmocka_unit_test(test_odd_networks),
        cmocka_unit_test(test_cell_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
