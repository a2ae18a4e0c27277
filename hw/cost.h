/* What does a network cost before anything is measured? Parameters, multiply-accumulates, memory.
 *
 *     nas_cost c;
 *     status = nas_cost_of(graph, &c, &err);
 *
 * All for one image. Counting follows the field's plain rule: MACs of Conv and Gemm only, no bias.
 */
#ifndef NAS_COST_H
#define NAS_COST_H

#include "spaces/graph.h"

typedef struct {
    int64_t params;           /* trained values: weights, biases, batch-norm scale and bias */
    int64_t macs;             /* multiply-accumulates of Conv and Gemm */
    int64_t activation_bytes; /* peak of float32 tensors alive at one time, in the order of nodes */
    int64_t convs;            /* Conv nodes */
} nas_cost;

/* Fails for a graph whose shapes do not fit, or whose costs leave 64 bits. */
nas_status nas_cost_of(nas_graph *graph, nas_cost *cost, nas_err *err);

#endif
