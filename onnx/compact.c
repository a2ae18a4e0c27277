/* The official textual syntax with model-local functions: each block once, called where it is used.
 * Weights are made by the functions of the domain "nas" at the end of the file, so the file runs as
 * it stands. Inputs are called x (x0, x1, …), outputs y, everything else a, b, c, … in order. */
#include "onnx/file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char DOMAIN[] = "<domain: \"nas\", opset_import: [\"\" : 17, \"nas\" : 1]>\n";

/* The generators. weight: value i of a tensor of shape s is sin(i * i mod 9973) / sqrt(fan-in / 2),
 * where the fan-in is the product of all dimensions but the first. The squares make neighbours
 * independent: matrices of plain sines would have rank 2 and cancel almost everything. */
static const char *const GENERATORS[] = {
    "dim <v> () => (d) {\n"
    "  c = Constant <value_int:int=@v> ()\n"
    "  o = Constant <value_ints=[1]> ()\n"
    "  d = Reshape (c, o)\n"
    "}\n",
    "fill <c,v> () => (y) {\n"
    "  d = nas.dim <v:int=@c> ()\n"
    "  f = Constant <value_float:float=@v> ()\n"
    "  y = Expand (f, d)\n"
    "}\n",
    "weight2 <a,b> () => (w) {\n"
    "  d = nas.dim <v:int=@a> ()\n"
    "  e = nas.dim <v:int=@b> ()\n"
    "  s = Concat <axis=0> (d, e)\n"
    "  w = nas.weight (s)\n"
    "}\n",
    "weight4 <a,b,k> () => (w) {\n"
    "  d = nas.dim <v:int=@a> ()\n"
    "  e = nas.dim <v:int=@b> ()\n"
    "  f = Constant <value_ints:ints=@k> ()\n"
    "  s = Concat <axis=0> (d, e, f)\n"
    "  w = nas.weight (s)\n"
    "}\n",
    "weight (s) => (w) {\n"
    "  n = ReduceProd <keepdims=0> (s)\n"
    "  z = Constant <value_int=0> ()\n"
    "  u = Constant <value_int=1> ()\n"
    "  r = Range (z, n, u)\n"
    "  i = Mul (r, r)\n"
    "  v = Constant <value_int=9973> ()\n"
    "  j = Mod (i, v)\n"
    "  f = Cast <to=1> (j)\n"
    "  g = Sin (f)\n"
    "  h = Reshape (g, s)\n"
    "  o = Constant <value_ints=[1]> ()\n"
    "  m = Constant <value_ints=[9]> ()\n"
    "  t = Slice (s, o, m)\n"
    "  p = ReduceProd <keepdims=0> (t)\n"
    "  q = Cast <to=1> (p)\n"
    "  e = Constant <value_float=0.5> ()\n"
    "  l = Mul (q, e)\n"
    "  k = Sqrt (l)\n"
    "  w = Div (h, k)\n"
    "}\n",
};

typedef struct {
    const nas_graph *graph;
    const nas_fn *fn; /* the function being written */
    nas_bytes *out;
    int *letter; /* [room] by node id: which name */
    size_t room;
    int next; /* the next free name */
} writer;

/* ---- names ---- */

/* a … z without x and y, then aa, ab, … */
static void put_letter(nas_bytes *out, int n)
{
    static const char letters[24] = "abcdefghijklmnopqrstuvwz";
    if (n >= 24)
        put_letter(out, n / 24 - 1);
    nas_bytes_putc(out, letters[n % 24]);
}

static void put_value(writer *w, int id)
{
    if (id < w->fn->n_in) {
        nas_bytes_putc(w->out, 'x');
        if (w->fn->n_in > 1)
            nas_bytes_puti(w->out, id);
    } else if (id == w->fn->out) {
        nas_bytes_putc(w->out, 'y');
    } else {
        put_letter(w->out, w->letter[id]);
    }
}

/* Starts a statement whose value gets the next letter; returns which. */
static int put_new(writer *w, const char *operator)
{
    nas_bytes_puts(w->out, "  ");
    put_letter(w->out, w->next);
    nas_bytes_puts(w->out, " = ");
    nas_bytes_puts(w->out, operator);
    return w->next++;
}

/* ---- attributes ---- */

/* `name=5`, or `name:int=@c` for an attribute of the function. */
static void put_int(writer *w, const char *name, int64_t v)
{
    nas_bytes_puts(w->out, name);
    if (nas_is_formal(v)) {
        nas_bytes_puts(w->out, ":int=@");
        nas_bytes_puts(w->out, w->fn->formal[v - NAS_FORMAL(0)]);
    } else {
        nas_bytes_putc(w->out, '=');
        nas_bytes_puti(w->out, v);
    }
}

static bool has_formal(const int64_t *v, int n)
{
    for (int i = 0; i < n; i++)
        if (nas_is_formal(v[i]))
            return true;
    return false;
}

