/* Operators on data: each becomes a node of the graph, its constants attributes of the node. */
#include "onnx/lift.h"

#include <float.h>
#include <string.h>

static const nas_attr ABSENT = {.n = -1};

static nas_attr real(float f)
{
    return (nas_attr){.f = f};
}

/* An optional attribute of one integer as it stands: absent stays absent. */
static bool keep_int(nas_step *s, const char *name, nas_attr *attr)
{
    int64_t v;
    if (!nas_step_int(s, name, 0, &v))
        return false;
    *attr = ABSENT;
    if (nas_step_attribute(s, name))
        *attr = (nas_attr){.n = 1, .v = nas_arena_copy(nas_step_arena(s), &v, sizeof v)};
    return true;
}

/* The dimensions of a constant as an attribute. */
static nas_attr shape_of(nas_step *s, const nas_value *v)
{
    return (nas_attr){
        .n = v->rank,
        .v = nas_arena_copy(nas_step_arena(s), v->dim, (size_t)v->rank * sizeof *v->dim)};
}

static nas_status lift_plain(nas_step *s, nas_op_id op)
{
    int x;
    return nas_step_data(s, 0, &x) ? nas_step_emit(s, op, &x, 1, NULL) : NAS_FAILED;
}

#define PLAIN(name, op)                                                                            \
    static nas_status name(nas_step *s)                                                            \
    {                                                                                              \
        return lift_plain(s, op);                                                                  \
    }
PLAIN(lift_relu, NAS_OP_RELU)
PLAIN(lift_sigmoid, NAS_OP_SIGMOID)
PLAIN(lift_hardswish, NAS_OP_HARDSWISH)
PLAIN(lift_tanh, NAS_OP_TANH)
PLAIN(lift_erf, NAS_OP_ERF)
PLAIN(lift_gap, NAS_OP_GLOBALAVGPOOL)
PLAIN(lift_gmp, NAS_OP_GLOBALMAXPOOL)

static nas_status lift_pass(nas_step *s)
{
    return nas_step_pass(s, 0);
}

/* ---- windows ---- */

/* The pads that auto_pad asks for: of one axis, begin and end. */
static void same_pads(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, bool upper,
                      int64_t pads[4], int axis)
{
    const int64_t most = 1 << 20; /* beyond that the shape rule refuses the window */
    if (kernel < 1 || stride < 1 || dilation < 1 || kernel > most || stride > most ||
        dilation > most)
        return;
    int64_t out = (in + stride - 1) / stride;
    int64_t total = (out - 1) * stride + dilation * (kernel - 1) + 1 - in;
    total = total < 0 ? 0 : total;
    pads[axis] = upper ? total / 2 : total - total / 2;
    pads[axis + 2] = total - pads[axis];
}

/* Attribute pads, or what auto_pad makes of the input's size. */
static bool find_pads(nas_step *s, int x, const nas_attr *kernel, const nas_attr *strides,
                      const nas_attr *dilations, nas_attr *pads)
{
    const Onnx__AttributeProto *a = nas_step_attribute(s, "auto_pad");
    const nas_shape *shape = nas_step_shape(s, x);
    if (!nas_step_ints(s, "pads", pads))
        return false;
    if (!a || !a->has_s || (a->s.len == 6 && !memcmp(a->s.data, "NOTSET", 6)))
        return true;
    bool upper = a->s.len == 10 && !memcmp(a->s.data, "SAME_UPPER", 10);
    bool lower = a->s.len == 10 && !memcmp(a->s.data, "SAME_LOWER", 10);
    int64_t found[4] = {0};
    for (int i = 0; i < 2 && (upper || lower) && kernel->n == 2 && shape->rank == 4; i++)
        same_pads(shape->dim[2 + i], kernel->v[i], strides->n == 2 ? strides->v[i] : 1,
                  dilations->n == 2 ? dilations->v[i] : 1, upper, found, i);
    *pads = (nas_attr){.n = 4, .v = nas_arena_copy(nas_step_arena(s), found, sizeof found)};
    return true;
}

