/* NAS-Bench-Macro (Su et al. 2021): eight layers in stages of 2, 3 and 3, each an identity (0) or
 * an inverted residual block with kernel 3 and expansion 3 (1) or kernel 5 and expansion 6 (2). The
 * first layer of a stage halves the map and doubles the width: its identity is a convolution. */
#include "spaces/block.h"
#include "spaces/space.h"

enum { LAYERS = 8, CHOICES = 3, STAGES = 3 };

static const int START[STAGES + 1] = {0, 2, 5, LAYERS};
static const uint8_t ARITY[LAYERS] = {CHOICES, CHOICES, CHOICES, CHOICES,
                                      CHOICES, CHOICES, CHOICES, CHOICES};
static const nas_task TASKS[] = {{"cifar10", 3, 32, 32, 10}};

/* Identities after the first layer of a stage are no layers: wherever they stand, the network is
 * the same. The smallest string has them in front. 6,561 strings, 3,969 networks. */
static void canonical(const nas_space *space, const nas_arch *a, nas_arch *out)
{
    (void)space;
    *out = *a;
    for (int s = 0; s < STAGES; s++) {
        int to = START[s + 1];
        for (int i = START[s + 1] - 1; i > START[s]; i--)
            if (a->gene[i])
                out->gene[--to] = a->gene[i];
        while (to > START[s] + 1)
            out->gene[--to] = 0;
    }
}

/* ---- graph ---- */

static int layer(nas_body main, int x, int choice, int64_t i, int64_t o)
{
    const int s = i == o ? 1 : 2;
    if (choice == 0 && s == 1)
        return x;
    if (choice == 0)
        return nas_block_conv(main, x, (nas_conv){.i = i, .o = o, .k = 1, .s = s, .bn = true});
    return nas_block_mbconv(main, x,
                            (nas_mbconv){.i = i,
                                         .e = i * (choice == 1 ? 3 : 6),
                                         .o = o,
                                         .k = choice == 1 ? 3 : 5,
                                         .s = s,
                                         .act = NAS_ACT_RELU});
}

static void build(const nas_space *space, const nas_arch *a, const nas_task *task, nas_graph *g)
{
    (void)space;
    nas_body main = nas_graph_main(g);
    nas_conv stem = {.i = task->channels, .o = 32, .k = 3, .bn = true, .act = NAS_ACT_RELU};
    int x = nas_graph_input(g, &(nas_shape){4, {0, task->channels, task->height, task->width}});
    x = nas_block_conv(main, x, stem);
    int64_t width = 32;
    for (int s = 0; s < STAGES; s++, width *= 2)
        for (int i = START[s]; i < START[s + 1]; i++)
            x = layer(main, x, a->gene[i], i == START[s] ? width : 2 * width, 2 * width);
    x = nas_block_conv(main, x,
                       (nas_conv){.i = width, .o = 1280, .k = 1, .bn = true, .act = NAS_ACT_RELU});
    nas_body_return(main, nas_block_head(main, x, 1280, task->classes));
}

const nas_space nas_space_nbmacro = {
    .name = "nbmacro",
    .title = "NAS-Bench-Macro: eight layers of inverted residual blocks",
    .source = "Su et al., AAAI 2021",
    .syntax = "8 digits 0-2",
    .tasks = TASKS,
    .n_tasks = 1,
    .size = 6561,
    .n_genes = LAYERS,
    .arity = ARITY,
    .canonical = canonical,
    .print = nas_space_print_digits,
    .parse = nas_space_parse_digits,
    .build = build,
};
