/* Which tensors does a model have? One table that drives weights, gradients, moments, checkpoints
 * and counts.
 *
 *     nas_tensors t = {0};
 *     size_t at = nas_tensors_add(&t, rows, cols, init, decay, "layers.%zu.weight", i);
 *     float *weights = nas_alloc(t.count * sizeof *weights);   // tensor at weights + at
 *     nas_tensors_init(&t, weights, &rng);
 *
 * Tensors lie one behind the other without gaps, so neighbours can be read as one matrix. */
#ifndef NAS_SURROGATE_TENSOR_H
#define NAS_SURROGATE_TENSOR_H

#include "spaces/base/err.h"
#include "spaces/base/rng.h"
#include "surrogate/safetensors.h"

#include <stdbool.h>

typedef struct {
    char name[80];
    size_t rows, cols; /* cols 0: a vector of rows values */
    size_t at, count;  /* place and number of floats in a block */
    float init;        /* standard deviation of the initial values; below 0: all ones */
    bool decay;        /* does weight decay apply? */
} nas_tensor;

typedef struct {
    nas_tensor *tensor;
    size_t n, cap;
    size_t count; /* floats of a block */
} nas_tensors;

/* Appends a tensor and returns its place. */
__attribute__((format(printf, 6, 7))) size_t nas_tensors_add(nas_tensors *tensors, size_t rows,
                                                             size_t cols, float init, bool decay,
                                                             const char *name, ...);
void nas_tensors_clear(nas_tensors *tensors);
const nas_tensor *nas_tensors_find(const nas_tensors *tensors, const char *name);

/* Initial values, normal; the numbers depend on the stream and the tensor's name only. */
void nas_tensors_init(const nas_tensors *tensors, float *block, const nas_rng *rng);

/* NAS_FAILED unless file holds every tensor under prefix + name with the right shape. */
nas_status nas_tensors_check(const nas_tensors *tensors, const nas_safetensors *file,
                             const char *prefix, nas_err *err);
/* Reads a checked block. */
nas_status nas_tensors_read(const nas_tensors *tensors, const nas_safetensors *file,
                            const char *prefix, float *block, nas_err *err);

typedef struct {
    const char *prefix;
    const float *block;
} nas_tensor_block;

/* Writes n_block blocks of the same tensors, each under its prefix, to one file. */
nas_status nas_tensors_save(const nas_tensors *tensors, const char *path,
                            const nas_tensor_block *blocks, size_t n_block, const json_t *metadata,
                            nas_err *err);

#endif
