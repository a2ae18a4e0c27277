/* Two-Path (Mills et al. 2023, GENNAPE): two chains of two to four blocks side by side, a block one
 * to three operators. Follows the published torch network. A path halves its map and doubles its
 * channels in exactly two of its blocks; all others add their input. Both paths read the stem and
 * are concatenated, so exchanging them relabels the network; operators are labels as they are
 * named.
 */
#include "spaces/block.h"
#include "spaces/chain.h"
#include "spaces/space.h"

#include <stdio.h>

typedef enum { CONV, DOUBLE, BOTTLENECK, SPLIT, AVG, MAX } op_kind;

/* A bottleneck of times / over as many channels. */
typedef struct {
    op_kind kind;
    int k, times, over;
} operator;

enum { CONVS = 8, OPS = 13 }; /* the first ones may carry the stride of a block; the rest support */

static const char *const NAME[OPS] = {
    "conv3x3",          "double3x3",      "conv5x5",        "bottleneck-r2-k3", "bottleneck-r4-k3",
    "bottleneck-e2-k3", "inception_s3x3", "inception_s5x5", "conv1x1",          "bottleneck-r2-k1",
    "bottleneck-e2-k1", "avgpool3x3",     "maxpool3x3"};
static const operator OP[OPS] = {
    {CONV, 3, 1, 1},       {DOUBLE, 3, 1, 1},     {CONV, 5, 1, 1},       {BOTTLENECK, 3, 1, 2},
    {BOTTLENECK, 3, 1, 4}, {BOTTLENECK, 3, 2, 1}, {SPLIT, 3, 1, 1},      {SPLIT, 5, 1, 1},
    {CONV, 1, 1, 1},       {BOTTLENECK, 1, 1, 2}, {BOTTLENECK, 1, 2, 1}, {AVG, 3, 1, 1},
    {MAX, 3, 1, 1}};
static const nas_task TASKS[] = {{"cifar10", 3, 32, 32, 10}};

/* ---- genes: for each path its blocks, then which two of them reduce ---- */

enum { PATHS = 2, BLOCKS = 4, BLOCK_OPS = 3, REDUCE = BLOCKS * BLOCK_OPS, PATH_GENES };

#define BLOCK_ARITY OPS + 1, OPS + 1, OPS + 1 /* 0: no operator, else 1 + its row */
#define PATH_ARITY  BLOCK_ARITY, BLOCK_ARITY, BLOCK_ARITY, BLOCK_ARITY, 6
static const uint8_t ARITY[PATHS * PATH_GENES] = {PATH_ARITY, PATH_ARITY};

/* The pairs of reducing blocks: those of L blocks are the first L (L - 1) / 2. */
static const uint8_t PAIR[][2] = {{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}};

static int pair_of(int first, int second)
{
    return second * (second - 1) / 2 + first;
}

static const nas_chain BLOCK = {NAME, CONVS, OPS, BLOCK_OPS};

/* Blocks of a path; they come before the empty ones. */
static int path_blocks(const uint8_t *path)
{
    int n = 0;
    while (n < BLOCKS && path[n * BLOCK_OPS])
        n++;
    return n;
}

static bool valid(const nas_space *space, const nas_arch *a)
{
    (void)space;
    for (int p = 0; p < PATHS; p++) {
        const uint8_t *path = &a->gene[p * PATH_GENES];
        int n = path_blocks(path);
        for (int b = 0; b < n; b++)
            if (!nas_chain_valid(&BLOCK, &path[b * BLOCK_OPS]))
                return false;
        for (int i = n * BLOCK_OPS; i < REDUCE; i++)
            if (path[i])
                return false;
        if (n < 2 || path[REDUCE] >= n * (n - 1) / 2)
            return false;
    }
    return true;
}

/* ---- operators ---- */

/* As the data set was drawn: uniform over the lengths of paths and blocks and over the blocks that
 * reduce (uniform over strings, nearly all would have the greatest lengths). */
static void sample(const nas_space *space, nas_rng *rng, nas_arch *out)
{
    (void)space;
    for (int p = 0; p < PATHS; p++) {
        uint8_t *path = &out->gene[p * PATH_GENES];
        int n = 2 + (int)nas_rng_below(rng, BLOCKS - 1);
        for (int b = 0; b < n; b++)
            nas_chain_sample(&BLOCK, rng, 1 + (int)nas_rng_below(rng, BLOCK_OPS),
                             &path[b * BLOCK_OPS]);
        path[REDUCE] = (uint8_t)nas_rng_below(rng, (uint64_t)n * (n - 1) / 2);
    }
}

