/* The official textual syntax to a ModelProto: header, graph, functions. Debian's onnx 1.12 writes
 * and reads this without escapes, node names and overloads; newer ones with them: both are read.
 * Graphs as attributes (If, Loop) are refused: networks here have none. */
#include "onnx/lex.h"
#include "onnx/lift.h"

#include <stdio.h>
#include <string.h>

/* Appends to an array of n items, which grows at powers of two. */
static void *grown(nas_lexer *x, void *array, size_t n, size_t bytes)
{
    if (n & (n - 1))
        return array;
    void *larger = nas_arena_get(x->arena, (n ? 2 * n : 1) * bytes);
    if (n)
        memcpy(larger, array, n * bytes);
    return larger;
}

#define PUSH(x, array, n, item)                                                                    \
    ((array) = grown((x), (array), (n), sizeof *(array)), (array)[(n)++] = (item))

#define NEW(x, type, init) new_message((x), sizeof(type), (ProtobufCMessageInit)(init))

static void *new_message(nas_lexer *x, size_t bytes, ProtobufCMessageInit init)
{
    void *message = nas_arena_get(x->arena, bytes);
    init(message);
    return message;
}

/* ---- types and tensors ---- */

static int type_of(const char *name)
{
    static const struct {
        const char *name;
        int type;
    } types[] = {{"float", NAS_TYPE_FLOAT},     {"double", NAS_TYPE_DOUBLE},
                 {"float16", NAS_TYPE_FLOAT16}, {"bfloat16", NAS_TYPE_BFLOAT16},
                 {"int32", NAS_TYPE_INT32},     {"int64", NAS_TYPE_INT64},
                 {"bool", NAS_TYPE_BOOL}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(name, types[i].name))
            return types[i].type;
    return 0;
}

static bool parse_dim(nas_lexer *x, Onnx__TensorShapeProto *shape)
{
    Onnx__TensorShapeProto__Dimension *d = NEW(x, *d, onnx__tensor_shape_proto__dimension__init);
    char c = nas_lex_peek(x);
    if (nas_lex_take(x, '?')) {
        d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE__NOT_SET;
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        nas_lex_integer(x, &d->dim_value);
    } else {
        d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        d->dim_param = nas_lex_name(x);
    }
    PUSH(x, shape->dim, shape->n_dim, d);
    return !x->failed;
}

/* `float[N,3]`, `float` (a scalar) or `float[]` (of unknown rank). */
static Onnx__TypeProto *parse_type(nas_lexer *x)
{
    const char *name = nas_lex_name(x);
    int elem = name ? type_of(name) : 0;
    if (!elem) {
        nas_lex_fault(x, "the type '%.40s' is not covered", name ? name : "");
        return NULL;
    }
    Onnx__TypeProto *type = NEW(x, *type, onnx__type_proto__init);
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = NEW(x, *type->tensor_type, onnx__type_proto__tensor__init);
    type->tensor_type->has_elem_type = true;
    type->tensor_type->elem_type = elem;
    Onnx__TensorShapeProto *shape = NEW(x, *shape, onnx__tensor_shape_proto__init);
    if (nas_lex_take(x, '[')) {
        if (nas_lex_take(x, ']'))
            return type;
        do
            parse_dim(x, shape);
        while (!x->failed && nas_lex_take(x, ','));
        nas_lex_need(x, ']');
    }
    type->tensor_type->shape = shape;
    return type;
}

static void push_value(nas_lexer *x, Onnx__TensorProto *t, nas_lex_value v)
{
    switch (t->data_type) {
    case NAS_TYPE_FLOAT:
        PUSH(x, t->float_data, t->n_float_data, (float)v.f);
        break;
    case NAS_TYPE_DOUBLE:
        PUSH(x, t->double_data, t->n_double_data, v.f);
        break;
    case NAS_TYPE_INT64:
        PUSH(x, t->int64_data, t->n_int64_data, v.i);
        break;
    default:
        PUSH(x, t->int32_data, t->n_int32_data, (int32_t)v.i);
    }
}

