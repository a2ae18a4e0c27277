/* The layout of onnx.helper.printable_graph, on which published regression language models were
 * trained: byte-equal to what that function makes of the binary form. */
#include "onnx/file.h"

#include <string.h>

typedef struct {
    const nas_export_job *job;
    nas_bytes *out;
    nas_names names;
} writer;

static void put_type(nas_bytes *out, const char *type, const int64_t *dim, int rank, bool batch)
{
    nas_bytes_putc(out, '[');
    nas_bytes_puts(out, type);
    nas_bytes_puts(out, rank ? ", " : ", scalar");
    for (int i = 0; i < rank; i++) {
        nas_bytes_puts(out, i ? "x" : "");
        if (batch && i == 0 && dim[0] == 0)
            nas_bytes_putc(out, 'N');
        else
            nas_bytes_puti(out, dim[i]);
    }
    nas_bytes_puts(out, "]\n");
}

/* Inputs or initializers; false when there are none. opening comes before the first. */
static bool put_tensors(writer *w, bool inputs, const char *opening)
{
    const nas_fn *main = &w->job->flat->fn[0];
    nas_tensor t;
    bool any = false;
    for (int id = main->n_in; id < (int)main->n_node; id++)
        for (int p = 0; p < nas_ops[main->node[id].op].n_params; p++) {
            if (!nas_tensor_of(&main->node[id], p, &t))
                continue;
            bool input = w->job->how.weights == NAS_WEIGHTS_NONE && nas_tensor_trained(&t);
            if (input != inputs)
                continue;
            nas_bytes_puts(w->out, any ? "  %" : opening);
            nas_names_put_tensor(w->out, &w->names, id, t.suffix);
            put_type(w->out, t.type == NAS_ONNX_FLOAT ? "FLOAT" : "INT64", t.dim, t.rank, false);
            any = true;
        }
    return any;
}

static void put_attribute(nas_bytes *out, const nas_attr_row *row, const nas_attr *attr)
{
    nas_bytes_puts(out, row->name);
    nas_bytes_puts(out, " = ");
    if (row->type == NAS_ATTR_FLOAT) {
        nas_bytes_print(out, "%.15g", (double)attr->f);
    } else if (row->type == NAS_ATTR_INT) {
        nas_bytes_puti(out, attr->v[0]);
    } else {
        for (int i = 0; i < attr->n; i++) {
            nas_bytes_puts(out, i ? ", " : "[");
            nas_bytes_puti(out, attr->v[i]);
        }
        nas_bytes_putc(out, ']');
    }
}

/* Attributes that ONNX sees, sorted by name; returns how many. */
static int sorted_attributes(const nas_node *node, int order[NAS_ATTRS_MAX])
{
    const nas_op *op = &nas_ops[node->op];
    int n = 0;
    for (int i = 0; i < op->n_attrs; i++) {
        if (op->attrs[i].inner || node->attr[i].n < 0)
            continue;
        int at = n++;
        for (; at > 0 && strcmp(op->attrs[order[at - 1]].name, op->attrs[i].name) > 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return n;
}

static void put_node(writer *w, int id)
{
    nas_bytes *out = w->out;
    const nas_node *node = &w->job->flat->fn[0].node[id];
    const nas_op *op = &nas_ops[node->op];
    nas_tensor tensor;
    int order[NAS_ATTRS_MAX], n = sorted_attributes(node, order);
    nas_bytes_puts(out, "  %");
    nas_names_put(out, &w->names, id);
    nas_bytes_puts(out, " = ");
    nas_bytes_puts(out, op->onnx);
    for (int i = 0; i < n; i++) {
        nas_bytes_puts(out, i ? ", " : "[");
        put_attribute(out, &op->attrs[order[i]], &node->attr[order[i]]);
    }
    nas_bytes_puts(out, n ? "](" : "(");
    for (int i = 0; i < node->n_in; i++) {
        nas_bytes_puts(out, i ? ", %" : "%");
        nas_names_put(out, &w->names, node->in[i]);
    }
    for (int p = 0; p < op->n_params; p++)
        if (nas_tensor_of(node, p, &tensor)) {
            nas_bytes_puts(out, ", %");
            nas_names_put_tensor(out, &w->names, id, tensor.suffix);
        }
    nas_bytes_puts(out, ")\n");
}

void nas_write_printable(const nas_export_job *job)
{
    nas_bytes *out = job->out;
    const nas_fn *main = &job->flat->fn[0];
    writer w = {.job = job, .out = out};
    nas_names_make(&w.names, job->flat);
    nas_bytes_puts(out, "graph ");
    nas_bytes_puts(out, job->flat->name);
    nas_bytes_puts(out, " (\n");
    for (int id = 0; id < main->n_in; id++) {
        nas_bytes_puts(out, "  %");
        nas_names_put(out, &w.names, id);
        put_type(out, "FLOAT", main->node[id].shape.dim, main->node[id].shape.rank, true);
    }
    put_tensors(&w, true, "  %");
    put_tensors(&w, false, ") initializers (\n  %");
    nas_bytes_puts(out, ") {\n");
    for (int id = main->n_in; id < (int)main->n_node; id++)
        put_node(&w, id);
    nas_bytes_puts(out, "  return %");
    nas_names_put(out, &w.names, main->out);
    nas_bytes_puts(out, "\n}");
    nas_names_clear(&w.names);
}
