/* Which graph networks are there, and how is each one trained? A row for each.
 *
 *     const nas_net *net = &nas_nets[NAS_NET_FLAN_1];
 *     nas_circuit *circuit = nas_net_circuit(net, cells, nodes, labels, encoding->nodes);
 *     float *weights = nas_net_train(net, circuit, encoding, y, &rng);
 *     nas_net_score(net, circuit, weights, encoding, score);
 *
 * Layers, losses and schedules are those that the papers' own code uses; each builder says what it
 * follows. A network knows an architecture by its encoding alone. */
#ifndef NAS_BASELINES_NET_H
#define NAS_BASELINES_NET_H

#include "surrogate/baselines/circuit.h"

typedef enum {
    NAS_LOSS_SQUARE, /* mean squared error on standardised targets */
    NAS_LOSS_HINGE,  /* max(0, 0.1 - f(better) + f(worse)) over pairs of a batch, at most 4 a row */
    NAS_LOSS_PAIR, /* KL divergence from softmax(y_i, y_j), ordered pairs, at most 50 n an epoch */
} nas_loss;

typedef struct nas_net nas_net;
struct nas_net {
    int (*build)(const nas_net *, nas_circuit *, int cells, int nodes, int labels);
    /* Changes cells before they are encoded; adds extra_labels. NULL: as they are. */
    void (*prepare)(nas_cells *, int labels);
    int extra_labels;
    bool dense, attention, masked; /* FLAN's layers: which ones, is attention masked */
    int steps;                     /* FLAN: op updates */
    nas_loss loss;
    int epochs, batch;
    bool drop_last; /* batches that are not full are skipped, when there is a full one */
    double rate, last_rate, decay;
    bool decoupled;
};

typedef enum {
    NAS_NET_MLP,
    NAS_NET_GCN,
    NAS_NET_GCN_HINGE,
    NAS_NET_BRP_GCN,
    NAS_NET_DGF,
    NAS_NET_GAT,
    NAS_NET_GAT_RELEASED,
    NAS_NET_FLAN_1,
    NAS_NET_FLAN_2,
    NAS_NET_TAGATES,
    NAS_NET_COUNT
} nas_net_id;

extern const nas_net nas_nets[NAS_NET_COUNT];

/* nodes: of the space's largest cell, on which the network may depend; room: of the cells at hand.
 */
nas_circuit *nas_net_circuit(const nas_net *net, int cells, int nodes, int labels, int room);
/* (nas_circuit_weights): trained on all rows of the encoding, n of them; y (n). */
float *nas_net_train(const nas_net *net, const nas_circuit *circuit, const nas_encoding *encoding,
                     const double *y, const nas_rng *rng);
/* score (n): in the unit of y for the square loss, else only its order means something. */
void nas_net_score(const nas_net *net, const nas_circuit *circuit, const float *weights,
                   const nas_encoding *encoding, double *score);

#endif
