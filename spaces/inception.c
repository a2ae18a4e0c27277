/* Inception (Mills et al. 2023, GENNAPE): four stages of two to six equal blocks, a block one to
 * four paths side by side, a path one to four operators. Follows the published torch network:
 * stages have 32, 64, 128 and 256 channels C, all but the first halve the map.
 *
 * The string: stages joined by '|', a stage is the number of its blocks, '*' and its paths joined
 * by ','; a path is operators joined by '+', then what is special about it:
 *     :half, :double   between its first and its last operator that may change channels it has half
 *                      or twice as many channels as it gives (it needs two such operators)
 *     :wide            of three paths, the one that gives C / 2; the others give C / 4 (unsaid: the
 *                      first). One, two or four paths share C evenly. No path has less than 16.
 * So 2*conv3x3|3*conv3x3+conv1x1:half,depthwise5x5|2*conv5x5|2*conv3x3+avgpool3x3. Paths are
 * concatenated, so their order is a labeling. */
#include "spaces/block.h"
#include "spaces/chain.h"
#include "spaces/space.h"

#include <stdio.h>
#include <stdlib.h>

typedef enum { CONV, DEPTHWISE, SPLIT, BOTH, DOUBLE, AVG, MAX } op_kind;

typedef struct {
    op_kind kind;
    int k;
} operator;

enum { CONVS = 8, OPS = 12 }; /* the first ones take the stride of a block; the rest support */

static const char *const NAME[OPS] = {"conv3x3",        "inception_s3x3", "inception_p3x3",
                                      "depthwise3x3",   "conv5x5",        "depthwise5x5",
                                      "inception_s5x5", "inception_p5x5", "conv1x1",
                                      "avgpool3x3",     "maxpool3x3",     "double1x1"};
static const operator OP[OPS] = {{CONV, 3}, {SPLIT, 3},     {BOTH, 3},  {DEPTHWISE, 3},
                                 {CONV, 5}, {DEPTHWISE, 5}, {SPLIT, 5}, {BOTH, 5},
                                 {CONV, 1}, {AVG, 3},       {MAX, 3},   {DOUBLE, 1}};
static const nas_task TASKS[] = {{"cifar10", 3, 32, 32, 10}};

/* ---- genes of a stage: blocks - 2, which of three paths is wide, then the paths ---- */

enum { STAGES = 4, PATHS = 4, PATH_OPS = 4, LEAST_CHANNELS = 16 };
enum {
    BLOCKS,
    WIDE,
    PATH,
    INNER = 0,
    FIRST_OP,
    PATH_GENES = 1 + PATH_OPS,
    STAGE_GENES = PATH + PATHS * PATH_GENES
};
enum { SAME, HALF, DOUBLED, INNERS };
enum { BLOCKS_LEAST = 2, BLOCKS_MOST = 6 };

/* Of an operator: 0 for none, else 1 + its row. */
#define PATH_ARITY INNERS, OPS + 1, OPS + 1, OPS + 1, OPS + 1
#define STAGE_ARITY                                                                                \
    BLOCKS_MOST - BLOCKS_LEAST + 1, 3, PATH_ARITY, PATH_ARITY, PATH_ARITY, PATH_ARITY
static const uint8_t ARITY[STAGES * STAGE_GENES] = {STAGE_ARITY, STAGE_ARITY, STAGE_ARITY,
                                                    STAGE_ARITY};

static const nas_chain CHAIN = {NAME, CONVS, OPS, PATH_OPS};

/* By number of paths: operators of a block at most, of a path at least. */
static const int OPS_MOST[] = {0, 3, 4, 8, 10}, OPS_LEAST[] = {0, 1, 1, 2, 2};

/* The first gene of path p within its stage. */
static int path_at(int p)
{
    return PATH + p * PATH_GENES;
}

/* Paths of a stage; what is empty comes last. */
static int stage_paths(const uint8_t *stage)
{
    int n = 0;
    while (n < PATHS && stage[path_at(n) + FIRST_OP])
        n++;
    return n;
}

