#include "surrogate/structure.h"

#include "hw/cost.h"
#include "surrogate/signal.h"

#include <math.h>
#include <stdlib.h>

const char *const nas_structure_names[NAS_STRUCTURE_COUNT] = {
    "params",
    "macs",
    "activation_bytes",
    "convs",
    "depth",
    "depth_least",
    "depth_mean",
    "paths",
    "active_convs",
    "signal_growth",
    "signal_conv",
    "signal_pointwise",
    "signal_spatial",
    "signal_pool",
    "signal_conv_variance",
    "signal_pointwise_variance",
    "signal_spatial_variance",
    "signal_pool_variance",
    "signal_conv_half",
    "signal_pointwise_half",
    "signal_spatial_half",
    "signal_pool_half",
    "signal_conv_tenth",
    "signal_pointwise_tenth",
    "signal_spatial_tenth",
    "signal_pool_tenth",
};

/* Of the paths from the input to a node: how many, and the Conv nodes on them. */
typedef struct {
    double paths, sum, most, least;
} flow;

static flow flow_through(const nas_node *node, const flow *at)
{
    double conv = node->op == NAS_OP_CONV;
    flow f = {.most = -INFINITY, .least = INFINITY};
    for (int k = 0; k < node->n_in; k++) {
        const flow *from = &at[node->in[k]];
        f.paths += from->paths;
        f.sum += from->sum;
        f.most = fmax(f.most, from->most);
        f.least = fmin(f.least, from->least);
    }
    f.sum += conv * f.paths;
    f.most += conv;
    f.least += conv;
    return f;
}

/* Conv nodes that the input reaches and that reach the output. */
static double count_active(const nas_fn *main, const flow *at)
{
    bool *used = nas_zalloc(main->n_node + 1, sizeof *used);
    double n = 0;
    used[main->out] = true;
    for (size_t i = main->n_node; i-- > 0;) {
        const nas_node *node = &main->node[i];
        for (int k = 0; used[i] && k < node->n_in; k++)
            used[node->in[k]] = true;
        n += used[i] && at[i].paths > 0 && node->op == NAS_OP_CONV;
    }
    free(used);
    return n;
}

static void write_signal(const nas_graph *flat, double label[NAS_STRUCTURE_COUNT])
{
    nas_signal signal;
    nas_signal_of(flat, &signal);
    const double *of_kind[] = {signal.mean, signal.variance, signal.half, signal.tenth};
    double *to = &label[NAS_STRUCTURE_SIGNAL];
    *to++ = signal.growth;
    for (size_t i = 0; i < sizeof of_kind / sizeof *of_kind; i++)
        for (int k = 0; k < NAS_SIGNAL_KINDS; k++)
            *to++ = of_kind[i][k];
}

nas_status nas_structure_of(nas_graph *graph, double label[NAS_STRUCTURE_COUNT], nas_err *err)
{
    nas_cost cost;
    nas_status status = nas_cost_of(graph, &cost, err);
    if (status)
        return status;
    const nas_graph *flat = nas_graph_flat(graph, NULL);
    const nas_fn *main = &flat->fn[0];
    flow *at = nas_alloc((main->n_node + 1) * sizeof *at);
    for (size_t i = 0; i < main->n_node; i++)
        at[i] = i < (size_t)main->n_in ? (flow){.paths = 1} : flow_through(&main->node[i], at);
    const flow *out = &at[main->out];
    bool reached = out->paths > 0;
    label[NAS_STRUCTURE_PARAMS] = (double)cost.params;
    label[NAS_STRUCTURE_MACS] = (double)cost.macs;
    label[NAS_STRUCTURE_ACTIVATION_BYTES] = (double)cost.activation_bytes;
    label[NAS_STRUCTURE_CONVS] = (double)cost.convs;
    label[NAS_STRUCTURE_DEPTH] = reached ? out->most : 0;
    label[NAS_STRUCTURE_DEPTH_LEAST] = reached ? out->least : 0;
    label[NAS_STRUCTURE_DEPTH_MEAN] = reached ? out->sum / out->paths : 0;
    label[NAS_STRUCTURE_PATHS] = log2(1 + out->paths);
    label[NAS_STRUCTURE_ACTIVE_CONVS] = count_active(main, at);
    write_signal(flat, label);
    free(at);
    return NAS_OK;
}
