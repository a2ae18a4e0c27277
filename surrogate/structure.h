/* Which labels cost nothing? Counts that follow from an architecture alone, to learn reading from.
 *
 *     double label[NAS_STRUCTURE_COUNT];
 *     status = nas_structure_of(graph, label, &err);
 *
 * Beside the costs (hw/cost.h) these describe how data flows from the input to the output of the
 * flat graph; what lies on no such path does not count there. */
#ifndef NAS_SURROGATE_STRUCTURE_H
#define NAS_SURROGATE_STRUCTURE_H

#include "results/metric.h"
#include "spaces/graph.h"
#include "surrogate/signal.h"

typedef enum {
    NAS_STRUCTURE_PARAMS,
    NAS_STRUCTURE_MACS,
    NAS_STRUCTURE_ACTIVATION_BYTES,
    NAS_STRUCTURE_CONVS,
    NAS_STRUCTURE_DEPTH,        /* Conv nodes on the longest path */
    NAS_STRUCTURE_DEPTH_LEAST,  /* … on the path with fewest */
    NAS_STRUCTURE_DEPTH_MEAN,   /* … on the average path */
    NAS_STRUCTURE_PATHS,        /* log2 of 1 + the number of paths */
    NAS_STRUCTURE_ACTIVE_CONVS, /* Conv nodes on any path */
    NAS_STRUCTURE_SIGNAL,       /* signal.h: growth; mean, variance, half, tenth of each kind */
    NAS_STRUCTURE_COUNT = NAS_STRUCTURE_SIGNAL + 1 + 4 * NAS_SIGNAL_KINDS
} nas_structure;

extern const char *const nas_structure_names[NAS_STRUCTURE_COUNT];

/* The only failure is a graph whose shapes do not fit. */
nas_status nas_structure_of(nas_graph *graph, double label[NAS_STRUCTURE_COUNT], nas_err *err);

#endif