/* Whether an operator may give other channels than it reads. */
static bool is_capable(int gene)
{
    return gene > 0 && OP[gene - 1].kind != AVG && OP[gene - 1].kind != MAX;
}

static int capable_ops(const uint8_t *path)
{
    int n = 0;
    for (int i = 0; i < PATH_OPS; i++)
        n += is_capable(path[FIRST_OP + i]);
    return n;
}

static int at_least_16(int channels)
{
    return channels > LEAST_CHANNELS ? channels : LEAST_CHANNELS;
}

/* Channels of stage s, of what path p of one gives, and of what lies between its operators. */
static int stage_channels(int s)
{
    return 32 << s;
}

static int path_channels(const uint8_t *stage, int s, int p)
{
    int n = stage_paths(stage), share = n == 3 ? (p == stage[WIDE] ? 2 : 4) : n;
    return at_least_16(stage_channels(s) / share);
}

static int inner_channels(const uint8_t *path, int out)
{
    return path[INNER] == HALF ? at_least_16(out / 2) : path[INNER] == DOUBLED ? 2 * out : out;
}

/* Whether it matters which path is wide. */
static bool may_be_wide(const uint8_t *stage, int s)
{
    return stage_paths(stage) == 3 && stage_channels(s) / 4 >= LEAST_CHANNELS;
}

/* Choices that do not change the network are zero. */
static void tidy(const nas_space *space, nas_arch *a)
{
    (void)space;
    for (int s = 0; s < STAGES; s++) {
        uint8_t *stage = &a->gene[s * STAGE_GENES];
        if (!may_be_wide(stage, s))
            stage[WIDE] = 0;
        for (int p = 0; p < PATHS; p++) {
            uint8_t *path = &stage[path_at(p)];
            bool same = p < stage_paths(stage) && path[INNER] == HALF &&
                        path_channels(stage, s, p) == LEAST_CHANNELS;
            if (capable_ops(path) < 2 || same)
                path[INNER] = SAME;
        }
    }
}

static bool valid_stage(const uint8_t *stage)
{
    static const uint8_t NO_OPS[PATH_OPS];
    int n = stage_paths(stage), ops = 0;
    for (int p = 0; p < PATHS; p++) {
        const uint8_t *path = &stage[path_at(p)];
        if (p < n ? !nas_chain_valid(&CHAIN, &path[FIRST_OP]) ||
                        nas_chain_length(&CHAIN, &path[FIRST_OP]) < OPS_LEAST[n]
                  : memcmp(&path[FIRST_OP], NO_OPS, PATH_OPS) != 0)
            return false;
        ops += nas_chain_length(&CHAIN, &path[FIRST_OP]);
    }
    return n > 0 && ops <= OPS_MOST[n];
}

static bool valid(const nas_space *space, const nas_arch *a)
{
    nas_arch tidied = *a;
    tidy(space, &tidied);
    for (int s = 0; s < STAGES; s++)
        if (!valid_stage(&a->gene[s * STAGE_GENES]))
            return false;
    return nas_arch_same(&tidied, a);
}

/* ---- operators ---- */

/* Half, as many and twice as many inner channels in the proportion 3 : 6 : 1. */
static void sample_path(nas_rng *rng, int n, uint8_t *path)
{
    nas_chain_sample(&CHAIN, rng, n, &path[FIRST_OP]);
    uint64_t ten = nas_rng_below(rng, 10);
    path[INNER] = ten < 3 ? HALF : ten < 9 ? SAME : DOUBLED;
}

/* As the data set was drawn: uniform over the number of blocks, of paths and, path by path, of the
 * operators that are left. */
static void sample(const nas_space *space, nas_rng *rng, nas_arch *out)
{
    (void)space;
    for (int s = 0; s < STAGES; s++) {
        uint8_t *stage = &out->gene[s * STAGE_GENES];
        int paths = 1 + (int)nas_rng_below(rng, PATHS), left = OPS_MOST[paths];
        stage[BLOCKS] = (uint8_t)nas_rng_below(rng, BLOCKS_MOST - BLOCKS_LEAST + 1);
        stage[WIDE] = (uint8_t)nas_rng_below(rng, 3);
        for (int p = 0; p < paths; p++) {
            int least = OPS_LEAST[paths], most = left - least * (paths - p - 1);
            int n = least + (int)nas_rng_below(rng, (uint64_t)(most - least) + 1);
            sample_path(rng, n, &stage[path_at(p)]);
            left -= n;
        }
    }
}