static void put_ints(writer *w, const char *name, const int64_t *v, int n)
{
    assert(n > 0 && !has_formal(v, n));
    nas_bytes_puts(w->out, name);
    for (int i = 0; i < n; i++) {
        nas_bytes_puts(w->out, i ? "," : "=[");
        nas_bytes_puti(w->out, v[i]);
    }
    nas_bytes_putc(w->out, ']');
}

/* The attributes that ONNX sees, as ` <…>` or nothing. */
static void put_attributes(writer *w, const nas_node *node)
{
    const nas_op *op = &nas_ops[node->op];
    const char *before = " <";
    for (int i = 0; i < op->n_attrs; i++) {
        const nas_attr *attr = &node->attr[i];
        if (op->attrs[i].inner || attr->n < 0)
            continue;
        nas_bytes_puts(w->out, before);
        before = ",";
        if (op->attrs[i].type == NAS_ATTR_INTS) {
            put_ints(w, op->attrs[i].name, attr->v, attr->n);
        } else if (op->attrs[i].type == NAS_ATTR_INT) {
            put_int(w, op->attrs[i].name, attr->v[0]);
        } else {
            nas_bytes_puts(w->out, op->attrs[i].name);
            nas_bytes_putc(w->out, '=');
            nas_put_float(w->out, attr->f);
        }
    }
    if (*before == ',')
        nas_bytes_putc(w->out, '>');
}

/* ---- parameter tensors: statements before the node that owns them ---- */

static int put_list(writer *w, const int64_t *v, int n)
{
    int parts[NAS_RANK_MAX];
    if (!has_formal(v, n)) {
        int list = put_new(w, "Constant <");
        put_ints(w, "value_ints", v, n);
        nas_bytes_puts(w->out, "> ()\n");
        return list;
    }
    assert(n <= NAS_RANK_MAX);
    for (int i = 0; i < n; i++) {
        parts[i] = put_new(w, "nas.dim <");
        put_int(w, "v", v[i]);
        nas_bytes_puts(w->out, "> ()\n");
    }
    int list = put_new(w, "Concat <axis=0>");
    for (int i = 0; i < n; i++) {
        nas_bytes_puts(w->out, i ? ", " : " (");
        put_letter(w->out, parts[i]);
    }
    nas_bytes_puts(w->out, ")\n");
    return list;
}

static int put_fill(writer *w, int64_t n, float value)
{
    int id = put_new(w, "nas.fill <");
    put_int(w, "c", n);
    nas_bytes_puts(w->out, ",v=");
    nas_put_float(w->out, value);
    nas_bytes_puts(w->out, "> ()\n");
    return id;
}

static int put_weight(writer *w, const int64_t *dim, int rank)
{
    int id;
    if (rank != 2 && (rank != 4 || has_formal(dim + 2, 2))) {
        int shape = put_list(w, dim, rank);
        id = put_new(w, "nas.weight (");
        put_letter(w->out, shape);
        nas_bytes_puts(w->out, ")\n");
        return id;
    }
    id = put_new(w, rank == 2 ? "nas.weight2 <" : "nas.weight4 <");
    put_int(w, "a", dim[0]);
    nas_bytes_putc(w->out, ',');
    put_int(w, "b", dim[1]);
    if (rank == 4) {
        nas_bytes_putc(w->out, ',');
        put_ints(w, "k", dim + 2, 2);
    }
    nas_bytes_puts(w->out, "> ()\n");
    return id;
}

static int put_tensor(writer *w, const nas_tensor *t)
{
    if (t->kind == NAS_PARAM_INDEX)
        return put_list(w, t->value, (int)t->one);
    if (t->kind == NAS_PARAM_SCALAR) {
        int id = put_new(w, "Constant <value_float=");
        nas_put_float(w->out, t->scalar);
        nas_bytes_puts(w->out, "> ()\n");
        return id;
    }
    if (t->rank > 1)
        return put_weight(w, t->dim, t->rank);
    return put_fill(w, t->dim[0], !strcmp(t->suffix, "scale") || !strcmp(t->suffix, "var"));
}

/* Writes what makes the tensors of a node; batch norm shares one for scale and variance and one
 * for bias and mean. Returns how many; letter: their names. */
static int put_tensors(writer *w, const nas_node *node, int letter[NAS_PARAMS_MAX])
{
    const nas_op *op = &nas_ops[node->op];
    bool shared = node->op == NAS_OP_BATCHNORM;
    nas_tensor tensor;
    int n = 0;
    for (int p = 0; p < op->n_params; p++)
        if (nas_tensor_of(node, p, &tensor)) {
            letter[n] = shared && p >= 2 ? letter[3 - p] : put_tensor(w, &tensor);
            n++;
        }
    return n;
}

/* ---- statements and functions ---- */

static void put_call(writer *w, const nas_node *node)
{
    const nas_fn *callee = &w->graph->fn[node->fn];
    nas_bytes_puts(w->out, "nas.");
    nas_bytes_puts(w->out, callee->name);
    for (int i = 0; i < callee->n_formal; i++) {
        nas_bytes_puts(w->out, i ? "," : " <");
        put_int(w, callee->formal[i], node->attr[i].v[0]);
    }
    if (callee->n_formal)
        nas_bytes_putc(w->out, '>');
}

