/* The cell spaces of NDS (Radosavovic et al. 2019): the cells of NASNet, AmoebaNet, PNAS, ENAS and
 * DARTS in one network, with width and depth. The concatenation of a cell is no gene: it takes
 * every node (PNAS, DARTS) or those that no other node reads. The -fix spaces have one width and
 * depth. */
#include "spaces/nds.h"

/* clang-format off */
static const nas_nds_family NASNET = {5, true, 13, {
    {"skip_connect", NAS_NDS_SKIP, 0}, {"conv_3x1_1x3", NAS_NDS_SPLIT, 3},
    {"conv_7x1_1x7", NAS_NDS_SPLIT, 7}, {"dil_conv_3x3", NAS_NDS_DIL, 3},
    {"avg_pool_3x3", NAS_NDS_AVG, 3}, {"max_pool_3x3", NAS_NDS_MAX, 3},
    {"max_pool_5x5", NAS_NDS_MAX, 5}, {"max_pool_7x7", NAS_NDS_MAX, 7},
    {"conv_1x1", NAS_NDS_CONV, 1}, {"conv_3x3", NAS_NDS_CONV, 3},
    {"sep_conv_3x3", NAS_NDS_SEP, 3}, {"sep_conv_5x5", NAS_NDS_SEP, 5},
    {"sep_conv_7x7", NAS_NDS_SEP, 7}}};
static const nas_nds_family AMOEBA = {5, true, 8, {
    {"skip_connect", NAS_NDS_SKIP, 0}, {"sep_conv_3x3", NAS_NDS_SEP, 3},
    {"sep_conv_5x5", NAS_NDS_SEP, 5}, {"sep_conv_7x7", NAS_NDS_SEP, 7},
    {"avg_pool_3x3", NAS_NDS_AVG, 3}, {"max_pool_3x3", NAS_NDS_MAX, 3},
    {"dil_sep_conv_3x3", NAS_NDS_DILSEP, 3}, {"conv_7x1_1x7", NAS_NDS_SPLIT, 7}}};
static const nas_nds_family PNAS = {5, false, 8, {
    {"sep_conv_3x3", NAS_NDS_SEP, 3}, {"sep_conv_5x5", NAS_NDS_SEP, 5},
    {"sep_conv_7x7", NAS_NDS_SEP, 7}, {"conv_7x1_1x7", NAS_NDS_SPLIT, 7},
    {"skip_connect", NAS_NDS_SKIP, 0}, {"avg_pool_3x3", NAS_NDS_AVG, 3},
    {"max_pool_3x3", NAS_NDS_MAX, 3}, {"dil_conv_3x3", NAS_NDS_DIL, 3}}};
static const nas_nds_family ENAS = {5, true, 5, {
    {"skip_connect", NAS_NDS_SKIP, 0}, {"sep_conv_3x3", NAS_NDS_SEP, 3},
    {"sep_conv_5x5", NAS_NDS_SEP, 5}, {"avg_pool_3x3", NAS_NDS_AVG, 3},
    {"max_pool_3x3", NAS_NDS_MAX, 3}}};
static const nas_nds_family DARTS = {4, false, 8, {
    {"none", NAS_NDS_NONE, 0}, {"max_pool_3x3", NAS_NDS_MAX, 3},
    {"avg_pool_3x3", NAS_NDS_AVG, 3}, {"skip_connect", NAS_NDS_SKIP, 0},
    {"sep_conv_3x3", NAS_NDS_SEP, 3}, {"sep_conv_5x5", NAS_NDS_SEP, 5},
    {"dil_conv_3x3", NAS_NDS_DIL, 3}, {"dil_conv_5x5", NAS_NDS_DIL, 5}}};
/* clang-format on */

/* Tasks: the first has the small stem, the second the one that divides the map by 8. */
static const nas_task TASKS[] = {{"cifar10", 3, 32, 32, 10}, {"imagenet", 3, 224, 224, 1000}};
static const uint8_t WIDTHS[] = {16, 24, 32}, DEPTHS[] = {4, 8, 12, 16, 20};

const char *const nas_nds_cells[2] = {"normal", "reduce"};

unsigned nas_nds_concat(const nas_nds_family *f, const nas_arch *a, int cell)
{
    unsigned read = 0;
    for (int i = 0; f->loose && i < 2 * f->nodes; i++)
        read |= 1u << a->gene[nas_nds_gene(f, cell, i / 2, i % 2) + 1];
    return ((4u << f->nodes) - 4) & ~read;
}

/* Halves of the width must be whole: two convolutions share the channels where a map is halved. */
static bool valid(const nas_space *space, const nas_arch *a)
{
    if (nas_nds_of(space)->fixed)
        return a->gene[NAS_NDS_WIDTH] == NAS_NDS_WIDTH_DEFAULT &&
               a->gene[NAS_NDS_DEPTH] == NAS_NDS_DEPTH_DEFAULT;
    return a->gene[NAS_NDS_WIDTH] > 0 && a->gene[NAS_NDS_WIDTH] % 2 == 0 &&
           a->gene[NAS_NDS_DEPTH] > 0;
}

