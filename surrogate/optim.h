/* How does a gradient change the weights? AdamW with warm-up, cosine and clipping.
 *
 *     nas_optim *optim = nas_optim_new(&model->tensors, &(nas_optim_config){.rate = 1e-3, …});
 *     norm = nas_optim_step(optim, model->weights, grad);
 *     nas_model_pack(model, true);
 *
 * Decoupled weight decay (Loshchilov and Hutter, 2019) on the tensors whose table row says so. The
 * result has the same bits for any number of threads. */
#ifndef NAS_SURROGATE_OPTIM_H
#define NAS_SURROGATE_OPTIM_H

#include "surrogate/kernel.h"
#include "surrogate/tensor.h"

typedef struct {
    double rate;          /* highest learning rate */
    double floor;         /* share of rate that remains at the end of the cosine */
    double beta1, beta2;  /* 0.9, 0.95 */
    double epsilon;       /* 1e-8 */
    double decay;         /* weight decay: each step shrinks by rate * decay */
    double clip;          /* largest norm of the whole gradient; 0: no limit */
    double average;       /* weights are averaged with this momentum; 0: they are not */
    uint64_t warm, steps; /* steps until rate is reached, and until the cosine ends */
} nas_optim_config;

typedef struct {
    nas_optim_config config;
    const nas_tensors *tensors;
    float *moment, *square; /* blocks */
    float *average;         /* block of averaged weights, or NULL */
    uint64_t step;          /* steps done */
    double *partial;        /* sums of squares of the chunks of a block */
} nas_optim;

nas_optim *nas_optim_new(const nas_tensors *tensors, const nas_optim_config *config);
void nas_optim_free(nas_optim *optim);

/* The learning rate of step number step, counted from 0. */
double nas_optim_rate(const nas_optim_config *config, uint64_t step);

/* One update of weights; returns the norm of the gradient before clipping. A gradient whose norm is
 * not finite changes nothing but the step. */
double nas_optim_step(nas_optim *optim, float *weights, const float *grad);

/* The blocks to save beside the weights, at most 3; returns how many. */
size_t nas_optim_blocks(const nas_optim *optim, nas_tensor_block blocks[3]);
/* Reads them back from a file that nas_tensors_check accepts for each. */
nas_status nas_optim_read(nas_optim *optim, const nas_safetensors *file, nas_err *err);

#endif
