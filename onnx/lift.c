/* Runs the nodes of a model in order: inputs and initializers become values, each node gets its
 * handler or, for a model-local function, its body. */
#include "onnx/scope.h"

#include <ctype.h>
#include <string.h>

enum {
    MOST_STEPS = 1 << 18,
    MOST_CALLS = 64,
    MOST_FUNCTIONS = 4096, /* of one name they are found by a walk */
    OPSET_LOW = 6,
    OPSET_HIGH = 17
};

static size_t count_outputs(Onnx__NodeProto *const *node, size_t n)
{
    size_t outputs = 0;
    for (size_t i = 0; i < n; i++)
        outputs += node[i]->n_output;
    return outputs;
}

/* ---- running nodes ---- */

static const nas_handler *find_handler(const nas_handler *table, const char *name)
{
    for (; table->name; table++)
        if (!strcmp(table->name, name))
            return table;
    return NULL;
}

static nas_status run_operator(nas_step *s)
{
    const char *name = nas_text(s->node->op_type), *domain = nas_text(s->node->domain);
    bool data = false;
    for (int i = 0; i < s->n_in; i++)
        data |= s->in[i] && s->in[i]->node >= 0;
    const nas_handler *h = NULL;
    if (!*domain || !strcmp(domain, "ai.onnx")) {
        if (!data)
            h = find_handler(nas_lift_constants, name);
        if (!h)
            h = find_handler(nas_lift_operators, name);
        if (!h)
            h = find_handler(nas_lift_shapes, name);
    }
    if (!h)
        return nas_step_fault(s, "the operator '%.60s%s%.60s' is not covered%s", domain,
                              *domain ? "." : "", name,
                              find_handler(nas_lift_constants, name) ? " on data" : "");
    return h->lift(s);
}

/* Functions are found by name; those of one name in several domains by a walk over all. */
static const Onnx__FunctionProto *find_function(const nas_lifter *l, const char *domain,
                                                const char *name)
{
    const nas_value *row = l->functions.n ? nas_map_find(&l->functions, name) : NULL;
    for (size_t i = row ? (size_t)row->node : l->model->n_functions; i < l->model->n_functions; i++)
        if (!strcmp(nas_text(l->model->functions[i]->name), name) &&
            !strcmp(nas_text(l->model->functions[i]->domain), domain))
            return l->model->functions[i];
    return NULL;
}

static nas_status add_functions(nas_lifter *l)
{
    if (l->model->n_functions > MOST_FUNCTIONS)
        return nas_fail(l->err, NAS_FAILED, "the model has %zu functions, more than %d",
                        l->model->n_functions, MOST_FUNCTIONS);
    nas_map_init(&l->functions, l->arena, l->model->n_functions);
    for (size_t i = 0; i < l->model->n_functions; i++) {
        const Onnx__FunctionProto *f = l->model->functions[i];
        const char *name = nas_text(f->name);
        if (find_function(l, nas_text(f->domain), name) != f && nas_map_find(&l->functions, name))
            return nas_fail(l->err, NAS_FAILED, "the function '%.100s' is given twice", name);
        if (!nas_map_find(&l->functions, name))
            nas_map_add(&l->functions, name, &(nas_value){.node = (int)i}, "", "", l->err);
    }
    return NAS_OK;
}

static nas_status run_nodes(nas_lifter *l, Onnx__NodeProto *const *node, size_t n,
                            nas_scope_map *scope);

static void bind_arguments(nas_step *s, nas_scope_map *scope)
{
    const Onnx__NodeProto *node = s->node;
    nas_arena *arena = s->lifter->arena;
    scope->argument = nas_arena_get(arena, node->n_attribute * sizeof *scope->argument);
    scope->argument_name = nas_arena_get(arena, node->n_attribute * sizeof(char *));
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *a = nas_scope_resolve(s->scope, node->attribute[i]);
        if (!a)
            continue;
        scope->argument[scope->n_argument] = a;
        scope->argument_name[scope->n_argument++] = nas_text(node->attribute[i]->name);
    }
}

