#include "spaces/graph.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static nas_graph *graph_in(nas_arena *arena, const char *name)
{
    nas_graph *g = nas_zalloc(1, sizeof *g);
    g->arena = arena;
    g->name = nas_arena_copy(arena, name, strlen(name) + 1);
    g->fn = nas_grow(g->fn, &g->fn_cap, 1, sizeof *g->fn);
    g->fn[0] = (nas_fn){.name = g->name, .out = -1};
    g->n_fn = 1;
    return g;
}

nas_graph *nas_graph_new(const char *name)
{
    return graph_in(nas_arena_new(), name);
}

static void free_arrays(nas_graph *g)
{
    for (size_t i = 0; i < g->n_fn; i++)
        free(g->fn[i].node);
    free(g->fn);
    free(g->scope);
    free(g);
}

void nas_graph_free(nas_graph *graph)
{
    if (!graph)
        return;
    if (graph->flat)
        free_arrays(graph->flat);
    nas_arena_free(graph->arena);
    free_arrays(graph);
}

nas_body nas_graph_main(nas_graph *graph)
{
    return (nas_body){graph, 0};
}

static bool has_formals(const nas_attr *attr, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < attr[i].n; k++)
            if (nas_is_formal(attr[i].v[k]))
                return true;
    return false;
}

static int add_node(nas_graph *g, int fn, nas_node node)
{
    nas_fn *f = &g->fn[fn];
    f->node = nas_grow(f->node, &f->cap, f->n_node + 1, sizeof *f->node);
    f->node[f->n_node] = node;
    f->n_flat += node.op == NAS_OP_CALL ? g->fn[node.fn].n_flat : 1;
    return (int)f->n_node++;
}

int nas_graph_input(nas_graph *graph, const nas_shape *shape)
{
    nas_fn *f = &graph->fn[0];
    assert((int)f->n_node == f->n_in);
    f->n_in++;
    return add_node(graph, 0, (nas_node){.op = NAS_OP_INPUT, .scope = -1, .shape = *shape});
}

int nas_graph_find(const nas_graph *graph, const char *name)
{
    for (size_t i = 1; i < graph->n_fn; i++)
        if (!strcmp(graph->fn[i].name, name))
            return (int)i;
    return -1;
}

bool nas_graph_function(nas_graph *graph, const char *name, int n_in, const char *const *formal,
                        int n_formal, bool prelude, nas_body *body)
{
    if (nas_graph_find(graph, name) >= 0)
        return false;
    assert(n_formal <= NAS_FORMALS_MAX);
    const char **names = nas_arena_get(graph->arena, (size_t)n_formal * sizeof *names);
    for (int i = 0; i < n_formal; i++)
        names[i] = nas_arena_copy(graph->arena, formal[i], strlen(formal[i]) + 1);
    graph->fn = nas_grow(graph->fn, &graph->fn_cap, graph->n_fn + 1, sizeof *graph->fn);
    graph->fn[graph->n_fn] = (nas_fn){.name = nas_arena_copy(graph->arena, name, strlen(name) + 1),
                                      .prelude = prelude,
                                      .n_in = n_in,
                                      .formal = names,
                                      .n_formal = n_formal,
                                      .out = -1};
    *body = (nas_body){graph, (int)graph->n_fn++};
    for (int i = 0; i < n_in; i++)
        add_node(graph, body->fn, (nas_node){.op = NAS_OP_INPUT, .scope = -1});
    return true;
}

static const int *copy_inputs(nas_body body, const int *in, int n_in)
{
    for (int i = 0; i < n_in; i++)
        assert(in[i] >= 0 && (size_t)in[i] < body.graph->fn[body.fn].n_node);
    return nas_arena_copy(body.graph->arena, in, (size_t)n_in * sizeof *in);
}

