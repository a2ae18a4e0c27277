/* How does a network leave the house? One graph, six forms.
 *
 *     nas_export_how how = {.form = NAS_FORM_TEXT, .weights = NAS_WEIGHTS_NONE};
 *     status = nas_export(space, &arch, task, how, &bytes, &err);
 *     status = nas_export_graph(graph, NULL, how, &bytes, &err);      for a graph without genes
 *     nas_export_prompt(graph, "nb201", "cifar10", &bytes, &err);     what the surrogate reads
 *
 * Files are IR 8, opset 17, with a symbolic batch N. The same call gives the same bytes. Names are
 * C identifiers: a node is called as its output (conv12), its tensors follow it (conv12_w). */
#ifndef NAS_EXPORT_H
#define NAS_EXPORT_H

#include "spaces/graph.h"
#include "spaces/space.h"

typedef enum {
    NAS_FORM_ONNX,      /* binary ModelProto */
    NAS_FORM_TEXT,      /* official textual syntax of the flat graph */
    NAS_FORM_PRINTABLE, /* layout of onnx.helper.printable_graph */
    NAS_FORM_COMPACT,   /* official textual syntax, every block a model-local function */
    NAS_FORM_DOT,       /* Graphviz */
    NAS_FORM_SVG,       /* a drawing */
    NAS_FORM_COUNT
} nas_form;

/* Where weights come from. Index and scalar constants are initializers always; no initializer is
 * among the inputs. compact generates its weights by the formula of NAS_WEIGHTS_SINE and ignores
 * this, as the drawings do. */
typedef enum {
    NAS_WEIGHTS_NONE,   /* weights are inputs of the graph: tiny files that every checker accepts */
    NAS_WEIGHTS_ZEROS,  /* initializers of zeros */
    NAS_WEIGHTS_RANDOM, /* uniform, variance 1 / fan-in; statistics near 0 and 1 */
    NAS_WEIGHTS_SINE,   /* value i is sin(i * i mod 9973) / sqrt(fan-in / 2); scales 1, biases 0 */
    NAS_WEIGHTS_COUNT
} nas_weights;

typedef struct {
    nas_form form;
    nas_weights weights;
    uint64_t seed; /* of NAS_WEIGHTS_RANDOM */
} nas_export_how;

/* What a file says about its network, in doc_string and metadata_props (nas.space, …). */
typedef struct {
    const char *space, *task, *arch, *hash;
} nas_label;

extern const char *const nas_form_names[NAS_FORM_COUNT];
extern const char *const nas_weights_names[NAS_WEIGHTS_COUNT];

/* Appends the network of arch to out. Fails when the file would reach 2 GiB. */
nas_status nas_export(const nas_space *space, const nas_arch *arch, const nas_task *task,
                      nas_export_how how, nas_bytes *out, nas_err *err);

/* The same for any graph. label NULL: the file says nothing about where it came from. */
nas_status nas_export_graph(nas_graph *graph, const nas_label *label, nas_export_how how,
                            nas_bytes *out, nas_err *err);

/* Appends the part of compact that differs between networks of a space, for the surrogate: a line
 * "space task", the main graph and the functions that are not prelude. */
nas_status nas_export_prompt(nas_graph *graph, const char *space, const char *task, nas_bytes *out,
                             nas_err *err);

/* Appends the value of parameter tensor `param` of a flat graph's node as raw floats. Values depend
 * on the node's id, the parameter and the seed only. weights is not NAS_WEIGHTS_NONE. */
void nas_weights_put(const nas_graph *flat, int node, int param, nas_weights weights, uint64_t seed,
                     nas_bytes *out);

#endif
