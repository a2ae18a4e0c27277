/* The graph networks as baselines: encoding, training, scores. What is learned: the weights. */
#include "surrogate/baselines/baseline.h"
#include "surrogate/baselines/net.h"

#include <stdlib.h>

/* Architectures as a network of this space reads them. */
typedef struct {
    nas_encoding *encoding;
    nas_circuit *circuit;
} net_view;

static nas_circuit *circuit_of(const nas_net *net, const nas_encoder *e, int room)
{
    return nas_net_circuit(net, nas_encoder_cells_each(e),
                           nas_encoder_nodes(e) + (net->extra_labels > 0),
                           nas_encoder_labels(e) + net->extra_labels, room);
}

static net_view open_view(const nas_net *net, const nas_problem *where, const nas_arch *arch,
                          size_t n)
{
    nas_encoder *e = nas_encoder_new(where->space, where->task);
    nas_cells *cells = nas_alloc(n * sizeof *cells);
#pragma omp parallel for schedule(dynamic, 64)
    for (size_t i = 0; i < n; i++) {
        nas_encoder_cells(e, &arch[i], &cells[i]);
        if (net->prepare)
            net->prepare(&cells[i], nas_encoder_labels(e));
    }
    net_view view = {.encoding =
                         nas_encode_cells(cells, n, nas_encoder_labels(e) + net->extra_labels)};
    view.circuit = circuit_of(net, e, view.encoding->nodes);
    free(cells);
    nas_encoder_free(e);
    return view;
}

static void close_view(net_view view)
{
    nas_encoding_free(view.encoding);
    nas_circuit_free(view.circuit);
}

static size_t fit(const nas_learner *learner, const nas_problem *p, nas_learned *learned,
                  double *own)
{
    (void)own;
    net_view view = open_view(learner->data, p, p->arch, p->n);
    float *weights = nas_net_train(learner->data, view.circuit, view.encoding, p->y, &p->rng);
    learned->n_number = nas_circuit_weights(view.circuit);
    learned->number = nas_alloc(learned->n_number * sizeof *learned->number);
    for (size_t i = 0; i < learned->n_number; i++)
        learned->number[i] = (double)weights[i];
    free(weights);
    close_view(view);
    return 0;
}

static void score(const nas_learner *learner, const nas_problem *where, const nas_learned *learned,
                  const nas_arch *arch, size_t n, double *to)
{
    net_view view = open_view(learner->data, where, arch, n);
    float *weights = nas_alloc(learned->n_number * sizeof *weights);
    for (size_t i = 0; i < learned->n_number; i++)
        weights[i] = (float)learned->number[i];
    nas_net_score(learner->data, view.circuit, weights, view.encoding, to);
    free(weights);
    close_view(view);
}

typedef size_t circuit_count(const nas_circuit *);

static size_t count(const nas_learner *learner, const nas_problem *where, circuit_count *of)
{
    nas_encoder *e = nas_encoder_new(where->space, where->task);
    nas_circuit *circuit = circuit_of(learner->data, e, 0);
    size_t n = of(circuit);
    nas_circuit_free(circuit);
    nas_encoder_free(e);
    return n;
}

static size_t parameters(const nas_learner *learner, const nas_problem *where,
                         const nas_learned *learned)
{
    (void)learned;
    return count(learner, where, nas_circuit_trained);
}

static bool fits(const nas_learner *learner, const nas_problem *where, const nas_learned *learned)
{
    return learned->n_number == count(learner, where, nas_circuit_weights);
}

#define NET(id, kind)                                                                              \
    NAS_BASELINE_VERBS, .data = &(const nas_learner)                                               \
    {                                                                                              \
        .target = kind, .fit = fit, .score = score, .parameters = parameters, .fits = fits,        \
        .data = &nas_nets[id]                                                                      \
    }

const nas_predictor_type nas_predictor_mlp = {"mlp", "MLP on adjacency and operators",
                                              NET(NAS_NET_MLP, NAS_TARGET_ORDER)};
const nas_predictor_type nas_predictor_gcn = {"gcn", "GCN of the neural predictor, squared error",
                                              NET(NAS_NET_GCN, NAS_TARGET_STANDARD)};
const nas_predictor_type nas_predictor_gcn_hinge = {"gcn-hinge",
                                                    "GCN of the neural predictor, ranking loss",
                                                    NET(NAS_NET_GCN_HINGE, NAS_TARGET_ORDER)};
const nas_predictor_type nas_predictor_brp_gcn = {"brp-gcn", "GCN of BRP-NAS, binary relation",
                                                  NET(NAS_NET_BRP_GCN, NAS_TARGET_ORDER)};
const nas_predictor_type nas_predictor_dgf = {"dgf", "dense graph flow",
                                              NET(NAS_NET_DGF, NAS_TARGET_ORDER)};
const nas_predictor_type nas_predictor_gat = {"gat", "graph attention along edges",
                                              NET(NAS_NET_GAT, NAS_TARGET_ORDER)};
const nas_predictor_type nas_predictor_gat_released = {"gat-released",
                                                       "graph attention as in FLAN's code",
                                                       NET(NAS_NET_GAT_RELEASED, NAS_TARGET_ORDER)};
const nas_predictor_type nas_predictor_flan_1 = {"flan-1", "FLAN, flow and attention",
                                                 NET(NAS_NET_FLAN_1, NAS_TARGET_ORDER)};
const nas_predictor_type nas_predictor_flan_2 = {"flan-2", "FLAN with an update of operators",
                                                 NET(NAS_NET_FLAN_2, NAS_TARGET_ORDER)};
const nas_predictor_type nas_predictor_tagates = {
    "tagates", "TA-GATES without zero-shot statistics", NET(NAS_NET_TAGATES, NAS_TARGET_ORDER)};
