/* HiAML (Mills et al. 2023, GENNAPE): four stages of two blocks each, a stage's block one of 14.
 * Follows the published torch network; the second and the fourth stage halve the map and double
 * channels. */
#include "spaces/block.h"
#include "spaces/read.h"
#include "spaces/space.h"

#include <stdio.h>

enum { Z, A22, B23, J30, G30, R30, L20, T20, T31, SRC0, SRC1, SRC3, SRC7, SRC8, BLOCKS };
enum { STAGES = 4 };

/* The data set's own names carry a prefix. */
static const char *const NAME[2 * BLOCKS] = {
    "z",         "a22",       "b23",        "j30",        "g30",        "r30",        "l20",
    "t20",       "t31",       "src0",       "src1",       "src3",       "src7",       "src8",
    "hiaml_z",   "hiaml_a22", "hiaml_b23",  "hiaml_j30",  "hiaml_g30",  "hiaml_r30",  "hiaml_l20",
    "hiaml_t20", "hiaml_t31", "hiaml_src0", "hiaml_src1", "hiaml_src3", "hiaml_src7", "hiaml_src8",
};
static const uint8_t ARITY[STAGES] = {BLOCKS, BLOCKS, BLOCKS, BLOCKS};
static const nas_task TASKS[] = {{"cifar10", 3, 32, 32, 10}};

static void print(const nas_space *space, const nas_arch *a, nas_bytes *out)
{
    (void)space;
    for (int i = 0; i < STAGES; i++)
        nas_bytes_print(out, "%s%s", i ? "," : "", NAME[a->gene[i]]);
}

/* Also a list of quoted names in brackets. */
static nas_status parse(const nas_space *space, const char *text, nas_arch *out, nas_err *err)
{
    (void)space;
    nas_reader r = {text, text, err, false};
    bool list = nas_read_peek(&r, '[') && nas_read_char(&r, '[');
    for (int i = 0, block = 0; i < STAGES; i++) {
        if (i)
            nas_read_char(&r, ',');
        nas_read_quoted(&r, NAME, 2 * BLOCKS, "block", &block);
        out->gene[i] = (uint8_t)(block % BLOCKS);
    }
    if (list)
        nas_read_char(&r, ']');
    return nas_read_end(&r);
}

/* ---- graph ---- */

/* A block under construction: node 0 is its input x with i channels, it gives o at stride s. */
typedef struct {
    nas_body body;
    int64_t i, o;
    int s;
} block;

static int conv(const block *b, int x, int64_t i, int64_t o, int k, int s, nas_act act)
{
    return nas_block_conv(b->body, x,
                          (nas_conv){.i = i, .o = o, .k = k, .s = s, .bn = true, .act = act});
}

/* The convolution that takes the block's stride and channels. */
static int enter(const block *b, int k, nas_act act)
{
    return conv(b, 0, b->i, b->o, k, b->s, act);
}

static int inner(const block *b, int x, int k, nas_act act)
{
    return conv(b, x, b->o, b->o, k, 1, act);
}

/* A 3x3 convolution split in two: 1x3, then 3x1. */
static int split(const block *b, int x, int64_t i, int s)
{
    nas_conv across = {
        .i = i, .o = b->o, .k = 1, .kw = 3, .s = s, .bn = true, .act = NAS_ACT_RELU6};
    nas_conv down = {.i = b->o, .o = b->o, .k = 3, .kw = 1, .bn = true, .act = NAS_ACT_RELU6};
    return nas_block_conv(b->body, nas_block_conv(b->body, x, across), down);
}

static int enter_split(const block *b)
{
    return split(b, 0, b->i, b->s);
}

static int inner_split(const block *b, int x)
{
    return split(b, x, b->o, 1);
}

/* The block's input in the shape of its output; each use has weights of its own. */
static int project(const block *b)
{
    return b->s == 1 ? 0 : enter(b, 1, NAS_ACT_NONE);
}

static int add(const block *b, int x, int y)
{
    return nas_block_add(b->body, x, y);
}

static const nas_act LINEAR = NAS_ACT_NONE, RELU6 = NAS_ACT_RELU6;

