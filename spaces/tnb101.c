/* TransNAS-Bench-101 (Duan et al. 2021), two spaces over one skeleton of modules, two cells each:
 * micro searches a cell of 6 edges on a fixed skeleton, macro the skeleton with residual cells. A
 * module's digit says what its first cell changes: 1 nothing, 2 twice the channels, 3 half the map,
 * 4 both.
 *
 * The tasks share the encoder. class_scene, class_object and room_layout end with pooled features
 * and a linear layer. The networks of the others are the encoder alone, what the data set calls
 * encoder_params and encoder_FLOPs: jigsaw reads one 64x64 tile (training joins the features of
 * nine tiles), segmentsemantic, normal and autoencoder decode the map with many transposed
 * convolutions. class_scene has 63 classes, as in the parameter counts that were published
 * (41,443,935 at most); the configuration in the authors' repository says 47. */
#include "spaces/block.h"
#include "spaces/read.h"
#include "spaces/space.h"

enum { BASE = 64 };

static const nas_task TASKS[] = {
    {"class_scene", 3, 256, 256, 63},    {"class_object", 3, 256, 256, 75},
    {"room_layout", 3, 256, 256, 9},     {"jigsaw", 3, 64, 64, 0},
    {"segmentsemantic", 3, 256, 256, 0}, {"normal", 3, 256, 256, 0},
    {"autoencoder", 3, 256, 256, 0}};
enum { N_TASKS = 7 };

static bool doubles(int digit)
{
    return digit % 2 == 0;
}

static bool halves(int digit)
{
    return digit > 2;
}

/* ---- graph: what both spaces share ---- */

static int conv(nas_body body, int x, int k, int s, int64_t i, int64_t o)
{
    return nas_block_conv(
        body, x, (nas_conv){.i = i, .o = o, .k = k, .s = s, .pre = NAS_ACT_RELU, .bn = true});
}

/* Appends a cell to main whose first operators change what the digit says: i -> o channels. */
typedef int cell_maker(nas_graph *, const nas_arch *, int digit, int x, int64_t i, int64_t o);

static void build_net(const nas_arch *a, const uint8_t *digit, int n, cell_maker *cell,
                      const nas_task *task, nas_graph *g)
{
    nas_body main = nas_graph_main(g);
    int x = nas_graph_input(g, &(nas_shape){4, {0, task->channels, task->height, task->width}});
    x = nas_block_conv(main, x,
                       (nas_conv){.i = task->channels, .o = BASE / 2, .k = 3, .s = 2, .bn = true});
    x = conv(main, x, 3, 2, BASE / 2, BASE);
    int64_t width = BASE;
    for (int m = 0; m < n; m++) {
        int64_t wide = doubles(digit[m]) ? 2 * width : width;
        x = cell(g, a, digit[m], x, width, wide);
        x = cell(g, a, 1, x, wide, wide);
        width = wide;
    }
    nas_body_return(main, task->classes ? nas_block_head(main, x, width, task->classes) : x);
}

/* ---- micro ---- */

enum { NONE, SKIP, CONV1, CONV3, OPS };
enum { E01, E02, E12, E03, E13, E23, EDGES };

static const uint8_t MICRO_ARITY[EDGES] = {OPS, OPS, OPS, OPS, OPS, OPS};
static const uint8_t MODULES[] = {4, 1, 4, 1, 4};

static int edge(int s, int t)
{
    return t * (t - 1) / 2 + s;
}

static void micro_print(const nas_space *space, const nas_arch *a, nas_bytes *out)
{
    (void)space;
    nas_bytes_puts(out, "64-41414-");
    for (int t = 1; t < 4; t++)
        for (int s = 0; s < t; s++)
            nas_bytes_print(out, "%s%d", s == 0 && t > 1 ? "_" : "", a->gene[edge(s, t)]);
}

/* Reads digits of a word one by one, blanks between them allowed. */
static void read_literal(nas_reader *r, const char *word)
{
    for (; *word; word++)
        nas_read_char(r, *word);
}