/* A new block at b, or the one there goes; the blocks that reduce stay the same. */
static void insert_block(nas_rng *rng, uint8_t *path, int b)
{
    const uint8_t *pair = PAIR[path[REDUCE]];
    uint8_t *block = &path[b * BLOCK_OPS];
    memmove(block + BLOCK_OPS, block, (size_t)(REDUCE - (b + 1) * BLOCK_OPS));
    memset(block, 0, BLOCK_OPS);
    nas_chain_sample(&BLOCK, rng, 1, block);
    path[REDUCE] = (uint8_t)pair_of(pair[0] + (pair[0] >= b), pair[1] + (pair[1] >= b));
}

static void remove_block(uint8_t *path, int b)
{
    const uint8_t *pair = PAIR[path[REDUCE]];
    uint8_t *block = &path[b * BLOCK_OPS];
    if (b == pair[0] || b == pair[1])
        return;
    memmove(block, block + BLOCK_OPS, (size_t)(REDUCE - (b + 1) * BLOCK_OPS));
    memset(&path[REDUCE - BLOCK_OPS], 0, BLOCK_OPS);
    path[REDUCE] = (uint8_t)pair_of(pair[0] - (pair[0] > b), pair[1] - (pair[1] > b));
}

/* One edit of one path, half the time of a block's operators, else a block without stride is added
 * or removed or other blocks reduce. What cannot be done leaves a as it is, to be tried again. */
static void mutate(const nas_space *space, nas_rng *rng, const nas_arch *a, nas_arch *out)
{
    (void)space, (void)a;
    uint8_t *path = &out->gene[nas_rng_below(rng, PATHS) * PATH_GENES];
    int blocks = path_blocks(path), b = (int)nas_rng_below(rng, (uint64_t)blocks);
    switch (nas_rng_below(rng, 6)) {
    case 0:
        if (blocks < BLOCKS)
            insert_block(rng, path, (int)nas_rng_below(rng, (uint64_t)blocks + 1));
        break;
    case 1:
        remove_block(path, b);
        break;
    case 2:
        path[REDUCE] = (uint8_t)nas_rng_below(rng, (uint64_t)blocks * (blocks - 1) / 2);
        break;
    default:
        nas_chain_edit(&BLOCK, rng, &path[b * BLOCK_OPS]);
    }
}

/* Each path's length and reducing blocks from one parent, each block that both have from either. */
static void cross(const nas_space *space, nas_rng *rng, const nas_arch *a, const nas_arch *b,
                  nas_arch *out)
{
    (void)space;
    for (int p = 0; p < PATHS; p++) {
        const uint8_t *one = &a->gene[p * PATH_GENES], *two = &b->gene[p * PATH_GENES];
        if (nas_rng_below(rng, 2)) {
            const uint8_t *other = one;
            one = two, two = other;
        }
        uint8_t *path = &out->gene[p * PATH_GENES];
        memcpy(path, one, PATH_GENES);
        for (int k = 0; k < path_blocks(one) && k < path_blocks(two); k++)
            if (nas_rng_below(rng, 2))
                memcpy(&path[k * BLOCK_OPS], &two[k * BLOCK_OPS], BLOCK_OPS);
    }
}

/* ---- text ---- */

static void print_path(const uint8_t *path, nas_bytes *out)
{
    for (int b = 0; b < path_blocks(path); b++) {
        if (b)
            nas_bytes_putc(out, ';');
        nas_chain_print(&BLOCK, &path[b * BLOCK_OPS], out);
    }
    const uint8_t *pair = PAIR[path[REDUCE]];
    nas_bytes_print(out, "@%d%d", pair[0], pair[1]);
}

static void print(const nas_space *space, const nas_arch *a, nas_bytes *out)
{
    (void)space;
    print_path(a->gene, out);
    nas_bytes_putc(out, '|');
    print_path(&a->gene[PATH_GENES], out);
}

/* The path with the smaller string comes first; no path's string starts another one. */
static void canonical(const nas_space *space, const nas_arch *a, nas_arch *out)
{
    (void)space;
    nas_bytes text[PATHS] = {{0}};
    *out = *a;
    for (int p = 0; p < PATHS; p++)
        print_path(&a->gene[p * PATH_GENES], &text[p]);
    if (strcmp(text[1].data, text[0].data) < 0) {
        memcpy(out->gene, &a->gene[PATH_GENES], PATH_GENES);
        memcpy(&out->gene[PATH_GENES], a->gene, PATH_GENES);
    }
    for (int p = 0; p < PATHS; p++)
        nas_bytes_clear(&text[p]);
}

