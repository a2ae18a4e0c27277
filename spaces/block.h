/* What are networks made of? The blocks that all spaces share, each a function of the graph that is
 * made when it is first used. Its name says all that its body holds, so bodies form the prelude.
 *
 *     int a = nas_block_conv(body, x, (nas_conv){.i = 3, .o = 16, .k = 3, .bn = true});
 *     int b = nas_block_pool(body, a, (nas_pool){NAS_OP_MAXPOOL, .k = 3, .s = 2, .pad = 1});
 *     int y = nas_block_head(body, b, 16, 10);
 *
 * Channel counts may be NAS_FORMAL(k) inside a function; kernels, strides and groups are part of
 * the name: relu_conv3s2_bn, dwconv5_bn_hswish, conv1x7_bn_relu6, g2conv1_bn, avgpool3. */
#ifndef NAS_BLOCK_H
#define NAS_BLOCK_H

#include "spaces/graph.h"

typedef enum {
    NAS_ACT_NONE,
    NAS_ACT_RELU,
    NAS_ACT_RELU6,
    NAS_ACT_HSWISH,
    NAS_ACT_SWISH,
    NAS_ACT_HSIGMOID,
    NAS_ACT_SIGMOID,
    NAS_ACT_COUNT
} nas_act;

enum { NAS_DEPTHWISE = -1 };

typedef struct {
    int64_t i, o; /* channels read (a group: of one group) and written; depthwise: o only */
    int k, kw;    /* kernel height and width; kw 0: square */
    int s, sw;    /* strides; 0: 1, sw 0: same as s */
    int dilation; /* 0: 1 */
    int group;    /* 0: 1, NAS_DEPTHWISE, or a number */
    bool bias, bn;
    bool eps3; /* batch norm epsilon 1e-3 instead of 1e-5 */
    nas_act pre, act;
} nas_conv;

/* [activation] convolution [batch norm] [activation]; pads (k - 1) / 2 * dilation on every side. */
int nas_block_conv(nas_body body, int x, nas_conv conv);

typedef struct {
    nas_op_id op; /* NAS_OP_MAXPOOL or NAS_OP_AVGPOOL */
    int k, s;     /* s 0: 1 */
    int pad;      /* on every side */
    bool count_pad, ceil;
} nas_pool;

int nas_block_pool(nas_body body, int x, nas_pool pool);

/* Batch norm and activation without a convolution: bn_relu. */
int nas_block_bn(nas_body body, int x, int64_t channels, nas_act act);

/* Global average pool and a linear layer with bias: head <i, o>. */
int nas_block_head(nas_body body, int x, int64_t i, int64_t o);

/* Plain operators. */
int nas_block_act(nas_body body, int x, nas_act act); /* NAS_ACT_NONE: x itself */
int nas_block_add(nas_body body, int a, int b);
int nas_block_mul(nas_body body, int a, int b);
int nas_block_scale(nas_body body, int x, float value);
int nas_block_concat(nas_body body, const int *in, int n); /* channels; one input: itself */
/* Linear layer with bias on N x i. */
int nas_block_linear(nas_body body, int x, int64_t i, int64_t o);
/* The sum of n terms from left to right; one term: itself. n > 0. */
int nas_block_sum(nas_body body, const int *terms, int n);

#endif
