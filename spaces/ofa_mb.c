/* Once-for-all subnets of MobileNetV3 (widths 1.0 and 1.2) and of ProxylessNAS (width 1.3):
 * inverted residual blocks with elastic resolution, depth, kernel and expansion. */
#include "spaces/block.h"
#include "spaces/ofa.h"

enum { KERNEL, EXPAND };

typedef struct {
    nas_ofa layout; /* first: what the shared verbs read */
    struct {
        int width, stride;
        bool squeeze;
        nas_act act;
    } stage[NAS_OFA_STAGES];
    int stem, first;  /* widths of the first convolution and of the first, fixed block */
    int last, hidden; /* of the last convolution and of the layer behind the pool, 0: none */
    nas_act stem_act, first_act, last_act;
    bool eps3;
} net;

#define TEN 3, 3, 3, 3, 3, 3, 3, 3, 3, 3
static const uint8_t ARITY_MB[] = {NAS_OFA_RESOLUTIONS, 3, 3, 3, 3, 3, TEN, TEN, TEN, TEN};
static const uint8_t ARITY_PN[] = {NAS_OFA_RESOLUTIONS, 3, 3, 3, 3, 3, 1, TEN, TEN, 3, TEN, TEN, 3};
static const nas_task TASKS[] = {{"imagenet", 3, 0, 0, 1000}};

#define LAYOUT_MB                                                                                  \
    {                                                                                              \
        .stages = 5, .depth = {"234", "234", "234", "234", "234"}, .slots = {4, 4, 4, 4, 4},       \
        .lists = 2, .list = {                                                                      \
            "357",                                                                                 \
            "346"                                                                                  \
        }                                                                                          \
    }

static const net MB = {
    .layout = LAYOUT_MB,
    .stage = {{24, 2, false, NAS_ACT_RELU},
              {40, 2, true, NAS_ACT_RELU},
              {80, 2, false, NAS_ACT_HSWISH},
              {112, 1, true, NAS_ACT_HSWISH},
              {160, 2, true, NAS_ACT_HSWISH}},
    .stem = 16,
    .first = 16,
    .last = 960,
    .hidden = 1280,
    .stem_act = NAS_ACT_HSWISH,
    .first_act = NAS_ACT_RELU,
    .last_act = NAS_ACT_HSWISH,
};

static const net MB_W12 = {
    .layout = LAYOUT_MB,
    .stage = {{32, 2, false, NAS_ACT_RELU},
              {48, 2, true, NAS_ACT_RELU},
              {96, 2, false, NAS_ACT_HSWISH},
              {136, 1, true, NAS_ACT_HSWISH},
              {192, 2, true, NAS_ACT_HSWISH}},
    .stem = 24,
    .first = 24,
    .last = 1152,
    .hidden = 1536,
    .stem_act = NAS_ACT_HSWISH,
    .first_act = NAS_ACT_RELU,
    .last_act = NAS_ACT_HSWISH,
};

static const net PN = {
    .layout = {.stages = 6,
               .depth = {"234", "234", "234", "234", "234", "1"},
               .slots = {4, 4, 4, 4, 4, 1},
               .lists = 2,
               .list = {"357", "346"}},
    .stage = {{32, 2, false, NAS_ACT_RELU6},
              {56, 2, false, NAS_ACT_RELU6},
              {104, 2, false, NAS_ACT_RELU6},
              {128, 1, false, NAS_ACT_RELU6},
              {248, 2, false, NAS_ACT_RELU6},
              {416, 1, false, NAS_ACT_RELU6}},
    .stem = 40,
    .first = 24,
    .last = 1664,
    .stem_act = NAS_ACT_RELU6,
    .first_act = NAS_ACT_RELU6,
    .last_act = NAS_ACT_RELU6,
    .eps3 = true,
};

