#include "forward.h"

#include "onnx/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One operator at work: shapes without the batch count from dim[1]. */
typedef struct {
    const nas_node *node;
    const nas_shape *out, *in[64];
    const float *x[64];
    float *y;
    const float *w[NAS_PARAMS_MAX]; /* parameter tensors */
} work;

static int64_t number(const work *k, int attr, int i, int64_t fallback)
{
    return k->node->attr[attr].n > i ? k->node->attr[attr].v[i] : fallback;
}

static int64_t size_of(const nas_shape *s)
{
    return nas_shape_elements(s);
}

static int64_t dim_of(const nas_shape *s, int i)
{
    return i < s->rank ? s->dim[i] : 1;
}

/* ---- windows ---- */

static void add_row(double *restrict y, const float *restrict x, float w, int64_t from, int64_t to,
                    int64_t stride)
{
    if (stride == 1)
#pragma omp simd
        for (int64_t c = from; c < to; c++)
            y[c] += (double)w * x[c];
    else
        for (int64_t c = from; c < to; c++)
            y[c] += (double)w * x[c * stride];
}

/* One output channel; the innermost loop runs along a row of the output. */
static void conv_channel(const work *k, int64_t oc)
{
    const nas_shape *in = k->in[0], *out = k->out;
    int64_t H = in->dim[2], W = in->dim[3], OH = out->dim[2], OW = out->dim[3];
    const int64_t *dim = k->node->attr[NAS_CONV_WEIGHT].v; /* O, I/group, KH, KW */
    int64_t per = out->dim[1] / number(k, NAS_CONV_GROUP, 0, 1);
    int64_t sh = number(k, NAS_CONV_STRIDES, 0, 1), sw = number(k, NAS_CONV_STRIDES, 1, 1);
    int64_t ph = number(k, NAS_CONV_PADS, 0, 0), pw = number(k, NAS_CONV_PADS, 1, 0);
    int64_t dh = number(k, NAS_CONV_DILATIONS, 0, 1), dw = number(k, NAS_CONV_DILATIONS, 1, 1);
    double *y = nas_zalloc((size_t)(OH * OW), sizeof *y);
    for (int64_t ic = 0; ic < dim[1]; ic++)
        for (int64_t a = 0; a < dim[2]; a++)
            for (int64_t b = 0; b < dim[3]; b++) {
                float w = k->w[0][((oc * dim[1] + ic) * dim[2] + a) * dim[3] + b];
                const float *x = k->x[0] + (oc / per * dim[1] + ic) * H * W;
                int64_t from = 0, to = OW; /* columns that lie within the input */
                while (from < OW && from * sw - pw + b * dw < 0)
                    from++;
                while (to > from && (to - 1) * sw - pw + b * dw >= W)
                    to--;
                for (int64_t r = 0; r < OH; r++) {
                    int64_t row = r * sh - ph + a * dh;
                    if (row >= 0 && row < H)
                        add_row(y + r * OW, x + row * W - pw + b * dw, w, from, to, sw);
                }
            }
    for (int64_t i = 0; i < OH * OW; i++)
        k->y[oc * OH * OW + i] = (float)(y[i] + (k->w[1] ? k->w[1][oc] : 0));
    free(y);
}

static void conv(const work *k)
{
    for (int64_t oc = 0; oc < k->out->dim[1]; oc++)
        conv_channel(k, oc);
}

static void pool(const work *k)
{
    const nas_shape *in = k->in[0], *out = k->out;
    bool average = k->node->op == NAS_OP_AVGPOOL;
    bool padded = average && number(k, NAS_POOL_COUNT_PAD, 0, 0);
    int64_t H = in->dim[2], W = in->dim[3], OH = out->dim[2], OW = out->dim[3];
    int64_t kh = number(k, NAS_POOL_KERNEL, 0, 1), kw = number(k, NAS_POOL_KERNEL, 1, 1);
    int64_t sh = number(k, NAS_POOL_STRIDES, 0, 1), sw = number(k, NAS_POOL_STRIDES, 1, 1);
    int64_t top = number(k, NAS_POOL_PADS, 0, 0), left = number(k, NAS_POOL_PADS, 1, 0);
    int64_t bottom = number(k, NAS_POOL_PADS, 2, 0), right = number(k, NAS_POOL_PADS, 3, 0);
    for (int64_t i = 0; i < size_of(out); i++) {
        int64_t r0 = i / OW % OH * sh - top, c0 = i % OW * sw - left;
        const float *x = k->x[0] + i / (OH * OW) * H * W;
        float sum = 0, most = -INFINITY;
        int64_t inside = 0, within = 0;
        for (int64_t r = r0; r < r0 + kh; r++)
            for (int64_t c = c0; c < c0 + kw; c++) {
                within += r < H + bottom && c < W + right;
                if (r < 0 || r >= H || c < 0 || c >= W)
                    continue;
                inside++;
                sum += x[r * W + c];
                most = fmaxf(most, x[r * W + c]);
            }
        k->y[i] = average ? sum / (float)(padded ? within : inside) : most;
    }
}

