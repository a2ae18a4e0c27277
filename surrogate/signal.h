/* What does the signal that reaches the output have behind it? A mean-field walk over the graph.
 *
 *     nas_signal signal;
 *     nas_signal_of(flat, &signal);               // signal.mean[NAS_SIGNAL_CONV], …
 *
 * Each node carries the variance ("energy") that its output has in a network of random weights:
 * convolution and normalisation set it to one, a sum adds it up, concatenation averages it over
 * channels. So every share of the output's energy has come along some path, and of the layers on
 * that path we keep, for each kind, mean, variance and the generating function at 1/2 and 1/10. A
 * network whose energy has passed few convolutions is shallow whatever its longest path says. */
#ifndef NAS_SURROGATE_SIGNAL_H
#define NAS_SURROGATE_SIGNAL_H

#include "spaces/graph.h"

typedef enum {
    NAS_SIGNAL_CONV,      /* any Conv */
    NAS_SIGNAL_POINTWISE, /* Conv with a 1x1 kernel */
    NAS_SIGNAL_SPATIAL,   /* Conv with a larger one */
    NAS_SIGNAL_POOL,      /* MaxPool and AveragePool */
    NAS_SIGNAL_KINDS
} nas_signal_kind;

typedef struct {
    double energy; /* of the output; 0: the input does not reach it, and all else is 0 */
    double growth; /* mean over Conv nodes of log2(1 + energy in) */
    double mean[NAS_SIGNAL_KINDS];     /* layers of that kind behind the energy */
    double variance[NAS_SIGNAL_KINDS]; /* of that number, between shares of the energy */
    double half[NAS_SIGNAL_KINDS];     /* -log2 of the mean of 2^-layers, */
    double tenth[NAS_SIGNAL_KINDS];    /* -log10 of the mean of 10^-layers: nearer the shallowest */
} nas_signal;

/* flat: of nas_graph_flat. */
void nas_signal_of(const nas_graph *flat, nas_signal *signal);

#endif