static nas_status lift_conv(nas_step *s)
{
    int x;
    const nas_value *w, *b = NULL;
    nas_attr attr[NAS_ATTRS_MAX];
    if (!nas_step_data(s, 0, &x) || !nas_step_constant(s, 1, 4, &w) ||
        (nas_step_has(s, 2) && !nas_step_constant(s, 2, 1, &b)) ||
        !nas_step_ints(s, "kernel_shape", &attr[NAS_CONV_KERNEL]) ||
        !nas_step_ints(s, "strides", &attr[NAS_CONV_STRIDES]) ||
        !nas_step_ints(s, "dilations", &attr[NAS_CONV_DILATIONS]) ||
        !keep_int(s, "group", &attr[NAS_CONV_GROUP]))
        return NAS_FAILED;
    attr[NAS_CONV_WEIGHT] = shape_of(s, w);
    attr[NAS_CONV_BIAS] = b ? shape_of(s, b) : ABSENT;
    if (attr[NAS_CONV_KERNEL].n < 0)
        attr[NAS_CONV_KERNEL] = (nas_attr){.n = 2, .v = attr[NAS_CONV_WEIGHT].v + 2};
    if (attr[NAS_CONV_DILATIONS].n >= 0 && attr[NAS_CONV_DILATIONS].n != 2)
        return nas_step_fault(s, "%d dilations are given, 2 are needed",
                              attr[NAS_CONV_DILATIONS].n);
    if (!find_pads(s, x, &attr[NAS_CONV_KERNEL], &attr[NAS_CONV_STRIDES], &attr[NAS_CONV_DILATIONS],
                   &attr[NAS_CONV_PADS]))
        return NAS_FAILED;
    return nas_step_emit(s, NAS_OP_CONV, &x, 1, attr);
}

static nas_status lift_pool(nas_step *s)
{
    int x;
    nas_attr attr[NAS_ATTRS_MAX], dilations;
    bool average = s->node->op_type[0] == 'A';
    if (!nas_step_data(s, 0, &x) || !nas_step_ints(s, "kernel_shape", &attr[NAS_POOL_KERNEL]) ||
        !nas_step_ints(s, "strides", &attr[NAS_POOL_STRIDES]) ||
        !nas_step_ints(s, "dilations", &dilations) ||
        !keep_int(s, "ceil_mode", &attr[NAS_POOL_CEIL]) ||
        !keep_int(s, "count_include_pad", &attr[NAS_POOL_COUNT_PAD]) ||
        !find_pads(s, x, &attr[NAS_POOL_KERNEL], &attr[NAS_POOL_STRIDES], &dilations,
                   &attr[NAS_POOL_PADS]))
        return NAS_FAILED;
    for (int i = 0; i < dilations.n; i++)
        if (dilations.v[i] != 1)
            return nas_step_fault(s, "dilated pooling is not covered");
    return nas_step_emit(s, average ? NAS_OP_AVGPOOL : NAS_OP_MAXPOOL, &x, 1, attr);
}

/* ---- matrix products ---- */