static void global_pool(const work *k)
{
    int64_t n = k->in[0]->dim[2] * k->in[0]->dim[3];
    for (int64_t c = 0; c < k->out->dim[1]; c++) {
        double sum = 0;
        float most = -INFINITY;
        for (int64_t i = 0; i < n; i++) {
            sum += k->x[0][c * n + i];
            most = fmaxf(most, k->x[0][c * n + i]);
        }
        k->y[c] = k->node->op == NAS_OP_GLOBALAVGPOOL ? (float)(sum / (double)n) : most;
    }
}

/* ---- elementwise ---- */

static void gemm(const work *k)
{
    bool transposed = number(k, NAS_GEMM_TRANSB, 0, 0) != 0;
    int64_t n = k->in[0]->dim[1], m = k->out->dim[1];
    for (int64_t o = 0; o < m; o++) {
        double sum = k->w[1] ? k->w[1][o] : 0;
        for (int64_t i = 0; i < n; i++)
            sum += (double)k->x[0][i] * k->w[0][transposed ? o * n + i : i * m + o];
        k->y[o] = (float)sum;
    }
}

static void batchnorm(const work *k)
{
    int64_t n = size_of(k->out) / k->out->dim[1];
    for (int64_t i = 0; i < size_of(k->out); i++) {
        int64_t c = i / n;
        k->y[i] = (k->x[0][i] - k->w[2][c]) / sqrtf(k->w[3][c] + k->node->attr[NAS_BN_EPSILON].f) *
                      k->w[0][c] +
                  k->w[1][c];
    }
}

static float activate(const nas_node *node, float x)
{
    const nas_attr *a = node->attr;
    switch (node->op) {
    case NAS_OP_RELU:
        return fmaxf(x, 0);
    case NAS_OP_CLIP:
        return fminf(fmaxf(x, a[NAS_CLIP_MIN].f), a[NAS_CLIP_MAX].f);
    case NAS_OP_HARDSIGMOID:
        return fminf(fmaxf(a[0].f * x + a[1].f, 0), 1);
    case NAS_OP_HARDSWISH:
        return x * fminf(fmaxf(x / 6 + 0.5f, 0), 1);
    case NAS_OP_SIGMOID:
        return 1 / (1 + expf(-x));
    case NAS_OP_TANH:
        return tanhf(x);
    case NAS_OP_ERF:
        return erff(x);
    case NAS_OP_LEAKYRELU:
        return x < 0 ? a[NAS_ALPHA].f * x : x;
    case NAS_OP_ELU:
        return x < 0 ? a[NAS_ALPHA].f * (expf(x) - 1) : x;
    case NAS_OP_SCALE:
        return x * a[NAS_SCALE_VALUE].f;
    default: /* NAS_OP_SHIFT */
        return x + a[NAS_SCALE_VALUE].f;
    }
}

static float combine(int op, float a, float b)
{
    switch (op) {
    case NAS_OP_ADD:
    case NAS_OP_ADDTENSOR:
        return a + b;
    case NAS_OP_SUB:
        return a - b;
    case NAS_OP_DIV:
        return a / b;
    case NAS_OP_PRELU:
        return a < 0 ? a * b : a;
    default:
        return a * b;
    }
}

