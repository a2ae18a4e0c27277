/* What handlers use: names and values of a body, inputs and attributes of a step, its outputs. */
#include "onnx/scope.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- names ---- */

size_t nas_map_slot(const nas_scope_map *m, const char *name)
{
    uint64_t h = 14695981039346656037u;
    for (const char *c = name; *c; c++)
        h = (h ^ (unsigned char)*c) * 1099511628211u;
    size_t at = (size_t)(h ^ h >> 32) & (m->slots - 1);
    while (m->name[at] && strcmp(m->name[at], name))
        at = (at + 1) & (m->slots - 1);
    return at;
}

/* Room for n names; a body defines at most its inputs and the outputs of its nodes. */
void nas_map_init(nas_scope_map *m, nas_arena *arena, size_t n)
{
    *m = (nas_scope_map){.slots = 16};
    while (m->slots < 2 * n + 2)
        m->slots *= 2;
    m->name = nas_arena_get(arena, m->slots * sizeof *m->name);
    memset(m->name, 0, m->slots * sizeof *m->name);
    m->value = nas_arena_get(arena, m->slots * sizeof *m->value);
    m->maker = nas_arena_get(arena, m->slots * sizeof *m->maker);
}

const nas_value *nas_map_find(const nas_scope_map *m, const char *name)
{
    size_t at = nas_map_slot(m, name);
    return m->name[at] ? &m->value[at] : NULL;
}

nas_status nas_map_add(nas_scope_map *m, const char *name, const nas_value *value, const char *kind,
                       const char *maker, nas_err *err)
{
    size_t at = nas_map_slot(m, name);
    if (m->name[at])
        return nas_fail(err, NAS_FAILED,
                        "%s '%.100s' makes the tensor '%.100s', which %s '%.100s' has made already",
                        kind, maker, name, m->maker[at].kind, m->maker[at].name);
    m->name[at] = name;
    m->value[at] = *value;
    m->maker[at].kind = kind;
    m->maker[at].name = maker;
    m->n++;
    return NAS_OK;
}

/* ---- what handlers use ---- */

const char *nas_node_label(const Onnx__NodeProto *node)
{
    const char *name = nas_text(node->name);
    return *name || !node->n_output ? name : nas_text(node->output[0]);
}

nas_status nas_step_fault(nas_step *s, const char *format, ...)
{
    char what[400];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const char *input = s->node->n_input ? nas_text(s->node->input[0]) : "";
    return nas_fail(s->lifter->err, NAS_FAILED, "node '%.100s' (%.40s%s%.100s%s): %s",
                    nas_node_label(s->node), nas_text(s->node->op_type), *input ? " of '" : "",
                    input, *input ? "'" : "", what);
}

nas_arena *nas_step_arena(nas_step *s)
{
    return s->lifter->arena;
}

int64_t nas_step_opset(const nas_step *s)
{
    return s->lifter->opset;
}

const char *nas_step_input_name(const nas_step *s, int i)
{
    return (size_t)i < s->node->n_input ? nas_text(s->node->input[i]) : "";
}

/* What an attribute says, through the reference to one of the call's; NULL: absent. */
const Onnx__AttributeProto *nas_scope_resolve(const nas_scope_map *scope,
                                              const Onnx__AttributeProto *attribute)
{
    const char *reference = nas_text(attribute->ref_attr_name);
    if (!*reference)
        return attribute;
    for (size_t i = 0; i < scope->n_argument; i++)
        if (!strcmp(scope->argument_name[i], reference))
            return scope->argument[i];
    return NULL;
}

const Onnx__AttributeProto *nas_step_attribute(const nas_step *s, const char *name)
{
    for (size_t i = 0; i < s->node->n_attribute; i++)
        if (!strcmp(nas_text(s->node->attribute[i]->name), name))
            return nas_scope_resolve(s->scope, s->node->attribute[i]);
    return NULL;
}

bool nas_step_int(nas_step *s, const char *name, int64_t fallback, int64_t *value)
{
    const Onnx__AttributeProto *a = nas_step_attribute(s, name);
    *value = a ? a->i : fallback;
    if (a && !a->has_i)
        nas_step_fault(s, "the attribute '%s' is no integer", name);
    return !a || a->has_i;
}

