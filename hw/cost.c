#include "hw/cost.h"

#include <stdlib.h>

static int64_t node_params(const nas_node *node)
{
    const nas_op *op = &nas_ops[node->op];
    int64_t params = 0;
    for (int p = 0; p < op->n_params; p++) {
        const nas_attr *shape = &node->attr[op->params[p].attr];
        if (op->params[p].kind != NAS_PARAM_WEIGHT || shape->n < 0)
            continue;
        int64_t values = 1;
        for (int i = 0; i < shape->n; i++)
            values = nas_times(values, shape->v[i]);
        params = nas_plus(params, values);
    }
    return params;
}

/* The largest sum of tensors alive while a node runs: its inputs, its output and all that a later
 * node still reads. A tensor is alive from the node that makes it to the last one that reads it;
 * inputs of the graph from the start, its output to the end. */
static int64_t peak_activation(const nas_fn *main)
{
    size_t *last = nas_zalloc(main->n_node, sizeof *last);
    for (size_t i = 0; i < main->n_node; i++) {
        last[i] = i;
        for (int k = 0; k < main->node[i].n_in; k++)
            last[main->node[i].in[k]] = i;
    }
    last[main->out] = main->n_node;
    int64_t *dies = nas_zalloc(main->n_node + 1, sizeof *dies); /* bytes freed after node i */
    int64_t alive = 0, peak = 0;
    for (size_t i = 0; i < main->n_node; i++) {
        int64_t bytes = nas_times(4, nas_shape_elements(&main->node[i].shape));
        alive = nas_plus(alive, bytes);
        dies[last[i]] = nas_plus(dies[last[i]], bytes);
        if (alive > peak)
            peak = alive;
        if (peak == INT64_MAX)
            break;
        alive -= dies[i];
    }
    free(dies);
    free(last);
    return peak;
}

nas_status nas_cost_of(nas_graph *graph, nas_cost *cost, nas_err *err)
{
    const nas_graph *flat = nas_graph_flat(graph, err);
    *cost = (nas_cost){0};
    if (!flat)
        return err ? err->code : NAS_FAILED;
    const nas_fn *main = &flat->fn[0];
    for (size_t i = 0; i < main->n_node; i++) {
        const nas_node *node = &main->node[i];
        cost->params = nas_plus(cost->params, node_params(node));
        if (nas_ops[node->op].macs)
            cost->macs = nas_plus(cost->macs, nas_ops[node->op].macs(node, &node->shape));
        cost->convs += node->op == NAS_OP_CONV;
    }
    cost->activation_bytes = peak_activation(main);
    if (cost->params == INT64_MAX || cost->macs == INT64_MAX || cost->activation_bytes == INT64_MAX)
        return nas_fail(err, NAS_FAILED, "the costs of the network are beyond 64 bits");
    return NAS_OK;
}