/* Where element i of `out` lies in a tensor of `rank` last dimensions `dim` broadcast to it. */
static int64_t broadcast_index(const nas_shape *out, int64_t i, const int64_t *dim, int rank)
{
    int64_t at = 0, step = 1;
    for (int d = 0; d < out->rank - 1; d++) {
        int64_t size = out->dim[out->rank - 1 - d], mine = d < rank ? dim[rank - 1 - d] : 1;
        at += mine > 1 ? i % size * step : 0;
        step *= mine;
        i /= size;
    }
    return at;
}

static void binary(const work *k)
{
    bool constant = k->w[0] != NULL;
    const nas_attr *shape = constant ? &k->node->attr[NAS_TENSOR_SHAPE] : NULL;
    for (int64_t i = 0; i < size_of(k->out); i++) {
        int64_t a = broadcast_index(k->out, i, k->in[0]->dim + 1, k->in[0]->rank - 1);
        int64_t b = constant ? broadcast_index(k->out, i, shape->v, shape->n)
                             : broadcast_index(k->out, i, k->in[1]->dim + 1, k->in[1]->rank - 1);
        k->y[i] = combine(k->node->op, k->x[0][a], constant ? k->w[0][b] : k->x[1][b]);
    }
}

static void softmax(const work *k)
{
    int64_t axis = number(k, NAS_SOFTMAX_AXIS, 0, -1), n;
    axis = axis < 0 ? axis + k->out->rank : axis;
    n = k->out->dim[axis];
    int64_t inner = 1;
    for (int i = (int)axis + 1; i < k->out->rank; i++)
        inner *= k->out->dim[i];
    for (int64_t row = 0; row < size_of(k->out) / n; row++) {
        int64_t at = row / inner * n * inner + row % inner;
        float most = -INFINITY, sum = 0;
        for (int64_t i = 0; i < n; i++)
            most = fmaxf(most, k->x[0][at + i * inner]);
        for (int64_t i = 0; i < n; i++)
            sum += k->y[at + i * inner] = expf(k->x[0][at + i * inner] - most);
        for (int64_t i = 0; i < n; i++)
            k->y[at + i * inner] /= sum;
    }
}

static void lrn(const work *k)
{
    int64_t size = number(k, NAS_LRN_SIZE, 0, 1), C = k->out->dim[1];
    int64_t n = size_of(k->out) / C;
    const nas_attr *a = k->node->attr;
    for (int64_t i = 0; i < size_of(k->out); i++) {
        float sum = 0;
        for (int64_t c = i / n - (size - 1) / 2; c <= i / n + size / 2; c++)
            if (c >= 0 && c < C)
                sum += k->x[0][c * n + i % n] * k->x[0][c * n + i % n];
        k->y[i] = k->x[0][i] / powf(a[NAS_LRN_BIAS].f + a[NAS_LRN_ALPHA].f / (float)size * sum,
                                    a[NAS_LRN_BETA].f);
    }
}

/* ---- moving data: every output element has one source ---- */

static void concat(const work *k)
{
    int64_t axis = number(k, NAS_CONCAT_AXIS, 0, 1), inner = 1, at = 0;
    axis = axis < 0 ? axis + k->out->rank : axis;
    for (int i = (int)axis + 1; i < k->out->rank; i++)
        inner *= k->out->dim[i];
    int64_t row = inner * k->out->dim[axis];
    for (int i = 0; i < k->node->n_in; i++) {
        int64_t part = inner * k->in[i]->dim[axis];
        for (int64_t j = 0; j < size_of(k->in[i]); j++)
            k->y[j / part * row + at + j % part] = k->x[i][j];
        at += part;
    }
}

/* Coordinates of element i, without the batch. */
static void coordinates(const nas_shape *s, int64_t i, int64_t at[NAS_RANK_MAX])
{
    at[0] = 0;
    for (int d = s->rank; d-- > 1; i /= s->dim[d])
        at[d] = i % s->dim[d];
}

static int64_t index_at(const nas_shape *s, const int64_t at[NAS_RANK_MAX])
{
    int64_t i = 0;
    for (int d = 1; d < s->rank; d++)
        i = i * s->dim[d] + at[d];
    return i;
}