/* Runs the body of a function in place of the call. */
static nas_status run_function(nas_step *s, const Onnx__FunctionProto *f)
{
    nas_lifter *l = s->lifter;
    nas_scope_map scope;
    if ((size_t)s->n_in > f->n_input || (size_t)s->n_out > f->n_output)
        return nas_step_fault(s, "the function takes %zu inputs and gives %zu outputs", f->n_input,
                              f->n_output);
    if (++l->calls > MOST_CALLS)
        return nas_step_fault(s, "functions call each other more than %d levels deep", MOST_CALLS);
    nas_map_init(&scope, l->arena, f->n_input + count_outputs(f->node, f->n_node));
    bind_arguments(s, &scope);
    for (int i = 0; i < s->n_in; i++)
        if (s->in[i] && nas_map_add(&scope, nas_text(f->input[i]), s->in[i], "call of",
                                    nas_text(f->name), l->err) != NAS_OK)
            return NAS_FAILED;
    if (run_nodes(l, f->node, f->n_node, &scope) != NAS_OK)
        return strncmp(l->err->text, "function", 8) /* the innermost is enough */
                   ? nas_fail_in(l->err, "function '%.60s'", nas_text(f->name))
                   : NAS_FAILED;
    for (int i = 0; i < s->n_out; i++) {
        const nas_value *v = nas_map_find(&scope, nas_text(f->output[i]));
        if (!v)
            return nas_step_fault(s, "the function never makes its output '%.100s'",
                                  nas_text(f->output[i]));
        s->out[i] = *v;
    }
    l->calls--;
    return NAS_OK;
}

/* The tensor that a node reads is not there: why? */
static nas_status missing(nas_step *s, const char *name, Onnx__NodeProto *const *later, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < later[i]->n_output; k++)
            if (!strcmp(nas_text(later[i]->output[k]), name))
                return nas_step_fault(
                    s,
                    "it reads '%.100s', which node '%.100s' makes only later: the nodes are "
                    "out of order or form a cycle",
                    name, nas_node_label(later[i]));
    return nas_step_fault(s, "it reads '%.100s', which nothing makes", name);
}

static nas_status run_node(nas_lifter *l, Onnx__NodeProto *const *node, size_t left,
                           nas_scope_map *scope)
{
    nas_step s = {l, *node, scope, NULL, (int)(*node)->n_input, NULL, (int)(*node)->n_output};
    if (++l->steps > MOST_STEPS)
        return nas_step_fault(&s, "the model has more than %d nodes", MOST_STEPS);
    s.in = nas_arena_get(l->arena, (size_t)s.n_in * sizeof *s.in);
    s.out = nas_arena_get(l->arena, (size_t)(s.n_out + 1) * sizeof *s.out);
    for (int i = 0; i <= s.n_out; i++)
        s.out[i] = (nas_value){.node = -1};
    for (int i = 0; i < s.n_in; i++) {
        const char *name = nas_text((*node)->input[i]);
        s.in[i] = *name ? nas_map_find(scope, name) : NULL;
        if (*name && !s.in[i])
            return missing(&s, name, node, left);
    }
    const Onnx__FunctionProto *f =
        find_function(l, nas_text((*node)->domain), nas_text((*node)->op_type));
    nas_status status = f ? run_function(&s, f) : run_operator(&s);
    const char *label = nas_node_label(*node);
    for (int i = 0; i < s.n_out && status == NAS_OK; i++) {
        const char *name = nas_text((*node)->output[i]);
        if (*name && (s.out[i].node >= 0 || s.out[i].type))
            status = nas_map_add(scope, name, &s.out[i], "node", label, l->err);
    }
    return status;
}

static nas_status run_nodes(nas_lifter *l, Onnx__NodeProto *const *node, size_t n,
                            nas_scope_map *scope)
{
    for (size_t i = 0; i < n; i++)
        if (run_node(l, node + i, n - i, scope) != NAS_OK)
            return NAS_FAILED;
    return NAS_OK;
}

/* ---- the main graph ---- */

/* The shape that a value_info declares; false when it declares none or no tensor. */
static bool declared_shape(const Onnx__ValueInfoProto *info, nas_shape *shape, int *type)
{
    const Onnx__TypeProto *t = info->type;
    if (!t || t->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !t->tensor_type->shape)
        return false;
    const Onnx__TensorShapeProto *s = t->tensor_type->shape;
    *type = t->tensor_type->elem_type;
    if (s->n_dim > NAS_RANK_MAX)
        return false;
    *shape = (nas_shape){.rank = (int)s->n_dim};
    for (int i = 0; i < shape->rank; i++)
        if (s->dim[i]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            shape->dim[i] = s->dim[i]->dim_value;
    return true;
}

/* How tensors of the main graph are read: bits. */
enum { AS_WEIGHT = 1, AS_OPERAND = 2, AS_DATA = 4 };

static int use_of(const Onnx__NodeProto *node, size_t input)
{
    static const char *const owners[] = {"Conv", "Gemm", "BatchNormalization", "PRelu", "MatMul"};
    const char *op = nas_text(node->op_type);
    if (input == 0)
        return AS_DATA;
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        if (!strcmp(op, owners[i]))
            return AS_WEIGHT;
    return !strcmp(op, "Add") || !strcmp(op, "Mul") ? AS_OPERAND : AS_DATA;
}

/* uses: by name; the bits are the node of the value. */
static void count_uses(const nas_lifter *l, nas_scope_map *uses)
{
    const Onnx__GraphProto *g = l->model->graph;
    size_t n = 0;
    for (size_t i = 0; i < g->n_node; i++)
        n += g->node[i]->n_input;
    nas_map_init(uses, l->arena, n);
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_input; k++) {
            const char *name = nas_text(g->node[i]->input[k]);
            size_t at = nas_map_slot(uses, name);
            if (!uses->name[at])
                uses->value[at].node = 0;
            uses->name[at] = name;
            uses->value[at].node |= use_of(g->node[i], k);
        }
}