static void remove_path(uint8_t *stage, int p)
{
    int n = stage_paths(stage);
    memmove(&stage[path_at(p)], &stage[path_at(p + 1)], (size_t)(n - p - 1) * PATH_GENES);
    memset(&stage[path_at(n - 1)], 0, PATH_GENES);
}

/* One edit of one stage, three times in eight of a path's operators, else its number of blocks, a
 * path added or removed, inner channels or the wide path. What makes no member is tried again. */
static void mutate(const nas_space *space, nas_rng *rng, const nas_arch *a, nas_arch *out)
{
    (void)space, (void)a;
    uint8_t *stage = &out->gene[nas_rng_below(rng, STAGES) * STAGE_GENES];
    int paths = stage_paths(stage), p = (int)nas_rng_below(rng, (uint64_t)paths);
    uint8_t *path = &stage[path_at(p)];
    switch (nas_rng_below(rng, 8)) {
    case 0:
        stage[BLOCKS] = (uint8_t)nas_rng_below(rng, BLOCKS_MOST - BLOCKS_LEAST + 1);
        break;
    case 1:
        if (paths < PATHS)
            sample_path(rng, OPS_LEAST[paths + 1], &stage[path_at(paths)]);
        break;
    case 2:
        remove_path(stage, p);
        break;
    case 3:
        path[INNER] = (uint8_t)nas_rng_below(rng, INNERS);
        break;
    case 4:
        stage[WIDE] = (uint8_t)nas_rng_below(rng, 3);
        break;
    default:
        nas_chain_edit(&CHAIN, rng, &path[FIRST_OP]);
    }
}

/* For each stage the number of blocks from one parent or the other, and so its paths together. */
static void cross(const nas_space *space, nas_rng *rng, const nas_arch *a, const nas_arch *b,
                  nas_arch *out)
{
    (void)space, (void)a;
    for (int s = 0; s < STAGES; s++) {
        const uint8_t *from = &b->gene[s * STAGE_GENES];
        uint8_t *to = &out->gene[s * STAGE_GENES];
        if (nas_rng_below(rng, 2))
            to[BLOCKS] = from[BLOCKS];
        if (nas_rng_below(rng, 2))
            memcpy(&to[WIDE], &from[WIDE], STAGE_GENES - WIDE);
    }
}

/* ---- text ---- */

static void print_path(const uint8_t *stage, int s, int p, nas_bytes *out)
{
    static const char *const MARK[] = {"", ":half", ":double"};
    const uint8_t *path = &stage[path_at(p)];
    nas_chain_print(&CHAIN, &path[FIRST_OP], out);
    nas_bytes_puts(out, MARK[path[INNER]]);
    if (may_be_wide(stage, s) && stage[WIDE] == p)
        nas_bytes_puts(out, ":wide");
}

static void print(const nas_space *space, const nas_arch *a, nas_bytes *out)
{
    (void)space;
    for (int s = 0; s < STAGES; s++) {
        const uint8_t *stage = &a->gene[s * STAGE_GENES];
        nas_bytes_print(out, "%s%d*", s ? "|" : "", stage[BLOCKS] + BLOCKS_LEAST);
        for (int p = 0; p < stage_paths(stage); p++) {
            if (p)
                nas_bytes_putc(out, ',');
            print_path(stage, s, p, out);
        }
    }
}

typedef struct {
    nas_bytes text;
    const uint8_t *gene;
    bool wide;
} path_row;

static int compare_rows(const void *a, const void *b)
{
    return strcmp(((const path_row *)a)->text.data, ((const path_row *)b)->text.data);
}

