/* NATS-Bench size space (Dong et al. 2021): the widths of five layers around one fixed cell, the
 * best of NAS-Bench-201: cell, residual, cell, residual, cell after a stem of the first width. */
#include "spaces/block.h"
#include "spaces/read.h"
#include "spaces/space.h"

enum { LAYERS = 5, WIDTHS = 8, STEP = 8 };

static const uint8_t ARITY[LAYERS] = {WIDTHS, WIDTHS, WIDTHS, WIDTHS, WIDTHS};
static const nas_task TASKS[] = {
    {"cifar10", 3, 32, 32, 10}, {"cifar100", 3, 32, 32, 100}, {"in16", 3, 16, 16, 120}};

static int width(const nas_arch *a, int layer)
{
    return STEP * (a->gene[layer] + 1);
}

static void print(const nas_space *space, const nas_arch *a, nas_bytes *out)
{
    (void)space;
    for (int i = 0; i < LAYERS; i++)
        nas_bytes_print(out, "%s%d", i ? ":" : "", width(a, i));
}

static nas_status parse(const nas_space *space, const char *text, nas_arch *out, nas_err *err)
{
    (void)space;
    nas_reader r = {text, text, err, false};
    for (int i = 0, w = 0; i < LAYERS && !r.failed; i++) {
        if (i > 0)
            nas_read_char(&r, ':');
        nas_read_peek(&r, 0);
        const char *start = r.at;
        if (nas_read_number(&r, 2, STEP, STEP * WIDTHS, &w) && w % STEP)
            nas_read_fault(&r, start, "width %d is not a multiple of %d", w, STEP);
        out->gene[i] = (uint8_t)(w / STEP - 1);
    }
    return nas_read_end(&r);
}

/* ---- graph ---- */

static int conv3(nas_body cell, int x, int64_t i, int64_t o)
{
    return nas_block_conv(cell, x,
                          (nas_conv){.i = i, .o = o, .k = 3, .pre = NAS_ACT_RELU, .bn = true});
}

/* Node 3 = skip(0) + conv(1) + conv(2) with 1 = conv(0), 2 = conv(0) + conv(1). Edges from the
 * input change the width; the skip then is a 1x1 convolution. */
static void build_cell(nas_body cell, bool same)
{
    const int64_t i = NAS_FORMAL(0), o = NAS_FORMAL(same ? 0 : 1);
    int a = conv3(cell, 0, i, o);
    int b = nas_block_add(cell, conv3(cell, 0, i, o), conv3(cell, a, o, o));
    int skip = same ? 0 : nas_block_conv(cell, 0, (nas_conv){.i = i, .o = o, .k = 1, .bn = true});
    int sum[] = {skip, conv3(cell, a, o, o), conv3(cell, b, o, o)};
    nas_body_return(cell, nas_block_sum(cell, sum, 3));
}

static int call_cell(nas_graph *g, int x, int64_t i, int64_t o)
{
    bool same = i == o;
    const char *name = same ? "sss_cell" : "sss_cell_to";
    nas_body cell;
    if (nas_graph_function(g, name, 1,
                           same ? (const char *const[]){"c"} : (const char *const[]){"i", "o"},
                           same ? 1 : 2, true, &cell))
        build_cell(cell, same);
    return nas_body_call(nas_graph_main(g), name, &x, 1, (int64_t[]){i, o});
}

static void build(const nas_space *space, const nas_arch *a, const nas_task *task, nas_graph *g)
{
    (void)space;
    nas_body main = nas_graph_main(g);
    int x = nas_graph_input(g, &(nas_shape){4, {0, task->channels, task->height, task->width}});
    x = nas_block_conv(main, x,
                       (nas_conv){.i = task->channels, .o = width(a, 0), .k = 3, .bn = true});
    int64_t i = width(a, 0);
    for (int layer = 0; layer < LAYERS; layer++) {
        int64_t o = width(a, layer);
        x = layer % 2 ? nas_block_residual(main, x, i, o) : call_cell(g, x, i, o);
        i = o;
    }
    x = nas_block_bn(main, x, i, NAS_ACT_RELU);
    nas_body_return(main, nas_block_head(main, x, i, task->classes));
}

const nas_space nas_space_nats_sss = {
    .name = "nats-sss",
    .title = "NATS-Bench sizes: five widths around a fixed cell",
    .source = "Dong, Liu, Musial and Gabrys, TPAMI 2021",
    .syntax = "five widths of 8, 16, ... 64 as 8:8:40:32:40",
    .tasks = TASKS,
    .n_tasks = 3,
    .size = 32768,
    .n_genes = LAYERS,
    .arity = ARITY,
    .print = print,
    .parse = parse,
    .build = build,
};
