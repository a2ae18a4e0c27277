/* Binary ONNX: the messages of the model are built in one arena, and protobuf-c packs them.
 *
 * protobuf-c looks at every field that a message could have, which would take most of the time. So
 * what many messages share is packed once and ends each of them: operator and attributes of a node,
 * type of a value. protobuf-c appends such bytes as unknown fields; those are the last fields of
 * their messages, so the file is the same. */
#include "onnx.pb-c.h"
#include "onnx/file.h"

#include <assert.h>

/* The last fields of a message. */
typedef struct tail {
    struct tail *next;
    const void *key; /* what they were made from */
    size_t key_size;
    ProtobufCMessageUnknownField field; /* no data: not packed yet */
} tail;

enum { BUCKETS = 256, SEEN = 256 };

/* The tail of nodes that share their attributes. */
typedef struct {
    int op;
    const nas_attr *attr;
    const tail *tail;
} seen;

typedef struct {
    const nas_export_job *job;
    nas_arena *arena;
    nas_names names;
    nas_bytes key; /* int64 words; the first is an operator, or below zero for a type */
    tail *tails[BUCKETS];
    seen seen[SEEN];             /* by address of the attributes; the last one stays */
    const tail *type;            /* the last one asked for: neighbours are often alike */
    Onnx__ValueInfoProto *value; /* the next of a block for all values */
} writer;

/* A new message of a type whose initial value is INIT. */
#define NEW(w, type, INIT) ((type *)nas_arena_copy((w)->arena, &(const type)INIT, sizeof(type)))

/* ---- tails ---- */

static void put_key(writer *w, int64_t word)
{
    nas_bytes_put(&w->key, &word, sizeof word);
}

