/* The MnasNet space of Accel-NASBench (Ahmad et al. 2024; the space after Tan et al. 2019): 7
 * blocks in EfficientNet-B0's macro, for each an expansion, a kernel, a number of layers, and
 * squeeze-excite or none. */
#include "spaces/block.h"
#include "spaces/read.h"
#include "spaces/space.h"

enum { BLOCKS = 7, EXPAND = 0, KERNEL = 1, LAYERS = 2, SQUEEZE = 3, LISTS = 4 };

static const uint8_t ARITY[LISTS * BLOCKS] = {3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2,
                                              3, 3, 3, 3, 3, 4, 3, 2, 2, 2, 2, 2, 2, 2};
static const nas_task TASKS[] = {{"imagenet", 3, 224, 224, 1000}};

static const int WIDTH[BLOCKS] = {16, 24, 40, 80, 112, 192, 320};
static const int STRIDE[BLOCKS] = {1, 2, 2, 2, 1, 2, 1};

/* The digits of gene i; the sixth block alone may have 4 layers. */
static const char *digits(int i)
{
    static const char *const list[LISTS] = {"146", "35", "123", "01"};
    return ARITY[i] == 4 ? "1234" : list[i / BLOCKS];
}

static int value(const nas_arch *a, int list, int block)
{
    int i = list * BLOCKS + block;
    return digits(i)[a->gene[i]] - '0';
}

static void print(const nas_space *space, const nas_arch *a, nas_bytes *out)
{
    (void)space;
    for (int i = 0; i < LISTS * BLOCKS; i++) {
        if (i && i % BLOCKS == 0)
            nas_bytes_putc(out, '/');
        nas_bytes_putc(out, digits(i)[a->gene[i]]);
    }
}

/* Without its last list an architecture has no squeeze-excite. */
static nas_status parse(const nas_space *space, const char *text, nas_arch *out, nas_err *err)
{
    (void)space;
    nas_reader r = {text, text, err, false};
    for (int i = 0, digit = 0; i < LISTS * BLOCKS && !r.failed; i++) {
        if (i == SQUEEZE * BLOCKS && nas_read_peek(&r, '\0'))
            break;
        if (i && i % BLOCKS == 0)
            nas_read_char(&r, '/');
        if (nas_read_digit(&r, digits(i), &digit))
            out->gene[i] = (uint8_t)digit;
    }
    return nas_read_end(&r);
}

static void build(const nas_space *space, const nas_arch *a, const nas_task *task, nas_graph *g)
{
    (void)space;
    nas_body main = nas_graph_main(g);
    int x = nas_graph_input(g, &(nas_shape){4, {0, task->channels, task->height, task->width}});
    int64_t width = 32;
    nas_conv outer = {.i = task->channels, .o = width, .k = 3, .s = 2, .bn = true};
    outer.act = NAS_ACT_SWISH;
    x = nas_block_conv(main, x, outer);
    for (int b = 0; b < BLOCKS; b++)
        for (int layer = 0; layer < value(a, LAYERS, b); layer++) {
            int e = value(a, EXPAND, b);
            x = nas_block_mbconv(main, x,
                                 (nas_mbconv){.i = width,
                                              .e = e == 1 ? 0 : width * e,
                                              .o = WIDTH[b],
                                              .squeeze = value(a, SQUEEZE, b) ? width / 4 : 0,
                                              .k = value(a, KERNEL, b),
                                              .s = layer ? 1 : STRIDE[b],
                                              .act = NAS_ACT_SWISH});
            width = WIDTH[b];
        }
    outer = (nas_conv){.i = width, .o = 1280, .k = 1, .bn = true, .act = NAS_ACT_SWISH};
    x = nas_block_conv(main, x, outer);
    nas_body_return(main, nas_block_head(main, x, 1280, task->classes));
}

const nas_space nas_space_mnasnet = {
    .name = "mnasnet",
    .title = "MnasNet blocks of Accel-NASBench",
    .source = "Ahmad et al., DAC 2024; Tan et al., CVPR 2019",
    .syntax = "E/K/L/SE, 7 digits each",
    .tasks = TASKS,
    .n_tasks = 1,
    .size = 104485552128,
    .n_genes = LISTS * BLOCKS,
    .arity = ARITY,
    .print = print,
    .parse = parse,
    .build = build,
};
