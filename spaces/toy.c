/* A made space whose front is known in closed form, for tests and for trying things out: 10 layers,
 * each with a kernel of 1, 3, 5 or 7. With t the sum of the even genes and h that of the odd ones,
 * latency = 1 + t + h and accuracy = 60 + 30 sqrt(t / 15) - 2 h; the front is h = 0, t = 0 … 15. */
#include "spaces/block.h"
#include "spaces/space.h"

#include <math.h>

enum { LAYERS = 10, KERNELS = 4 };

static const uint8_t ARITY[LAYERS] = {KERNELS, KERNELS, KERNELS, KERNELS, KERNELS,
                                      KERNELS, KERNELS, KERNELS, KERNELS, KERNELS};
static const nas_task TASKS[] = {{"cifar10", 3, 32, 32, 10}};
static const char *const OBJECTIVES[] = {"accuracy", "latency:toy", NULL};

static void evaluate(const nas_space *space, const nas_arch *a, double *values)
{
    (void)space;
    int sum[2] = {0};
    for (int i = 0; i < LAYERS; i++)
        sum[i % 2] += a->gene[i];
    values[0] = 60 + 30 * sqrt(sum[0] / 15.0) - 2 * sum[1];
    values[1] = 1 + sum[0] + sum[1];
}

static void build(const nas_space *space, const nas_arch *a, const nas_task *task, nas_graph *g)
{
    (void)space;
    nas_body main = nas_graph_main(g);
    int x = nas_graph_input(g, &(nas_shape){4, {0, task->channels, task->height, task->width}});
    int64_t width = 16;
    x = nas_block_conv(
        main, x,
        (nas_conv){
            .i = task->channels, .o = width, .k = 3, .s = 2, .bn = true, .act = NAS_ACT_RELU});
    for (int i = 0; i < LAYERS; i++) {
        int64_t out = i < LAYERS / 2 ? 16 : 32;
        x = nas_block_conv(main, x,
                           (nas_conv){.i = width,
                                      .o = out,
                                      .k = 2 * a->gene[i] + 1,
                                      .s = out == width ? 1 : 2,
                                      .bn = true,
                                      .act = NAS_ACT_RELU});
        width = out;
    }
    nas_body_return(main, nas_block_head(main, x, width, task->classes));
}

const nas_space nas_space_toy = {
    .name = "toy",
    .title = "ten kernels with closed-form accuracy and latency",
    .source = "naslm",
    .syntax = "10 digits 0-3",
    .tasks = TASKS,
    .n_tasks = 1,
    .size = 1048576,
    .n_genes = LAYERS,
    .arity = ARITY,
    .print = nas_space_print_digits,
    .parse = nas_space_parse_digits,
    .build = build,
    .objectives = OBJECTIVES,
    .evaluate = evaluate,
};
