/* Binary ONNX: fields in ascending number, as protobuf's own serializers order them. */
#include "onnx/file.h"
#include "onnx/wire.h"

/* The numbers of the fields used, as onnx.proto gives them. */
enum { MODEL_IR = 1, MODEL_PRODUCER, MODEL_VERSION, MODEL_DOC = 6, MODEL_GRAPH, MODEL_OPSET };
enum { MODEL_METADATA = 14, METADATA_KEY = 1, METADATA_VALUE, OPSET_DOMAIN = 1, OPSET_VERSION };
enum { GRAPH_NODE = 1, GRAPH_NAME, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT };
enum { GRAPH_VALUE_INFO = 13, NODE_INPUT = 1, NODE_OUTPUT, NODE_NAME, NODE_OP, NODE_ATTRIBUTE };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_F, ATTRIBUTE_I, ATTRIBUTE_INTS = 8, ATTRIBUTE_TYPE = 20 };
enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_INTS = 7 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { VALUE_NAME = 1, VALUE_TYPE, TYPE_TENSOR = 1, TENSOR_ELEM = 1, TENSOR_SHAPE, SHAPE_DIM = 1 };
enum { DIM_VALUE = 1, DIM_PARAM };

typedef struct {
    const nas_export_job *job;
    nas_names names;
} writer;

static void put_text(nas_bytes *out, int field, const char *text)
{
    nas_wire_text(out, field, text, strlen(text));
}

static void put_name(writer *w, int field, int id)
{
    const nas_names *n = &w->names;
    nas_wire_text(w->job->out, field, n->text.data + n->at[id], n->at[id + 1] - n->at[id]);
}

static void put_tensor_name(writer *w, int field, int id, const char *suffix)
{
    size_t at = nas_wire_open(w->job->out, field);
    nas_names_put_tensor(w->job->out, &w->names, id, suffix);
    nas_wire_close(w->job->out, at);
}

static void put_attribute(nas_bytes *out, const nas_attr_row *row, const nas_attr *attr)
{
    static const int type[] = {
        [NAS_ATTR_INT] = TYPE_INT, [NAS_ATTR_INTS] = TYPE_INTS, [NAS_ATTR_FLOAT] = TYPE_FLOAT};
    size_t at = nas_wire_open(out, NODE_ATTRIBUTE);
    put_text(out, ATTRIBUTE_NAME, row->name);
    if (row->type == NAS_ATTR_FLOAT)
        nas_wire_float(out, ATTRIBUTE_F, attr->f);
    else
        for (int i = 0; i < attr->n; i++)
            nas_wire_int(out, row->type == NAS_ATTR_INT ? ATTRIBUTE_I : ATTRIBUTE_INTS, attr->v[i]);
    nas_wire_int(out, ATTRIBUTE_TYPE, type[row->type]);
    nas_wire_close(out, at);
}

static void put_node(writer *w, int id)
{
    nas_bytes *out = w->job->out;
    const nas_node *node = &w->job->flat->fn[0].node[id];
    const nas_op *op = &nas_ops[node->op];
    nas_tensor tensor;
    size_t at = nas_wire_open(out, GRAPH_NODE);
    for (int i = 0; i < node->n_in; i++)
        put_name(w, NODE_INPUT, node->in[i]);
    for (int p = 0; p < op->n_params; p++)
        if (nas_tensor_of(node, p, &tensor))
            put_tensor_name(w, NODE_INPUT, id, tensor.suffix);
    put_name(w, NODE_OUTPUT, id);
    put_name(w, NODE_NAME, id);
    put_text(out, NODE_OP, op->onnx);
    for (int i = 0; i < op->n_attrs; i++)
        if (!op->attrs[i].inner && node->attr[i].n >= 0)
            put_attribute(out, &op->attrs[i], &node->attr[i]);
    nas_wire_close(out, at);
}

static void put_type(nas_bytes *out, int elem, const int64_t *dim, int rank, bool batch)
{
    size_t type = nas_wire_open(out, VALUE_TYPE), tensor = nas_wire_open(out, TYPE_TENSOR);
    nas_wire_int(out, TENSOR_ELEM, elem);
    size_t shape = nas_wire_open(out, TENSOR_SHAPE);
    for (int i = 0; i < rank; i++) {
        size_t at = nas_wire_open(out, SHAPE_DIM);
        if (batch && i == 0 && dim[0] == 0)
            put_text(out, DIM_PARAM, "N");
        else
            nas_wire_int(out, DIM_VALUE, dim[i]);
        nas_wire_close(out, at);
    }
    nas_wire_close(out, shape);
    nas_wire_close(out, tensor);
    nas_wire_close(out, type);
}

