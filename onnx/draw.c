#include "onnx/draw.h"

#include <stdlib.h>
#include <string.h>

/* ---- panels ---- */

/* Whether a function gets a panel of its own: main, what is not prelude, and what calls others. */
static bool opened(const nas_graph *graph, int fn)
{
    const nas_fn *f = &graph->fn[fn];
    if (fn == 0 || !f->prelude)
        return true;
    for (size_t i = 0; i < f->n_node; i++)
        if (f->node[i].op == NAS_OP_CALL)
            return true;
    return false;
}

static const nas_attr *arguments(nas_panels *p, const nas_node *call, const nas_attr *arg)
{
    nas_attr *own = nas_arena_get(p->arena, (size_t)call->n_attr * sizeof *own);
    for (int i = 0; i < call->n_attr; i++) {
        int64_t v = call->attr[i].v[0];
        own[i] = nas_is_formal(v) ? arg[v - NAS_FORMAL(0)] : call->attr[i];
    }
    return own;
}

/* Walks a body as nas_graph_flat inlines it, so that node k of the flat graph is the k-th operator
 * met. in: flat nodes of the inputs; *next: the flat node to come. Returns that of the output. */
static int trace(nas_panels *p, int fn, const int *in, const nas_attr *arg, int depth, int *next)
{
    const nas_fn *f = &p->graph->fn[fn];
    int *flat = nas_arena_get(p->arena, (f->n_node + 1) * sizeof *flat);
    int *inputs = nas_arena_get(p->arena, (f->n_node + 1) * sizeof *inputs);
    memcpy(flat, in, (size_t)f->n_in * sizeof *in);
    if (opened(p->graph, fn) && p->of_fn[fn] < 0) {
        p->of_fn[fn] = (int)p->n;
        p->panel = nas_grow(p->panel, &p->cap, p->n + 1, sizeof *p->panel);
        p->panel[p->n++] = (nas_panel){fn, depth, flat, arg};
    }
    for (size_t i = (size_t)f->n_in; i < f->n_node; i++) {
        const nas_node *node = &f->node[i];
        if (node->op != NAS_OP_CALL) {
            flat[i] = (*next)++;
            continue;
        }
        int *of_call = node->n_in <= (int)f->n_node
                           ? inputs
                           : nas_arena_get(p->arena, (size_t)node->n_in * sizeof *of_call);
        for (int k = 0; k < node->n_in; k++)
            of_call[k] = flat[node->in[k]];
        flat[i] = trace(p, node->fn, of_call, arguments(p, node, arg), depth + 1, next);
    }
    return flat[f->out];
}

void nas_panels_make(nas_panels *panels, const nas_graph *graph, const nas_graph *flat)
{
    *panels = (nas_panels){.graph = graph, .flat = flat, .arena = nas_arena_new()};
    panels->of_fn = nas_arena_get(panels->arena, graph->n_fn * sizeof *panels->of_fn);
    for (size_t i = 0; i < graph->n_fn; i++)
        panels->of_fn[i] = -1;
    int n_in = graph->fn[0].n_in, next = n_in;
    int *in = nas_arena_get(panels->arena, (size_t)n_in * sizeof *in);
    for (int i = 0; i < n_in; i++)
        in[i] = i;
    trace(panels, 0, in, NULL, 0, &next);
}

void nas_panels_clear(nas_panels *panels)
{
    nas_arena_free(panels->arena);
    free(panels->panel);
    *panels = (nas_panels){0};
}

/* ---- texts ---- */

static void put_argument(nas_bytes *out, const char *name, int64_t v)
{
    nas_bytes_putc(out, ' ');
    nas_bytes_puts(out, name);
    nas_bytes_putc(out, '=');
    nas_bytes_puti(out, v);
}

static void put_pair(nas_bytes *out, const nas_attr *pair, char between)
{
    nas_bytes_puti(out, pair->v[0]);
    if (pair->n > 1 && (between == 'x' || pair->v[1] != pair->v[0])) {
        nas_bytes_putc(out, 'x');
        nas_bytes_puti(out, pair->v[1]);
    }
}

