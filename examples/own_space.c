/* A search space of one's own in one table: chains of six layers, each with a kernel of 3, 5 or 7
 * and a width of 16, 32 or 48. Prints random members, a mutation of each, and what their networks
 * cost. To have a space in the program, put such a file into spaces/ and its table into the list
 * there. */
#include "hw/cost.h"
#include "spaces/block.h"
#include "spaces/space.h"

#include <stdio.h>

enum { LAYERS = 6, CHOICES = 9 }; /* a gene is 3 * width index + kernel index */

static const uint8_t ARITY[LAYERS] = {CHOICES, CHOICES, CHOICES, CHOICES, CHOICES, CHOICES};
static const nas_task TASKS[] = {{"cifar10", 3, 32, 32, 10}};

/* A convolution a layer, the third and the fifth with stride 2, then the classifier. */
static void build(const nas_space *space, const nas_arch *a, const nas_task *task, nas_graph *g)
{
    (void)space;
    nas_body main = nas_graph_main(g);
    int x = nas_graph_input(g, &(nas_shape){4, {0, task->channels, task->height, task->width}});
    int64_t width = task->channels;
    for (int i = 0; i < LAYERS; i++) {
        nas_conv layer = {.i = width,
                          .o = 16 * (a->gene[i] / 3 + 1),
                          .k = 2 * (a->gene[i] % 3) + 3,
                          .s = i == 2 || i == 4 ? 2 : 1,
                          .bn = true,
                          .act = NAS_ACT_RELU};
        x = nas_block_conv(main, x, layer);
        width = layer.o;
    }
    nas_body_return(main, nas_block_head(main, x, width, task->classes));
}

static const nas_space chain = {
    .name = "chain",
    .title = "six convolutions",
    .source = "examples/own_space.c",
    .syntax = "6 digits 0-8",
    .tasks = TASKS,
    .n_tasks = 1,
    .size = 531441,
    .n_genes = LAYERS,
    .arity = ARITY,
    .print = nas_space_print_digits,
    .parse = nas_space_parse_digits,
    .build = build,
};

static void show(const char *what, const nas_arch *a)
{
    nas_bytes text = {0};
    nas_cost cost;
    nas_graph *g = nas_space_build(&chain, a, &chain.tasks[0]);
    nas_space_print(&chain, a, &text);
    if (nas_cost_of(g, &cost, NULL) == NAS_OK)
        printf("%-8s %s %9lld params %11lld macs\n", what, text.data, (long long)cost.params,
               (long long)cost.macs);
    nas_graph_free(g);
    nas_bytes_clear(&text);
}

int main(void)
{
    nas_rng rng = nas_rng_seed(1);
    for (int i = 0; i < 3; i++) {
        nas_arch a, b;
        nas_space_sample(&chain, &rng, &a);
        nas_space_mutate(&chain, &rng, &a, &b);
        show("sample", &a);
        show("mutation", &b);
    }
    return 0;
}