static int build_stages(nas_body main, int x, const net *n, const nas_arch *a)
{
    int64_t width = n->first;
    for (int stage = 0, first = 0; stage < n->layout.stages; first += n->layout.slots[stage++])
        for (int i = 0; i < nas_ofa_blocks(&n->layout, a, stage); i++) {
            int64_t e = width * nas_ofa_value(&n->layout, a, EXPAND, first + i);
            nas_mbconv block = {.i = width, .o = n->stage[stage].width, .eps3 = n->eps3};
            block.e = nas_channels(e);
            block.squeeze = n->stage[stage].squeeze ? nas_channels(block.e / 4) : 0;
            block.k = nas_ofa_value(&n->layout, a, KERNEL, first + i);
            block.s = i ? 1 : n->stage[stage].stride;
            block.act = n->stage[stage].act;
            x = nas_block_mbconv(main, x, block);
            width = block.o;
        }
    return x;
}

/* MobileNetV3's head: the mean goes through a layer without batch norm and bias. */
static int build_head(nas_body main, int x, int64_t i, int64_t hidden, int64_t o)
{
    const char *const formal[] = {"i", "h", "o"};
    nas_body own;
    if (nas_graph_function(main.graph, "head_hswish", 1, formal, 3, true, &own)) {
        const int64_t in = NAS_FORMAL(0), h = NAS_FORMAL(1), out = NAS_FORMAL(2);
        int y = nas_body_op(own, NAS_OP_GLOBALAVGPOOL, (int[]){0}, 1, NULL);
        y = nas_block_conv(own, y, (nas_conv){.i = in, .o = h, .k = 1, .act = NAS_ACT_HSWISH});
        nas_body_return(own, nas_block_linear(own, nas_block_flatten(own, y), h, out));
    }
    return nas_body_call(main, "head_hswish", &x, 1, (int64_t[]){i, hidden, o});
}

static void build(const nas_space *space, const nas_arch *a, const nas_task *task, nas_graph *g)
{
    const net *n = space->data;
    nas_body main = nas_graph_main(g);
    int64_t size = nas_ofa_resolution(a), in = task->channels;
    int x = nas_graph_input(g, &(nas_shape){4, {0, in, size, size}});
    nas_conv stem = {.i = in, .o = n->stem, .k = 3, .s = 2, .bn = true, .eps3 = n->eps3};
    stem.act = n->stem_act;
    x = nas_block_conv(main, x, stem);
    nas_mbconv first = {.i = n->stem, .o = n->first, .k = 3, .eps3 = n->eps3};
    first.act = n->first_act;
    x = nas_block_mbconv(main, x, first);
    x = build_stages(main, x, n, a);
    nas_conv last = {.o = n->last, .k = 1, .bn = true, .eps3 = n->eps3, .act = n->last_act};
    last.i = n->stage[n->layout.stages - 1].width;
    x = nas_block_conv(main, x, last);
    x = n->hidden ? build_head(main, x, n->last, n->hidden, task->classes)
                  : nas_block_head(main, x, n->last, task->classes);
    nas_body_return(main, x);
}

#define SUBNETS(label, about, constants, arities, points)                                          \
    {                                                                                              \
        .name = label, .title = about, .source = "Cai et al., ICLR 2020",                          \
        .syntax = "R/D/KS/E: kernels 3 5 7, expansions 3 4 6", .tasks = TASKS, .n_tasks = 1,       \
        .size = points, .n_genes = sizeof arities, .arity = arities, .data = &constants,           \
        NAS_OFA_VERBS, .build = build                                                              \
    }

const nas_space nas_space_ofa_mb =
    SUBNETS("ofa-mb", "once-for-all MobileNetV3, width 1.0", MB, ARITY_MB, 543966387314312146275.0);
const nas_space nas_space_ofa_mb_w12 = SUBNETS("ofa-mb-w12", "once-for-all MobileNetV3, width 1.2",
                                               MB_W12, ARITY_MB, 543966387314312146275.0);
const nas_space nas_space_ofa_pn = SUBNETS("ofa-pn", "once-for-all ProxylessNAS, width 1.3", PN,
                                           ARITY_PN, 4895697485828809316475.0);