/* The tail of w->key, found or new. */
static tail *tail_of_key(writer *w)
{
    const nas_bytes *key = &w->key;
    uint64_t hash = 0, word;
    for (size_t i = 0; i < key->size; i += sizeof word) {
        memcpy(&word, key->data + i, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    }
    tail **at = &w->tails[hash >> 56];
    for (; *at; at = &(*at)->next)
        if ((*at)->key_size == key->size && !memcmp((*at)->key, key->data, key->size))
            return *at;
    *at = nas_arena_get(w->arena, sizeof **at);
    **at = (tail){.key = nas_arena_copy(w->arena, key->data, key->size), .key_size = key->size};
    return *at;
}

/* Takes the fields of part. The tag of the first one, a byte as its number is below 16, is written
 * by protobuf-c. */
static void pack_tail(writer *w, tail *t, const ProtobufCMessage *part)
{
    size_t size = protobuf_c_message_get_packed_size(part);
    uint8_t *data = nas_arena_get(w->arena, size);
    protobuf_c_message_pack(part, data);
    t->field.tag = data[0] >> 3;
    t->field.wire_type = (ProtobufCWireType)(data[0] & 7);
    t->field.len = size - 1;
    t->field.data = data + 1;
}

static void end_message(ProtobufCMessage *message, const tail *t)
{
    message->n_unknown_fields = 1;
    message->unknown_fields = (ProtobufCMessageUnknownField *)&t->field;
}

/* ---- nodes ---- */

static Onnx__AttributeProto *make_attribute(writer *w, const nas_attr_row *row,
                                            const nas_attr *attr)
{
    static const Onnx__AttributeProto__AttributeType type[] = {
        [NAS_ATTR_INT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
        [NAS_ATTR_INTS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS,
        [NAS_ATTR_FLOAT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT};
    Onnx__AttributeProto *a = NEW(w, Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT);
    a->name = (char *)row->name;
    a->has_type = true;
    a->type = type[row->type];
    if (row->type == NAS_ATTR_FLOAT) {
        a->has_f = true;
        a->f = attr->f;
    } else if (row->type == NAS_ATTR_INT) {
        a->has_i = true;
        a->i = attr->v[0];
    } else {
        a->n_ints = (size_t)attr->n;
        a->ints = (int64_t *)attr->v;
    }
    return a;
}

static bool is_written(const nas_node *node, int attr)
{
    return !nas_ops[node->op].attrs[attr].inner && node->attr[attr].n >= 0;
}

/* Operator and attributes. */
static const tail *find_node_tail(writer *w, const nas_node *node)
{
    const nas_op *op = &nas_ops[node->op];
    nas_bytes_reset(&w->key);
    put_key(w, node->op);
    for (int i = 0; i < op->n_attrs; i++) {
        const nas_attr *attr = &node->attr[i];
        int32_t bits;
        if (!is_written(node, i))
            continue;
        memcpy(&bits, &attr->f, sizeof bits);
        put_key(w, op->attrs[i].type == NAS_ATTR_FLOAT ? bits : attr->n);
        if (op->attrs[i].type != NAS_ATTR_FLOAT)
            nas_bytes_put(&w->key, attr->v, (size_t)attr->n * sizeof *attr->v);
    }
    tail *t = tail_of_key(w);
    if (t->field.data)
        return t;
    Onnx__AttributeProto *attribute[NAS_ATTRS_MAX];
    Onnx__NodeProto part = ONNX__NODE_PROTO__INIT;
    part.op_type = (char *)op->onnx;
    part.attribute = attribute;
    for (int i = 0; i < op->n_attrs; i++)
        if (is_written(node, i))
            attribute[part.n_attribute++] = make_attribute(w, &op->attrs[i], &node->attr[i]);
    pack_tail(w, t, &part.base);
    return t;
}

static const tail *node_tail(writer *w, const nas_node *node)
{
    seen *s = &w->seen[(uintptr_t)node->attr / sizeof *node->attr % SEEN];
    if (s->attr != node->attr || s->op != node->op)
        *s = (seen){node->op, node->attr, find_node_tail(w, node)};
    return s->tail;
}

/* ---- values ---- */

static void pack_type(writer *w, tail *t, int elem, const int64_t *dim, int rank, bool batch)
{
    Onnx__TensorShapeProto shape = ONNX__TENSOR_SHAPE_PROTO__INIT;
    shape.dim = nas_arena_get(w->arena, (size_t)rank * sizeof *shape.dim);
    for (int i = 0; i < rank; i++) {
        Onnx__TensorShapeProto__Dimension *d =
            NEW(w, Onnx__TensorShapeProto__Dimension, ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT);
        bool symbol = batch && i == 0 && dim[0] == 0;
        d->value_case = symbol ? ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
                               : ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        if (symbol)
            d->dim_param = (char *)"N";
        else
            d->dim_value = dim[i];
        shape.dim[shape.n_dim++] = d;
    }
    Onnx__TypeProto__Tensor tensor = ONNX__TYPE_PROTO__TENSOR__INIT;
    tensor.has_elem_type = true;
    tensor.elem_type = elem;
    tensor.shape = &shape;
    Onnx__TypeProto type = ONNX__TYPE_PROTO__INIT;
    type.value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type.tensor_type = &tensor;
    Onnx__ValueInfoProto part = ONNX__VALUE_INFO_PROTO__INIT;
    part.type = &type;
    pack_tail(w, t, &part.base);
}

/* The type of a tensor; batch: a leading 0 is the symbol N. */
static const tail *type_tail(writer *w, int elem, const int64_t *dim, int rank, bool batch)
{
    const int64_t head = -2 * elem - batch, *last = w->type ? w->type->key : NULL;
    size_t size = (size_t)rank * sizeof *dim;
    if (last && w->type->key_size == sizeof head + size && last[0] == head &&
        !memcmp(last + 1, dim, size))
        return w->type;
    nas_bytes_reset(&w->key);
    put_key(w, head);
    nas_bytes_put(&w->key, dim, size);
    tail *t = tail_of_key(w);
    if (!t->field.data)
        pack_type(w, t, elem, dim, rank, batch);
    return w->type = t;
}

static Onnx__ValueInfoProto *make_value(writer *w, char *name, const tail *type)
{
    Onnx__ValueInfoProto *v = w->value++;
    *v = (Onnx__ValueInfoProto)ONNX__VALUE_INFO_PROTO__INIT;
    v->name = name;
    end_message(&v->base, type);
    return v;
}

/* The value of a node. */
static Onnx__ValueInfoProto *make_output(writer *w, int id)
{
    const nas_shape *shape = &w->job->flat->fn[0].node[id].shape;
    return make_value(w, nas_names_text(&w->names, id),
                      type_tail(w, NAS_ONNX_FLOAT, shape->dim, shape->rank, true));
}

static Onnx__TensorProto *make_initializer(writer *w, int id, char *name, const nas_tensor *tensor)
{
    Onnx__TensorProto *t = NEW(w, Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);
    size_t values = (size_t)nas_tensor_values(tensor);
    t->n_dims = (size_t)tensor->rank;
    t->dims = nas_arena_copy(w->arena, tensor->dim, t->n_dims * sizeof *t->dims);
    t->has_data_type = true;
    t->data_type = tensor->type;
    t->name = name;
    t->has_raw_data = true;
    if (nas_tensor_trained(tensor)) {
        float *raw = nas_arena_get(w->arena, values * sizeof *raw);
        nas_weights_fill(tensor, id, w->job->how.weights, w->job->how.seed, raw);
        t->raw_data = (ProtobufCBinaryData){values * sizeof *raw, (uint8_t *)raw};
    } else if (tensor->kind == NAS_PARAM_INDEX) {
        t->raw_data =
            (ProtobufCBinaryData){values * sizeof *tensor->value, (uint8_t *)tensor->value};
    } else {
        float *raw = nas_arena_copy(w->arena, &tensor->scalar, sizeof *raw);
        t->raw_data = (ProtobufCBinaryData){sizeof *raw, (uint8_t *)raw};
    }
    return t;
}

/* ---- the graph ---- */

static char *tensor_name(writer *w, int id, const char *suffix)
{
    const char *own = nas_names_text(&w->names, id);
    size_t size = strlen(own), more = strlen(suffix) + 1;
    char *name = nas_arena_get(w->arena, size + 1 + more);
    memcpy(name, own, size);
    name[size] = '_';
    memcpy(name + size + 1, suffix, more);
    return name;
}

/* A parameter tensor: an input (weights of a file without them) or an initializer. */
static void add_tensor(writer *w, Onnx__GraphProto *g, int id, char *name, const nas_tensor *tensor)
{
    if (w->job->how.weights == NAS_WEIGHTS_NONE && nas_tensor_trained(tensor))
        g->input[g->n_input++] =
            make_value(w, name, type_tail(w, tensor->type, tensor->dim, tensor->rank, false));
    else
        g->initializer[g->n_initializer++] = make_initializer(w, id, name, tensor);
}

static void add_node(writer *w, Onnx__GraphProto *g, int id, Onnx__NodeProto *n)
{
    const nas_node *node = &w->job->flat->fn[0].node[id];
    const nas_op *op = &nas_ops[node->op];
    nas_tensor tensor;
    *n = (Onnx__NodeProto)ONNX__NODE_PROTO__INIT;
    n->input = nas_arena_get(w->arena, (size_t)(node->n_in + op->n_params) * sizeof *n->input);
    for (int i = 0; i < node->n_in; i++)
        n->input[n->n_input++] = nas_names_text(&w->names, node->in[i]);
    for (int p = 0; p < op->n_params; p++)
        if (nas_tensor_of(node, p, &tensor)) {
            char *name = tensor_name(w, id, tensor.suffix);
            n->input[n->n_input++] = name;
            add_tensor(w, g, id, name, &tensor);
        }
    n->name = nas_names_text(&w->names, id);
    n->n_output = 1;
    n->output = nas_arena_copy(w->arena, &n->name, sizeof n->name);
    end_message(&n->base, node_tail(w, node));
    g->node[g->n_node++] = n;
}

static Onnx__GraphProto *make_graph(writer *w)
{
    const nas_fn *main = &w->job->flat->fn[0];
    Onnx__GraphProto *g = NEW(w, Onnx__GraphProto, ONNX__GRAPH_PROTO__INIT);
    size_t params = 0;
    for (size_t i = 0; i < main->n_node; i++)
        params += (size_t)nas_ops[main->node[i].op].n_params;
    g->name = (char *)w->job->flat->name;
    g->node = nas_arena_get(w->arena, main->n_node * sizeof *g->node);
    g->initializer = nas_arena_get(w->arena, params * sizeof *g->initializer);
    g->input = nas_arena_get(w->arena, ((size_t)main->n_in + params) * sizeof *g->input);
    g->output = nas_arena_get(w->arena, sizeof *g->output);
    g->value_info = nas_arena_get(w->arena, main->n_node * sizeof *g->value_info);
    w->value = nas_arena_get(w->arena, (main->n_node + params + 1) * sizeof *w->value);
    Onnx__NodeProto *node = nas_arena_get(w->arena, main->n_node * sizeof *node);
    for (int id = 0; id < main->n_in; id++)
        g->input[g->n_input++] = make_output(w, id);
    for (int id = main->n_in; id < (int)main->n_node; id++)
        add_node(w, g, id, &node[id]);
    for (int id = main->n_in; id < (int)main->n_node; id++)
        if (id != main->out)
            g->value_info[g->n_value_info++] = make_output(w, id);
    g->output[g->n_output++] = make_output(w, main->out);
    return g;
}

/* ---- the model ---- */

static Onnx__OperatorSetIdProto *make_opset(writer *w)
{
    Onnx__OperatorSetIdProto *o =
        NEW(w, Onnx__OperatorSetIdProto, ONNX__OPERATOR_SET_ID_PROTO__INIT);
    o->domain = (char *)"";
    o->has_version = true;
    o->version = NAS_OPSET;
    return o;
}

static void add_metadata(writer *w, Onnx__ModelProto *m, const char *key, const char *value)
{
    Onnx__StringStringEntryProto *e =
        NEW(w, Onnx__StringStringEntryProto, ONNX__STRING_STRING_ENTRY_PROTO__INIT);
    e->key = (char *)key;
    e->value = (char *)value;
    m->metadata_props[m->n_metadata_props++] = e;
}

static void pack_model(const Onnx__ModelProto *m, nas_bytes *out)
{
    size_t size = onnx__model_proto__get_packed_size(m);
    assert(size < (size_t)1 << 31);
    nas_bytes_reserve(out, size);
    onnx__model_proto__pack(m, (uint8_t *)out->data + out->size);
    out->size += size;
    out->data[out->size] = '\0';
}

void nas_write_onnx(const nas_export_job *job)
{
    writer w = {.job = job, .arena = nas_arena_new()};
    Onnx__ModelProto m = ONNX__MODEL_PROTO__INIT;
    Onnx__OperatorSetIdProto *opset = make_opset(&w);
    Onnx__StringStringEntryProto *metadata[4];
    nas_names_make(&w.names, job->flat);
    m.has_ir_version = true;
    m.ir_version = NAS_IR;
    m.producer_name = (char *)"naslm";
    m.producer_version = (char *)NAS_VERSION;
    m.graph = make_graph(&w);
    m.n_opset_import = 1;
    m.opset_import = &opset;
    m.metadata_props = metadata;
    if (job->label) {
        m.doc_string = (char *)job->label->arch;
        add_metadata(&w, &m, "nas.space", job->label->space);
        add_metadata(&w, &m, "nas.task", job->label->task);
        add_metadata(&w, &m, "nas.arch", job->label->arch);
        add_metadata(&w, &m, "nas.hash", job->label->hash);
    }
    pack_model(&m, job->out);
    nas_names_clear(&w.names);
    nas_bytes_clear(&w.key);
    nas_arena_free(w.arena);
}