static nas_status lift_gemm(nas_step *s)
{
    int x;
    const nas_value *w, *b = NULL;
    nas_attr attr[NAS_ATTRS_MAX];
    int64_t transposed;
    float alpha, beta;
    if (!nas_step_data(s, 0, &x) || !nas_step_constant(s, 1, 2, &w) ||
        (nas_step_has(s, 2) && !nas_step_constant(s, 2, -1, &b)) ||
        !nas_step_int(s, "transA", 0, &transposed) || !nas_step_float(s, "alpha", 1, &alpha) ||
        !nas_step_float(s, "beta", 1, &beta) || !keep_int(s, "transB", &attr[NAS_GEMM_TRANSB]))
        return NAS_FAILED;
    if (transposed || alpha != 1 || (b && beta != 1))
        return nas_step_fault(s, "transA %lld, alpha %g and beta %g are not covered",
                              (long long)transposed, (double)alpha, (double)beta);
    attr[NAS_GEMM_WEIGHT] = shape_of(s, w);
    attr[NAS_GEMM_BIAS] = ABSENT;
    int64_t out = w->dim[attr[NAS_GEMM_TRANSB].n < 0 || !attr[NAS_GEMM_TRANSB].v[0]];
    if (b && nas_value_count(b) != out)
        return nas_step_fault(s, "the bias '%.100s' has %lld values for %lld outputs",
                              nas_step_input_name(s, 2), (long long)nas_value_count(b),
                              (long long)out);
    if (b)
        attr[NAS_GEMM_BIAS] =
            (nas_attr){.n = 1, .v = nas_arena_copy(nas_step_arena(s), &out, sizeof out)};
    return nas_step_emit(s, NAS_OP_GEMM, &x, 1, attr);
}

static nas_status lift_matmul(nas_step *s)
{
    int x;
    const nas_value *w;
    if (!nas_step_data(s, 0, &x) || !nas_step_constant(s, 1, 2, &w))
        return NAS_FAILED;
    return nas_step_emit(s, NAS_OP_GEMM, &x, 1, (nas_attr[]){ABSENT, shape_of(s, w), ABSENT});
}

/* ---- normalisation and activations ---- */

static nas_status lift_batchnorm(nas_step *s)
{
    int x;
    const nas_value *v[5];
    int64_t training, inference;
    float epsilon;
    if (!nas_step_data(s, 0, &x) || !nas_step_float(s, "epsilon", 1e-5f, &epsilon) ||
        !nas_step_int(s, "training_mode", 0, &training) ||
        !nas_step_int(s, "is_test", nas_step_opset(s) > 6, &inference))
        return NAS_FAILED;
    if (training || !inference)
        return nas_step_fault(s, "it is in training mode");
    for (int i = 1; i < 5; i++) {
        if (!nas_step_constant(s, i, 1, &v[i]))
            return NAS_FAILED;
        if (v[i]->dim[0] != v[1]->dim[0])
            return nas_step_fault(s, "'%.100s' has %lld values, '%.100s' has %lld",
                                  nas_step_input_name(s, i), (long long)v[i]->dim[0],
                                  nas_step_input_name(s, 1), (long long)v[1]->dim[0]);
    }
    return nas_step_emit(s, NAS_OP_BATCHNORM, &x, 1,
                         (nas_attr[]){real(epsilon), shape_of(s, v[1])});
}

/* A bound: input i, or the attribute of older operator sets. */
static bool find_bound(nas_step *s, int i, const char *name, float fallback, float *bound)
{
    const nas_value *v;
    if (!nas_step_has(s, i))
        return nas_step_float(s, name, fallback, bound);
    if (!nas_step_constant(s, i, -1, &v))
        return false;
    if (!v->known || !nas_type_real(v->type) || nas_value_count(v) != 1)
        return nas_step_fault(s, "'%.100s' is no known number", nas_step_input_name(s, i)) ==
               NAS_OK;
    *bound = (float)v->f[0];
    return true;
}

static nas_status lift_clip(nas_step *s)
{
    int x;
    float low, high;
    if (!nas_step_data(s, 0, &x) || !find_bound(s, 1, "min", -FLT_MAX, &low) ||
        !find_bound(s, 2, "max", FLT_MAX, &high))
        return NAS_FAILED;
    return nas_step_emit(s, NAS_OP_CLIP, &x, 1, (nas_attr[]){real(low), real(high)});
}

static nas_status lift_hardsigmoid(nas_step *s)
{
    int x;
    float alpha, beta;
    if (!nas_step_data(s, 0, &x) || !nas_step_float(s, "alpha", 0.2f, &alpha) ||
        !nas_step_float(s, "beta", 0.5f, &beta))
        return NAS_FAILED;
    return nas_step_emit(s, NAS_OP_HARDSIGMOID, &x, 1, (nas_attr[]){real(alpha), real(beta)});
}

