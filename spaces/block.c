#include "spaces/block.h"

#include <assert.h>
#include <stdio.h>

static const char *const ACT_NAME[NAS_ACT_COUNT] = {"",      "relu",     "relu6",  "hswish",
                                                    "swish", "hsigmoid", "sigmoid"};

static nas_attr ints(int n, const int64_t *v)
{
    return (nas_attr){.n = n, .v = v};
}

static nas_attr real(float f)
{
    return (nas_attr){.f = f};
}

static const nas_attr ABSENT = {.n = -1};

static int plain(nas_body body, nas_op_id op, int x)
{
    return nas_body_op(body, op, &x, 1, NULL);
}

int nas_block_add(nas_body body, int a, int b)
{
    return nas_body_op(body, NAS_OP_ADD, (int[]){a, b}, 2, NULL);
}

int nas_block_mul(nas_body body, int a, int b)
{
    return nas_body_op(body, NAS_OP_MUL, (int[]){a, b}, 2, NULL);
}

int nas_block_flatten(nas_body body, int x)
{
    return nas_body_op(body, NAS_OP_FLATTEN, &x, 1, (nas_attr[]){ints(1, (int64_t[]){1})});
}

int nas_block_scale(nas_body body, int x, float value)
{
    return nas_body_op(body, NAS_OP_SCALE, &x, 1, (nas_attr[]){real(value)});
}

int nas_block_concat(nas_body body, const int *in, int n)
{
    return n == 1 ? in[0]
                  : nas_body_op(body, NAS_OP_CONCAT, in, n, (nas_attr[]){ints(1, (int64_t[]){1})});
}

int nas_block_sum(nas_body body, const int *terms, int n)
{
    assert(n > 0);
    int sum = terms[0];
    for (int i = 1; i < n; i++)
        sum = nas_block_add(body, sum, terms[i]);
    return sum;
}

int nas_block_act(nas_body body, int x, nas_act act)
{
    switch (act) {
    case NAS_ACT_RELU:
        return plain(body, NAS_OP_RELU, x);
    case NAS_ACT_RELU6:
        return nas_body_op(body, NAS_OP_CLIP, &x, 1, (nas_attr[]){real(0), real(6)});
    case NAS_ACT_HSWISH:
        return plain(body, NAS_OP_HARDSWISH, x);
    case NAS_ACT_HSIGMOID:
        return nas_body_op(body, NAS_OP_HARDSIGMOID, &x, 1,
                           (nas_attr[]){real(1.0f / 6), real(0.5f)});
    case NAS_ACT_SIGMOID:
        return plain(body, NAS_OP_SIGMOID, x);
    case NAS_ACT_SWISH:
        return nas_block_mul(body, x, plain(body, NAS_OP_SIGMOID, x));
    default:
        return x;
    }
}

static int batchnorm(nas_body body, int x, int64_t channels, float epsilon)
{
    return nas_body_op(body, NAS_OP_BATCHNORM, &x, 1,
                       (nas_attr[]){real(epsilon), ints(1, &channels)});
}

/* ---- convolution ---- */

static void conv_name(const nas_conv *c, char name[64])
{
    char kernel[16], stride[16] = "", dilation[8] = "", group[8] = "";
    if (c->kw == c->k)
        snprintf(kernel, sizeof kernel, "%d", c->k);
    else
        snprintf(kernel, sizeof kernel, "%dx%d", c->k, c->kw);
    if (c->s != c->sw)
        snprintf(stride, sizeof stride, "s%dx%d", c->s, c->sw);
    else if (c->s != 1)
        snprintf(stride, sizeof stride, "s%d", c->s);
    if (c->dilation != 1)
        snprintf(dilation, sizeof dilation, "d%d", c->dilation);
    if (c->group == NAS_DEPTHWISE)
        snprintf(group, sizeof group, "dw");
    else if (c->group != 1)
        snprintf(group, sizeof group, "g%d", c->group);
    snprintf(name, 64, "%s%s%sconv%s%s%s%s%s%s%s%s", ACT_NAME[c->pre], c->pre ? "_" : "", group,
             kernel, stride, dilation, c->bias ? "_bias" : "", c->bn ? "_bn" : "",
             c->eps3 ? "3" : "", c->act ? "_" : "", ACT_NAME[c->act]);
}