/* "name" and the sign after it. */
static void read_label(nas_reader *r, const char *name, char sign)
{
    int ignored;
    nas_read_word(r, &name, 1, "word", &ignored);
    nas_read_char(r, sign);
}

/* The data set's SPBlock(op+op;conv+supp): kinds repeat what the names say. */
static void read_long_block(nas_reader *r, uint8_t *block)
{
    static const char *const KIND[] = {"supp", "conv"};
    read_label(r, "SPBlock", '(');
    nas_chain_read(&BLOCK, r, block);
    for (int i = 0, conv = 0; i < nas_chain_length(&BLOCK, block); i++) {
        nas_read_char(r, i ? '+' : ';');
        const char *start = r->at;
        if (nas_read_word(r, KIND, 2, "kind", &conv) && conv != nas_chain_is_conv(&BLOCK, block[i]))
            nas_read_fault(r, start, "'%s' is '%s'", NAME[block[i] - 1], KIND[!conv]);
    }
    nas_read_char(r, ')');
}

/* Two positions below n with the separator between them (0: none), in any order. */
static void read_reduce(nas_reader *r, int n, char separator, uint8_t *path)
{
    const char *start = r->at;
    int one = 0, two = 0;
    nas_read_number(r, 1, 0, n - 1, &one);
    if (separator)
        nas_read_char(r, separator);
    nas_read_number(r, 1, 0, n - 1, &two);
    if (!r->failed && one == two)
        nas_read_fault(r, start, "two different blocks reduce");
    if (!r->failed)
        path[REDUCE] = (uint8_t)(one < two ? pair_of(one, two) : pair_of(two, one));
}

static int read_blocks(nas_reader *r, bool is_long, uint8_t *path)
{
    char separator = is_long ? ',' : ';';
    int n = 0;
    do {
        uint8_t *block = &path[n * BLOCK_OPS];
        if (n == BLOCKS) {
            nas_read_fault(r, NULL, "a path has at most %d blocks", BLOCKS);
            break;
        }
        if (is_long)
            read_long_block(r, block);
        else
            nas_chain_read(&BLOCK, r, block);
        n++;
    } while (nas_read_peek(r, separator) && nas_read_char(r, separator));
    if (n < 2)
        nas_read_fault(r, NULL, "a path has at least 2 blocks");
    return n;
}

/* Of two blocks both reduce, so that need not be said. */
static void read_path(nas_reader *r, uint8_t *path)
{
    int n = read_blocks(r, false, path);
    if (n > 2 || nas_read_peek(r, '@')) {
        nas_read_char(r, '@');
        read_reduce(r, n, 0, path);
    }
}

/* Path1:[SPBlock(…), …] Path1ReduceInds:[0, 1] */
static void read_long_path(nas_reader *r, int p, uint8_t *path)
{
    static const char *const LABEL[PATHS][2] = {{"Path1", "Path1ReduceInds"},
                                                {"Path2", "Path2ReduceInds"}};
    read_label(r, LABEL[p][0], ':');
    nas_read_char(r, '[');
    int n = read_blocks(r, true, path);
    nas_read_char(r, ']');
    read_label(r, LABEL[p][1], ':');
    nas_read_char(r, '[');
    read_reduce(r, n, ',', path);
    nas_read_char(r, ']');
}

static nas_status parse(const nas_space *space, const char *text, nas_arch *out, nas_err *err)
{
    (void)space;
    nas_reader r = {text, text, err, false};
    bool is_long = nas_read_peek(&r, 'P');
    for (int p = 0; p < PATHS; p++) {
        uint8_t *path = &out->gene[p * PATH_GENES];
        if (is_long) {
            read_long_path(&r, p, path);
        } else {
            if (p)
                nas_read_char(&r, '|');
            read_path(&r, path);
        }
    }
    return nas_read_end(&r);
}

/* ---- graph ---- */

static int conv6(nas_body body, int x, int64_t i, int64_t o, int k, int s)
{
    return nas_block_conv(
        body, x, (nas_conv){.i = i, .o = o, .k = k, .s = s, .bn = true, .act = NAS_ACT_RELU6});
}