/* Each block up to its last ReLU. */
static int build_sum(const block *b, int kind)
{
    int p = 0, a = 0, h = 0;
    switch (kind) {
    case Z:
        a = enter(b, 3, RELU6);
        return add(b, a, inner_split(b, a));
    case A22:
        a = enter(b, 3, RELU6);
        return add(b, a, inner(b, inner(b, a, 1, RELU6), 1, LINEAR));
    case B23:
        p = project(b);
        return add(b, p, inner_split(b, enter_split(b)));
    case J30:
        p = project(b);
        return add(b, p, inner_split(b, enter(b, 3, RELU6)));
    case G30:
        a = enter_split(b);
        h = inner_split(b, add(b, project(b), a));
        return add(b, a, inner(b, h, 1, LINEAR));
    case R30:
        a = enter_split(b);
        h = inner(b, add(b, project(b), a), 1, LINEAR);
        return add(b, add(b, project(b), h), inner_split(b, a));
    case L20:
        return inner(b, enter(b, 3, RELU6), 1, LINEAR);
    case T20:
        return add(b, enter(b, 1, LINEAR), enter_split(b));
    case T31:
        h = inner(b, enter_split(b), 1, RELU6);
        a = inner_split(b, add(b, project(b), h));
        return add(b, add(b, project(b), h), a);
    case SRC0:
        a = enter(b, 1, RELU6);
        return add(b, a, inner(b, inner(b, a, 3, RELU6), 3, LINEAR));
    case SRC1:
        h = conv(b, 0, b->i, b->i, 3, 1, RELU6);
        return add(b, enter(b, 1, RELU6), conv(b, h, b->i, b->o, 3, b->s, LINEAR));
    case SRC3:
        h = conv(b, 0, b->i, b->i, 1, 1, RELU6);
        h = conv(b, h, b->i, b->o, 3, b->s, RELU6);
        return add(b, enter(b, 1, LINEAR), inner(b, h, 1, LINEAR));
    case SRC7:
        a = enter(b, 1, LINEAR);
        return add(b, a, inner_split(b, inner_split(b, a)));
    default: /* SRC8 */
        a = enter(b, 1, LINEAR);
        return add(b, a, inner(b, inner_split(b, a), 1, LINEAR));
    }
}

/* Calls the block's function: hiaml_z <c>, or hiaml_z_s2 <i, o> with stride 2. */
static int call(nas_graph *g, int kind, int x, int64_t i, int64_t o)
{
    int s = i == o ? 1 : 2;
    char name[32];
    snprintf(name, sizeof name, "hiaml_%s%s", NAME[kind], s == 1 ? "" : "_s2");
    block b = {.i = NAS_FORMAL(0), .o = NAS_FORMAL(s - 1), .s = s};
    const char *const *formal =
        s == 1 ? (const char *const[]){"c"} : (const char *const[]){"i", "o"};
    if (nas_graph_function(g, name, 1, formal, s, true, &b.body))
        nas_body_return(b.body, nas_block_act(b.body, build_sum(&b, kind), NAS_ACT_RELU));
    return nas_body_call(nas_graph_main(g), name, &x, 1, (int64_t[]){i, o});
}

static void build(const nas_space *space, const nas_arch *a, const nas_task *task, nas_graph *g)
{
    (void)space;
    static const int64_t WIDTH[STAGES + 1] = {64, 64, 128, 128, 256};
    nas_body main = nas_graph_main(g);
    int x = nas_graph_input(g, &(nas_shape){4, {0, task->channels, task->height, task->width}});
    nas_conv stem = {
        .i = task->channels, .o = WIDTH[0], .k = 3, .s = 2, .bn = true, .act = NAS_ACT_RELU};
    x = nas_block_conv(main, x, stem);
    for (int i = 0; i < STAGES; i++) {
        x = call(g, a->gene[i], x, WIDTH[i], WIDTH[i + 1]);
        x = call(g, a->gene[i], x, WIDTH[i + 1], WIDTH[i + 1]);
    }
    nas_body_return(main, nas_block_head(main, x, WIDTH[STAGES], task->classes));
}

const nas_space nas_space_hiaml = {
    .name = "hiaml",
    .title = "HiAML: four stages of one of 14 blocks",
    .source = "GENNAPE, Mills et al., AAAI 2023",
    .syntax = "4 of z a22 b23 j30 g30 r30 l20 t20 t31 src0 src1 src3 src7 src8: z,a22,src0,t31",
    .tasks = TASKS,
    .n_tasks = 1,
    .size = 38416,
    .n_genes = STAGES,
    .arity = ARITY,
    .print = print,
    .parse = parse,
    .build = build,
};
