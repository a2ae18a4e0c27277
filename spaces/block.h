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

/* Squeeze-excite: x times a gate per channel from its mean, through `squeeze` channels; both 1x1
 * convolutions have a bias. se_relu_hsigmoid <c, q>. */
int nas_block_squeeze(nas_body body, int x, int64_t channels, int64_t squeeze, nas_act act,
                      nas_act gate);

/* Channels in `group` groups of `each`: the first of every group, the second of every group, … */
int nas_block_shuffle(nas_body body, int x, int64_t channels, int64_t each, int group);

/* Inverted residual block (MobileNetV2): [1x1 to e, act] depthwise k x k, act [squeeze-excite]
 * 1x1 to o; adds x when stride and width keep the shape. Squeeze-excite is that of MobileNetV3
 * (ReLU inside, hard sigmoid gate), with swish that of EfficientNet (swish inside, sigmoid gate).
 * With groups, both 1x1 are grouped, channels are shuffled before the depthwise, and e = i. Names:
 * mb5s2_se_hswish <i, e, q, o>, mb3_relu_add <c, e>, mb3g2_relu <i, h, o>, sep3_relu_add <c>. */
typedef struct {
    int64_t i, e, o; /* channels read, inside (0: no 1x1 before the depthwise, e = i), written */
    int64_t squeeze; /* channels inside squeeze-excite; 0: none */
    int k, s;        /* of the depthwise convolution; s 0: 1 */
    int group;       /* of the 1x1 convolutions; 0: 1 */
    bool eps3;
    nas_act act;
} nas_mbconv;

int nas_block_mbconv(nas_body body, int x, nas_mbconv block);

/* The multiple of 8 nearest to n, at least 8 and at least 0.9 n: mobile networks' channel counts.
 */
int64_t nas_channels(int64_t n);

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

/* The block between stages of NAS-Bench-201 and NATS-Bench: two convolutions, the first with stride
 * 2, plus the pooled and projected input: residual <i, o>. */
int nas_block_residual(nas_body body, int x, int64_t i, int64_t o);

/* Halves the map: two strided 1x1 convolutions of h = o / 2 channels, the second on the map moved
 * by one pixel, side by side: factorized_reduce <i, h, o>. */
int nas_block_factorized(nas_body body, int x, int64_t i, int64_t h, int64_t o);

/* Plain operators. */
int nas_block_act(nas_body body, int x, nas_act act); /* NAS_ACT_NONE: x itself */
int nas_block_add(nas_body body, int a, int b);
int nas_block_flatten(nas_body body, int x); /* all dimensions but the batch */
int nas_block_mul(nas_body body, int a, int b);
int nas_block_scale(nas_body body, int x, float value);
int nas_block_concat(nas_body body, const int *in, int n); /* channels; one input: itself */
/* Linear layer with bias on N x i. */
int nas_block_linear(nas_body body, int x, int64_t i, int64_t o);
/* The sum of n terms from left to right; one term: itself. n > 0. */
int nas_block_sum(nas_body body, const int *terms, int n);

#endif