static nas_status lift_alpha(nas_step *s)
{
    int x;
    float alpha;
    bool elu = s->node->op_type[0] == 'E';
    if (!nas_step_data(s, 0, &x) || !nas_step_float(s, "alpha", elu ? 1 : 0.01f, &alpha))
        return NAS_FAILED;
    return nas_step_emit(s, elu ? NAS_OP_ELU : NAS_OP_LEAKYRELU, &x, 1, (nas_attr[]){real(alpha)});
}

/* Before operator set 13 all dimensions from the axis on were one; for the last one that is the
 * same. */
static nas_status lift_softmax(nas_step *s)
{
    int x;
    nas_attr axis;
    if (!nas_step_data(s, 0, &x) || !keep_int(s, "axis", &axis))
        return NAS_FAILED;
    int64_t rank = nas_step_shape(s, x)->rank, old = axis.n < 0 ? 1 : axis.v[0];
    if (nas_step_opset(s) < 13 && old != rank - 1 && old != -1)
        return nas_step_fault(s, "axis %lld of %lld dimensions is not covered in this operator set",
                              (long long)old, (long long)rank);
    static const int64_t last = -1;
    if (nas_step_opset(s) < 13)
        axis = (nas_attr){.n = 1, .v = &last};
    return nas_step_emit(s, NAS_OP_SOFTMAX, &x, 1, &axis);
}

static nas_status lift_lrn(nas_step *s)
{
    int x;
    nas_attr size;
    float alpha, beta, bias;
    if (!nas_step_data(s, 0, &x) || !keep_int(s, "size", &size) ||
        !nas_step_float(s, "alpha", 1e-4f, &alpha) || !nas_step_float(s, "beta", 0.75f, &beta) ||
        !nas_step_float(s, "bias", 1, &bias))
        return NAS_FAILED;
    return nas_step_emit(s, NAS_OP_LRN, &x, 1,
                         (nas_attr[]){size, real(alpha), real(beta), real(bias)});
}

/* With one output in inference: nothing. */
static nas_status lift_dropout(nas_step *s)
{
    const nas_value *training;
    if (nas_step_has(s, 2)) {
        if (!nas_step_constant(s, 2, -1, &training))
            return NAS_FAILED;
        if (!training->known || nas_value_count(training) != 1 || training->i[0])
            return nas_step_fault(s, "it is in training mode");
    }
    return nas_step_pass(s, 0);
}

static nas_status lift_cast(nas_step *s)
{
    int64_t to;
    if (!nas_step_int(s, "to", 0, &to))
        return NAS_FAILED;
    return to == NAS_TYPE_FLOAT
               ? nas_step_pass(s, 0)
               : nas_step_fault(s, "data of type %lld is not covered", (long long)to);
}

/* ---- arithmetic ---- */

/* The shape of a constant operand without leading ones, at least one dimension. */
static nas_attr operand_shape(nas_step *s, const nas_value *v)
{
    static const int64_t one = 1;
    int first = 0;
    while (first < v->rank && v->dim[first] == 1)
        first++;
    if (first == v->rank)
        return (nas_attr){.n = 1, .v = &one};
    nas_attr shape = shape_of(s, v);
    return (nas_attr){.n = shape.n - first, .v = shape.v + first};
}

/* Data with a constant: a number whose value is known, or a tensor that counts as a weight. */
static nas_status with_constant(nas_step *s, char op, int data, int constant)
{
    int x;
    const nas_value *c;
    bool sum = op == '+' || op == '-', inverse = op == '-' || op == '/';
    if (!nas_step_data(s, data, &x) || !nas_step_constant(s, constant, -1, &c))
        return NAS_FAILED;
    if (!nas_type_real(c->type))
        return nas_step_fault(s, "'%.100s' is no float tensor", nas_step_input_name(s, constant));
    if (inverse && data == 1)
        return nas_step_fault(s, "the constant '%.100s' may only be the second operand",
                              nas_step_input_name(s, constant));
    if (!c->known || nas_value_count(c) != 1) {
        nas_attr shape = operand_shape(s, c);
        return nas_step_emit(s, sum ? NAS_OP_ADDTENSOR : NAS_OP_MULTENSOR, &x, 1, &shape);
    }
    double v = c->f[0];
    nas_attr value = real((float)(op == '-' ? -v : op == '/' && v != 0 ? 1 / v : v));
    return nas_step_emit(s, sum ? NAS_OP_SHIFT : NAS_OP_SCALE, &x, 1, &value);
}

