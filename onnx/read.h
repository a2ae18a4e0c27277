/* How does a network come in? ONNX files, binary or textual, ours or foreign, as a graph.
 *
 *     nas_graph *graph;
 *     if (nas_onnx_read_file("net.onnx", &graph, &err) != NAS_OK) …  err names node and tensor
 *     nas_cost_of(graph, &cost, &err);
 *     nas_graph_free(graph);
 *
 * Convolutional networks in inference form, operator sets 6 to 17, one output. Functions of the
 * model are inlined, constants folded, weights reduced to their shapes. Hostile files are refused
 * before anything large is allocated. Reading what nas_export_graph wrote gives the same graph. */
#ifndef NAS_ONNX_READ_H
#define NAS_ONNX_READ_H

#include "onnx/export.h"

/* On failure *graph is NULL and err says where. Free with nas_graph_free. */
nas_status nas_onnx_read_file(const char *path, nas_graph **graph, nas_err *err);
/* The same, and what the file says about its origin, unchecked, in the arena: NULL where nothing.
 */
nas_status nas_onnx_read_labelled(const char *path, nas_arena *arena, nas_graph **graph,
                                  nas_label *label, nas_err *err);
/* The same for bytes in memory: text when nothing in its beginning is a control character. */
nas_status nas_onnx_read(const void *data, size_t size, nas_graph **graph, nas_err *err);

#endif
