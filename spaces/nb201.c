/* NAS-Bench-201 (Dong and Yang 2020), the topology space of NATS-Bench: a cell of 4 nodes and 6
 * edges, each edge one of 5 operators; node j is the sum of its edges from all earlier nodes. */
#include "spaces/block.h"
#include "spaces/read.h"
#include "spaces/space.h"

#include <stdlib.h>

enum { NONE, SKIP, CONV1, CONV3, POOL, OPS };
enum { E01, E02, E12, E03, E13, E23, EDGES };

static const char *const OP[OPS] = {"none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3",
                                    "avg_pool_3x3"};
static const uint8_t ARITY[EDGES] = {OPS, OPS, OPS, OPS, OPS, OPS};
static const nas_task TASKS[] = {
    {"cifar10", 3, 32, 32, 10}, {"cifar100", 3, 32, 32, 100}, {"in16", 3, 16, 16, 120}};

/* The edge from node s into node t > s: groups of t edges follow each other. */
static int edge(int s, int t)
{
    return t * (t - 1) / 2 + s;
}

static void print(const nas_space *space, const nas_arch *a, nas_bytes *out)
{
    (void)space;
    for (int t = 1; t < 4; t++) {
        nas_bytes_puts(out, t == 1 ? "|" : "+|");
        for (int s = 0; s < t; s++) {
            nas_bytes_puts(out, OP[a->gene[edge(s, t)]]);
            nas_bytes_putc(out, '~');
            nas_bytes_putc(out, (char)('0' + s));
            nas_bytes_putc(out, '|');
        }
    }
}

/* One group: the edges into node t, in any order. */
static void parse_node(nas_reader *r, int t, nas_arch *out)
{
    unsigned seen = 0;
    nas_read_char(r, '|');
    for (int i = 0; i < t; i++) {
        int op = 0, source = 0;
        nas_read_word(r, OP, OPS, "operator", &op);
        nas_read_char(r, '~');
        if (nas_read_number(r, 1, 0, t - 1, &source) && seen & 1u << source)
            nas_read_fault(r, r->at - 1, "node %d has two edges from node %d", t, source);
        nas_read_char(r, '|');
        seen |= 1u << source;
        out->gene[edge(source, t)] = (uint8_t)op;
    }
}

static nas_status parse(const nas_space *space, const char *text, nas_arch *out, nas_err *err)
{
    (void)space;
    nas_reader r = {text, text, err, false};
    for (int t = 1; t < 4; t++) {
        if (t > 1)
            nas_read_char(&r, '+');
        parse_node(&r, t, out);
    }
    return nas_read_end(&r);
}

/* Nodes 1 and 2 can trade places when no operator joins them; the mirror image with the smaller
 * string is canonical. 15,625 strings, 14,125 classes. */
static void canonical(const nas_space *space, const nas_arch *a, nas_arch *out)
{
    (void)space;
    static const uint8_t alphabetical[OPS] = {1, 4, 2, 3, 0};
    *out = *a;
    if (a->gene[E12] != NONE)
        return;
    const int mirror[EDGES] = {E02, E01, E12, E03, E23, E13};
    for (int i = 0; i < EDGES; i++) {
        int own = alphabetical[a->gene[i]], other = alphabetical[a->gene[mirror[i]]];
        if (own == other)
            continue;
        if (other < own)
            for (int k = 0; k < EDGES; k++)
                out->gene[k] = a->gene[mirror[k]];
        return;
    }
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(((const nas_bytes *)a)->data, ((const nas_bytes *)b)->data);
}

/* The expression of node 3 as the paper counts it: terms sorted, a skip is its source, an edge
 * without operator or from a vanished node is '#', which sums keep. 6,466 distinct texts. */
