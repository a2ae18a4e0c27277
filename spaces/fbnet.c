/* The FBNet space as HW-NAS-Bench and HELP release it (Wu et al. 2019; Li et al. 2021): 22 layers
 * in 7 stages, each one of 8 inverted residual blocks or a skip. */
#include "spaces/block.h"
#include "spaces/space.h"

enum { LAYERS = 22, STAGES = 7, SKIP = 8, OPS };

static const uint8_t ARITY[LAYERS] = {OPS, OPS, OPS, OPS, OPS, OPS, OPS, OPS, OPS, OPS, OPS,
                                      OPS, OPS, OPS, OPS, OPS, OPS, OPS, OPS, OPS, OPS, OPS};
static const nas_task TASKS[] = {{"cifar100", 3, 32, 32, 100}, {"imagenet", 3, 224, 224, 1000}};

/* Kernel, expansion and groups of the operators. */
static const struct {
    int k, e, group;
} OP[SKIP] = {{3, 1, 1}, {3, 1, 2}, {3, 3, 1}, {3, 6, 1},
              {5, 1, 1}, {5, 1, 2}, {5, 3, 1}, {5, 6, 1}};

static const struct {
    int layers, width, stride, small_stride; /* small: CIFAR */
} STAGE[STAGES] = {{1, 16, 1, 1},  {4, 24, 2, 1},  {4, 32, 2, 2}, {4, 64, 2, 2},
                   {4, 112, 1, 1}, {4, 184, 2, 2}, {1, 352, 1, 1}};

/* Skips behind the first layer of a stage are the identity wherever they stand: they go last. */
static void canonical(const nas_space *space, const nas_arch *a, nas_arch *out)
{
    (void)space;
    *out = *a;
    for (int stage = 0, first = 0; stage < STAGES; first += STAGE[stage++].layers) {
        int end = first + STAGE[stage].layers, n = first + 1;
        for (int i = first + 1; i < end; i++)
            if (a->gene[i] != SKIP)
                out->gene[n++] = a->gene[i];
        while (n < end)
            out->gene[n++] = SKIP;
    }
}

static int build_layer(nas_body main, int x, int op, int64_t in, int64_t out, int stride)
{
    if (op == SKIP && in == out && stride == 1)
        return x;
    if (op == SKIP)
        return nas_block_conv(
            main, x,
            (nas_conv){.i = in, .o = out, .k = 1, .s = stride, .bn = true, .act = NAS_ACT_RELU});
    return nas_block_mbconv(main, x,
                            (nas_mbconv){.i = in,
                                         .e = in * OP[op].e,
                                         .o = out,
                                         .k = OP[op].k,
                                         .s = stride,
                                         .group = OP[op].group,
                                         .act = NAS_ACT_RELU});
}

static void build(const nas_space *space, const nas_arch *a, const nas_task *task, nas_graph *g)
{
    (void)space;
    nas_body main = nas_graph_main(g);
    const bool small = task->height == 32;
    int x = nas_graph_input(g, &(nas_shape){4, {0, task->channels, task->height, task->width}});
    int64_t width = 16, head = small ? 1504 : 1984;
    nas_conv stem = {.i = task->channels, .o = width, .k = 3, .s = small ? 1 : 2};
    stem.bn = true;
    stem.act = NAS_ACT_RELU;
    x = nas_block_conv(main, x, stem);
    const uint8_t *op = a->gene;
    for (int stage = 0; stage < STAGES; stage++)
        for (int i = 0; i < STAGE[stage].layers; i++) {
            int stride = i ? 1 : small ? STAGE[stage].small_stride : STAGE[stage].stride;
            x = build_layer(main, x, *op++, width, STAGE[stage].width, stride);
            width = STAGE[stage].width;
        }
    x = nas_block_conv(main, x,
                       (nas_conv){.i = width, .o = head, .k = 1, .bn = true, .act = NAS_ACT_RELU});
    nas_body_return(main, nas_block_head(main, x, head, task->classes));
}

const nas_space nas_space_fbnet = {
    .name = "fbnet",
    .title = "FBNet layers with the macros of HW-NAS-Bench",
    .source = "Wu et al., CVPR 2019; Li et al., ICLR 2021",
    .syntax = "22 digits 0-8",
    .tasks = TASKS,
    .n_tasks = 2,
    .size = 984770902183611232881.0,
    .n_genes = LAYERS,
    .arity = ARITY,
    .canonical = canonical,
    .print = nas_space_print_digits,
    .parse = nas_space_parse_digits,
    .build = build,
};