int nas_body_op(nas_body body, nas_op_id op, const int *in, int n_in, const nas_attr *attr)
{
    const nas_op *row = &nas_ops[op];
    assert(n_in >= row->min_in && (n_in <= row->max_in || row->max_in == 0));
    nas_arena *arena = body.graph->arena;
    nas_attr *copy = nas_arena_get(arena, (size_t)row->n_attrs * sizeof *copy);
    for (int i = 0; i < row->n_attrs; i++) {
        copy[i] = attr[i];
        if (attr[i].n > 0)
            copy[i].v = nas_arena_copy(arena, attr[i].v, (size_t)attr[i].n * sizeof *attr[i].v);
    }
    return add_node(body.graph, body.fn,
                    (nas_node){.op = (uint16_t)op,
                               .n_in = n_in,
                               .in = copy_inputs(body, in, n_in),
                               .n_attr = (uint16_t)row->n_attrs,
                               .formals = has_formals(copy, row->n_attrs),
                               .attr = copy,
                               .scope = -1});
}

int nas_body_call(nas_body body, const char *function, const int *in, int n_in, const int64_t *arg)
{
    int callee = nas_graph_find(body.graph, function);
    assert(callee > 0);
    const nas_fn *f = &body.graph->fn[callee];
    assert(f->out >= 0 && f->n_in == n_in);
    nas_arena *arena = body.graph->arena;
    nas_attr *attr = nas_arena_get(arena, (size_t)f->n_formal * sizeof *attr);
    const int64_t *args = nas_arena_copy(arena, arg, (size_t)f->n_formal * sizeof *arg);
    for (int i = 0; i < f->n_formal; i++)
        attr[i] = (nas_attr){.n = 1, .v = &args[i]};
    return add_node(body.graph, body.fn,
                    (nas_node){.op = NAS_OP_CALL,
                               .fn = (uint16_t)callee,
                               .n_in = n_in,
                               .in = copy_inputs(body, in, n_in),
                               .n_attr = (uint16_t)f->n_formal,
                               .formals = has_formals(attr, f->n_formal),
                               .attr = attr,
                               .scope = -1});
}

void nas_body_return(nas_body body, int out)
{
    nas_fn *f = &body.graph->fn[body.fn];
    assert(out >= 0 && (size_t)out < f->n_node);
    f->out = out;
}

/* ---- inlining ---- */

/* A list with formals replaced by the arguments of the call; the list itself where it has none. */
static const int64_t *resolve(nas_arena *arena, const int64_t *v, int n, const nas_attr *arg)
{
    int first = 0;
    while (first < n && !nas_is_formal(v[first]))
        first++;
    if (first >= n)
        return v;
    int64_t *out = nas_arena_copy(arena, v, (size_t)n * sizeof *v);
    for (int i = first; i < n; i++)
        if (nas_is_formal(v[i]))
            out[i] = arg[v[i] - NAS_FORMAL(0)].v[0];
    return out;
}

static const nas_attr *resolve_all(nas_arena *arena, const nas_node *node, const nas_attr *arg)
{
    if (!node->formals)
        return node->attr;
    nas_attr *out = nas_arena_copy(arena, node->attr, (size_t)node->n_attr * sizeof *out);
    for (int i = 0; i < node->n_attr; i++)
        out[i].v = resolve(arena, out[i].v, out[i].n, arg);
    return out;
}

static bool same_args(const nas_attr *a, const nas_attr *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i].v[0] != b[i].v[0])
            return false;
    return true;
}

/* The attributes of a function's nodes for some arguments. Networks repeat their calls, so most are
 * known already, and nodes that are alike share them. */
typedef struct body {
    const nas_attr *arg;
    const nas_attr **attr; /* [n_node] */
    struct body *next;
} body;

typedef struct {
    const nas_graph *graph;
    nas_graph *flat;
    body **known; /* [n_fn] */
} inliner;

