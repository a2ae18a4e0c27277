#include "surrogate/signal.h"

#include <math.h>
#include <stdlib.h>

/* Of the energy at a node; half and tenth are means of z^layers here. */
typedef struct {
    double energy, mean[NAS_SIGNAL_KINDS], variance[NAS_SIGNAL_KINDS], half[NAS_SIGNAL_KINDS],
        tenth[NAS_SIGNAL_KINDS];
} flow;

static flow source(void)
{
    flow f = {.energy = 1};
    for (int k = 0; k < NAS_SIGNAL_KINDS; k++)
        f.half[k] = f.tenth[k] = 1;
    return f;
}

static void pass(flow *f, nas_signal_kind kind)
{
    f->mean[kind] += 1;
    f->half[kind] /= 2;
    f->tenth[kind] /= 10;
}

static void pass_conv(const nas_node *node, flow *f)
{
    pass(f, NAS_SIGNAL_CONV);
    pass(f, nas_conv_pointwise(node) ? NAS_SIGNAL_POINTWISE : NAS_SIGNAL_SPATIAL);
}

/* What comes together: share[k] of the energy is from in[k]. */
static flow mix(const nas_node *node, const flow *at, const double *share)
{
    flow f = {0};
    for (int k = 0; k < node->n_in; k++)
        for (int i = 0; i < NAS_SIGNAL_KINDS; i++) {
            const flow *from = &at[node->in[k]];
            f.mean[i] += share[k] * from->mean[i];
            f.half[i] += share[k] * from->half[i];
            f.tenth[i] += share[k] * from->tenth[i];
        }
    for (int k = 0; k < node->n_in; k++)
        for (int i = 0; i < NAS_SIGNAL_KINDS; i++) {
            const flow *from = &at[node->in[k]];
            double off = from->mean[i] - f.mean[i];
            f.variance[i] += share[k] * (from->variance[i] + off * off);
        }
    return f;
}

/* Add and Concat; channels: of what an input brings, 1 for a sum. */
static flow join(const nas_graph *g, const nas_node *node, const flow *at, double *share)
{
    bool concat = node->op == NAS_OP_CONCAT;
    double sum = 0, channels = 0;
    for (int k = 0; k < node->n_in; k++) {
        const nas_shape *shape = &g->fn[0].node[node->in[k]].shape;
        double width = concat && shape->rank > 1 ? (double)shape->dim[1] : 1;
        share[k] = width * at[node->in[k]].energy;
        sum += share[k];
        channels += width;
    }
    if (sum <= 0)
        return (flow){0};
    for (int k = 0; k < node->n_in; k++)
        share[k] /= sum;
    flow f = mix(node, at, share);
    f.energy = concat ? sum / channels : sum;
    return f;
}

/* Operators of several data inputs follow the first: the others of a Mul are gates. */
static flow step(const nas_graph *g, const nas_node *node, const flow *at, double *share)
{
    if (node->op == NAS_OP_ADD || node->op == NAS_OP_CONCAT)
        return join(g, node, at, share);
    flow f = node->n_in ? at[node->in[0]] : (flow){0};
    if (f.energy <= 0)
        return (flow){0};
    switch (node->op) {
    case NAS_OP_CONV:
        pass_conv(node, &f);
        f.energy = 1;
        break;
    case NAS_OP_MAXPOOL:
    case NAS_OP_AVGPOOL:
        pass(&f, NAS_SIGNAL_POOL);
        break;
    case NAS_OP_BATCHNORM:
        f.energy = 1;
        break;
    case NAS_OP_SCALE:
        f.energy *= (double)node->attr[NAS_SCALE_VALUE].f * node->attr->f;
        break;
    default:
        break;
    }
    return f.energy > 0 ? f : (flow){0};
}

static void conclude(const flow *out, nas_signal *s)
{
    s->energy = out->energy;
    for (int k = 0; k < NAS_SIGNAL_KINDS && out->energy > 0; k++) {
        s->mean[k] = out->mean[k];
        s->variance[k] = out->variance[k];
        s->half[k] = -log2(out->half[k]);
        s->tenth[k] = -log10(out->tenth[k]);
    }
}

void nas_signal_of(const nas_graph *flat, nas_signal *s)
{
    const nas_fn *main = &flat->fn[0];
    flow *at = nas_alloc((main->n_node + 1) * sizeof *at);
    double *share = nas_alloc((main->n_node + 1) * sizeof *share), convs = 0;
    *s = (nas_signal){0};
    for (size_t i = 0; i < main->n_node; i++) {
        const nas_node *node = &main->node[i];
        at[i] = i < (size_t)main->n_in ? source() : step(flat, node, at, share);
        if (node->op == NAS_OP_CONV) {
            s->growth += log2(1 + at[node->in[0]].energy);
            convs++;
        }
    }
    if (convs > 0)
        s->growth /= convs;
    conclude(&at[main->out], s);
    free(at);
    free(share);
}