static void move_data(const work *k)
{
    const nas_attr *a = k->node->attr;
    const nas_shape *in = k->in[0];
    for (int64_t i = 0; i < size_of(k->out); i++) {
        int64_t to[NAS_RANK_MAX], from[NAS_RANK_MAX];
        bool inside = true;
        coordinates(k->out, i, to);
        memcpy(from, to, sizeof to);
        if (k->node->op == NAS_OP_TRANSPOSE)
            for (int d = 1; d < in->rank; d++)
                from[a[NAS_TRANSPOSE_PERM].v[d]] = to[d];
        if (k->node->op == NAS_OP_PAD)
            for (int d = 1; d < in->rank; d++) {
                from[d] = to[d] - a[NAS_PAD_PADS].v[d];
                inside &= from[d] >= 0 && from[d] < in->dim[d];
            }
        for (int j = 0; k->node->op == NAS_OP_SLICE && j < a[NAS_SLICE_AXES].n; j++) {
            int64_t start = a[NAS_SLICE_STARTS].v[j], axis = a[NAS_SLICE_AXES].v[j];
            from[axis] += start < 0 ? start + dim_of(in, (int)axis) : start;
        }
        k->y[i] = inside ? k->x[0][index_at(in, from)] : 0;
    }
}

static void run(const work *k)
{
    switch (k->node->op) {
    case NAS_OP_CONV:
        conv(k);
        break;
    case NAS_OP_GEMM:
        gemm(k);
        break;
    case NAS_OP_BATCHNORM:
        batchnorm(k);
        break;
    case NAS_OP_MAXPOOL:
    case NAS_OP_AVGPOOL:
        pool(k);
        break;
    case NAS_OP_GLOBALAVGPOOL:
    case NAS_OP_GLOBALMAXPOOL:
        global_pool(k);
        break;
    case NAS_OP_ADD:
    case NAS_OP_MUL:
    case NAS_OP_SUB:
    case NAS_OP_DIV:
    case NAS_OP_ADDTENSOR:
    case NAS_OP_MULTENSOR:
    case NAS_OP_PRELU:
        binary(k);
        break;
    case NAS_OP_CONCAT:
        concat(k);
        break;
    case NAS_OP_SOFTMAX:
        softmax(k);
        break;
    case NAS_OP_LRN:
        lrn(k);
        break;
    case NAS_OP_FLATTEN:
    case NAS_OP_RESHAPE:
        memcpy(k->y, k->x[0], (size_t)size_of(k->out) * sizeof *k->y);
        break;
    case NAS_OP_SLICE:
    case NAS_OP_TRANSPOSE:
    case NAS_OP_PAD:
        move_data(k);
        break;
    default:
        for (int64_t i = 0; i < size_of(k->out); i++)
            k->y[i] = activate(k->node, k->x[0][i]);
    }
}

static void run_node(const nas_graph *flat, int id, nas_weights weights, uint64_t seed,
                     float **value)
{
    const nas_fn *main = &flat->fn[0];
    const nas_node *node = &main->node[id];
    nas_bytes data[NAS_PARAMS_MAX] = {{0}};
    nas_tensor tensor;
    work k = {.node = node, .out = &node->shape, .y = value[id]};
    for (int i = 0; i < node->n_in && i < 64; i++) {
        k.in[i] = &main->node[node->in[i]].shape;
        k.x[i] = value[node->in[i]];
    }
    for (int p = 0; p < nas_ops[node->op].n_params; p++)
        if (nas_tensor_of(node, p, &tensor) && nas_tensor_trained(&tensor)) {
            nas_weights_put(flat, id, p, weights, seed, &data[p]);
            k.w[p] = (const float *)(const void *)data[p].data;
        }
    run(&k);
    for (int p = 0; p < NAS_PARAMS_MAX; p++)
        nas_bytes_clear(&data[p]);
}

float *forward_run(const nas_graph *flat, nas_weights weights, uint64_t seed, const float *input)
{
    const nas_fn *main = &flat->fn[0];
    float **value = nas_zalloc(main->n_node, sizeof *value);
    for (int id = 0; id < (int)main->n_node; id++) {
        size_t n = (size_t)size_of(&main->node[id].shape);
        value[id] = nas_zalloc(n, sizeof **value);
        if (id < main->n_in) {
            memcpy(value[id], input, n * sizeof *input);
            input += n;
        } else {
            run_node(flat, id, weights, seed, value);
        }
    }
    float *out = value[main->out];
    for (int id = 0; id < (int)main->n_node; id++)
        if (id != main->out)
            free(value[id]);
    free(value);
    return out;
}