static const nas_attr **attributes_of(inliner *l, const nas_fn *fn, const nas_attr *arg)
{
    body **first = &l->known[fn - l->graph->fn];
    for (const body *b = *first; b; b = b->next)
        if (same_args(b->arg, arg, fn->n_formal))
            return b->attr;
    nas_arena *arena = l->flat->arena;
    body *b = nas_arena_get(arena, sizeof *b);
    *b = (body){arg, nas_arena_get(arena, fn->n_node * sizeof *b->attr), *first};
    for (size_t i = (size_t)fn->n_in; i < fn->n_node; i++)
        b->attr[i] = resolve_all(arena, &fn->node[i], arg);
    *first = b;
    return b->attr;
}

/* Appends the body of fn to flat; in: flat ids of its inputs. Returns the flat id of its output. */
static int inline_body(inliner *l, const nas_fn *fn, const int *in, const nas_attr *arg, int scope)
{
    nas_graph *flat = l->flat;
    const nas_attr **attr = attributes_of(l, fn, arg);
    int *id = nas_arena_get(flat->arena, fn->n_node * sizeof *id);
    memcpy(id, in, (size_t)fn->n_in * sizeof *in);
    for (size_t i = (size_t)fn->n_in; i < fn->n_node; i++) {
        const nas_node *node = &fn->node[i];
        int *inputs = nas_arena_get(flat->arena, (size_t)node->n_in * sizeof *inputs);
        for (int k = 0; k < node->n_in; k++)
            inputs[k] = id[node->in[k]];
        if (node->op == NAS_OP_CALL) {
            const nas_fn *callee = &l->graph->fn[node->fn];
            flat->scope =
                nas_grow(flat->scope, &flat->scope_cap, flat->n_scope + 1, sizeof *flat->scope);
            flat->scope[flat->n_scope] = (nas_scope){callee->name, scope};
            id[i] = inline_body(l, callee, inputs, attr[i], (int)flat->n_scope++);
        } else {
            nas_node copy = *node;
            copy.in = inputs;
            copy.attr = attr[i];
            copy.formals = false;
            copy.scope = scope;
            id[i] = add_node(flat, 0, copy);
        }
    }
    return id[fn->out];
}

static nas_status infer_shapes(nas_graph *flat, nas_err *err)
{
    nas_fn *main = &flat->fn[0];
    nas_err own = {0};
    for (size_t i = (size_t)main->n_in; i < main->n_node; i++) {
        nas_node *node = &main->node[i];
        const nas_shape *few[8];
        const nas_shape **in = few;
        if (node->n_in > 8)
            in = nas_arena_get(flat->arena, (size_t)node->n_in * sizeof *in);
        for (int k = 0; k < node->n_in; k++)
            in[k] = &main->node[node->in[k]].shape;
        if (nas_ops[node->op].shape(node, in, &node->shape, &own) != NAS_OK) {
            char name[32], input[32];
            return nas_fail(err, own.code, "node '%s' (%s of '%s'): %s",
                            nas_node_name(flat, (int)i, name), nas_ops[node->op].onnx,
                            node->n_in ? nas_node_name(flat, node->in[0], input) : "", own.text);
        }
    }
    return NAS_OK;
}

const nas_graph *nas_graph_flat(nas_graph *graph, nas_err *err)
{
    if (graph->flat)
        return graph->flat;
    const nas_fn *main = &graph->fn[0];
    assert(main->out >= 0);
    nas_graph *flat = graph_in(graph->arena, graph->name);
    flat->fn[0].node = nas_grow(NULL, &flat->fn[0].cap, main->n_flat, sizeof *flat->fn[0].node);
    inliner l = {graph, flat, nas_arena_get(flat->arena, graph->n_fn * sizeof *l.known)};
    memset(l.known, 0, graph->n_fn * sizeof *l.known);
    int *in = nas_arena_get(flat->arena, (size_t)main->n_in * sizeof *in);
    for (int i = 0; i < main->n_in; i++)
        in[i] = nas_graph_input(flat, &main->node[i].shape);
    flat->fn[0].out = inline_body(&l, main, in, NULL, -1);
    if (infer_shapes(flat, err) != NAS_OK) {
        free_arrays(flat);
        return NULL;
    }
    graph->flat = flat;
    return flat;
}

/* ---- the output's shape without inlining ---- */

