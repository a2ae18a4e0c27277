/* What is in a model before anybody understands it? Steps of the reader, each checked: bytes to a
 * ModelProto (scan, then protobuf-c; or the text parser), ModelProto to a graph (lift.h). */
#ifndef NAS_ONNX_MODEL_H
#define NAS_ONNX_MODEL_H

#include "onnx.pb-c.h"
#include "spaces/graph.h"

typedef Onnx__ModelProto nas_proto;

/* Walks the wire format before anything is built: NAS_FAILED when messages nest too deep, lengths
 * leave their message, a message is given twice, or the result would take too much memory. */
nas_status nas_proto_scan(const uint8_t *data, size_t size, nas_err *err);
/* Both into the arena; data may go afterwards. NULL with a sentence. */
const nas_proto *nas_proto_unpack(nas_arena *arena, const uint8_t *data, size_t size, nas_err *err);
const nas_proto *nas_proto_parse(nas_arena *arena, const char *text, size_t size, nas_err *err);

/* The graph of a model. NULL with a sentence. */
nas_graph *nas_proto_lift(const nas_proto *model, nas_err *err);

#endif