static nas_status micro_parse(const nas_space *space, const char *text, nas_arch *out, nas_err *err)
{
    (void)space;
    nas_reader r = {text, text, err, false};
    read_literal(&r, "64-41414-");
    for (int t = 1; t < 4; t++) {
        if (t > 1)
            nas_read_char(&r, '_');
        for (int s = 0, op = 0; s < t && nas_read_number(&r, 1, 0, OPS - 1, &op); s++)
            out->gene[edge(s, t)] = (uint8_t)op;
    }
    return nas_read_end(&r);
}

/* Nodes 1 and 2 can trade places when no operator joins them. */
static void micro_canonical(const nas_space *space, const nas_arch *a, nas_arch *out)
{
    (void)space;
    const int mirror[EDGES] = {E02, E01, E12, E03, E23, E13};
    nas_arch other = *a;
    for (int i = 0; i < EDGES; i++)
        other.gene[i] = a->gene[mirror[i]];
    *out = a->gene[E12] == NONE && memcmp(other.gene, a->gene, EDGES) < 0 ? other : *a;
}

/* Zeros of half the map and twice the channels. */
static int zeros_reduced(nas_body cell)
{
    int x = nas_block_pool(cell, 0, (nas_pool){.op = NAS_OP_MAXPOOL, .k = 1, .s = 2});
    return nas_block_scale(cell, nas_block_concat(cell, (int[]){x, x}, 2), 0);
}

/* An edge from i to o channels; one from a reducing cell's input halves the map, and o = 2 i. */
static int build_edge(nas_body cell, int op, int x, int64_t i, int64_t o)
{
    if (op == SKIP)
        return i == o ? x : nas_block_factorized(cell, x, i, i, o);
    return conv(cell, x, op == CONV1 ? 1 : 3, i == o ? 1 : 2, i, o);
}

/* Dead operators stay, as in the networks that were trained; a node without edges is zero. */
static void build_cell(nas_body cell, const nas_arch *a, bool reduces)
{
    const int64_t i = NAS_FORMAL(0), o = NAS_FORMAL(reduces ? 1 : 0);
    int node[4] = {0};
    for (int t = 1; t < 4; t++) {
        int terms[3], n = 0;
        for (int s = 0; s < t; s++)
            if (a->gene[edge(s, t)] != NONE)
                terms[n++] = build_edge(cell, a->gene[edge(s, t)], node[s], s == 0 ? i : o, o);
        node[t] = n         ? nas_block_sum(cell, terms, n)
                  : reduces ? zeros_reduced(cell)
                            : nas_block_scale(cell, 0, 0);
    }
    nas_body_return(cell, node[3]);
}

static int micro_cell(nas_graph *g, const nas_arch *a, int digit, int x, int64_t i, int64_t o)
{
    bool reduces = digit == 4;
    const char *name = reduces ? "cell_reduce" : "cell";
    nas_body cell;
    if (nas_graph_function(g, name, 1,
                           reduces ? (const char *const[]){"i", "o"} : (const char *const[]){"c"},
                           reduces ? 2 : 1, false, &cell))
        build_cell(cell, a, reduces);
    return nas_body_call(nas_graph_main(g), name, &x, 1, (int64_t[]){i, o});
}

static void micro_build(const nas_space *space, const nas_arch *a, const nas_task *task,
                        nas_graph *g)
{
    (void)space;
    build_net(a, MODULES, sizeof MODULES, micro_cell, task, g);
}

static void micro_graph(const nas_space *space, const nas_arch *a, nas_cells *out)
{
    (void)space;
    out->n = 1;
    nas_cell_of_edges(a->gene, &out->cell[0]);
}

const nas_space nas_space_tnb101_micro = {
    .name = "tnb101-micro",
    .title = "TransNAS-Bench-101 cells",
    .source = "Duan et al., CVPR 2021",
    .syntax = "64-41414-a_bc_def, edges into nodes 1, 2, 3: 0 none, 1 skip, 2 conv1x1, 3 conv3x3",
    .tasks = TASKS,
    .n_tasks = N_TASKS,
    .size = 4096,
    .n_genes = EDGES,
    .arity = MICRO_ARITY,
    .canonical = micro_canonical,
    .print = micro_print,
    .parse = micro_parse,
    .build = micro_build,
    .cell = micro_graph,
    .cell_labels = NAS_CELL_NONE + OPS,
};

/* ---- macro ---- */