bool nas_step_float(nas_step *s, const char *name, float fallback, float *value)
{
    const Onnx__AttributeProto *a = nas_step_attribute(s, name);
    *value = a ? a->f : fallback;
    if (a && !a->has_f)
        nas_step_fault(s, "the attribute '%s' is no float", name);
    return !a || a->has_f;
}

bool nas_step_ints(nas_step *s, const char *name, nas_attr *value)
{
    const Onnx__AttributeProto *a = nas_step_attribute(s, name);
    *value = (nas_attr){.n = -1};
    if (!a)
        return true;
    if (!a->n_ints || a->n_ints > NAS_VALUE_KNOWN)
        return nas_step_fault(s, "the attribute '%s' is no list of 1 to %d integers", name,
                              NAS_VALUE_KNOWN) == NAS_OK;
    *value = (nas_attr){.n = (int)a->n_ints, .v = a->ints};
    return true;
}

bool nas_step_data(nas_step *s, int i, int *node)
{
    if (!nas_step_has(s, i))
        return nas_step_fault(s, "input %d is missing", i) == NAS_OK;
    *node = s->in[i]->node;
    if (*node < 0)
        nas_step_fault(s, "the input '%.100s' is a constant, data is needed",
                       nas_step_input_name(s, i));
    return *node >= 0;
}

bool nas_step_constant(nas_step *s, int i, int rank, const nas_value **value)
{
    if (!nas_step_has(s, i))
        return nas_step_fault(s, "input %d is missing", i) == NAS_OK;
    *value = s->in[i];
    const char *name = nas_step_input_name(s, i);
    if ((*value)->node >= 0)
        return nas_step_fault(s, "the input '%.100s' is computed, a constant is needed", name) ==
               NAS_OK;
    if (rank >= 0 && (*value)->rank != rank)
        return nas_step_fault(s, "the constant '%.100s' has %d dimensions, %d are needed", name,
                              (*value)->rank, rank) == NAS_OK;
    return true;
}

bool nas_step_list(nas_step *s, int i, const char *name, nas_attr *list)
{
    const nas_value *v;
    if (!nas_step_ints(s, name, list))
        return false;
    if (list->n >= 0 || !nas_step_has(s, i))
        return true;
    if (!nas_step_constant(s, i, -1, &v))
        return false;
    if (!v->known || nas_type_real(v->type) || v->rank > 1)
        return nas_step_fault(s, "the values of '%.100s' are not known",
                              nas_step_input_name(s, i)) == NAS_OK;
    *list = (nas_attr){.n = (int)nas_value_count(v), .v = v->i};
    return true;
}

const nas_shape *nas_step_shape(const nas_step *s, int node)
{
    return &s->lifter->graph->fn[0].node[node].shape;
}

/* Integers that would be taken for formals of a function are no sizes of anything. */
static bool plain_integers(const nas_op *op, const nas_attr *attr)
{
    for (int i = 0; i < op->n_attrs; i++)
        for (int k = 0; k < attr[i].n; k++)
            if (nas_is_formal(attr[i].v[k]) || attr[i].v[k] == NAS_BATCH)
                return false;
    return true;
}

nas_status nas_step_emit(nas_step *s, nas_op_id op, const int *in, int n_in, const nas_attr *attr)
{
    nas_graph *g = s->lifter->graph;
    nas_err own = {0};
    if (!plain_integers(&nas_ops[op], attr))
        return nas_step_fault(s, "an attribute is out of range");
    int id = nas_body_op(nas_graph_main(g), op, in, n_in, attr);
    nas_node *node = &g->fn[0].node[id];
    const nas_shape **shape = nas_arena_get(s->lifter->arena, (size_t)n_in * sizeof *shape);
    for (int i = 0; i < n_in; i++)
        shape[i] = &g->fn[0].node[in[i]].shape;
    if (nas_ops[op].shape(node, shape, &node->shape, &own) != NAS_OK)
        return nas_step_fault(s, "%s", own.text);
    for (int i = 1; i < node->shape.rank; i++)
        if (node->shape.dim[i] < 1 || nas_shape_elements(&node->shape) > NAS_MOST_VALUES)
            return nas_step_fault(s, "the output has no elements or too many");
    s->out[0] = (nas_value){.node = id, .type = NAS_TYPE_FLOAT};
    return NAS_OK;
}

nas_status nas_step_pass(nas_step *s, int i)
{
    if (!nas_step_has(s, i))
        return nas_step_fault(s, "input %d is missing", i);
    s->out[0] = *s->in[i];
    return NAS_OK;
}