static void functional(const nas_space *space, const nas_arch *a, nas_bytes *out)
{
    (void)space;
    nas_bytes node[4] = {{0}}, term[3] = {{0}};
    nas_bytes_putc(&node[0], '0');
    for (int t = 1; t < 4; t++) {
        for (int s = 0; s < t; s++) {
            int op = a->gene[edge(s, t)];
            nas_bytes_reset(&term[s]);
            if (op == NONE || !strcmp(node[s].data, "#"))
                nas_bytes_putc(&term[s], '#');
            else if (op == SKIP)
                nas_bytes_puts(&term[s], node[s].data);
            else
                nas_bytes_print(&term[s], "(%s)@%s", node[s].data, OP[op]);
        }
        qsort(term, (size_t)t, sizeof *term, compare_text);
        for (int s = 0; s < t; s++)
            nas_bytes_print(&node[t], "%s%s", s ? "+" : "", term[s].data);
    }
    nas_bytes_puts(out, node[3].data);
    for (int i = 0; i < 4; i++)
        nas_bytes_clear(&node[i]);
    for (int i = 0; i < 3; i++)
        nas_bytes_clear(&term[i]);
}

/* ---- graph ---- */

static int build_edge(nas_body cell, int op, int x)
{
    const int64_t c = NAS_FORMAL(0);
    switch (op) {
    case CONV1:
    case CONV3:
        return nas_block_conv(
            cell, x,
            (nas_conv){.i = c, .o = c, .k = op == CONV1 ? 1 : 3, .pre = NAS_ACT_RELU, .bn = true});
    case POOL:
        return nas_block_pool(cell, x, (nas_pool){.op = NAS_OP_AVGPOOL, .k = 3, .pad = 1});
    default:
        return x;
    }
}

/* Dead operators stay, as in the networks that were trained; a node without edges is zero. */
static void build_cell(nas_body cell, const nas_arch *a)
{
    int node[4] = {0};
    for (int t = 1; t < 4; t++) {
        int terms[3], n = 0;
        for (int s = 0; s < t; s++)
            if (a->gene[edge(s, t)] != NONE)
                terms[n++] = build_edge(cell, a->gene[edge(s, t)], node[s]);
        node[t] = n ? nas_block_sum(cell, terms, n) : nas_block_scale(cell, 0, 0);
    }
    nas_body_return(cell, node[3]);
}

static int stage(nas_graph *g, int x, int64_t c)
{
    nas_body own;
    if (nas_graph_function(g, "cells5", 1, (const char *const[]){"c"}, 1, true, &own)) {
        int h = 0;
        for (int i = 0; i < 5; i++)
            h = nas_body_call(own, "cell", &h, 1, (int64_t[]){NAS_FORMAL(0)});
        nas_body_return(own, h);
    }
    return nas_body_call(nas_graph_main(g), "cells5", &x, 1, &c);
}

static void build(const nas_space *space, const nas_arch *a, const nas_task *task, nas_graph *g)
{
    (void)space;
    nas_body main = nas_graph_main(g), cell;
    int x = nas_graph_input(g, &(nas_shape){4, {0, task->channels, task->height, task->width}});
    if (nas_graph_function(g, "cell", 1, (const char *const[]){"c"}, 1, false, &cell))
        build_cell(cell, a);
    x = nas_block_conv(main, x, (nas_conv){.i = task->channels, .o = 16, .k = 3, .bn = true});
    x = stage(g, x, 16);
    x = stage(g, nas_block_residual(main, x, 16, 32), 32);
    x = stage(g, nas_block_residual(main, x, 32, 64), 64);
    x = nas_block_bn(main, x, 64, NAS_ACT_RELU);
    nas_body_return(main, nas_block_head(main, x, 64, task->classes));
}

static void cell(const nas_space *space, const nas_arch *a, nas_cells *out)
{
    (void)space;
    out->n = 1;
    nas_cell_of_edges(a->gene, &out->cell[0]);
}

const nas_space nas_space_nb201 = {
    .name = "nb201",
    .title = "NAS-Bench-201 cells (NATS-Bench topology)",
    .source = "Dong and Yang, ICLR 2020",
    .syntax = "|op~0|+|op~0|op~1|+|op~0|op~1|op~2|",
    .tasks = TASKS,
    .n_tasks = 3,
    .size = 15625,
    .n_genes = EDGES,
    .arity = ARITY,
    .canonical = canonical,
    .functional = functional,
    .print = print,
    .parse = parse,
    .build = build,
    .cell = cell,
    .cell_labels = NAS_CELL_NONE + OPS,
};