/* Whether an input is only ever read where operators keep their weights. The weight of an addition
 * has no batch, so four dimensions are data. */
static bool is_weight(const nas_scope_map *uses, const char *name, const nas_shape *shape)
{
    const nas_value *use = nas_map_find(uses, name);
    for (int i = 0; i < shape->rank; i++)
        if (shape->dim[i] < 1)
            return false;
    return use && (use->node == AS_WEIGHT || (use->node == AS_OPERAND && shape->rank <= 3));
}

static nas_status add_initializers(nas_lifter *l, nas_scope_map *scope)
{
    const Onnx__GraphProto *g = l->model->graph;
    if (g->n_sparse_initializer)
        return nas_fail(l->err, NAS_FAILED, "sparse initializers are not covered");
    for (size_t i = 0; i < g->n_initializer; i++) {
        nas_value value;
        const char *name = nas_text(g->initializer[i]->name);
        if (nas_value_of(l->arena, g->initializer[i], &value, l->err) != NAS_OK)
            return nas_fail_in(l->err, "initializer '%.100s'", name);
        if (nas_map_add(scope, name, &value, "initializer", name, l->err) != NAS_OK)
            return NAS_FAILED;
    }
    return NAS_OK;
}

static nas_status check_input(nas_lifter *l, const char *name, const nas_shape *shape, int type)
{
    if (type != NAS_TYPE_FLOAT)
        return nas_fail(l->err, NAS_FAILED, "input '%.100s' has elements of type %d, not float",
                        name, type);
    if (shape->rank < 1)
        return nas_fail(l->err, NAS_FAILED, "input '%.100s' has no dimensions", name);
    for (int i = 0; i < shape->rank; i++)
        if (shape->dim[i] < (i > 0) || shape->dim[i] > 1 << 24)
            return nas_fail(l->err, NAS_FAILED,
                            "dimension %d of input '%.100s' is not fixed to 1 or more", i, name);
    if (nas_shape_elements(shape) > NAS_MOST_VALUES)
        return nas_fail(l->err, NAS_FAILED, "input '%.100s' has too many values", name);
    return NAS_OK;
}

/* Inputs without initializers: data becomes inputs of the graph, weights become constants. */
static nas_status add_inputs(nas_lifter *l, nas_scope_map *scope)
{
    const Onnx__GraphProto *g = l->model->graph;
    nas_scope_map uses;
    count_uses(l, &uses);
    for (size_t i = 0; i < g->n_input; i++) {
        const char *name = nas_text(g->input[i]->name);
        nas_shape shape = {0};
        int type = 0;
        if (nas_map_find(scope, name) &&
            !strcmp(scope->maker[nas_map_slot(scope, name)].kind, "initializer"))
            continue; /* older files list initializers here too */
        if (!declared_shape(g->input[i], &shape, &type))
            return nas_fail(l->err, NAS_FAILED,
                            "input '%.100s' declares no tensor of at most %d dimensions", name,
                            NAS_RANK_MAX);
        nas_value value = {.node = -1, .type = type, .rank = shape.rank};
        memcpy(value.dim, shape.dim, sizeof shape.dim);
        if (l->graph->fn[0].n_in == 0 || !is_weight(&uses, name, &shape)) {
            if (check_input(l, name, &shape, type) != NAS_OK)
                return NAS_FAILED;
            value.node = nas_graph_input(l->graph, &shape);
        } else if (nas_value_count(&value) >= NAS_MOST_VALUES) {
            return nas_fail(l->err, NAS_FAILED, "the weight '%.100s' has too many values", name);
        }
        if (nas_map_add(scope, name, &value, "input", name, l->err) != NAS_OK)
            return NAS_FAILED;
    }
    return NAS_OK;
}