static void put_node(writer *w, int id)
{
    const nas_node *node = &w->fn->node[id];
    int letter[NAS_PARAMS_MAX];
    bool call = node->op == NAS_OP_CALL;
    int tensors = call ? 0 : put_tensors(w, node, letter);
    if (id != w->fn->out)
        w->letter[id] = w->next++;
    nas_bytes_puts(w->out, "  ");
    put_value(w, id);
    nas_bytes_puts(w->out, " = ");
    if (call) {
        put_call(w, node);
    } else {
        nas_bytes_puts(w->out, nas_ops[node->op].onnx);
        put_attributes(w, node);
    }
    for (int i = 0; i < node->n_in; i++) {
        nas_bytes_puts(w->out, i ? ", " : " (");
        put_value(w, node->in[i]);
    }
    for (int i = 0; i < tensors; i++) {
        nas_bytes_puts(w->out, ", ");
        put_letter(w->out, letter[i]);
    }
    nas_bytes_puts(w->out, ")\n");
}

/* `{ … }`. A function that returns an input does so through Identity, which readers drop. */
static void put_body(writer *w, const nas_fn *fn)
{
    w->fn = fn;
    w->next = 0;
    w->letter = nas_grow(w->letter, &w->room, fn->n_node, sizeof *w->letter);
    nas_bytes_puts(w->out, " {\n");
    for (int id = fn->n_in; id < (int)fn->n_node; id++)
        put_node(w, id);
    if (fn->out < fn->n_in) {
        nas_bytes_puts(w->out, "  y = Identity (");
        put_value(w, fn->out);
        nas_bytes_puts(w->out, ")\n");
    }
    nas_bytes_puts(w->out, "}\n");
}

static void put_function(writer *w, const nas_fn *fn)
{
    nas_bytes_puts(w->out, fn->name);
    for (int i = 0; i < fn->n_formal; i++) {
        nas_bytes_puts(w->out, i ? "," : " <");
        nas_bytes_puts(w->out, fn->formal[i]);
    }
    nas_bytes_puts(w->out, fn->n_formal ? "> (" : " (");
    w->fn = fn;
    for (int i = 0; i < fn->n_in; i++) {
        nas_bytes_puts(w->out, i ? ", " : "");
        put_value(w, i);
    }
    nas_bytes_puts(w->out, ") => (y)");
    put_body(w, fn);
}

static void put_shape(nas_bytes *out, const nas_shape *shape)
{
    nas_bytes_puts(out, "float[");
    for (int i = 0; i < shape->rank; i++) {
        nas_bytes_puts(out, i ? "," : "");
        if (i == 0 && shape->dim[0] == 0)
            nas_bytes_putc(out, 'N');
        else
            nas_bytes_puti(out, shape->dim[i]);
    }
    nas_bytes_puts(out, "] ");
}

static void put_main(writer *w, const nas_shape *output)
{
    const nas_fn *main = &w->graph->fn[0];
    nas_bytes_puts(w->out, w->graph->name);
    w->fn = main;
    for (int i = 0; i < main->n_in; i++) {
        nas_bytes_puts(w->out, i ? ", " : " (");
        put_shape(w->out, &main->node[i].shape);
        put_value(w, i);
    }
    nas_bytes_puts(w->out, ") => (");
    put_shape(w->out, output);
    nas_bytes_puts(w->out, "y)");
    put_body(w, main);
}

/* Functions that are prelude or not; domain: each after its line of imports. */
static void put_functions(writer *w, bool prelude, bool domain)
{
    for (size_t i = 1; i < w->graph->n_fn; i++) {
        if (w->graph->fn[i].prelude != prelude)
            continue;
        if (domain)
            nas_bytes_puts(w->out, DOMAIN);
        put_function(w, &w->graph->fn[i]);
    }
}

void nas_write_prompt(const nas_export_job *job)
{
    writer w = {.graph = job->graph, .out = job->out};
    nas_bytes_puts(w.out, job->label->space);
    nas_bytes_putc(w.out, ' ');
    nas_bytes_puts(w.out, job->label->task);
    nas_bytes_putc(w.out, '\n');
    put_main(&w, &job->output);
    put_functions(&w, false, false);
    free(w.letter);
}

void nas_write_compact(const nas_export_job *job)
{
    writer w = {.graph = job->graph, .out = job->out};
    nas_bytes_puts(w.out, "<ir_version: 8, opset_import: [\"\" : 17, \"nas\" : 1]>\n");
    put_main(&w, &job->output);
    put_functions(&w, false, true);
    put_functions(&w, true, true);
    for (size_t i = 0; i < sizeof GENERATORS / sizeof *GENERATORS; i++) {
        nas_bytes_puts(w.out, DOMAIN);
        nas_bytes_puts(w.out, GENERATORS[i]);
    }
    free(w.letter);
}