static nas_status lift_binary(nas_step *s, char op, nas_op_id id)
{
    int in[2];
    if (!nas_step_has(s, 0) || !nas_step_has(s, 1))
        return nas_step_fault(s, "it needs 2 inputs");
    if (nas_step_attribute(s, "axis"))
        return nas_step_fault(s, "broadcasting along an axis is not covered");
    if (s->in[1]->node < 0)
        return with_constant(s, op, 0, 1);
    if (s->in[0]->node < 0)
        return with_constant(s, op, 1, 0);
    in[0] = s->in[0]->node;
    in[1] = s->in[1]->node;
    return nas_step_emit(s, id, in, 2, NULL);
}

static nas_status lift_add(nas_step *s)
{
    return lift_binary(s, '+', NAS_OP_ADD);
}

static nas_status lift_sub(nas_step *s)
{
    return lift_binary(s, '-', NAS_OP_SUB);
}

static nas_status lift_mul(nas_step *s)
{
    return lift_binary(s, '*', NAS_OP_MUL);
}

static nas_status lift_div(nas_step *s)
{
    return lift_binary(s, '/', NAS_OP_DIV);
}

/* Any number of data: a chain of additions. */
static nas_status lift_sum(nas_step *s)
{
    int sum, next;
    if (!nas_step_data(s, 0, &sum))
        return NAS_FAILED;
    s->out[0] = *s->in[0];
    for (int i = 1; i < s->n_in; i++) {
        if (!nas_step_data(s, i, &next))
            return NAS_FAILED;
        if (nas_step_emit(s, NAS_OP_ADD, (int[]){sum, next}, 2, NULL) != NAS_OK)
            return NAS_FAILED;
        sum = s->out[0].node;
    }
    return NAS_OK;
}

static nas_status lift_prelu(nas_step *s)
{
    int x;
    const nas_value *slope;
    if (!nas_step_data(s, 0, &x) || !nas_step_constant(s, 1, -1, &slope))
        return NAS_FAILED;
    nas_attr shape = operand_shape(s, slope);
    return nas_step_emit(s, NAS_OP_PRELU, &x, 1, &shape);
}

const nas_handler nas_lift_operators[] = {
    {"Conv", lift_conv},
    {"BatchNormalization", lift_batchnorm},
    {"Relu", lift_relu},
    {"Add", lift_add},
    {"Mul", lift_mul},
    {"Sub", lift_sub},
    {"Div", lift_div},
    {"Sum", lift_sum},
    {"Clip", lift_clip},
    {"HardSigmoid", lift_hardsigmoid},
    {"HardSwish", lift_hardswish},
    {"Sigmoid", lift_sigmoid},
    {"Tanh", lift_tanh},
    {"Erf", lift_erf},
    {"LeakyRelu", lift_alpha},
    {"Elu", lift_alpha},
    {"PRelu", lift_prelu},
    {"Softmax", lift_softmax},
    {"LRN", lift_lrn},
    {"MaxPool", lift_pool},
    {"AveragePool", lift_pool},
    {"GlobalAveragePool", lift_gap},
    {"GlobalMaxPool", lift_gmp},
    {"Gemm", lift_gemm},
    {"MatMul", lift_matmul},
    {"Dropout", lift_dropout},
    {"Identity", lift_pass},
    {"Cast", lift_cast},
    {NULL, NULL},
};