/* formals: i, o; depthwise: o alone, under the name c. */
static void conv_body(nas_body body, const nas_conv *c)
{
    bool depthwise = c->group == NAS_DEPTHWISE;
    int64_t out = NAS_FORMAL(depthwise ? 0 : 1), in = depthwise ? 1 : NAS_FORMAL(0);
    int64_t group = depthwise ? out : c->group;
    int64_t ph = (int64_t)(c->k - 1) / 2 * c->dilation, pw = (int64_t)(c->kw - 1) / 2 * c->dilation;
    const nas_attr attr[] = {
        [NAS_CONV_KERNEL] = ints(2, (int64_t[]){c->k, c->kw}),
        [NAS_CONV_STRIDES] = ints(2, (int64_t[]){c->s, c->sw}),
        [NAS_CONV_PADS] = ints(4, (int64_t[]){ph, pw, ph, pw}),
        [NAS_CONV_DILATIONS] = ints(2, (int64_t[]){c->dilation, c->dilation}),
        [NAS_CONV_GROUP] = ints(1, &group),
        [NAS_CONV_WEIGHT] = ints(4, (int64_t[]){out, in, c->k, c->kw}),
        [NAS_CONV_BIAS] = c->bias ? ints(1, &out) : ABSENT,
    };
    int x = nas_block_act(body, 0, c->pre);
    x = nas_body_op(body, NAS_OP_CONV, &x, 1, attr);
    if (c->bn)
        x = batchnorm(body, x, out, c->eps3 ? 1e-3f : 1e-5f);
    nas_body_return(body, nas_block_act(body, x, c->act));
}

int nas_block_conv(nas_body body, int x, nas_conv c)
{
    c.kw = c.kw ? c.kw : c.k;
    c.s = c.s ? c.s : 1;
    c.sw = c.sw ? c.sw : c.s;
    c.dilation = c.dilation ? c.dilation : 1;
    c.group = c.group ? c.group : 1;
    bool depthwise = c.group == NAS_DEPTHWISE;
    char name[64];
    conv_name(&c, name);
    static const char *const dense[] = {"i", "o"}, *const single[] = {"c"};
    nas_body own;
    if (nas_graph_function(body.graph, name, 1, depthwise ? single : dense, depthwise ? 1 : 2, true,
                           &own))
        conv_body(own, &c);
    const int64_t arg[] = {depthwise ? c.o : c.i, c.o};
    return nas_body_call(body, name, &x, 1, arg);
}

/* ---- mobile blocks ---- */

int nas_block_squeeze(nas_body body, int x, int64_t channels, int64_t squeeze, nas_act act,
                      nas_act gate)
{
    char name[48];
    snprintf(name, sizeof name, "se_%s_%s", ACT_NAME[act], ACT_NAME[gate]);
    nas_body own;
    if (nas_graph_function(body.graph, name, 1, (const char *const[]){"c", "q"}, 2, true, &own)) {
        const int64_t c = NAS_FORMAL(0), q = NAS_FORMAL(1);
        int y = plain(own, NAS_OP_GLOBALAVGPOOL, 0);
        y = nas_block_conv(own, y, (nas_conv){.i = c, .o = q, .k = 1, .bias = true, .act = act});
        y = nas_block_conv(own, y, (nas_conv){.i = q, .o = c, .k = 1, .bias = true, .act = gate});
        nas_body_return(own, nas_block_mul(own, 0, y));
    }
    return nas_body_call(body, name, &x, 1, (int64_t[]){channels, squeeze});
}

/* The maps stay as they are in memory: (H, W) become dimensions (W, H) of the reshaped tensor,
 * which only says that their product is kept, so no size of a map is needed. */
int nas_block_shuffle(nas_body body, int x, int64_t channels, int64_t each, int group)
{
    char name[32];
    snprintf(name, sizeof name, "shuffle%d", group);
    nas_body own;
    if (nas_graph_function(body.graph, name, 1, (const char *const[]){"c", "h"}, 2, true, &own)) {
        const int64_t split[] = {0, group, NAS_FORMAL(1), 0, -1},
                      join[] = {0, NAS_FORMAL(0), -1, 0};
        int y = nas_body_op(own, NAS_OP_RESHAPE, (int[]){0}, 1, (nas_attr[]){ints(5, split)});
        y = nas_body_op(own, NAS_OP_TRANSPOSE, &y, 1,
                        (nas_attr[]){ints(5, (int64_t[]){0, 2, 1, 3, 4})});
        nas_body_return(own, nas_body_op(own, NAS_OP_RESHAPE, &y, 1, (nas_attr[]){ints(4, join)}));
    }
    return nas_body_call(body, name, &x, 1, (int64_t[]){channels, each});
}

int64_t nas_channels(int64_t n)
{
    int64_t c = n < 12 ? 8 : (n + 4) / 8 * 8;
    return 10 * c < 9 * n ? c + 8 : c;
}

