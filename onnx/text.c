/* The official textual syntax of a flat graph, which onnx.parser reads back. */
#include "onnx/file.h"

#include <stdlib.h>

typedef struct {
    const nas_export_job *job;
    nas_bytes *out;
    nas_names names;
} writer;

static void put_dims(nas_bytes *out, const char *type, const int64_t *dim, int rank, bool batch)
{
    nas_bytes_puts(out, type);
    for (int i = 0; i < rank; i++) {
        nas_bytes_putc(out, i ? ',' : '[');
        if (batch && i == 0 && dim[0] == 0)
            nas_bytes_putc(out, 'N');
        else
            nas_bytes_puti(out, dim[i]);
    }
    nas_bytes_puts(out, rank ? "] " : " ");
}

static void put_value(writer *w, int id)
{
    const nas_shape *shape = &w->job->flat->fn[0].node[id].shape;
    put_dims(w->out, "float", shape->dim, shape->rank, true);
    nas_names_put(w->out, &w->names, id);
}

static void put_tensor(writer *w, int id, const nas_tensor *tensor)
{
    put_dims(w->out, tensor->type == NAS_ONNX_FLOAT ? "float" : "int64", tensor->dim, tensor->rank,
             false);
    nas_names_put_tensor(w->out, &w->names, id, tensor->suffix);
}

/* ` = {…}` */
static void put_data(writer *w, int id, int p, const nas_tensor *tensor)
{
    nas_bytes *out = w->out, raw = {0};
    int64_t n = nas_tensor_values(tensor);
    if (nas_tensor_trained(tensor))
        nas_weights_put(w->job->flat, id, p, w->job->how.weights, w->job->how.seed, &raw);
    for (int64_t i = 0; i < n; i++) {
        nas_bytes_puts(out, i ? "," : " = {");
        if (tensor->kind == NAS_PARAM_INDEX)
            nas_bytes_puti(out, tensor->value[i]);
        else
            nas_put_float(out,
                          raw.data ? ((const float *)(const void *)raw.data)[i] : tensor->scalar);
    }
    nas_bytes_putc(out, '}');
    nas_bytes_clear(&raw);
}

/* Parameter tensors as inputs or initializers, each after `before`. */
static void put_tensors(writer *w, bool inputs, const char **before)
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
            nas_bytes_puts(w->out, *before);
            *before = ",\n   ";
            put_tensor(w, id, &tensor);
            if (!input)
                put_data(w, id, p, &tensor);
        }
}

static void put_attribute(nas_bytes *out, const nas_attr_row *row, const nas_attr *attr)
{
    nas_bytes_puts(out, row->name);
    nas_bytes_putc(out, '=');
    if (row->type == NAS_ATTR_FLOAT)
        nas_put_float(out, attr->f);
    else if (row->type == NAS_ATTR_INT)
        nas_bytes_puti(out, attr->v[0]);
    else
        for (int i = 0; i < attr->n; i++) {
            nas_bytes_putc(out, i ? ',' : '[');
            nas_bytes_puti(out, attr->v[i]);
        }
    if (row->type == NAS_ATTR_INTS)
        nas_bytes_putc(out, ']');
}

static void put_node(writer *w, int id)
{
    nas_bytes *out = w->out;
    const nas_node *node = &w->job->flat->fn[0].node[id];
    const nas_op *op = &nas_ops[node->op];
    const char *before = " <";
    nas_tensor tensor;
    nas_bytes_puts(out, "   ");
    nas_names_put(out, &w->names, id);
    nas_bytes_puts(out, " = ");
    nas_bytes_puts(out, op->onnx);
    for (int i = 0; i < op->n_attrs; i++)
        if (!op->attrs[i].inner && node->attr[i].n >= 0) {
            nas_bytes_puts(out, before);
            put_attribute(out, &op->attrs[i], &node->attr[i]);
            before = ", ";
        }
    nas_bytes_puts(out, *before == ',' ? "> (" : " (");
    for (int i = 0; i < node->n_in; i++) {
        nas_bytes_puts(out, i ? ", " : "");
        nas_names_put(out, &w->names, node->in[i]);
    }
    for (int p = 0; p < op->n_params; p++)
        if (nas_tensor_of(node, p, &tensor)) {
            nas_bytes_puts(out, ", ");
            nas_names_put_tensor(out, &w->names, id, tensor.suffix);
        }
    nas_bytes_puts(out, ")\n");
}

static void put_header(nas_bytes *out, const nas_label *label)
{
    nas_bytes_puts(out, "<\n   ir_version: ");
    nas_bytes_puti(out, NAS_IR);
    nas_bytes_puts(out, ",\n   opset_import: [\"\" : ");
    nas_bytes_puti(out, NAS_OPSET);
    nas_bytes_puts(out,
                   "],\n   producer_name: \"naslm\",\n   producer_version: \"" NAS_VERSION "\"");
    if (label) {
        nas_bytes_puts(out, ",\n   doc_string: ");
        nas_put_string(out, label->arch);
        nas_bytes_puts(out, ",\n   metadata_props: [\"nas.space\": ");
        nas_put_string(out, label->space);
        nas_bytes_puts(out, ", \"nas.task\": ");
        nas_put_string(out, label->task);
        nas_bytes_puts(out, ", \"nas.arch\": ");
        nas_put_string(out, label->arch);
        nas_bytes_puts(out, ", \"nas.hash\": ");
        nas_put_string(out, label->hash);
        nas_bytes_putc(out, ']');
    }
    nas_bytes_puts(out, "\n>\n");
}

void nas_write_text(const nas_export_job *job)
{
    nas_bytes *out = job->out;
    const nas_fn *main = &job->flat->fn[0];
    writer w = {.job = job, .out = out};
    nas_names_make(&w.names, job->flat);
    put_header(out, job->label);
    nas_bytes_puts(out, job->flat->name);
    const char *before = " (";
    for (int id = 0; id < main->n_in; id++) {
        nas_bytes_puts(out, before);
        put_value(&w, id);
        before = ",\n   ";
    }
    put_tensors(&w, true, &before);
    nas_bytes_puts(out, ") => (");
    put_value(&w, main->out);
    nas_bytes_puts(out, ")\n");
    before = "<\n   ";
    put_tensors(&w, false, &before);
    for (int id = main->n_in; id < (int)main->n_node; id++)
        if (id != main->out) {
            nas_bytes_puts(out, before);
            before = ",\n   ";
            put_value(&w, id);
        }
    nas_bytes_puts(out, *before == ',' ? "\n>\n{\n" : "{\n");
    for (int id = main->n_in; id < (int)main->n_node; id++)
        put_node(&w, id);
    nas_bytes_puts(out, "}\n");
    nas_names_clear(&w.names);
}