/* The attributes that tell operators apart at a glance: " 3x3/2" of windows. */
static void put_window(nas_bytes *out, const nas_op *op, const nas_node *node)
{
    for (int i = 0; i < op->n_attrs; i++) {
        const nas_attr *attr = &node->attr[i];
        if (attr->n > 0 && !strcmp(op->attrs[i].name, "kernel_shape")) {
            nas_bytes_putc(out, ' ');
            put_pair(out, attr, 'x');
        } else if (attr->n > 0 && !strcmp(op->attrs[i].name, "strides") &&
                   (attr->v[0] != 1 || attr->v[attr->n - 1] != 1)) {
            nas_bytes_putc(out, '/');
            put_pair(out, attr, '/');
        }
    }
}

void nas_panel_label(const nas_panels *panels, const nas_panel *panel, int id, nas_bytes *out)
{
    const nas_node *node = &panels->graph->fn[panel->fn].node[id];
    if (node->op == NAS_OP_INPUT) {
        nas_bytes_puts(out, "input");
    } else if (node->op == NAS_OP_CALL) {
        const nas_fn *callee = &panels->graph->fn[node->fn];
        nas_bytes_puts(out, callee->name);
        for (int i = 0; i < node->n_attr; i++) {
            int64_t v = node->attr[i].v[0];
            v = nas_is_formal(v) ? panel->arg[v - NAS_FORMAL(0)].v[0] : v;
            put_argument(out, callee->formal[i], v);
        }
    } else {
        nas_bytes_puts(out, nas_ops[node->op].onnx);
        put_window(out, &nas_ops[node->op], node);
    }
}

void nas_panel_shape(const nas_panels *panels, const nas_panel *panel, int id, nas_bytes *out)
{
    const nas_shape *shape = &panels->flat->fn[0].node[panel->flat[id]].shape;
    for (int i = 1; i < shape->rank; i++) {
        nas_bytes_puts(out, i > 1 ? "x" : "");
        nas_bytes_puti(out, shape->dim[i]);
    }
}

void nas_panel_title(const nas_panels *panels, const nas_panel *panel, nas_bytes *out)
{
    const nas_fn *fn = &panels->graph->fn[panel->fn];
    nas_bytes_puts(out, fn->name);
    for (int i = 0; i < fn->n_formal; i++)
        put_argument(out, fn->formal[i], panel->arg[i].v[0]);
}

/* ---- colours ---- */

static const char *const COLOR[NAS_OP_COUNT] = {
    [NAS_OP_INPUT] = "#ffffff",        [NAS_OP_CONV] = "#9ecae1",      [NAS_OP_GEMM] = "#f4a6a6",
    [NAS_OP_BATCHNORM] = "#cbbfe0",    [NAS_OP_RELU] = "#fde9a0",      [NAS_OP_CLIP] = "#fde9a0",
    [NAS_OP_HARDSIGMOID] = "#fde9a0",  [NAS_OP_HARDSWISH] = "#fde9a0", [NAS_OP_SIGMOID] = "#fde9a0",
    [NAS_OP_ADD] = "#fdc086",          [NAS_OP_MUL] = "#fdc086",       [NAS_OP_SCALE] = "#e0e0e0",
    [NAS_OP_CONCAT] = "#fdc086",       [NAS_OP_MAXPOOL] = "#a8dda8",   [NAS_OP_AVGPOOL] = "#c7e9c0",
    [NAS_OP_GLOBALAVGPOOL] = "#c7e9c0"};

const char *nas_panel_color(const nas_panels *panels, const nas_panel *panel, int id)
{
    const nas_node *node = &panels->graph->fn[panel->fn].node[id];
    int op = node->op;
    if (op == NAS_OP_CALL && panels->of_fn[node->fn] >= 0)
        return "#ffffff"; /* drawn in full elsewhere */
    if (op == NAS_OP_CALL) {
        const nas_fn *callee = &panels->graph->fn[node->fn];
        op = callee->node[callee->out].op;
        for (size_t i = (size_t)callee->n_in; i < callee->n_node; i++)
            if (nas_ops[callee->node[i].op].macs)
                op = callee->node[i].op;
    }
    return COLOR[op] ? COLOR[op] : "#e0e0e0";
}
