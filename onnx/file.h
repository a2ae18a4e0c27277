/* What stands in a file? The names and tensors of a flat graph, shared by all writers.
 *
 *     nas_names names;
 *     nas_names_make(&names, flat);
 *     nas_names_put(out, &names, id);
 *     for (int p = 0; p < nas_ops[node->op].n_params; p++)
 *         if (nas_tensor_of(node, p, &tensor)) …
 */
#ifndef NAS_ONNX_FILE_H
#define NAS_ONNX_FILE_H

#include "onnx/export.h"

enum { NAS_IR = 8, NAS_OPSET = 17, NAS_ONNX_FLOAT = 1, NAS_ONNX_INT64 = 7 };

/* A parameter tensor: for an index its values are value[0 .. dim[0]-1]. */
typedef struct {
    const char *suffix;
    nas_param_kind kind;
    int type, rank; /* NAS_ONNX_FLOAT or _INT64 */
    const int64_t *dim;
    int64_t one; /* the dimension of an index list */
    const int64_t *value;
    float scalar;
} nas_tensor;

/* False when the node does without its p-th parameter. dim points into the node or into tensor. */
bool nas_tensor_of(const nas_node *node, int p, nas_tensor *tensor);
int64_t nas_tensor_values(const nas_tensor *tensor);
/* Weights and statistics: what a file without weights asks for as inputs. */
static inline bool nas_tensor_trained(const nas_tensor *tensor)
{
    return tensor->kind == NAS_PARAM_WEIGHT || tensor->kind == NAS_PARAM_STAT;
}

/* The values of a weight or statistic, as nas_weights_put appends them. value: all of them. */
void nas_weights_fill(const nas_tensor *tensor, int node, nas_weights weights, uint64_t seed,
                      float *value);

/* The names of all nodes, one after the other, each ended by a NUL. */
typedef struct {
    nas_bytes text;
    uint32_t *at; /* [n_node + 1] */
} nas_names;

void nas_names_make(nas_names *names, const nas_graph *flat);
void nas_names_clear(nas_names *names);
static inline char *nas_names_text(const nas_names *names, int id)
{
    return names->text.data + names->at[id];
}
void nas_names_put(nas_bytes *out, const nas_names *names, int id);
void nas_names_put_tensor(nas_bytes *out, const nas_names *names, int id, const char *suffix);

/* The shortest decimal that reads back as f, with a point or an exponent. */
void nas_put_float(nas_bytes *out, float f);
/* A literal of the textual syntax; its older readers know no escapes, so '"' becomes "'". */
void nas_put_string(nas_bytes *out, const char *text);

/* ---- the writers: how->form is theirs ---- */

typedef struct {
    nas_graph *graph;      /* with functions */
    const nas_graph *flat; /* of graph; NULL for compact, which does not need it */
    nas_shape output;      /* of graph; only for compact */
    const nas_label *label;
    nas_export_how how;
    nas_bytes *out;
} nas_export_job;

void nas_write_onnx(const nas_export_job *job);
void nas_write_text(const nas_export_job *job);
void nas_write_printable(const nas_export_job *job);
void nas_write_compact(const nas_export_job *job);
void nas_write_prompt(const nas_export_job *job);
void nas_write_dot(const nas_export_job *job);
void nas_write_svg(const nas_export_job *job);

#endif