/* The body of an operator on its attributes: i, o, a bottleneck also h; pools o alone. */
static int op_body(nas_body body, const operator* op, int s)
{
    const int64_t i = NAS_FORMAL(0), o = NAS_FORMAL(1), h = NAS_FORMAL(2);
    int x = 0;
    switch (op->kind) {
    case CONV:
        return conv6(body, x, i, o, op->k, s);
    case DOUBLE:
        return conv6(body, conv6(body, x, i, i, op->k, s), i, o, op->k, 1);
    case BOTTLENECK:
        return conv6(body, conv6(body, x, i, h, op->k, s), h, o, op->k, 1);
    case SPLIT:
        x = nas_block_conv(
            body, x,
            (nas_conv){
                .i = i, .o = o, .k = 1, .kw = op->k, .s = s, .bn = true, .act = NAS_ACT_RELU6});
        return nas_block_conv(
            body, x,
            (nas_conv){.i = o, .o = o, .k = op->k, .kw = 1, .bn = true, .act = NAS_ACT_RELU6});
    default: /* pools */
        x = nas_block_pool(body, x,
                           (nas_pool){.op = op->kind == AVG ? NAS_OP_AVGPOOL : NAS_OP_MAXPOOL,
                                      .k = op->k,
                                      .pad = op->k / 2,
                                      .count_pad = op->kind == AVG});
        return nas_block_bn(body, x, i, NAS_ACT_NONE);
    }
}

/* Calls the operator's function, as bottleneck_r2_k3_s2 <i, o, h>. */
static int call_op(nas_body main, int row, int x, int64_t i, int64_t o, int s)
{
    const operator* op = & OP[row];
    char name[32];
    snprintf(name, sizeof name, "%s%s", NAME[row], s == 1 ? "" : "_s2");
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c;
    int formals = op->kind == BOTTLENECK ? 3 : op->kind == AVG || op->kind == MAX ? 1 : 2;
    nas_body own;
    if (nas_graph_function(main.graph, name, 1, (const char *const[]){"i", "o", "h"}, formals, true,
                           &own))
        nas_body_return(own, op_body(own, op, s));
    int64_t hidden = i * op->times / op->over;
    return nas_body_call(main, name, &x, 1, (int64_t[]){i, o, hidden > 0 ? hidden : 1});
}

/* The first convolution takes the stride and the channels of the block. */
static int build_block(nas_body main, const uint8_t *block, int x, int64_t i, int64_t o)
{
    int y = x;
    int64_t channels = i;
    bool entered = false;
    for (int k = 0; k < nas_chain_length(&BLOCK, block); k++) {
        bool enters = !entered && nas_chain_is_conv(&BLOCK, block[k]);
        y = call_op(main, block[k] - 1, y, channels, enters ? o : channels,
                    enters && i != o ? 2 : 1);
        channels = enters ? o : channels;
        entered = entered || enters;
    }
    return i == o ? nas_block_add(main, x, y) : y;
}

static void build(const nas_space *space, const nas_arch *a, const nas_task *task, nas_graph *g)
{
    (void)space;
    nas_body main = nas_graph_main(g);
    int x = nas_graph_input(g, &(nas_shape){4, {0, task->channels, task->height, task->width}});
    x = conv6(main, x, task->channels, 32, 3, 1);
    x = conv6(main, x, 32, 32, 3, 2);
    int out[PATHS];
    for (int p = 0; p < PATHS; p++) {
        const uint8_t *path = &a->gene[p * PATH_GENES], *pair = PAIR[path[REDUCE]];
        int64_t c = 32;
        out[p] = x;
        for (int b = 0; b < path_blocks(path); b++) {
            int64_t next = b == pair[0] || b == pair[1] ? 2 * c : c;
            out[p] = build_block(main, &path[b * BLOCK_OPS], out[p], c, next);
            c = next;
        }
    }
    x = conv6(main, nas_block_concat(main, out, PATHS), 256, 512, 3, 1);
    nas_body_return(main, nas_block_head(main, x, 512, task->classes));
}

/* 8 + 144 + 1472 blocks; a path of L blocks has L (L - 1) / 2 choices of those that reduce. */
#define N_BLOCK 1624.0
#define N_PATH  (N_BLOCK * N_BLOCK * (1 + N_BLOCK * (3 + N_BLOCK * 6)))

const nas_space nas_space_twopath = {
    .name = "twopath",
    .title = "Two-Path: two chains of blocks side by side",
    .source = "GENNAPE, Mills et al., AAAI 2023",
    .syntax =
        "two paths as conv3x3+conv1x1;conv5x5@01|...: blocks joined by ';', operators by '+', "
        "the two blocks that reduce after '@'",
    .tasks = TASKS,
    .n_tasks = 1,
    .size = N_PATH * N_PATH,
    .n_genes = PATHS * PATH_GENES,
    .arity = ARITY,
    .valid = valid,
    .sample = sample,
    .mutate = mutate,
    .cross = cross,
    .canonical = canonical,
    .print = print,
    .parse = parse,
    .build = build,
};