static bool mbconv_adds(const nas_mbconv *b)
{
    return b->s == 1 && b->i == b->o;
}

static void mbconv_name(const nas_mbconv *b, char name[48])
{
    char stride[16] = "", group[16] = "";
    if (b->s != 1)
        snprintf(stride, sizeof stride, "s%d", b->s);
    if (b->group != 1)
        snprintf(group, sizeof group, "g%d", b->group);
    snprintf(name, 48, "%s%d%s%s%s_%s%s%s", b->e ? "mb" : "sep", b->k, stride, group,
             b->squeeze ? "_se" : "", ACT_NAME[b->act], b->eps3 ? "_bn3" : "",
             mbconv_adds(b) ? "_add" : "");
}

/* The block on node 0 of body; channel counts are formals, each: channels of a group. */
static int mbconv_body(nas_body body, const nas_mbconv *b, int64_t each, bool adds)
{
    int64_t e = b->e ? b->e : b->i;
    bool grouped = b->group > 1, swish = b->act == NAS_ACT_SWISH;
    nas_conv point = {.k = 1, .group = b->group, .bn = true, .eps3 = b->eps3}, expand = point;
    int y = 0;
    expand.i = grouped ? each : b->i;
    expand.o = e;
    expand.act = b->act;
    if (b->e)
        y = nas_block_conv(body, y, expand);
    if (grouped)
        y = nas_block_shuffle(body, y, e, each, b->group);
    y = nas_block_conv(body, y,
                       (nas_conv){.o = e,
                                  .k = b->k,
                                  .s = b->s,
                                  .group = NAS_DEPTHWISE,
                                  .bn = true,
                                  .eps3 = b->eps3,
                                  .act = b->act});
    if (b->squeeze)
        y = nas_block_squeeze(body, y, e, b->squeeze, swish ? NAS_ACT_SWISH : NAS_ACT_RELU,
                              swish ? NAS_ACT_SIGMOID : NAS_ACT_HSIGMOID);
    point.i = grouped ? each : e;
    point.o = b->o;
    y = nas_block_conv(body, y, point);
    return adds ? nas_block_add(body, 0, y) : y;
}

/* Attributes of a call and the formals that stand for them in the body. */
typedef struct {
    const char *name[8];
    int64_t arg[8];
    int n;
} formals;

static int64_t bind(formals *f, const char *name, int64_t arg)
{
    f->name[f->n] = name;
    f->arg[f->n] = arg;
    return NAS_FORMAL(f->n++);
}

int nas_block_mbconv(nas_body body, int x, nas_mbconv b)
{
    b.s = b.s ? b.s : 1;
    b.group = b.group ? b.group : 1;
    assert(b.group == 1 || b.e == b.i);
    char name[48];
    mbconv_name(&b, name);
    bool adds = mbconv_adds(&b);
    formals f = {.n = 0};
    nas_mbconv inner = b;
    int64_t each = 0;
    inner.i = bind(&f, adds ? "c" : "i", b.i);
    if (b.group > 1)
        each = bind(&f, "h", b.i / b.group);
    if (b.e)
        inner.e = b.group > 1 ? inner.i : bind(&f, "e", b.e);
    if (b.squeeze)
        inner.squeeze = bind(&f, "q", b.squeeze);
    inner.o = adds ? inner.i : bind(&f, "o", b.o);
    nas_body own;
    if (nas_graph_function(body.graph, name, 1, f.name, f.n, true, &own))
        nas_body_return(own, mbconv_body(own, &inner, each, adds));
    return nas_body_call(body, name, &x, 1, f.arg);
}

/* ---- the rest ---- */

int nas_block_pool(nas_body body, int x, nas_pool p)
{
    bool average = p.op == NAS_OP_AVGPOOL;
    int64_t k = p.k, s = p.s ? p.s : 1, pad = p.pad;
    char name[48], stride[16] = "", pads[16] = "";
    if (s != 1)
        snprintf(stride, sizeof stride, "s%d", (int)s);
    if (pad != (k - 1) / 2)
        snprintf(pads, sizeof pads, "p%d", (int)pad);
    snprintf(name, sizeof name, "%s%d%s%s%s%s", nas_ops[p.op].name, p.k, stride, pads,
             p.count_pad ? "_pad" : "", p.ceil ? "_ceil" : "");
    nas_body own;
    if (nas_graph_function(body.graph, name, 1, NULL, 0, true, &own)) {
        const nas_attr attr[] = {
            [NAS_POOL_KERNEL] = ints(2, (int64_t[]){k, k}),
            [NAS_POOL_STRIDES] = ints(2, (int64_t[]){s, s}),
            [NAS_POOL_PADS] = ints(4, (int64_t[]){pad, pad, pad, pad}),
            [NAS_POOL_CEIL] = p.ceil ? ints(1, (int64_t[]){1}) : ABSENT,
            [NAS_POOL_COUNT_PAD] = average ? ints(1, (int64_t[]){p.count_pad}) : ABSENT,
        };
        nas_body_return(own, nas_body_op(own, p.op, (int[]){0}, 1, attr));
    }
    return nas_body_call(body, name, &x, 1, NULL);
}

