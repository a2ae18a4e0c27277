/* Which values have which names while a model is lifted? Shared by the runner (lift.c) and what
 * handlers use (step.c); handlers themselves know lift.h alone.
 *
 *     nas_scope_map names;
 *     nas_map_init(&names, arena, n);
 *     nas_map_add(&names, "conv1", &value, "node", "conv1", err);
 *     const nas_value *v = nas_map_find(&names, "conv1");
 */
#ifndef NAS_ONNX_SCOPE_H
#define NAS_ONNX_SCOPE_H

#include "onnx/lift.h"

/* Names of one body. */
struct nas_scope_map {
    const char **name; /* [slots] open addressing, NULL is free; slots is a power of two */
    nas_value *value;
    struct {
        const char *kind, *name; /* what gave the value: "node", "conv1" */
    } * maker;
    size_t n, slots;
    const Onnx__AttributeProto **argument; /* [n_argument] of the call, names as in the function */
    const char **argument_name;
    size_t n_argument;
};

struct nas_lifter {
    nas_arena *arena;
    const nas_proto *model;
    nas_graph *graph;
    nas_scope_map functions; /* by name alone: the node of the value is the first row */
    int64_t opset;
    int steps, calls;
    nas_err *err;
};

static inline const char *nas_text(const char *s)
{
    return s ? s : ""; /* protobuf-c leaves absent strings NULL */
}

/* Room for n names; a body defines at most its inputs and the outputs of its nodes. */
void nas_map_init(nas_scope_map *map, nas_arena *arena, size_t n);
size_t nas_map_slot(const nas_scope_map *map, const char *name); /* where it is or would be */
const nas_value *nas_map_find(const nas_scope_map *map, const char *name); /* NULL: not there */
/* Names are given once. kind and maker: "node", "n", for the sentence when that is broken. */
nas_status nas_map_add(nas_scope_map *map, const char *name, const nas_value *value,
                       const char *kind, const char *maker, nas_err *err);

/* The name of a node, or else its first output. */
const char *nas_node_label(const Onnx__NodeProto *node);
/* What an attribute says, through the reference to one of the call's; NULL: absent. */
const Onnx__AttributeProto *nas_scope_resolve(const nas_scope_map *scope,
                                              const Onnx__AttributeProto *attribute);

#endif