/* ---- operators ---- */

/* Cells uniform over genes; width and depth uniform over the values that were released. */
static void sample(const nas_space *space, nas_rng *rng, nas_arch *out)
{
    out->gene[NAS_NDS_WIDTH] = NAS_NDS_WIDTH_DEFAULT;
    out->gene[NAS_NDS_DEPTH] = NAS_NDS_DEPTH_DEFAULT;
    if (!nas_nds_of(space)->fixed) {
        out->gene[NAS_NDS_WIDTH] = WIDTHS[nas_rng_below(rng, sizeof WIDTHS)];
        out->gene[NAS_NDS_DEPTH] = DEPTHS[nas_rng_below(rng, sizeof DEPTHS)];
    }
    for (int i = NAS_NDS_CELLS; i < space->n_genes; i++)
        out->gene[i] = (uint8_t)nas_rng_below(rng, space->arity[i]);
}

/* The mutation of regularised evolution (Real et al. 2019): one input of one node gets another
 * state or another operator, with even chance. Width or depth changes one time in ten. */
static void mutate(const nas_space *space, nas_rng *rng, const nas_arch *a, nas_arch *out)
{
    (void)a;
    if (!nas_nds_of(space)->fixed && nas_rng_below(rng, 10) == 0) {
        if (nas_rng_below(rng, 2))
            out->gene[NAS_NDS_WIDTH] = WIDTHS[nas_rng_below(rng, sizeof WIDTHS)];
        else
            out->gene[NAS_NDS_DEPTH] = DEPTHS[nas_rng_below(rng, sizeof DEPTHS)];
        return;
    }
    int i = NAS_NDS_CELLS + (int)nas_rng_below(rng, (uint64_t)space->n_genes - NAS_NDS_CELLS);
    out->gene[i] =
        (uint8_t)((out->gene[i] + 1 + nas_rng_below(rng, space->arity[i] - 1u)) % space->arity[i]);
}

/* With even chance one whole cell of b, or each (operator, state) of either parent. */
static void cross(const nas_space *space, nas_rng *rng, const nas_arch *a, const nas_arch *b,
                  nas_arch *out)
{
    (void)a;
    const nas_nds_family *f = nas_nds_of(space)->family;
    bool whole = nas_rng_below(rng, 2);
    int taken = (int)nas_rng_below(rng, 2);
    for (int i = 0; i < 4 * f->nodes; i++) {
        int gene = NAS_NDS_CELLS + 2 * i;
        if (whole ? i / (2 * f->nodes) == taken : (int)nas_rng_below(rng, 2))
            memcpy(&out->gene[gene], &b->gene[gene], 2);
    }
    for (int i = NAS_NDS_WIDTH; i <= NAS_NDS_DEPTH; i++)
        if (nas_rng_below(rng, 2))
            out->gene[i] = b->gene[i];
}

/* ---- canonical form ---- */

/* A cell whose nodes get new places one by one. A node's key is its two inputs in order, each as
 * 8 * rank + state, so that keys compare as the printed text does. */
typedef struct {
    int nodes;
    const uint8_t *gene;      /* of the cell */
    int rank[NAS_NDS_OPS];    /* of an operator, alphabetical */
    int op[NAS_NDS_OPS];      /* by rank */
    int place[NAS_NDS_NODES]; /* new position of a node, -1 */
    int key[NAS_NDS_NODES];   /* by position */
    int best[NAS_NDS_NODES];  /* the smallest complete sequence of keys so far */
} ordering;

static void rank_operators(const nas_nds_family *f, ordering *o)
{
    for (int i = 0; i < f->n_ops; i++) {
        o->rank[i] = 0;
        for (int k = 0; k < f->n_ops; k++)
            o->rank[i] += strcmp(f->op[k].name, f->op[i].name) < 0;
        o->op[o->rank[i]] = i;
    }
}

/* NO_KEY while the node reads one that has no position yet. */
enum { KEYS = 128, NO_KEY = KEYS * KEYS };

static int node_key(const ordering *o, int node)
{
    int key[2];
    for (int i = 0; i < 2; i++) {
        const uint8_t *pair = &o->gene[4 * node + 2 * i];
        int state = pair[1] < 2 ? pair[1] : o->place[pair[1] - 2] + 2;
        if (pair[1] >= 2 && state < 2)
            return NO_KEY;
        key[i] = 8 * o->rank[pair[0]] + state;
    }
    return key[0] < key[1] ? KEYS * key[0] + key[1] : KEYS * key[1] + key[0];
}

static bool smaller(const int *a, const int *b, int n)
{
    int i = 0;
    while (i < n && a[i] == b[i])
        i++;
    return i < n && a[i] < b[i];
}