/* What a function gave for these attributes and input shapes. */
typedef struct result {
    const nas_fn *fn;
    const nas_attr *arg;
    const nas_shape *in;
    nas_shape out;
    struct result *next;
} result;

typedef struct {
    const nas_graph *graph;
    result *known; /* in the graph's arena */
} shaper;

static bool same_call(const result *r, const nas_fn *fn, const nas_attr *arg, const nas_shape *in)
{
    bool same = r->fn == fn && same_args(r->arg, arg, fn->n_formal);
    for (int i = 0; same && i < fn->n_in; i++)
        same = nas_shape_same(&r->in[i], &in[i]);
    return same;
}

static bool shape_body(shaper *s, const nas_fn *fn, const nas_attr *arg, const nas_shape *in,
                       nas_shape *out);

/* The shape of one node; at: the shapes of the nodes before it. */
static bool shape_node(shaper *s, const nas_node *node, const nas_attr *arg, const nas_shape *at,
                       nas_shape *out)
{
    nas_arena *arena = s->graph->arena;
    nas_node resolved = *node;
    resolved.attr = resolve_all(arena, node, arg);
    if (node->op != NAS_OP_CALL) {
        const nas_shape **in = nas_arena_get(arena, (size_t)node->n_in * sizeof *in);
        for (int k = 0; k < node->n_in; k++)
            in[k] = &at[node->in[k]];
        return nas_ops[node->op].shape(&resolved, in, out, NULL) == NAS_OK;
    }
    nas_shape *in = nas_arena_get(arena, (size_t)node->n_in * sizeof *in);
    for (int k = 0; k < node->n_in; k++)
        in[k] = at[node->in[k]];
    return shape_body(s, &s->graph->fn[node->fn], resolved.attr, in, out);
}

/* Networks repeat their blocks, so most calls are known already. */
static bool shape_body(shaper *s, const nas_fn *fn, const nas_attr *arg, const nas_shape *in,
                       nas_shape *out)
{
    for (const result *r = s->known; r; r = r->next)
        if (same_call(r, fn, arg, in)) {
            *out = r->out;
            return true;
        }
    nas_shape *shape = nas_arena_get(s->graph->arena, fn->n_node * sizeof *shape);
    memcpy(shape, in, (size_t)fn->n_in * sizeof *in);
    for (size_t i = (size_t)fn->n_in; i < fn->n_node; i++)
        if (!shape_node(s, &fn->node[i], arg, shape, &shape[i]))
            return false;
    *out = shape[fn->out];
    result *r = nas_arena_get(s->graph->arena, sizeof *r);
    *r = (result){fn, arg, in, *out, s->known};
    s->known = r;
    return true;
}

nas_status nas_graph_output(nas_graph *graph, nas_shape *shape, nas_err *err)
{
    const nas_fn *main = &graph->fn[0];
    shaper s = {.graph = graph};
    nas_shape *in = nas_arena_get(graph->arena, (size_t)main->n_in * sizeof *in);
    for (int i = 0; i < main->n_in; i++)
        in[i] = main->node[i].shape;
    if (shape_body(&s, main, NULL, in, shape))
        return NAS_OK;
    const nas_graph *flat = nas_graph_flat(graph, err); /* has the sentence */
    assert(!flat);
    (void)flat;
    return NAS_FAILED;
}

const char *nas_node_name(const nas_graph *flat, int id, char text[32])
{
    const nas_fn *main = &flat->fn[0];
    if (id >= main->n_in)
        snprintf(text, 32, "%s%d", nas_ops[main->node[id].op].name, id);
    else if (main->n_in == 1)
        snprintf(text, 32, "x");
    else
        snprintf(text, 32, "x%d", id);
    return text;
}

bool nas_conv_pointwise(const nas_node *conv)
{
    const nas_attr *kernel = &conv->attr[NAS_CONV_KERNEL];
    for (int i = 0; i < kernel->n; i++)
        if (kernel->v[i] != 1)
            return false;
    return true;
}