/* `{1, 2}` or `["location": "file", …]` after the type and name of a tensor. */
static Onnx__TensorProto *parse_data(nas_lexer *x, const Onnx__TypeProto *type, char *name)
{
    Onnx__TensorProto *t = NEW(x, *t, onnx__tensor_proto__init);
    t->has_data_type = true;
    t->data_type = type->tensor_type->elem_type;
    t->name = name;
    const Onnx__TensorShapeProto *shape = type->tensor_type->shape;
    for (size_t i = 0; shape && i < shape->n_dim; i++) {
        if (shape->dim[i]->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            nas_lex_fault(x, "a dimension of the tensor '%.100s' is no number", name ? name : "");
        PUSH(x, t->dims, t->n_dims, shape->dim[i]->dim_value);
    }
    if (nas_lex_take(x, '[')) {
        t->has_data_location = true;
        t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
        do {
            nas_lex_string(x);
            nas_lex_need(x, ':');
            nas_lex_string(x);
        } while (!x->failed && nas_lex_take(x, ','));
        nas_lex_need(x, ']');
        return t;
    }
    nas_lex_value v;
    if (!nas_lex_need(x, '{') || nas_lex_take(x, '}'))
        return t;
    do {
        if (!nas_lex_number(x, &v))
            return t;
        if (v.real && !nas_type_real(t->data_type))
            nas_lex_fault(x, "an integer is missing here");
        push_value(x, t, v);
    } while (!x->failed && nas_lex_take(x, ','));
    nas_lex_need(x, '}');
    return t;
}

/* ---- nodes ---- */

#define A(type) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##type

static bool attribute_type(nas_lexer *x, const char *name, int *type)
{
    static const struct {
        const char *name;
        int type;
    } types[] = {{"float", A(FLOAT)},    {"int", A(INT)},       {"string", A(STRING)},
                 {"tensor", A(TENSOR)},  {"floats", A(FLOATS)}, {"ints", A(INTS)},
                 {"strings", A(STRINGS)}};
    for (size_t i = 0; name && i < sizeof types / sizeof *types; i++)
        if (!strcmp(name, types[i].name)) {
            *type = types[i].type;
            return true;
        }
    return nas_lex_fault(x, "attributes of type '%.40s' are not covered", name ? name : "");
}

static ProtobufCBinaryData bytes_of(char *text)
{
    return (ProtobufCBinaryData){text ? strlen(text) : 0, (uint8_t *)text};
}

/* `[1, 2]`: integers, floats once one is written so or declared, or strings. */
static void parse_list(nas_lexer *x, Onnx__AttributeProto *a)
{
    nas_lex_value v;
    bool real = a->type == A(FLOATS);
    nas_lex_need(x, '[');
    if (nas_lex_take(x, ']')) {
        if (!a->has_type)
            nas_lex_fault(x, "an empty list needs a type");
        return;
    }
    do {
        if (nas_lex_peek(x) == '"') {
            PUSH(x, a->strings, a->n_strings, bytes_of(nas_lex_string(x)));
            continue;
        }
        if (!nas_lex_number(x, &v))
            return;
        real |= v.real;
        size_t n = a->n_ints;
        PUSH(x, a->ints, n, v.i);
        PUSH(x, a->floats, a->n_ints, (float)v.f);
    } while (!x->failed && nas_lex_take(x, ','));
    nas_lex_need(x, ']');
    if (real && a->type == A(INTS))
        nas_lex_fault(x, "the list '%.60s' holds other than integers", a->name);
    a->type = a->n_strings ? A(STRINGS) : real ? A(FLOATS) : A(INTS);
    a->n_floats = real ? a->n_ints : 0;
    a->n_ints = real ? 0 : a->n_ints;
}

static void parse_number_attribute(nas_lexer *x, Onnx__AttributeProto *a)
{
    nas_lex_value v;
    if (!nas_lex_number(x, &v))
        return;
    if (v.real && a->type == A(INT))
        nas_lex_fault(x, "the attribute '%.60s' is no integer", a->name);
    bool real = v.real || a->type == A(FLOAT);
    a->type = real ? A(FLOAT) : A(INT);
    a->has_f = real;
    a->has_i = !real;
    a->f = (float)v.f;
    a->i = v.i;
}

/* `name = 1`, `name: ints = [1]`, `name: int = @outer`, `name = float[1] {0}` */
static Onnx__AttributeProto *parse_attribute(nas_lexer *x)
{
    Onnx__AttributeProto *a = NEW(x, *a, onnx__attribute_proto__init);
    int type = 0;
    a->name = nas_lex_name(x);
    if (nas_lex_take(x, ':'))
        a->has_type = attribute_type(x, nas_lex_name(x), &type);
    a->type = (Onnx__AttributeProto__AttributeType)type;
    nas_lex_need(x, '=');
    char c = nas_lex_peek(x);
    if (nas_lex_take(x, '@')) {
        a->ref_attr_name = nas_lex_name(x);
    } else if (c == '[') {
        parse_list(x, a);
    } else if (c == '"') {
        a->type = A(STRING);
        a->has_s = true;
        a->s = bytes_of(nas_lex_string(x));
    } else if (c == '-' || c == '+' || c == '.' || (c >= '0' && c <= '9')) {
        parse_number_attribute(x, a);
    } else {
        const Onnx__TypeProto *tensor = parse_type(x);
        char *name = tensor ? nas_lex_name_or_none(x) : NULL;
        a->type = A(TENSOR);
        nas_lex_take(x, '=');
        a->t = x->failed ? NULL : parse_data(x, tensor, name);
    }
    a->has_type = true;
    return a;
}

static void parse_attributes(nas_lexer *x, Onnx__NodeProto *node)
{
    if (!nas_lex_take(x, '<') || nas_lex_take(x, '>'))
        return;
    do
        PUSH(x, node->attribute, node->n_attribute, parse_attribute(x));
    while (!x->failed && nas_lex_take(x, ','));
    nas_lex_need(x, '>');
}

/* Names up to `end`, separated by commas; left out ones are "". */
static void parse_names(nas_lexer *x, char end, char ***names, size_t *n)
{
    if (nas_lex_peek(x) == end)
        return;
    do
        PUSH(x, *names, *n, nas_lex_name_or_none(x));
    while (!x->failed && nas_lex_take(x, ','));
}

/* `domain.Operator`, where domains may have dots. */
static void parse_operator(nas_lexer *x, Onnx__NodeProto *node)
{
    node->op_type = nas_lex_name(x);
    while (nas_lex_take(x, '.')) {
        const char *domain = node->domain && *node->domain ? node->domain : "";
        node->domain = (char *)(uintptr_t)nas_arena_print(
            x->arena, "%s%s%s", domain, *domain ? "." : "", node->op_type ? node->op_type : "");
        node->op_type = nas_lex_name(x);
    }
    if (nas_lex_take(x, ':'))
        nas_lex_name(x);
}

static Onnx__NodeProto *parse_node(nas_lexer *x)
{
    Onnx__NodeProto *node = NEW(x, *node, onnx__node_proto__init);
    if (nas_lex_take(x, '[')) {
        node->name = nas_lex_name(x);
        nas_lex_need(x, ']');
    }
    parse_names(x, '=', &node->output, &node->n_output);
    nas_lex_need(x, '=');
    parse_operator(x, node);
    parse_attributes(x, node);
    nas_lex_need(x, '(');
    parse_names(x, ')', &node->input, &node->n_input);
    nas_lex_need(x, ')');
    if (!node->n_attribute)
        parse_attributes(x, node);
    return node;
}

static void parse_body(nas_lexer *x, Onnx__NodeProto ***node, size_t *n)
{
    nas_lex_need(x, '{');
    while (!x->failed && !nas_lex_take(x, '}'))
        PUSH(x, *node, *n, parse_node(x));
}

/* ---- graphs, functions, headers ---- */

/* A value_info, or an initializer when data follows. */
static void parse_value(nas_lexer *x, Onnx__GraphProto *g, Onnx__ValueInfoProto ***list, size_t *n,
                        bool listed)
{
    Onnx__ValueInfoProto *info = NEW(x, *info, onnx__value_info_proto__init);
    info->type = parse_type(x);
    info->name = info->type ? nas_lex_name(x) : NULL;
    bool data = info->name && nas_lex_take(x, '=');
    if (data)
        PUSH(x, g->initializer, g->n_initializer, parse_data(x, info->type, info->name));
    if (listed || !data)
        PUSH(x, *list, *n, info);
}

static void parse_values(nas_lexer *x, Onnx__GraphProto *g, char end, Onnx__ValueInfoProto ***list,
                         size_t *n, bool listed)
{
    if (nas_lex_take(x, end))
        return;
    do
        parse_value(x, g, list, n, listed);
    while (!x->failed && nas_lex_take(x, ','));
    nas_lex_need(x, end);
}

static Onnx__GraphProto *parse_graph(nas_lexer *x)
{
    Onnx__GraphProto *g = NEW(x, *g, onnx__graph_proto__init);
    g->name = nas_lex_name(x);
    nas_lex_need(x, '(');
    parse_values(x, g, ')', &g->input, &g->n_input, true);
    nas_lex_need_text(x, "=>");
    nas_lex_need(x, '(');
    parse_values(x, g, ')', &g->output, &g->n_output, true);
    if (nas_lex_take(x, '<'))
        parse_values(x, g, '>', &g->value_info, &g->n_value_info, false);
    parse_body(x, &g->node, &g->n_node);
    return g;
}

static void parse_imports(nas_lexer *x, Onnx__OperatorSetIdProto ***imports, size_t *n)
{
    nas_lex_need(x, '[');
    if (nas_lex_take(x, ']'))
        return;
    do {
        Onnx__OperatorSetIdProto *o = NEW(x, *o, onnx__operator_set_id_proto__init);
        o->domain = nas_lex_string(x);
        nas_lex_need(x, ':');
        o->has_version = nas_lex_integer(x, &o->version);
        PUSH(x, *imports, *n, o);
    } while (!x->failed && nas_lex_take(x, ','));
    nas_lex_need(x, ']');
}

static void parse_pairs(nas_lexer *x, Onnx__StringStringEntryProto ***pairs, size_t *n)
{
    nas_lex_need(x, '[');
    if (nas_lex_take(x, ']'))
        return;
    do {
        Onnx__StringStringEntryProto *e = NEW(x, *e, onnx__string_string_entry_proto__init);
        e->key = nas_lex_string(x);
        nas_lex_need(x, ':');
        e->value = nas_lex_string(x);
        PUSH(x, *pairs, *n, e);
    } while (!x->failed && nas_lex_take(x, ','));
    nas_lex_need(x, ']');
}

/* A value of the header that nothing here reads: a number or a string. */
static void skip_value(nas_lexer *x)
{
    nas_lex_value v;
    if (nas_lex_peek(x) == '"')
        nas_lex_string(x);
    else
        nas_lex_number(x, &v);
}

/* `< key: value, … >` of a model, or of a function where model is NULL. */
static void parse_header(nas_lexer *x, Onnx__ModelProto *model, char **domain,
                         Onnx__OperatorSetIdProto ***imports, size_t *n)
{
    Onnx__StringStringEntryProto **ignored = NULL;
    size_t n_ignored = 0;
    if (!nas_lex_take(x, '<') || nas_lex_take(x, '>'))
        return;
    do {
        const char *key = nas_lex_name(x);
        nas_lex_need(x, ':');
        if (key && !strcmp(key, "opset_import"))
            parse_imports(x, imports, n);
        else if (key && !strcmp(key, "domain"))
            *domain = nas_lex_string(x);
        else if (nas_lex_peek(x) == '[')
            parse_pairs(x, model ? &model->metadata_props : &ignored,
                        model ? &model->n_metadata_props : &n_ignored);
        else
            skip_value(x);
    } while (!x->failed && nas_lex_take(x, ','));
    nas_lex_need(x, '>');
}

static Onnx__FunctionProto *parse_function(nas_lexer *x)
{
    Onnx__FunctionProto *f = NEW(x, *f, onnx__function_proto__init);
    parse_header(x, NULL, &f->domain, &f->opset_import, &f->n_opset_import);
    f->name = nas_lex_name(x);
    if (nas_lex_take(x, '<')) {
        parse_names(x, '>', &f->attribute, &f->n_attribute);
        nas_lex_need(x, '>');
    }
    nas_lex_need(x, '(');
    parse_names(x, ')', &f->input, &f->n_input);
    nas_lex_need(x, ')');
    nas_lex_need_text(x, "=>");
    nas_lex_need(x, '(');
    parse_names(x, ')', &f->output, &f->n_output);
    nas_lex_need(x, ')');
    parse_body(x, &f->node, &f->n_node);
    return f;
}

const nas_proto *nas_proto_parse(nas_arena *arena, const char *text, size_t size, nas_err *err)
{
    nas_lexer lexer = {text, text, text + size, arena, err, false}, *x = &lexer;
    Onnx__ModelProto *m = NEW(x, *m, onnx__model_proto__init);
    parse_header(x, m, &m->domain, &m->opset_import, &m->n_opset_import);
    m->graph = parse_graph(x);
    while (!x->failed && nas_lex_peek(x))
        PUSH(x, m->functions, m->n_functions, parse_function(x));
    return x->failed ? NULL : m;
}