/* Paths in the order of their texts, each with the comma that ends it: then no text starts another
 * one, and this order gives the smallest string. */
static void canonical(const nas_space *space, const nas_arch *a, nas_arch *out)
{
    (void)space;
    *out = *a;
    for (int s = 0; s < STAGES; s++) {
        const uint8_t *stage = &a->gene[s * STAGE_GENES];
        uint8_t *to = &out->gene[s * STAGE_GENES];
        path_row row[PATHS];
        int n = stage_paths(stage);
        for (int p = 0; p < n; p++) {
            row[p] = (path_row){{0}, &stage[path_at(p)], may_be_wide(stage, s) && stage[WIDE] == p};
            print_path(stage, s, p, &row[p].text);
            nas_bytes_putc(&row[p].text, ',');
        }
        qsort(row, (size_t)n, sizeof *row, compare_rows);
        for (int p = 0; p < n; p++) {
            memcpy(&to[path_at(p)], row[p].gene, PATH_GENES);
            to[WIDE] = row[p].wide ? (uint8_t)p : to[WIDE];
            nas_bytes_clear(&row[p].text);
        }
    }
}

/* The marks of a path; returns whether one is ":wide". */
static bool read_marks(nas_reader *r, uint8_t *path)
{
    static const char *const WORD[] = {"half", "double", "wide"};
    bool wide = false;
    while (nas_read_peek(r, ':') && nas_read_char(r, ':')) {
        const char *start = r->at;
        int mark = 0;
        if (!nas_read_word(r, WORD, 3, "mark", &mark))
            break;
        if (mark == 2 ? wide : path[INNER] != SAME)
            nas_read_fault(r, start, "a path has one mark of a kind");
        else if (mark < 2 && capable_ops(path) < 2)
            nas_read_fault(r, start, "inner channels need two operators that may change them");
        else if (mark < 2)
            path[INNER] = (uint8_t)(HALF + mark);
        wide = wide || mark == 2;
    }
    return wide;
}

static void read_stage(nas_reader *r, uint8_t *stage)
{
    int blocks = BLOCKS_LEAST, n = 0, wide = -1;
    nas_read_number(r, 1, BLOCKS_LEAST, BLOCKS_MOST, &blocks);
    stage[BLOCKS] = (uint8_t)(blocks - BLOCKS_LEAST);
    nas_read_char(r, '*');
    const char *start = r->at;
    do {
        if (n == PATHS) {
            nas_read_fault(r, NULL, "a block has at most %d paths", PATHS);
            return;
        }
        nas_chain_read(&CHAIN, r, &stage[path_at(n) + FIRST_OP]);
        if (read_marks(r, &stage[path_at(n)])) {
            if (wide >= 0)
                nas_read_fault(r, NULL, "two paths are wide");
            wide = n;
        }
        n++;
    } while (nas_read_peek(r, ',') && nas_read_char(r, ','));
    if (wide >= 0 && n != 3)
        nas_read_fault(r, start, "one of three paths may be wide, here are %d", n);
    stage[WIDE] = (uint8_t)(wide > 0 ? wide : 0);
    if (!r->failed && !valid_stage(stage))
        nas_read_fault(r, start, "%d paths have %d operators at most and %d each at least", n,
                       OPS_MOST[n], OPS_LEAST[n]);
}

static nas_status parse(const nas_space *space, const char *text, nas_arch *out, nas_err *err)
{
    (void)space;
    nas_reader r = {text, text, err, false};
    for (int s = 0; s < STAGES; s++) {
        if (s)
            nas_read_char(&r, '|');
        read_stage(&r, &out->gene[s * STAGE_GENES]);
    }
    return nas_read_end(&r);
}

/* ---- graph: all convolutions have a bias but the one before a depthwise convolution ---- */

static int conv(nas_body body, int x, int64_t i, int64_t o, int k, int s)
{
    return nas_block_conv(
        body, x,
        (nas_conv){.i = i, .o = o, .k = k, .s = s, .bias = true, .bn = true, .act = NAS_ACT_RELU6});
}

