/* What does a network compute? A plain reference of every operator, image by image, for tests: no
 * speed beyond loops that a compiler can vectorise.
 *
 *     float *y = forward_run(flat, NAS_WEIGHTS_SINE, 0, input);   input: elements of all inputs
 *     free(y);
 */
#ifndef NAS_TESTS_FORWARD_H
#define NAS_TESTS_FORWARD_H

#include "onnx/export.h"

/* The output for one image; weights as an export with the same kind and seed has them. */
float *forward_run(const nas_graph *flat, nas_weights weights, uint64_t seed, const float *input);

#endif
