/* What does an operator do? One row for each: its ONNX name and attributes, the tensors it owns,
 * its shape rule and its multiply-accumulates. Everything else reads these rows.
 *
 *     const nas_op *op = &nas_ops[node->op];
 *     op->shape(node, inputs, &shape, &err);
 *
 * An operator owns parameter tensors (a convolution its weight): they are not nodes. Their shapes
 * are attributes of the node that ONNX does not write (`inner`), their order among the ONNX inputs
 * is that of the rows, after the data inputs. */
#ifndef NAS_OP_H
#define NAS_OP_H

#include "spaces/base/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    NAS_OP_INPUT, /* no ONNX node: an input of the graph or function */
    NAS_OP_CALL,  /* a call of a function of the graph */
    NAS_OP_CONV,
    NAS_OP_GEMM,
    NAS_OP_BATCHNORM,
    NAS_OP_RELU,
    NAS_OP_CLIP,
    NAS_OP_HARDSIGMOID,
    NAS_OP_HARDSWISH,
    NAS_OP_SIGMOID,
    NAS_OP_ADD,
    NAS_OP_MUL,
    NAS_OP_SCALE, /* Mul by a constant scalar */
    NAS_OP_CONCAT,
    NAS_OP_MAXPOOL,
    NAS_OP_AVGPOOL,
    NAS_OP_GLOBALAVGPOOL,
    NAS_OP_FLATTEN,
    NAS_OP_SLICE,
    NAS_OP_RESHAPE,
    NAS_OP_TRANSPOSE,
    /* what files from elsewhere need */
    NAS_OP_LEAKYRELU,
    NAS_OP_ELU,
    NAS_OP_PRELU,
    NAS_OP_TANH,
    NAS_OP_ERF,
    NAS_OP_SOFTMAX,
    NAS_OP_SUB,
    NAS_OP_DIV,
    NAS_OP_SHIFT,     /* Add of a constant scalar */
    NAS_OP_ADDTENSOR, /* Add of a constant tensor */
    NAS_OP_MULTENSOR, /* Mul by a constant tensor */
    NAS_OP_PAD,
    NAS_OP_GLOBALMAXPOOL,
    NAS_OP_LRN,
    NAS_OP_COUNT
} nas_op_id;

/* Attribute indices, in the order of the rows. */
enum {
    NAS_CONV_KERNEL,
    NAS_CONV_STRIDES,
    NAS_CONV_PADS,
    NAS_CONV_DILATIONS,
    NAS_CONV_GROUP,
    NAS_CONV_WEIGHT,
    NAS_CONV_BIAS
};
enum { NAS_GEMM_TRANSB, NAS_GEMM_WEIGHT, NAS_GEMM_BIAS };
enum { NAS_BN_EPSILON, NAS_BN_CHANNELS };
enum { NAS_CLIP_MIN, NAS_CLIP_MAX };
enum { NAS_HARDSIGMOID_ALPHA, NAS_HARDSIGMOID_BETA };
enum { NAS_SCALE_VALUE };
enum { NAS_CONCAT_AXIS };
enum { NAS_POOL_KERNEL, NAS_POOL_STRIDES, NAS_POOL_PADS, NAS_POOL_CEIL, NAS_POOL_COUNT_PAD };
enum { NAS_FLATTEN_AXIS };
enum { NAS_SLICE_STARTS, NAS_SLICE_ENDS, NAS_SLICE_AXES };
enum { NAS_RESHAPE_SHAPE };
enum { NAS_TRANSPOSE_PERM };
enum { NAS_ALPHA }; /* of LeakyRelu and Elu */
enum { NAS_SOFTMAX_AXIS };
enum { NAS_TENSOR_SHAPE }; /* PRelu, Add and Mul with a constant: right-aligned, without batch */
enum { NAS_PAD_PADS };     /* begins of all dimensions, then ends */
enum { NAS_LRN_SIZE, NAS_LRN_ALPHA, NAS_LRN_BETA, NAS_LRN_BIAS };

enum { NAS_RANK_MAX = 6, NAS_ATTRS_MAX = 7, NAS_PARAMS_MAX = 4 };

/* dim[0] is the batch; 0 stands for the symbolic batch N. */
typedef struct {
    int rank;
    int64_t dim[NAS_RANK_MAX];
} nas_shape;

/* An attribute value: n integers (n = -1: absent), or a float in f (n = 0). Inside a function body
 * an integer may be NAS_FORMAL(k): the k-th attribute of the function. */
typedef struct {
    int n;
    float f;
    const int64_t *v;
} nas_attr;

#define NAS_FORMAL(k) (INT64_MIN + (k))
enum { NAS_FORMALS_MAX = 32 };
static inline bool nas_is_formal(int64_t v)
{
    return v < INT64_MIN + NAS_FORMALS_MAX;
}

typedef enum { NAS_ATTR_INT, NAS_ATTR_INTS, NAS_ATTR_FLOAT } nas_attr_type;

typedef struct {
    const char *name;
    nas_attr_type type;
    bool inner; /* not an ONNX attribute: the shape or value of a parameter tensor */
} nas_attr_row;

typedef enum {
    NAS_PARAM_WEIGHT, /* float tensor, trained; the attribute is its shape */
    NAS_PARAM_STAT,   /* float tensor, not trained; the attribute is its shape */
    NAS_PARAM_INDEX,  /* int64 tensor; the attribute is its value */
    NAS_PARAM_SCALAR, /* float scalar; the attribute is its value */
} nas_param_kind;

typedef struct {
    const char *suffix; /* of the tensor's name */
    int attr;           /* index of the inner attribute; absent: the operator has no such tensor */
    nas_param_kind kind;
} nas_param_row;

typedef struct nas_node nas_node;

typedef struct {
    const char *name;   /* lower case, for names of nodes */
    const char *onnx;   /* operator of the default domain */
    int min_in, max_in; /* data inputs; max_in 0 with min_in > 0: any number from min_in */
    int n_attrs, n_params;
    nas_attr_row attrs[NAS_ATTRS_MAX];
    nas_param_row params[NAS_PARAMS_MAX];
    /* in: one shape a data input. The sentence names sizes, not the node. */
    nas_status (*shape)(const nas_node *, const nas_shape *const *in, nas_shape *out, nas_err *);
    /* Multiply-accumulates for one image, at most INT64_MAX; NULL: none (cli.md counts Conv and
     * Gemm, no bias). */
    int64_t (*macs)(const nas_node *, const nas_shape *out);
} nas_op;

extern const nas_op nas_ops[NAS_OP_COUNT];

/* Sums and products of counts, none below zero: INT64_MAX stands for all that is larger. */
static inline int64_t nas_plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
static inline int64_t nas_times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* Elements for one image (all dimensions but the batch), INT64_MAX when they are more. */
int64_t nas_shape_elements(const nas_shape *shape);
bool nas_shape_same(const nas_shape *a, const nas_shape *b);
/* "Nx16x32x32" */
const char *nas_shape_print(const nas_shape *shape, char text[96]);

#endif