/* 1 x k with stride (1, s), and k x 1 with stride (s, 1). */
static int across(nas_body body, int x, int64_t i, int64_t o, int k, int s, nas_act act)
{
    return nas_block_conv(body, x,
                          (nas_conv){.i = i,
                                     .o = o,
                                     .k = 1,
                                     .kw = k,
                                     .s = 1,
                                     .sw = s,
                                     .bias = true,
                                     .bn = true,
                                     .act = act});
}

static int down(nas_body body, int x, int64_t i, int64_t o, int k, int s, nas_act act)
{
    return nas_block_conv(body, x,
                          (nas_conv){.i = i,
                                     .o = o,
                                     .k = k,
                                     .kw = 1,
                                     .s = s,
                                     .sw = 1,
                                     .bias = true,
                                     .bn = true,
                                     .act = act});
}

/* Both directions side by side, h channels each; with stride each goes on in the other direction.
 */
static int both(nas_body body, int64_t i, int64_t h, int k, int s)
{
    int a = across(body, 0, i, h, k, s, NAS_ACT_NONE), b = down(body, 0, i, h, k, s, NAS_ACT_NONE);
    if (s != 1) {
        a = down(body, a, h, h, k, s, NAS_ACT_NONE);
        b = across(body, b, h, h, k, s, NAS_ACT_NONE);
    }
    int halves[] = {nas_block_act(body, a, NAS_ACT_RELU6), nas_block_act(body, b, NAS_ACT_RELU6)};
    return nas_block_act(body, nas_block_concat(body, halves, 2), NAS_ACT_RELU6);
}

static int depthwise(nas_body body, int x, int64_t c, int k, int s)
{
    return nas_block_conv(body, x,
                          (nas_conv){.o = c,
                                     .k = k,
                                     .s = s,
                                     .group = NAS_DEPTHWISE,
                                     .bias = true,
                                     .bn = true,
                                     .act = NAS_ACT_RELU6});
}

/* Operators of more than one convolution, on the attributes i and o (BOTH: i and o / 2). */
static int op_body(nas_body body, const operator* op, int s)
{
    const int64_t i = NAS_FORMAL(0), o = NAS_FORMAL(1);
    switch (op->kind) {
    case DEPTHWISE:
        return depthwise(body, nas_block_conv(body, 0, (nas_conv){.i = i, .o = o, .k = 1}), o,
                         op->k, s);
    case SPLIT:
        return down(body, across(body, 0, i, o, op->k, s, NAS_ACT_RELU6), o, o, op->k, s,
                    NAS_ACT_RELU6);
    case BOTH:
        return both(body, i, o, op->k, s);
    default: /* DOUBLE */
        return conv(body, conv(body, 0, i, o, 1, 1), o, o, 1, s);
    }
}

static int pool(nas_body body, int x, nas_op_id op, int k, int64_t c)
{
    x = nas_block_pool(
        body, x, (nas_pool){.op = op, .k = k, .pad = k / 2, .count_pad = op == NAS_OP_AVGPOOL});
    return nas_block_bn(body, x, c, NAS_ACT_NONE);
}

/* Calls the operator's function, as bias_inception_s3x3_s2 <i, o>. */
static int build_op(nas_body block, const operator* op, int x, int64_t i, int64_t o, int s)
{
    if (op->kind == CONV)
        return conv(block, x, i, o, op->k, s);
    if (op->kind == AVG || op->kind == MAX)
        return pool(block, x, op->kind == AVG ? NAS_OP_AVGPOOL : NAS_OP_MAXPOOL, op->k, i);
    if (op->kind == DEPTHWISE && i == o)
        return depthwise(block, x, o, op->k, s);
    char name[40];
    snprintf(name, sizeof name, "bias_%s%s", NAME[op - OP], s == 1 ? "" : "_s2");
    bool halves = op->kind == BOTH;
    const char *const formal[] = {"i", halves ? "h" : "o"};
    nas_body own;
    if (nas_graph_function(block.graph, name, 1, formal, 2, true, &own))
        nas_body_return(own, op_body(own, op, s));
    return nas_body_call(block, name, &x, 1, (int64_t[]){i, halves ? o / 2 : o});
}

