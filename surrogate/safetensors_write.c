/* Writing safetensors, and the number formats tensors are stored in. */
#include "spaces/base/mem.h"
#include "surrogate/safetensors.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint16_t nas_bf16_from_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if ((bits & 0x7fffffff) > 0x7f800000) /* NaN: keep it quiet, the payload may round to zero */
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float nas_bf16_to_float(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
}

float nas_f16_to_float(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float value = exponent == 31 ? (fraction ? NAN : INFINITY)
                  : exponent     ? ldexpf((float)(fraction + 1024), exponent - 25)
                                 : ldexpf((float)fraction, -24);
    return bits >> 15 ? -value : value;
}

nas_status nas_safetensor_floats(const nas_safetensor *t, float *to, size_t count, nas_err *err)
{
    if (t->count != count)
        return nas_fail(err, NAS_FAILED, "tensor '%.100s' has %zu values, not %zu", t->name,
                        t->count, count);
    if (t->dtype != NAS_F32 && t->dtype != NAS_F16 && t->dtype != NAS_BF16 && t->dtype != NAS_F64)
        return nas_fail(err, NAS_FAILED, "tensor '%.100s' holds %s, not floats", t->name,
                        nas_dtype_name(t->dtype));
    size_t bytes = nas_dtype_bytes(t->dtype);
    for (size_t i = 0; i < count; i++) {
        union {
            double f64;
            float f32;
            uint16_t half;
        } value;
        memcpy(&value, (const char *)t->data + bytes * i, bytes);
        to[i] = t->dtype == NAS_F32    ? value.f32
                : t->dtype == NAS_F16  ? nas_f16_to_float(value.half)
                : t->dtype == NAS_BF16 ? nas_bf16_to_float(value.half)
                                       : (float)value.f64;
    }
    return NAS_OK;
}

static char *header_text(const nas_safetensor *tensors, size_t n, const json_t *metadata)
{
    json_t *header = json_object();
    if (metadata && json_object_size(metadata))
        json_object_set_new(header, "__metadata__", json_deep_copy(metadata));
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const nas_safetensor *t = &tensors[i];
        size_t end = at + t->count * nas_dtype_bytes(t->dtype);
        json_t *shape = json_array();
        for (size_t k = 0; k < t->n_dim; k++)
            json_array_append_new(shape, json_integer((json_int_t)t->dim[k]));
        json_object_set_new(header, t->name,
                            json_pack("{s:s, s:o, s:[I, I]}", "dtype", nas_dtype_name(t->dtype),
                                      "shape", shape, "data_offsets", (json_int_t)at,
                                      (json_int_t)end));
        at = end;
    }
    char *text = json_dumps(header, JSON_COMPACT);
    json_decref(header);
    return text;
}

/* The header is padded with blanks so that the data starts at a multiple of 8. */
static bool write_all(FILE *out, const char *header, const nas_safetensor *tensors, size_t n)
{
    size_t length = strlen(header), padded = (length + 7) / 8 * 8;
    unsigned char size[8];
    for (int i = 0; i < 8; i++)
        size[i] = (unsigned char)((uint64_t)padded >> (8 * i));
    bool ok = fwrite(size, 1, 8, out) == 8 && fwrite(header, 1, length, out) == length &&
              fwrite("       ", 1, padded - length, out) == padded - length;
    for (size_t i = 0; ok && i < n; i++) {
        size_t bytes = tensors[i].count * nas_dtype_bytes(tensors[i].dtype);
        ok = bytes == 0 || fwrite(tensors[i].data, 1, bytes, out) == bytes;
    }
    return ok && fflush(out) == 0 && fsync(fileno(out)) == 0;
}

nas_status nas_safetensors_save(const char *path, const nas_safetensor *tensors, size_t n,
                                const json_t *metadata, nas_err *err)
{
    nas_bytes part = {0};
    nas_bytes_print(&part, "%s.%ld.part", path, (long)getpid());
    char *header = header_text(tensors, n, metadata);
    FILE *out = header ? fopen(part.data, "wb") : NULL;
    nas_status status = NAS_OK;
    if (!header) {
        status = nas_fail(err, NAS_FAILED, "cannot write '%s': a name is not UTF-8", path);
    } else if (!out) {
        status = nas_fail(err, NAS_FAILED, "cannot write '%s': %s", path, strerror(errno));
    } else {
        bool ok = write_all(out, header, tensors, n);
        ok = fclose(out) == 0 && ok;
        if (!ok || rename(part.data, path) != 0) {
            status = nas_fail(err, NAS_FAILED, "cannot write '%s': %s", path, strerror(errno));
            unlink(part.data);
        }
    }
    free(header);
    nas_bytes_clear(&part);
    return status;
}
