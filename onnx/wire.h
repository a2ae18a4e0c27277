/* How do protobuf messages look on the wire? A message is written in one pass, field by field in
 * ascending number; lengths are put in afterwards, so nothing is built in memory first.
 *
 *     size_t node = nas_wire_open(out, 1);
 *     nas_wire_text(out, 4, "Relu", 4);
 *     nas_wire_close(out, node);
 *
 * Field numbers are those of onnx.proto. The bytes are the ones that protobuf-c packs. */
#ifndef NAS_ONNX_WIRE_H
#define NAS_ONNX_WIRE_H

#include "spaces/base/mem.h"

#include <string.h>

static inline int nas_wire_varint(uint64_t value, unsigned char text[10])
{
    int n = 0;
    for (; value >= 128; value >>= 7)
        text[n++] = (unsigned char)(value | 128);
    text[n++] = (unsigned char)value;
    return n;
}

static inline void nas_wire_int(nas_bytes *out, int field, int64_t value)
{
    unsigned char text[20];
    int n = nas_wire_varint((uint64_t)field << 3, text);
    nas_bytes_put(out, text, (size_t)(n + nas_wire_varint((uint64_t)value, text + n)));
}

/* The fields below have numbers under 16: a tag of one byte. */
static inline void nas_wire_float(nas_bytes *out, int field, float value)
{
    unsigned char text[5] = {(unsigned char)(field << 3 | 5)};
    memcpy(text + 1, &value, 4);
    nas_bytes_put(out, text, 5);
}

static inline void nas_wire_text(nas_bytes *out, int field, const char *value, size_t size)
{
    unsigned char text[11] = {(unsigned char)(field << 3 | 2)};
    nas_bytes_put(out, text, 1 + (size_t)nas_wire_varint(size, text + 1));
    nas_bytes_put(out, value, size);
}

/* Starts a message or a text; returns where, for nas_wire_close. */
static inline size_t nas_wire_open(nas_bytes *out, int field)
{
    nas_bytes_put(out, (unsigned char[2]){(unsigned char)(field << 3 | 2), 0}, 2);
    return out->size;
}

static inline void nas_wire_close(nas_bytes *out, size_t start)
{
    unsigned char length[10];
    size_t size = out->size - start;
    size_t extra = (size_t)nas_wire_varint(size, length) - 1;
    if (extra) { /* one byte was kept; most messages are shorter than 128 */
        nas_bytes_put(out, length, extra);
        memmove(out->data + start + extra, out->data + start, size);
    }
    memcpy(out->data + start - 1, length, extra + 1);
}

#endif