/* Fills position n and all after it: the smallest key comes first, nodes that tie are all tried. */
static void order_from(ordering *o, int n)
{
    int key[NAS_NDS_NODES], least = NO_KEY;
    if (n == o->nodes) {
        if (smaller(o->key, o->best, n))
            memcpy(o->best, o->key, sizeof o->best);
        return;
    }
    for (int i = 0; i < o->nodes; i++) {
        key[i] = o->place[i] < 0 ? node_key(o, i) : NO_KEY;
        least = key[i] < least ? key[i] : least;
    }
    o->key[n] = least;
    for (int i = 0; i < o->nodes; i++)
        if (key[i] == least) {
            o->place[i] = n;
            order_from(o, n + 1);
            o->place[i] = -1;
        }
}

/* The smallest of all orders of nodes and inputs, for each cell by itself. Concatenations follow
 * the nodes, so orders of a concatenation are one class too. */
static void canonical(const nas_space *space, const nas_arch *a, nas_arch *out)
{
    const nas_nds_family *f = nas_nds_of(space)->family;
    ordering o = {.nodes = f->nodes};
    rank_operators(f, &o);
    *out = *a;
    for (int cell = NAS_NDS_NORMAL; cell <= NAS_NDS_REDUCE; cell++) {
        o.gene = &a->gene[nas_nds_gene(f, cell, 0, 0)];
        for (int i = 0; i < f->nodes; i++) {
            o.place[i] = -1;
            o.best[i] = NO_KEY;
        }
        order_from(&o, 0);
        for (int i = 0; i < 2 * f->nodes; i++) {
            int key = i % 2 ? o.best[i / 2] % KEYS : o.best[i / 2] / KEYS;
            uint8_t *pair = &out->gene[nas_nds_gene(f, cell, i / 2, i % 2)];
            pair[0] = (uint8_t)o.op[key / 8];
            pair[1] = (uint8_t)(key % 8);
        }
    }
}

/* ---- the ten spaces ---- */

#define NODE(ops, j) ops, (j) + 2, ops, (j) + 2
#define CELL4(ops)   NODE(ops, 0), NODE(ops, 1), NODE(ops, 2), NODE(ops, 3)
#define CELL5(ops)   CELL4(ops), NODE(ops, 4)
#define GENES(cell)                                                                                \
    {                                                                                              \
        NAS_NDS_NUMBER_MAX + 1, NAS_NDS_NUMBER_MAX + 1, cell, cell                                 \
    }

static const uint8_t ARITY_NASNET[] = GENES(CELL5(13)), ARITY_8[] = GENES(CELL5(8)),
                     ARITY_ENAS[] = GENES(CELL5(5)), ARITY_DARTS[] = GENES(CELL4(8));

/* Cells of each kind, one input of every node: the product of operators and states. */
#define HALF_NASNET 267330960.0 /* 13^5 6! */
#define HALF_8      23592960.0  /* 8^5 6! */
#define HALF_ENAS   2250000.0   /* 5^5 6! */
#define HALF_DARTS  491520.0    /* 8^4 5! */

#define SPACE(id, text, people, paper, fam, genes, half, numbers, is_fixed)                        \
    const nas_space nas_space_##id = {                                                             \
        .name = text,                                                                              \
        .title = people,                                                                           \
        .source = paper "; NDS: Radosavovic et al., ICCV 2019",                                    \
        .syntax = "{\"normal\":[[\"operator\",state],...],\"normal_concat\":[state,...],"          \
                  "\"reduce\":[...],\"reduce_concat\":[...],\"width\":16,\"depth\":20}",           \
        .tasks = TASKS,                                                                            \
        .n_tasks = 2,                                                                              \
        .size = half * half * half * half * numbers,                                               \
        .n_genes = sizeof genes,                                                                   \
        .arity = genes,                                                                            \
        .data = &(const nas_nds){&fam, is_fixed},                                                  \
        .valid = valid,                                                                            \
        .sample = sample,                                                                          \
        .mutate = mutate,                                                                          \
        .cross = cross,                                                                            \
        .canonical = canonical,                                                                    \
        .print = nas_nds_print,                                                                    \
        .parse = nas_nds_parse,                                                                    \
        .build = nas_nds_build,                                                                    \
        .cell = nas_nds_cell,                                                                      \
        .cell_labels = NAS_CELL_OPS + NAS_NDS_OPS,                                                 \
    }
#define SPACES(id, text, people, paper, fam, genes, half)                                          \
    SPACE(id, text, people ", any width and depth", paper, fam, genes, half, 15, false);           \
    SPACE(id##_fix, text "-fix", people ", width 16 and depth 20", paper, fam, genes, half, 1, true)

SPACES(nasnet, "nasnet", "NASNet cells", "Zoph et al., CVPR 2018", NASNET, ARITY_NASNET,
       HALF_NASNET);
SPACES(amoeba, "amoeba", "AmoebaNet cells", "Real et al., AAAI 2019", AMOEBA, ARITY_8, HALF_8);
SPACES(pnas, "pnas", "PNAS cells", "Liu et al., ECCV 2018", PNAS, ARITY_8, HALF_8);
SPACES(enas, "enas", "ENAS cells", "Pham et al., ICML 2018", ENAS, ARITY_ENAS, HALF_ENAS);
SPACES(darts, "darts", "DARTS cells", "Liu et al., ICLR 2019", DARTS, ARITY_DARTS, HALF_DARTS);