int nas_block_bn(nas_body body, int x, int64_t channels, nas_act act)
{
    char name[32];
    snprintf(name, sizeof name, "bn%s%s", act ? "_" : "", ACT_NAME[act]);
    nas_body own;
    if (nas_graph_function(body.graph, name, 1, (const char *const[]){"c"}, 1, true, &own))
        nas_body_return(own, nas_block_act(own, batchnorm(own, 0, NAS_FORMAL(0), 1e-5f), act));
    return nas_body_call(body, name, &x, 1, &channels);
}

int nas_block_linear(nas_body body, int x, int64_t i, int64_t o)
{
    const nas_attr attr[] = {
        [NAS_GEMM_TRANSB] = ints(1, (int64_t[]){1}),
        [NAS_GEMM_WEIGHT] = ints(2, (int64_t[]){o, i}),
        [NAS_GEMM_BIAS] = ints(1, &o),
    };
    return nas_body_op(body, NAS_OP_GEMM, &x, 1, attr);
}

int nas_block_head(nas_body body, int x, int64_t i, int64_t o)
{
    nas_body own;
    if (nas_graph_function(body.graph, "head", 1, (const char *const[]){"i", "o"}, 2, true, &own)) {
        int pooled = plain(own, NAS_OP_GLOBALAVGPOOL, 0);
        int flat = nas_block_flatten(own, pooled);
        nas_body_return(own, nas_block_linear(own, flat, NAS_FORMAL(0), NAS_FORMAL(1)));
    }
    return nas_body_call(body, "head", &x, 1, (int64_t[]){i, o});
}

int nas_block_residual(nas_body body, int x, int64_t i, int64_t o)
{
    nas_body own;
    if (nas_graph_function(body.graph, "residual", 1, (const char *const[]){"i", "o"}, 2, true,
                           &own)) {
        const int64_t in = NAS_FORMAL(0), out = NAS_FORMAL(1);
        int a = nas_block_conv(
            own, 0, (nas_conv){.i = in, .o = out, .k = 3, .s = 2, .pre = NAS_ACT_RELU, .bn = true});
        a = nas_block_conv(own, a,
                           (nas_conv){.i = out, .o = out, .k = 3, .pre = NAS_ACT_RELU, .bn = true});
        int b = nas_block_pool(own, 0, (nas_pool){.op = NAS_OP_AVGPOOL, .k = 2, .s = 2});
        b = nas_block_conv(own, b, (nas_conv){.i = in, .o = out, .k = 1});
        nas_body_return(own, nas_block_add(own, a, b));
    }
    return nas_body_call(body, "residual", &x, 1, (int64_t[]){i, o});
}

int nas_block_factorized(nas_body body, int x, int64_t i, int64_t h, int64_t o)
{
    static const char NAME[] = "factorized_reduce";
    nas_body own;
    if (nas_graph_function(body.graph, NAME, 1, (const char *const[]){"i", "h", "o"}, 3, true,
                           &own)) {
        const nas_attr moved[] = {{.n = 2, .v = (int64_t[]){1, 1}},
                                  {.n = 2, .v = (int64_t[]){INT64_MAX, INT64_MAX}},
                                  {.n = 2, .v = (int64_t[]){2, 3}}};
        nas_conv half = {.i = NAS_FORMAL(0), .o = NAS_FORMAL(1), .k = 1, .s = 2};
        int a = nas_block_act(own, 0, NAS_ACT_RELU);
        int b = nas_body_op(own, NAS_OP_SLICE, &a, 1, moved);
        int both[] = {nas_block_conv(own, a, half), nas_block_conv(own, b, half)};
        a = nas_block_concat(own, both, 2);
        nas_body_return(own, nas_block_bn(own, a, NAS_FORMAL(2), NAS_ACT_NONE));
    }
    return nas_body_call(body, NAME, &x, 1, (int64_t[]){i, h, o});
}