static void put_value(writer *w, int field, int id)
{
    const nas_shape *shape = &w->job->flat->fn[0].node[id].shape;
    size_t at = nas_wire_open(w->job->out, field);
    put_name(w, VALUE_NAME, id);
    put_type(w->job->out, NAS_ONNX_FLOAT, shape->dim, shape->rank, true);
    nas_wire_close(w->job->out, at);
}

static void put_initializer(writer *w, int id, int p, const nas_tensor *tensor)
{
    nas_bytes *out = w->job->out;
    size_t at = nas_wire_open(out, GRAPH_INITIALIZER);
    for (int i = 0; i < tensor->rank; i++)
        nas_wire_int(out, TENSOR_DIMS, tensor->dim[i]);
    nas_wire_int(out, TENSOR_TYPE, tensor->type);
    put_tensor_name(w, TENSOR_NAME, id, tensor->suffix);
    size_t raw = nas_wire_open(out, TENSOR_RAW);
    if (nas_tensor_trained(tensor))
        nas_weights_put(w->job->flat, id, p, w->job->how.weights, w->job->how.seed, out);
    else if (tensor->kind == NAS_PARAM_INDEX)
        nas_bytes_put(out, tensor->value, (size_t)tensor->one * sizeof *tensor->value);
    else
        nas_bytes_put(out, &tensor->scalar, sizeof tensor->scalar);
    nas_wire_close(out, raw);
    nas_wire_close(out, at);
}

/* All parameter tensors, as inputs (weights of a file without them) or as initializers. */
static void put_tensors(writer *w, bool inputs)
{
    const nas_fn *main = &w->job->flat->fn[0];
    nas_tensor tensor;
    for (int id = main->n_in; id < (int)main->n_node; id++)
        for (int p = 0; p < nas_ops[main->node[id].op].n_params; p++) {
            if (!nas_tensor_of(&main->node[id], p, &tensor))
                continue;
            bool input = w->job->how.weights == NAS_WEIGHTS_NONE && nas_tensor_trained(&tensor);
            if (input != inputs)
                continue;
            if (!input) {
                put_initializer(w, id, p, &tensor);
                continue;
            }
            size_t at = nas_wire_open(w->job->out, GRAPH_INPUT);
            put_tensor_name(w, VALUE_NAME, id, tensor.suffix);
            put_type(w->job->out, tensor.type, tensor.dim, tensor.rank, false);
            nas_wire_close(w->job->out, at);
        }
}

static void put_graph(writer *w)
{
    const nas_fn *main = &w->job->flat->fn[0];
    size_t at = nas_wire_open(w->job->out, MODEL_GRAPH);
    for (int id = main->n_in; id < (int)main->n_node; id++)
        put_node(w, id);
    put_text(w->job->out, GRAPH_NAME, w->job->flat->name);
    put_tensors(w, false);
    for (int id = 0; id < main->n_in; id++)
        put_value(w, GRAPH_INPUT, id);
    put_tensors(w, true);
    put_value(w, GRAPH_OUTPUT, main->out);
    for (int id = main->n_in; id < (int)main->n_node; id++)
        if (id != main->out)
            put_value(w, GRAPH_VALUE_INFO, id);
    nas_wire_close(w->job->out, at);
}

static void put_metadata(nas_bytes *out, const char *key, const char *value)
{
    size_t at = nas_wire_open(out, MODEL_METADATA);
    put_text(out, METADATA_KEY, key);
    put_text(out, METADATA_VALUE, value);
    nas_wire_close(out, at);
}

void nas_write_onnx(const nas_export_job *job)
{
    nas_bytes *out = job->out;
    writer w = {.job = job};
    nas_names_make(&w.names, job->flat);
    nas_wire_int(out, MODEL_IR, NAS_IR);
    put_text(out, MODEL_PRODUCER, "naslm");
    put_text(out, MODEL_VERSION, NAS_VERSION);
    if (job->label)
        put_text(out, MODEL_DOC, job->label->arch);
    put_graph(&w);
    size_t opset = nas_wire_open(out, MODEL_OPSET);
    put_text(out, OPSET_DOMAIN, "");
    nas_wire_int(out, OPSET_VERSION, NAS_OPSET);
    nas_wire_close(out, opset);
    if (job->label) {
        put_metadata(out, "nas.space", job->label->space);
        put_metadata(out, "nas.task", job->label->task);
        put_metadata(out, "nas.arch", job->label->arch);
        put_metadata(out, "nas.hash", job->label->hash);
    }
    nas_names_clear(&w.names);
}
