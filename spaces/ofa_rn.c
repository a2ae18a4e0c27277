/* Once-for-all subnets of ResNet-50D: bottleneck blocks with elastic resolution, depth, expansion
 * and width. */
#include "spaces/block.h"
#include "spaces/ofa.h"

#include <math.h>

enum { STEM, STAGE, WIDTHS = 6 }; /* places of depth; widths: stem inside, stem, 4 stages */

#define SIX 3, 3, 3, 3, 3, 3
static const uint8_t ARITY[] = {NAS_OFA_RESOLUTIONS, 2, 3, 3, 3, 3, SIX, SIX, SIX, SIX};
static const nas_task TASKS[] = {{"imagenet", 3, 0, 0, 1000}};

static const nas_ofa LAYOUT = {
    .stages = 5,
    .depth = {"02", "012", "012", "012", "012"},
    .slots = {0, 4, 4, 6, 4},
    .base = {0, 2, 2, 4, 2},
    .lists = 1,
    .list = {"012"},
    .widths = WIDTHS,
};
/* Base widths 32, 64, 256 … times 0.65, 0.8 and 1, as channels. */
static const int WIDTH[WIDTHS][3] = {{24, 24, 32},    {40, 48, 64},     {168, 208, 256},
                                     {336, 408, 512}, {664, 816, 1024}, {1328, 1640, 2048}};
static const double EXPAND[3] = {0.2, 0.25, 0.35};

/* Two of the widths inside the stem are the same network: the smaller digit. */
static void canonical(const nas_space *space, const nas_arch *a, nas_arch *out)
{
    (void)space;
    *out = *a;
    uint8_t *inside = &out->gene[space->n_genes - WIDTHS];
    if (*inside == 1)
        *inside = 0;
}

static const nas_conv CONV1 = {.k = 1, .bn = true}, CONV3 = {.k = 3, .bn = true};

static int conv(nas_body body, int x, nas_conv c, int64_t i, int64_t o, int s, nas_act act)
{
    c.i = i;
    c.o = o;
    c.s = s;
    c.act = act;
    return nas_block_conv(body, x, c);
}

/* 1x1 to e, 3x3 with the stride, 1x1 to o; the shortcut of another shape is ResNet-D's: average
 * pool, 1x1. bottleneck <c, e>, bottleneck_s1 <i, e, o>, bottleneck_s2 <i, e, o>. */
static int bottleneck(nas_body main, int x, int64_t i, int64_t e, int64_t o, int s)
{
    static const char *const same_formals[] = {"c", "e"}, *const formals[] = {"i", "e", "o"};
    const bool same = s == 1 && i == o;
    const char *name = same ? "bottleneck" : s == 1 ? "bottleneck_s1" : "bottleneck_s2";
    nas_body own;
    if (nas_graph_function(main.graph, name, 1, same ? same_formals : formals, same ? 2 : 3, true,
                           &own)) {
        const int64_t in = NAS_FORMAL(0), mid = NAS_FORMAL(1), out = same ? in : NAS_FORMAL(2);
        int y = conv(own, 0, CONV1, in, mid, 1, NAS_ACT_RELU), shortcut = 0;
        y = conv(own, y, CONV3, mid, mid, s, NAS_ACT_RELU);
        y = conv(own, y, CONV1, mid, out, 1, NAS_ACT_NONE);
        if (s > 1)
            shortcut = nas_block_pool(own, 0, (nas_pool){NAS_OP_AVGPOOL, s, s, .ceil = true});
        if (!same)
            shortcut = conv(own, shortcut, CONV1, in, out, 1, NAS_ACT_NONE);
        nas_body_return(own, nas_block_act(own, nas_block_add(own, y, shortcut), NAS_ACT_RELU));
    }
    return nas_body_call(main, name, &x, 1, (int64_t[]){i, e, o});
}

/* The deep stem: 3x3 / 2, with depth a 3x3 around which x is added, 3x3, max pool. */
static int build_stem(nas_body main, int x, int64_t i, int64_t inside, int64_t o, bool deep)
{
    x = conv(main, x, CONV3, i, inside, 2, NAS_ACT_RELU);
    if (deep)
        x = nas_block_add(main, x, conv(main, x, CONV3, inside, inside, 1, NAS_ACT_RELU));
    x = conv(main, x, CONV3, inside, o, 1, NAS_ACT_RELU);
    return nas_block_pool(main, x, (nas_pool){NAS_OP_MAXPOOL, .k = 3, .s = 2, .pad = 1});
}

static void build(const nas_space *space, const nas_arch *a, const nas_task *task, nas_graph *g)
{
    (void)space;
    nas_body main = nas_graph_main(g);
    int64_t size = nas_ofa_resolution(a), in = task->channels, width[WIDTHS];
    for (int i = 0; i < WIDTHS; i++)
        width[i] = WIDTH[i][nas_ofa_width(&LAYOUT, a, i)];
    int x = nas_graph_input(g, &(nas_shape){4, {0, in, size, size}});
    x = build_stem(main, x, in, width[0], width[1], nas_ofa_depth(&LAYOUT, a, STEM) > 0);
    int64_t i = width[1];
    for (int stage = STAGE, first = 0; stage < LAYOUT.stages; first += LAYOUT.slots[stage++])
        for (int b = 0; b < nas_ofa_blocks(&LAYOUT, a, stage); b++) {
            int64_t o = width[1 + stage];
            int expand = nas_ofa_value(&LAYOUT, a, 0, first + b);
            int64_t e = nas_channels(llround((double)o * EXPAND[expand]));
            x = bottleneck(main, x, i, e, o, b || stage == STAGE ? 1 : 2);
            i = o;
        }
    nas_body_return(main, nas_block_head(main, x, i, task->classes));
}

const nas_space nas_space_ofa_rn = {
    .name = "ofa-rn",
    .title = "once-for-all ResNet-50D",
    .source = "Cai et al., ICLR 2020",
    .syntax = "R/D/E/W: expansions and widths 0-2",
    .tasks = TASKS,
    .n_tasks = 1,
    .size = 61472869924050.0,
    .n_genes = sizeof ARITY,
    .arity = ARITY,
    .data = &LAYOUT,
    NAS_OFA_VERBS,
    .canonical = canonical,
    .build = build,
};
