#include "spaces/op.h"

#include "spaces/graph.h"

#include <stdio.h>
#include <string.h>

int64_t nas_shape_elements(const nas_shape *shape)
{
    int64_t n = 1;
    for (int i = 1; i < shape->rank; i++)
        n = nas_times(n, shape->dim[i]);
    return n;
}

bool nas_shape_same(const nas_shape *a, const nas_shape *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

const char *nas_shape_print(const nas_shape *shape, char text[96])
{
    size_t n = 0;
    text[0] = '\0';
    for (int i = 0; i < shape->rank && n < 80; i++) {
        if (i == 0 && shape->dim[0] == 0)
            n += (size_t)snprintf(text + n, 96 - n, "N");
        else
            n += (size_t)snprintf(text + n, 96 - n, "%s%lld", i ? "x" : "",
                                  (long long)shape->dim[i]);
    }
    return text;
}

/* ---- shape rules ---- */

#define WORLD(...) nas_fail(err, NAS_FAILED, __VA_ARGS__)

static nas_status need_rank(const nas_shape *in, int rank, nas_err *err)
{
    char text[96];
    if (in->rank != rank)
        return WORLD("the input %s has %d dimensions, %d are needed", nas_shape_print(in, text),
                     in->rank, rank);
    return NAS_OK;
}

static int64_t attr_at(const nas_attr *attr, int i, int64_t fallback)
{
    return attr->n > i ? attr->v[i] : fallback;
}

enum { MOST_WINDOW = 1 << 20 }; /* sizes, steps and pads of a window */

/* One axis of a sliding window. */
static nas_status window(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t pads,
                         bool ceil, int64_t *out, nas_err *err)
{
    const int64_t most = MOST_WINDOW;
    if (kernel < 1 || stride < 1 || dilation < 1 || pads < 0 || kernel > most || stride > most ||
        dilation > most || pads > most)
        return WORLD("kernel %lld, stride %lld, dilation %lld and pads %lld do not make a window",
                     (long long)kernel, (long long)stride, (long long)dilation, (long long)pads);
    int64_t room = in + pads - (dilation * (kernel - 1) + 1);
    if (room < 0)
        return WORLD("a window of %lld is larger than the padded input of %lld",
                     (long long)(dilation * (kernel - 1) + 1), (long long)(in + pads));
    *out = (room + (ceil ? stride - 1 : 0)) / stride + 1;
    return NAS_OK;
}

static nas_status slide(const nas_node *node, const nas_shape *in, int kernel, int strides,
                        int pads, const nas_attr *dilations, bool ceil, nas_shape *out,
                        nas_err *err)
{
    const nas_attr *k = &node->attr[kernel], *s = &node->attr[strides], *p = &node->attr[pads];
    if (k->n != 2 || (s->n >= 0 && s->n != 2) || (p->n >= 0 && p->n != 4))
        return WORLD("the window must have 2 sizes, 2 strides and 4 pads");
    for (int i = 0; i < 2; i++) {
        int64_t before = attr_at(p, i, 0), after = attr_at(p, i + 2, 0);
        if (before < 0 || after < 0 || before > MOST_WINDOW || after > MOST_WINDOW)
            return WORLD("pads of %lld and %lld are not covered", (long long)before,
                         (long long)after);
        if (window(in->dim[2 + i], k->v[i], attr_at(s, i, 1),
                   dilations ? attr_at(dilations, i, 1) : 1, before + after, ceil, &out->dim[2 + i],
                   err) != NAS_OK)
            return err ? err->code : NAS_FAILED;
    }
    return NAS_OK;
}

static nas_status shape_conv(const nas_node *node, const nas_shape *const *in, nas_shape *out,
                             nas_err *err)
{
    const nas_attr *w = &node->attr[NAS_CONV_WEIGHT], *k = &node->attr[NAS_CONV_KERNEL];
    int64_t group = attr_at(&node->attr[NAS_CONV_GROUP], 0, 1);
    nas_status status = need_rank(in[0], 4, err);
    if (status != NAS_OK)
        return status;
    if (w->n != 4)
        return WORLD("the weight has %d dimensions, 4 are needed", w->n);
    if (group < 1 || in[0]->dim[1] % group || w->v[0] % group)
        return WORLD("%lld groups do not divide %lld input and %lld output channels",
                     (long long)group, (long long)in[0]->dim[1], (long long)w->v[0]);
    if (w->v[1] != in[0]->dim[1] / group)
        return WORLD("the weight reads %lld channels a group, the input has %lld",
                     (long long)w->v[1], (long long)(in[0]->dim[1] / group));
    if (w->v[0] < 1 || k->n != 2 || w->v[2] != k->v[0] || w->v[3] != k->v[1])
        return WORLD("the weight and the kernel do not have the same size");
    if (node->attr[NAS_CONV_BIAS].n == 1 && node->attr[NAS_CONV_BIAS].v[0] != w->v[0])
        return WORLD("the bias has %lld values for %lld channels",
                     (long long)node->attr[NAS_CONV_BIAS].v[0], (long long)w->v[0]);
    *out = *in[0];
    out->dim[1] = w->v[0];
    return slide(node, in[0], NAS_CONV_KERNEL, NAS_CONV_STRIDES, NAS_CONV_PADS,
                 &node->attr[NAS_CONV_DILATIONS], false, out, err);
}

static int64_t macs_conv(const nas_node *node, const nas_shape *out)
{
    const int64_t *w = node->attr[NAS_CONV_WEIGHT].v;
    return nas_times(nas_shape_elements(out), nas_times(w[1], nas_times(w[2], w[3])));
}

static nas_status shape_gemm(const nas_node *node, const nas_shape *const *in, nas_shape *out,
                             nas_err *err)
{
    const nas_attr *w = &node->attr[NAS_GEMM_WEIGHT];
    nas_status status = need_rank(in[0], 2, err);
    if (status != NAS_OK)
        return status;
    if (w->n != 2 || w->v[0] < 1 || w->v[1] < 1)
        return WORLD("the weight must have 2 dimensions");
    bool transposed = attr_at(&node->attr[NAS_GEMM_TRANSB], 0, 0) != 0;
    int64_t reads = w->v[transposed], gives = w->v[!transposed];
    if (reads != in[0]->dim[1])
        return WORLD("the weight reads %lld values, the input has %lld", (long long)reads,
                     (long long)in[0]->dim[1]);
    *out = *in[0];
    out->dim[1] = gives;
    return NAS_OK;
}

static int64_t macs_gemm(const nas_node *node, const nas_shape *out)
{
    (void)out;
    const int64_t *w = node->attr[NAS_GEMM_WEIGHT].v;
    return nas_times(w[0], w[1]);
}

static nas_status shape_same(const nas_node *node, const nas_shape *const *in, nas_shape *out,
                             nas_err *err)
{
    (void)node, (void)err;
    *out = *in[0];
    return NAS_OK;
}

static nas_status shape_batchnorm(const nas_node *node, const nas_shape *const *in, nas_shape *out,
                                  nas_err *err)
{
    const nas_attr *c = &node->attr[NAS_BN_CHANNELS];
    if (in[0]->rank < 2 || c->n != 1 || c->v[0] != in[0]->dim[1])
        return WORLD("%lld channels are normalised, the input has %lld",
                     (long long)attr_at(c, 0, 0), (long long)(in[0]->rank > 1 ? in[0]->dim[1] : 0));
    *out = *in[0];
    return NAS_OK;
}

/* Elementwise with broadcasting of dimensions of size 1 (gates are N x C x 1 x 1). */
static nas_status shape_broadcast(const nas_node *node, const nas_shape *const *in, nas_shape *out,
                                  nas_err *err)
{
    (void)node;
    char a[96], b[96];
    *out = *in[0];
    bool fits = in[0]->rank == in[1]->rank;
    for (int i = 0; fits && i < in[0]->rank; i++) {
        int64_t p = in[0]->dim[i], q = in[1]->dim[i];
        fits = p == q || p == 1 || q == 1;
        out->dim[i] = p == 1 ? q : p;
    }
    if (!fits)
        return WORLD("the inputs %s and %s do not have the same shape", nas_shape_print(in[0], a),
                     nas_shape_print(in[1], b));
    return NAS_OK;
}

static nas_status shape_concat(const nas_node *node, const nas_shape *const *in, nas_shape *out,
                               nas_err *err)
{
    char a[96], b[96];
    int64_t axis = attr_at(&node->attr[NAS_CONCAT_AXIS], 0, 1);
    if (axis < 0)
        axis += in[0]->rank;
    if (axis < 1 || axis >= in[0]->rank)
        return WORLD("axis %lld is not one of 1 to %d", (long long)axis, in[0]->rank - 1);
    *out = *in[0];
    out->dim[axis] = 0;
    for (int i = 0; i < node->n_in; i++) {
        nas_shape other = *in[i];
        if (other.rank == out->rank)
            other.dim[axis] = in[0]->dim[axis];
        if (!nas_shape_same(&other, in[0]))
            return WORLD("the inputs %s and %s differ beyond axis %lld", nas_shape_print(in[0], a),
                         nas_shape_print(in[i], b), (long long)axis);
        out->dim[axis] = nas_plus(out->dim[axis], in[i]->dim[axis]);
    }
    return NAS_OK;
}

static nas_status shape_pool(const nas_node *node, const nas_shape *const *in, nas_shape *out,
                             nas_err *err)
{
    nas_status status = need_rank(in[0], 4, err);
    if (status != NAS_OK)
        return status;
    *out = *in[0];
    return slide(node, in[0], NAS_POOL_KERNEL, NAS_POOL_STRIDES, NAS_POOL_PADS, NULL,
                 attr_at(&node->attr[NAS_POOL_CEIL], 0, 0) != 0, out, err);
}

static nas_status shape_globalpool(const nas_node *node, const nas_shape *const *in, nas_shape *out,
                                   nas_err *err)
{
    (void)node;
    nas_status status = need_rank(in[0], 4, err);
    *out = *in[0];
    out->dim[2] = out->dim[3] = 1;
    return status;
}

static nas_status shape_flatten(const nas_node *node, const nas_shape *const *in, nas_shape *out,
                                nas_err *err)
{
    if (attr_at(&node->attr[NAS_FLATTEN_AXIS], 0, 1) != 1)
        return WORLD("only axis 1 is flattened");
    out->rank = 2;
    out->dim[0] = in[0]->dim[0];
    out->dim[1] = nas_shape_elements(in[0]);
    return NAS_OK;
}

static int64_t clamp(int64_t v, int64_t size)
{
    if (v < 0)
        v = v < -size ? 0 : v + size;
    return v > size ? size : v;
}

static nas_status shape_slice(const nas_node *node, const nas_shape *const *in, nas_shape *out,
                              nas_err *err)
{
    const nas_attr *starts = &node->attr[NAS_SLICE_STARTS], *ends = &node->attr[NAS_SLICE_ENDS],
                   *axes = &node->attr[NAS_SLICE_AXES];
    if (starts->n < 1 || starts->n != ends->n || starts->n != axes->n)
        return WORLD("starts, ends and axes do not have the same length");
    *out = *in[0];
    for (int i = 0; i < axes->n; i++) {
        int64_t axis = axes->v[i];
        if (axis < 1 || axis >= in[0]->rank)
            return WORLD("axis %lld is not one of 1 to %d", (long long)axis, in[0]->rank - 1);
        int64_t size = in[0]->dim[axis];
        out->dim[axis] = clamp(ends->v[i], size) - clamp(starts->v[i], size);
        if (out->dim[axis] < 1)
            return WORLD("nothing of axis %lld (%lld) is left", (long long)axis, (long long)size);
    }
    return NAS_OK;
}

static nas_status shape_reshape(const nas_node *node, const nas_shape *const *in, nas_shape *out,
                                nas_err *err)
{
    const nas_attr *to = &node->attr[NAS_RESHAPE_SHAPE];
    char text[96];
    if (to->n < 1 || to->n > NAS_RANK_MAX)
        return WORLD("%d dimensions are not 1 to %d", to->n, NAS_RANK_MAX);
    int64_t elements = nas_shape_elements(in[0]), known = 1;
    int open = -1;
    out->rank = to->n;
    for (int i = 0; i < to->n; i++) {
        int64_t d = to->v[i];
        if (d == 0 && i < in[0]->rank)
            d = in[0]->dim[i];
        else if (d == -1 && open < 0)
            open = i;
        else if (d < 1)
            return WORLD("dimension %d of the new shape is %lld", i, (long long)to->v[i]);
        out->dim[i] = d;
        if (i > 0 && d > 0)
            known = nas_times(known, d);
    }
    if (open > 0 && known > 0 && elements % known == 0)
        out->dim[open] = elements / known;
    else if (open == 0)
        out->dim[0] = in[0]->dim[0];
    if (out->dim[0] != in[0]->dim[0] || nas_shape_elements(out) != elements)
        return WORLD("the %lld values of %s do not fill the new shape", (long long)elements,
                     nas_shape_print(in[0], text));
    return NAS_OK;
}

static nas_status shape_transpose(const nas_node *node, const nas_shape *const *in, nas_shape *out,
                                  nas_err *err)
{
    const nas_attr *perm = &node->attr[NAS_TRANSPOSE_PERM];
    unsigned seen = 0;
    for (int i = 0; i < perm->n; i++)
        if (perm->v[i] >= 0 && perm->v[i] < NAS_RANK_MAX)
            seen |= 1u << perm->v[i];
    if (perm->n != in[0]->rank || seen != (1u << in[0]->rank) - 1 || perm->v[0] != 0)
        return WORLD("perm is no order of the %d dimensions that keeps the batch first",
                     in[0]->rank);
    *out = *in[0];
    for (int i = 0; i < perm->n; i++)
        out->dim[i] = in[0]->dim[perm->v[i]];
    return NAS_OK;
}

/* A constant tensor that broadcasts to the input: its dimensions are the last ones of the input. */
static nas_status shape_tensor(const nas_node *node, const nas_shape *const *in, nas_shape *out,
                               nas_err *err)
{
    const nas_attr *t = &node->attr[NAS_TENSOR_SHAPE];
    char text[96];
    bool fits = t->n >= 0 && t->n < in[0]->rank;
    for (int i = 0; fits && i < t->n; i++)
        fits = t->v[i] == 1 || t->v[i] == in[0]->dim[in[0]->rank - t->n + i];
    if (!fits)
        return WORLD("the constant does not have the shape of the input %s",
                     nas_shape_print(in[0], text));
    *out = *in[0];
    return NAS_OK;
}

static nas_status shape_softmax(const nas_node *node, const nas_shape *const *in, nas_shape *out,
                                nas_err *err)
{
    int64_t axis = attr_at(&node->attr[NAS_SOFTMAX_AXIS], 0, -1);
    if (axis < -in[0]->rank || axis >= in[0]->rank)
        return WORLD("axis %lld is not one of the %d dimensions", (long long)axis, in[0]->rank);
    *out = *in[0];
    return NAS_OK;
}

static nas_status shape_pad(const nas_node *node, const nas_shape *const *in, nas_shape *out,
                            nas_err *err)
{
    const nas_attr *pads = &node->attr[NAS_PAD_PADS];
    int rank = in[0]->rank;
    if (pads->n != 2 * rank || pads->v[0] || pads->v[rank])
        return WORLD("pads must have %d values and none for the batch", 2 * rank);
    *out = *in[0];
    for (int i = 1; i < rank; i++) {
        if (pads->v[i] < 0 || pads->v[rank + i] < 0 || pads->v[i] > MOST_WINDOW ||
            pads->v[rank + i] > MOST_WINDOW)
            return WORLD("pads of %lld and %lld are not covered", (long long)pads->v[i],
                         (long long)pads->v[rank + i]);
        out->dim[i] += pads->v[i] + pads->v[rank + i];
    }
    return NAS_OK;
}

/* ---- the rows ---- */

#define SHOWN(name, type)                                                                          \
    {                                                                                              \
        name, NAS_ATTR_##type, false                                                               \
    }
#define INNER(name, type)                                                                          \
    {                                                                                              \
        name, NAS_ATTR_##type, true                                                                \
    }
#define POOL(low, high, n)                                                                         \
    {                                                                                              \
        low, high, 1, 1, n, 0,                                                                     \
            {SHOWN("kernel_shape", INTS), SHOWN("strides", INTS), SHOWN("pads", INTS),             \
             SHOWN("ceil_mode", INT), SHOWN("count_include_pad", INT)},                            \
            {{0}}, shape_pool, NULL                                                                \
    }
#define TENSOR(low, high)                                                                          \
    {                                                                                              \
        low, high, 1, 1, 1, 1, {INNER("shape", INTS)},                                             \
            {{"w", NAS_TENSOR_SHAPE, NAS_PARAM_WEIGHT}}, shape_tensor, NULL                        \
    }
#define PLAIN(low, high, n, rule)                                                                  \
    {                                                                                              \
        low, high, n, n, 0, 0, {{0}}, {{0}}, rule, NULL                                            \
    }

/* clang-format off */
const nas_op nas_ops[NAS_OP_COUNT] = {
    [NAS_OP_INPUT] = PLAIN("input", "", 0, NULL),
    [NAS_OP_CALL] = PLAIN("call", "", 0, NULL),
    [NAS_OP_CONV] = {"conv", "Conv", 1, 1, 7, 2,
        {SHOWN("kernel_shape", INTS), SHOWN("strides", INTS), SHOWN("pads", INTS),
         SHOWN("dilations", INTS), SHOWN("group", INT), INNER("weight", INTS), INNER("bias", INTS)},
        {{"w", NAS_CONV_WEIGHT, NAS_PARAM_WEIGHT}, {"b", NAS_CONV_BIAS, NAS_PARAM_WEIGHT}},
        shape_conv, macs_conv},
    [NAS_OP_GEMM] = {"gemm", "Gemm", 1, 1, 3, 2,
        {SHOWN("transB", INT), INNER("weight", INTS), INNER("bias", INTS)},
        {{"w", NAS_GEMM_WEIGHT, NAS_PARAM_WEIGHT}, {"b", NAS_GEMM_BIAS, NAS_PARAM_WEIGHT}},
        shape_gemm, macs_gemm},
    [NAS_OP_BATCHNORM] = {"bn", "BatchNormalization", 1, 1, 2, 4,
        {SHOWN("epsilon", FLOAT), INNER("channels", INTS)},
        {{"scale", NAS_BN_CHANNELS, NAS_PARAM_WEIGHT}, {"bias", NAS_BN_CHANNELS, NAS_PARAM_WEIGHT},
         {"mean", NAS_BN_CHANNELS, NAS_PARAM_STAT}, {"var", NAS_BN_CHANNELS, NAS_PARAM_STAT}},
        shape_batchnorm, NULL},
    [NAS_OP_RELU] = PLAIN("relu", "Relu", 1, shape_same),
    [NAS_OP_CLIP] = {"clip", "Clip", 1, 1, 2, 2, {INNER("min", FLOAT), INNER("max", FLOAT)},
        {{"min", NAS_CLIP_MIN, NAS_PARAM_SCALAR}, {"max", NAS_CLIP_MAX, NAS_PARAM_SCALAR}},
        shape_same, NULL},
    [NAS_OP_HARDSIGMOID] = {"hsigmoid", "HardSigmoid", 1, 1, 2, 0,
        {SHOWN("alpha", FLOAT), SHOWN("beta", FLOAT)}, {{0}}, shape_same, NULL},
    [NAS_OP_HARDSWISH] = PLAIN("hswish", "HardSwish", 1, shape_same),
    [NAS_OP_SIGMOID] = PLAIN("sigmoid", "Sigmoid", 1, shape_same),
    [NAS_OP_ADD] = PLAIN("add", "Add", 2, shape_broadcast),
    [NAS_OP_MUL] = PLAIN("mul", "Mul", 2, shape_broadcast),
    [NAS_OP_SCALE] = {"scale", "Mul", 1, 1, 1, 1, {INNER("value", FLOAT)},
        {{"value", NAS_SCALE_VALUE, NAS_PARAM_SCALAR}}, shape_same, NULL},
    [NAS_OP_CONCAT] = {"concat", "Concat", 1, 0, 1, 0, {SHOWN("axis", INT)}, {{0}}, shape_concat,
        NULL},
    [NAS_OP_MAXPOOL] = POOL("maxpool", "MaxPool", 4),
    [NAS_OP_AVGPOOL] = POOL("avgpool", "AveragePool", 5),
    [NAS_OP_GLOBALAVGPOOL] = PLAIN("gap", "GlobalAveragePool", 1, shape_globalpool),
    [NAS_OP_FLATTEN] = {"flatten", "Flatten", 1, 1, 1, 0, {SHOWN("axis", INT)}, {{0}},
        shape_flatten, NULL},
    [NAS_OP_SLICE] = {"slice", "Slice", 1, 1, 3, 3,
        {INNER("starts", INTS), INNER("ends", INTS), INNER("axes", INTS)},
        {{"starts", NAS_SLICE_STARTS, NAS_PARAM_INDEX}, {"ends", NAS_SLICE_ENDS, NAS_PARAM_INDEX},
         {"axes", NAS_SLICE_AXES, NAS_PARAM_INDEX}},
        shape_slice, NULL},
    [NAS_OP_RESHAPE] = {"reshape", "Reshape", 1, 1, 1, 1, {INNER("shape", INTS)},
        {{"shape", NAS_RESHAPE_SHAPE, NAS_PARAM_INDEX}}, shape_reshape, NULL},
    [NAS_OP_TRANSPOSE] = {"transpose", "Transpose", 1, 1, 1, 0, {SHOWN("perm", INTS)}, {{0}},
        shape_transpose, NULL},
    [NAS_OP_LEAKYRELU] = {"leakyrelu", "LeakyRelu", 1, 1, 1, 0, {SHOWN("alpha", FLOAT)}, {{0}},
        shape_same, NULL},
    [NAS_OP_ELU] = {"elu", "Elu", 1, 1, 1, 0, {SHOWN("alpha", FLOAT)}, {{0}}, shape_same, NULL},
    [NAS_OP_PRELU] = TENSOR("prelu", "PRelu"),
    [NAS_OP_TANH] = PLAIN("tanh", "Tanh", 1, shape_same),
    [NAS_OP_ERF] = PLAIN("erf", "Erf", 1, shape_same),
    [NAS_OP_SOFTMAX] = {"softmax", "Softmax", 1, 1, 1, 0, {SHOWN("axis", INT)}, {{0}},
        shape_softmax, NULL},
    [NAS_OP_SUB] = PLAIN("sub", "Sub", 2, shape_broadcast),
    [NAS_OP_DIV] = PLAIN("div", "Div", 2, shape_broadcast),
    [NAS_OP_SHIFT] = {"shift", "Add", 1, 1, 1, 1, {INNER("value", FLOAT)},
        {{"value", NAS_SCALE_VALUE, NAS_PARAM_SCALAR}}, shape_same, NULL},
    [NAS_OP_ADDTENSOR] = TENSOR("addtensor", "Add"),
    [NAS_OP_MULTENSOR] = TENSOR("multensor", "Mul"),
    [NAS_OP_PAD] = {"pad", "Pad", 1, 1, 1, 1, {INNER("pads", INTS)},
        {{"pads", NAS_PAD_PADS, NAS_PARAM_INDEX}}, shape_pad, NULL},
    [NAS_OP_GLOBALMAXPOOL] = PLAIN("gmp", "GlobalMaxPool", 1, shape_globalpool),
    [NAS_OP_LRN] = {"lrn", "LRN", 1, 1, 4, 0,
        {SHOWN("size", INT), SHOWN("alpha", FLOAT), SHOWN("beta", FLOAT), SHOWN("bias", FLOAT)},
        {{0}}, shape_same, NULL},
};
/* clang-format on */