/* The first operator that may gives the inner channels, the last one those of the path, the first
 * convolution takes the stride. */
static int build_path(nas_body block, const uint8_t *path, int64_t i, int64_t o, int s)
{
    int x = 0, capable = capable_ops(path), met = 0;
    bool strided = false;
    for (int k = 0; k < nas_chain_length(&CHAIN, &path[FIRST_OP]); k++) {
        int gene = path[FIRST_OP + k];
        bool enters = !strided && nas_chain_is_conv(&CHAIN, gene);
        int64_t next = i;
        if (is_capable(gene)) {
            met++;
            next = met == capable ? o : met == 1 ? inner_channels(path, (int)o) : i;
        }
        x = build_op(block, &OP[gene - 1], x, i, next, enters ? s : 1);
        strided = strided || enters;
        i = next;
    }
    return x;
}

/* block2 of stage 2, or the first one with stride: block2_s2. */
static int call_block(nas_graph *g, const uint8_t *stage, int s, int x, int stride)
{
    char name[24];
    snprintf(name, sizeof name, "block%d%s", s, stride == 1 ? "" : "_s2");
    nas_body own;
    if (nas_graph_function(g, name, 1, NULL, 0, false, &own)) {
        int64_t o = stage_channels(s), i = stride == 1 ? o : o / 2, sum = 0;
        int out[PATHS], n = stage_paths(stage);
        for (int p = 0; p < n; p++) {
            int64_t c = path_channels(stage, s, p);
            out[p] = build_path(own, &stage[path_at(p)], i, c, stride);
            sum += c;
        }
        int y = nas_block_concat(own, out, n);
        if (sum != o)
            y = nas_block_conv(own, y,
                               (nas_conv){.i = sum, .o = o, .k = 1, .bias = true, .bn = true});
        nas_body_return(own, stride == 1 ? nas_block_add(own, 0, y) : y);
    }
    return nas_body_call(nas_graph_main(g), name, &x, 1, NULL);
}

static void build(const nas_space *space, const nas_arch *a, const nas_task *task, nas_graph *g)
{
    (void)space;
    nas_body main = nas_graph_main(g);
    int x = nas_graph_input(g, &(nas_shape){4, {0, task->channels, task->height, task->width}});
    x = conv(main, x, task->channels, stage_channels(0), 3, 1);
    for (int s = 0; s < STAGES; s++) {
        const uint8_t *stage = &a->gene[s * STAGE_GENES];
        for (int b = 0; b < stage[BLOCKS] + BLOCKS_LEAST; b++)
            x = call_block(g, stage, s, x, s && b == 0 ? 2 : 1);
    }
    x = conv(main, x, stage_channels(STAGES - 1), 512, 3, 1);
    nas_body_return(main, nas_block_head(main, x, 512, task->classes));
}

/* Strings of a stage's block, by stage: the third and the fourth have the same choices. */
#define N_STAGE0 3203990356616.0
#define N_STAGE1 3232839869576.0
#define N_STAGE2 14485415699592.0

const nas_space nas_space_inception = {
    .name = "inception",
    .title = "Inception: four stages of blocks of parallel paths",
    .source = "GENNAPE, Mills et al., AAAI 2023",
    .syntax =
        "four stages as 3*conv3x3+conv1x1:half,conv5x5 joined by '|': blocks, '*', paths joined "
        "by ',', operators by '+', marks :half :double (inner channels) and :wide (of three "
        "paths)",
    .tasks = TASKS,
    .n_tasks = 1,
    .size = 625 * N_STAGE0 * N_STAGE1 * N_STAGE2 * N_STAGE2,
    .n_genes = STAGES * STAGE_GENES,
    .arity = ARITY,
    .valid = valid,
    .tidy = tidy,
    .sample = sample,
    .mutate = mutate,
    .cross = cross,
    .canonical = canonical,
    .print = print,
    .parse = parse,
    .build = build,
};