/* A declared shape against ours; what either leaves open fits. */
static nas_status check_declared(nas_lifter *l, const nas_scope_map *scope,
                                 const Onnx__ValueInfoProto *info)
{
    char a[96], b[96];
    nas_shape shape;
    int type;
    size_t at = nas_map_slot(scope, nas_text(info->name));
    const nas_value *v = nas_map_find(scope, nas_text(info->name));
    if (!v || v->node < 0 || !declared_shape(info, &shape, &type))
        return NAS_OK;
    const nas_shape *ours = &l->graph->fn[0].node[v->node].shape;
    bool fits = shape.rank == ours->rank;
    for (int i = 0; fits && i < shape.rank; i++)
        fits = shape.dim[i] == 0 || ours->dim[i] == 0 || shape.dim[i] == ours->dim[i];
    if (fits)
        return NAS_OK;
    return nas_fail(l->err, NAS_FAILED,
                    "tensor '%.100s' is declared as %s, but %s '%.100s' computes %s",
                    nas_text(info->name), nas_shape_print(&shape, a), scope->maker[at].kind,
                    scope->maker[at].name, nas_shape_print(ours, b));
}

static nas_status finish(nas_lifter *l, const nas_scope_map *scope)
{
    const Onnx__GraphProto *g = l->model->graph;
    if (g->n_output != 1)
        return nas_fail(l->err, NAS_FAILED, "the graph has %zu outputs, 1 is covered", g->n_output);
    const char *name = nas_text(g->output[0]->name);
    const nas_value *out = nas_map_find(scope, name);
    if (!out)
        return nas_fail(l->err, NAS_FAILED, "no node makes the output '%.100s'", name);
    if (out->node < l->graph->fn[0].n_in)
        return nas_fail(l->err, NAS_FAILED, "the output '%.100s' is not computed from data", name);
    nas_body_return(nas_graph_main(l->graph), out->node);
    nas_status status = check_declared(l, scope, g->output[0]);
    for (size_t i = 0; i < g->n_value_info && status == NAS_OK; i++)
        status = check_declared(l, scope, g->value_info[i]);
    return status;
}

static nas_status find_opset(nas_lifter *l)
{
    for (size_t i = 0; i < l->model->n_opset_import; i++) {
        const char *domain = nas_text(l->model->opset_import[i]->domain);
        int64_t version = l->model->opset_import[i]->version;
        if (*domain && strcmp(domain, "ai.onnx"))
            continue;
        if (l->opset && l->opset != version)
            return nas_fail(l->err, NAS_FAILED, "both operator set %lld and %lld are imported",
                            (long long)l->opset, (long long)version);
        l->opset = version;
    }
    if (l->opset < OPSET_LOW || l->opset > OPSET_HIGH)
        return nas_fail(l->err, NAS_FAILED, "operator set %lld is not one of %d to %d",
                        (long long)l->opset, OPSET_LOW, OPSET_HIGH);
    return NAS_OK;
}

/* A C identifier of the model's name. */
static const char *graph_name(nas_arena *arena, const char *name)
{
    char *copy = nas_arena_copy(arena, name, strlen(name) + 1);
    for (char *c = copy; *c; c++)
        if (!isalnum((unsigned char)*c) || (c == copy && isdigit((unsigned char)*c)))
            *c = '_';
    return *copy ? copy : "net";
}

nas_graph *nas_proto_lift(const nas_proto *model, nas_err *err)
{
    nas_err own = {0};
    nas_lifter l = {.arena = nas_arena_new(), .model = model, .err = &own};
    const Onnx__GraphProto *g = model->graph;
    nas_scope_map scope;
    if (!g)
        nas_fail(&own, NAS_FAILED, "the model has no graph");
    if (own.code == NAS_OK && find_opset(&l) == NAS_OK && add_functions(&l) == NAS_OK) {
        l.graph = nas_graph_new(graph_name(l.arena, nas_text(g->name)));
        nas_map_init(&scope, l.arena,
                     g->n_input + g->n_initializer + count_outputs(g->node, g->n_node));
        if (add_initializers(&l, &scope) == NAS_OK && add_inputs(&l, &scope) == NAS_OK &&
            run_nodes(&l, g->node, g->n_node, &scope) == NAS_OK)
            finish(&l, &scope);
    }
    if (own.code != NAS_OK) {
        nas_graph_free(l.graph);
        l.graph = NULL;
        nas_fail(err, own.code, "%s", own.text);
    }
    nas_arena_free(l.arena);
    return l.graph;
}
