/* The wire format of foreign files. protobuf-c follows nesting by recursion without a limit and
 * makes a message of hundreds of bytes from two; here both are bounded first. */
#include "onnx/model.h"

enum { MOST_DEPTH = 64 };
static const uint64_t MOST_MEMORY = UINT64_C(1) << 30; /* beside strings and weights */

typedef struct {
    const uint8_t *start, *at, *end; /* start: of the file */
    uint64_t memory;
    nas_err *err;
} scanner;

#define REFUSE(s, ...)                                                                             \
    (nas_fail((s)->err, NAS_FAILED, "no valid ONNX file: byte %zu: " __VA_ARGS__) == NAS_OK)
#define AT(s) ((size_t)((s)->at - (s)->start))

static bool read_varint(scanner *s, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (s->at == s->end)
            return REFUSE(s, "the file ends within a number", AT(s));
        uint8_t byte = *s->at++;
        *value |= shift < 64 ? (uint64_t)(byte & 127) << shift : 0;
        if (byte < 128)
            return true;
    }
    return REFUSE(s, "a number has more than 10 bytes", AT(s));
}

static bool skip(scanner *s, uint64_t bytes)
{
    if (bytes > (uint64_t)(s->end - s->at))
        return REFUSE(s, "a field of %llu bytes leaves its message", AT(s),
                      (unsigned long long)bytes);
    s->at += bytes;
    return true;
}

static bool charge(scanner *s, uint64_t bytes)
{
    s->memory += bytes;
    return s->memory <= MOST_MEMORY || REFUSE(s, "the file unpacks to more than 1 GiB", AT(s));
}

static bool scan_message(scanner *s, const ProtobufCMessageDescriptor *type, int depth);

/* A field with a length: a message, or bytes, or packed numbers. */
static bool scan_length(scanner *s, const ProtobufCFieldDescriptor *field, int depth)
{
    uint64_t length;
    if (!read_varint(s, &length))
        return false;
    const uint8_t *inside = s->at, *end = s->end;
    if (!skip(s, length))
        return false;
    if (!field)
        return charge(s, length);
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        bool text = field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES;
        return text || charge(s, length * 8); /* one byte may be a number of 8 */
    }
    const ProtobufCMessageDescriptor *type = field->descriptor;
    if (!charge(s, type->sizeof_message))
        return false;
    s->at = inside;
    s->end = inside + length;
    bool good = scan_message(s, type, depth + 1);
    s->end = end;
    return good;
}

static bool scan_message(scanner *s, const ProtobufCMessageDescriptor *type, int depth)
{
    uint64_t seen = 0;
    if (depth > MOST_DEPTH)
        return REFUSE(s, "messages nest deeper than %d levels", AT(s), MOST_DEPTH);
    while (s->at < s->end) {
        uint64_t tag;
        if (!read_varint(s, &tag))
            return false;
        if (tag < 8 || tag > UINT32_MAX)
            return REFUSE(s, "%llu is no field", AT(s), (unsigned long long)tag);
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(type, (unsigned)(tag >> 3));
        if (field && field->label != PROTOBUF_C_LABEL_REPEATED) {
            uint64_t bit = UINT64_C(1) << ((field - type->fields) & 63);
            if (seen & bit)
                return REFUSE(s, "the field '%s' is given twice", AT(s), field->name);
            seen |= bit;
        }
        uint64_t ignored;
        if (!charge(s, 64))
            return false;
        switch (tag & 7) {
        case 0:
            if (!read_varint(s, &ignored))
                return false;
            break;
        case 1:
            if (!skip(s, 8))
                return false;
            break;
        case 2:
            if (!scan_length(s, field, depth))
                return false;
            break;
        case 5:
            if (!skip(s, 4))
                return false;
            break;
        default:
            return REFUSE(s, "%d is no kind of field", AT(s), (int)(tag & 7));
        }
    }
    return true;
}

nas_status nas_proto_scan(const uint8_t *data, size_t size, nas_err *err)
{
    nas_err own = {0};
    scanner s = {data, data, data + size, 0, &own};
    if (size > INT32_MAX)
        return nas_fail(err, NAS_FAILED, "a file of %zu bytes is above the 2 GiB of ONNX", size);
    if (scan_message(&s, &onnx__model_proto__descriptor, 0))
        return NAS_OK;
    return nas_fail(err, NAS_FAILED, "%s", own.text);
}

static void *from_arena(void *arena, size_t bytes)
{
    return nas_arena_get(arena, bytes);
}

static void keep(void *arena, void *piece)
{
    (void)arena, (void)piece;
}

const nas_proto *nas_proto_unpack(nas_arena *arena, const uint8_t *data, size_t size, nas_err *err)
{
    if (nas_proto_scan(data, size, err) != NAS_OK)
        return NULL;
    ProtobufCAllocator allocator = {from_arena, keep, arena};
    const nas_proto *model = onnx__model_proto__unpack(&allocator, size, data);
    if (!model)
        nas_fail(err, NAS_FAILED, "no valid ONNX file: a field has another type than ONNX says");
    return model;
}