enum { SHORTEST = 4, LONGEST = 6, DIGITS = 5 }; /* digit 0: no such module */

static const uint8_t MACRO_ARITY[LONGEST] = {DIGITS, DIGITS, DIGITS, DIGITS, DIGITS, DIGITS};

static int length(const nas_arch *a)
{
    int n = 0;
    while (n < LONGEST && a->gene[n])
        n++;
    return n;
}

/* 4 to 6 modules, one to four of which halve the map and one to three double the channels. */
static bool macro_valid(const nas_space *space, const nas_arch *a)
{
    (void)space;
    int n = length(a), halving = 0, doubling = 0;
    for (int i = 0; i < n; i++) {
        halving += halves(a->gene[i]);
        doubling += doubles(a->gene[i]);
    }
    for (int i = n; i < LONGEST; i++)
        if (a->gene[i])
            return false;
    return n >= SHORTEST && halving >= 1 && halving <= 4 && doubling >= 1 && doubling <= 3;
}

static void macro_print(const nas_space *space, const nas_arch *a, nas_bytes *out)
{
    (void)space;
    nas_bytes_puts(out, "64-");
    for (int i = 0; i < length(a); i++)
        nas_bytes_putc(out, (char)('0' + a->gene[i]));
    nas_bytes_puts(out, "-basic");
}

static nas_status macro_parse(const nas_space *space, const char *text, nas_arch *out, nas_err *err)
{
    (void)space;
    nas_reader r = {text, text, err, false};
    read_literal(&r, "64-");
    for (int i = 0, digit = 0; i < LONGEST && (i < SHORTEST || !nas_read_peek(&r, '-')); i++)
        if (nas_read_number(&r, 1, 1, DIGITS - 1, &digit))
            out->gene[i] = (uint8_t)digit;
    read_literal(&r, "-basic");
    if (!r.failed && !macro_valid(space, out))
        nas_read_fault(&r, text + 3,
                       "one to four modules (3, 4) halve the map and one to three "
                       "(2, 4) double the channels");
    return nas_read_end(&r);
}

/* Two convolutions plus the input, projected where it changes. */
static void build_basic(nas_body cell, int digit)
{
    const int64_t i = NAS_FORMAL(0), o = NAS_FORMAL(doubles(digit) ? 1 : 0);
    int s = halves(digit) ? 2 : 1;
    int h = conv(cell, conv(cell, 0, 3, s, i, o), 3, 1, o, o);
    int shortcut =
        digit == 1
            ? 0
            : nas_block_conv(cell, 0, (nas_conv){.i = i, .o = o, .k = 1, .s = s, .bn = true});
    nas_body_return(cell, nas_block_add(cell, h, shortcut));
}

static int macro_cell(nas_graph *g, const nas_arch *a, int digit, int x, int64_t i, int64_t o)
{
    (void)a;
    static const char *const names[DIGITS] = {"", "basic", "basic_wide", "basic_s2",
                                              "basic_s2_wide"};
    nas_body cell;
    if (nas_graph_function(g, names[digit], 1,
                           doubles(digit) ? (const char *const[]){"i", "o"}
                                          : (const char *const[]){"c"},
                           doubles(digit) ? 2 : 1, true, &cell))
        build_basic(cell, digit);
    return nas_body_call(nas_graph_main(g), names[digit], &x, 1, (int64_t[]){i, o});
}

static void macro_build(const nas_space *space, const nas_arch *a, const nas_task *task,
                        nas_graph *g)
{
    (void)space;
    build_net(a, a->gene, length(a), macro_cell, task, g);
}

const nas_space nas_space_tnb101_macro = {
    .name = "tnb101-macro",
    .title = "TransNAS-Bench-101 skeletons of residual cells",
    .source = "Duan et al., CVPR 2021",
    .syntax = "64-DIGITS-basic, 4 to 6 digits: 1 same, 2 channels x2, 3 stride 2, 4 both",
    .tasks = TASKS,
    .n_tasks = N_TASKS,
    .size = 3256,
    .n_genes = LONGEST,
    .arity = MACRO_ARITY,
    .valid = macro_valid,
    .print = macro_print,
    .parse = macro_parse,
    .build = macro_build,
};
