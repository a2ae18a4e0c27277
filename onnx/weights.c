/* Values of parameter tensors. */
#include "onnx/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values that one output reads. */
static int64_t fan_in(const nas_tensor *tensor)
{
    int64_t n = 1;
    for (int i = 1; i < tensor->rank; i++)
        n *= tensor->dim[i];
    return n;
}

/* Where the values of a tensor lie: center and half width. A product keeps the variance of what it
 * reads (LeCun et al. 1998). Twice that, for the half that ReLU cuts off (He et al. 2015), is for
 * networks that normalise by their own statistics; these are drawn, branches that depend on each
 * other are summed, and twenty cells of amoeba grew values to 5e23. */
static void range_of(const nas_tensor *tensor, double *center, double *width)
{
    bool near_one = !strcmp(tensor->suffix, "scale") || !strcmp(tensor->suffix, "var");
    *center = near_one ? 1 : 0;
    if (tensor->rank > 1)
        *width = sqrt(3 / (double)fan_in(tensor));
    else
        *width = near_one ? 0.5 : 0.1;
}

static void put_random(const nas_tensor *tensor, nas_rng rng, float *value, int64_t n)
{
    double center, width;
    range_of(tensor, &center, &width);
    for (int64_t i = 0; i < n; i++)
        value[i] = (float)(center + width * (2 * nas_rng_unit(&rng) - 1));
}

/* The formula of the function nas.weight: single precision throughout. */
static void put_sine(const nas_tensor *tensor, float *value, int64_t n)
{
    double center, width;
    range_of(tensor, &center, &width);
    float scale = sqrtf((float)fan_in(tensor) * 0.5f);
    for (int64_t i = 0; i < n; i++)
        value[i] = tensor->rank > 1 ? sinf((float)(i * i % 9973)) / scale : (float)center;
}

void nas_weights_fill(const nas_tensor *tensor, int node, nas_weights weights, uint64_t seed,
                      float *value)
{
    int64_t n = nas_tensor_values(tensor);
    nas_rng root = nas_rng_seed(seed), own = nas_rng_child(&root, "weights", (uint64_t)node);
    if (weights == NAS_WEIGHTS_RANDOM)
        put_random(tensor, nas_rng_child(&own, tensor->suffix, 0), value, n);
    else if (weights == NAS_WEIGHTS_SINE)
        put_sine(tensor, value, n);
    else
        memset(value, 0, (size_t)n * sizeof *value);
}

void nas_weights_put(const nas_graph *flat, int node, int param, nas_weights weights, uint64_t seed,
                     nas_bytes *out)
{
    nas_tensor tensor;
    if (!nas_tensor_of(&flat->fn[0].node[node], param, &tensor))
        return;
    size_t size = (size_t)nas_tensor_values(&tensor) * sizeof(float);
    float *value = nas_alloc(size);
    nas_weights_fill(&tensor, node, weights, seed, value);
    nas_bytes_put(out, value, size);
    free(value);
}
