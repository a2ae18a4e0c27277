/* What is in a safetensors file? Named tensors and text metadata, read strictly, written whole.
 *
 *     nas_safetensors *file = nas_safetensors_open("model.safetensors", &err);
 *     const nas_safetensor *t = nas_safetensors_find(file, "generator.weight");
 *     status = nas_safetensor_floats(t, weights, count, &err);
 *     nas_safetensors_free(file);
 *
 * Layout: 8 bytes little-endian header length, a JSON object {name: {dtype, shape, data_offsets}},
 * then the data without gaps or overlaps. A header that says anything else is refused with one
 * sentence, before any data is touched. */
#ifndef NAS_SURROGATE_SAFETENSORS_H
#define NAS_SURROGATE_SAFETENSORS_H

#include "spaces/base/err.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    NAS_F64,
    NAS_F32,
    NAS_F16,
    NAS_BF16,
    NAS_I64,
    NAS_I32,
    NAS_I16,
    NAS_I8,
    NAS_U64,
    NAS_U32,
    NAS_U16,
    NAS_U8,
    NAS_BOOL,
    NAS_DTYPE_COUNT
} nas_dtype;

#define NAS_TENSOR_DIMS 8

typedef struct {
    const char *name;
    nas_dtype dtype;
    size_t n_dim, dim[NAS_TENSOR_DIMS];
    size_t count;     /* product of the dimensions: 1 for a scalar */
    const void *data; /* little-endian, maybe unaligned: copy it out */
} nas_safetensor;

typedef struct nas_safetensors nas_safetensors;

/* NULL and NAS_FAILED in err for a file that cannot be read or is not exactly right. */
nas_safetensors *nas_safetensors_open(const char *path, nas_err *err);
/* The same for bytes in memory, which must outlive the result. */
nas_safetensors *nas_safetensors_parse(const void *bytes, size_t size, nas_err *err);
void nas_safetensors_free(nas_safetensors *file);

size_t nas_safetensors_count(const nas_safetensors *file);
const nas_safetensor *nas_safetensors_at(const nas_safetensors *file, size_t i); /* file order */
const nas_safetensor *nas_safetensors_find(const nas_safetensors *file, const char *name);
const char *nas_safetensors_meta(const nas_safetensors *file, const char *key); /* or NULL */
/* All metadata, an object of strings owned by the file; empty when the file has none. */
const json_t *nas_safetensors_metadata(const nas_safetensors *file);

/* Copies a tensor of dtype F32, F16, BF16 or F64 as count floats. NAS_FAILED for another dtype or
 * count. */
nas_status nas_safetensor_floats(const nas_safetensor *tensor, float *to, size_t count,
                                 nas_err *err);

/* Writes n tensors and the metadata (object of strings, may be NULL) to a temporary file next to
 * path, syncs it and renames it over path. */
nas_status nas_safetensors_save(const char *path, const nas_safetensor *tensors, size_t n,
                                const json_t *metadata, nas_err *err);

size_t nas_dtype_bytes(nas_dtype dtype);
const char *nas_dtype_name(nas_dtype dtype); /* "F32" */

/* bfloat16 and half precision as bits, rounded to nearest even; NaN stays NaN. */
uint16_t nas_bf16_from_float(float value);
float nas_bf16_to_float(uint16_t bits);
float nas_f16_to_float(uint16_t bits);

#endif
