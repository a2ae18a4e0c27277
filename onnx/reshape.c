/* Operators that move data without computing, and the shapes of data as constants. */
#include "onnx/lift.h"

#include <string.h>

/* An axis of data, negative ones from the end; the batch is none. */
static bool find_axis(nas_step *s, int64_t axis, int rank, int *found)
{
    *found = (int)(axis < 0 ? axis + rank : axis);
    return (axis >= -rank && axis < rank) ||
           nas_step_fault(s, "axis %lld is not one of %d dimensions", (long long)axis, rank) ==
               NAS_OK;
}

static nas_status lift_concat(nas_step *s)
{
    int *in = nas_arena_get(nas_step_arena(s), (size_t)s->n_in * sizeof *in);
    int64_t axis;
    if (!nas_step_int(s, "axis", 1, &axis))
        return NAS_FAILED;
    for (int i = 0; i < s->n_in; i++)
        if (!nas_step_data(s, i, &in[i]))
            return NAS_FAILED;
    if (s->n_in == 1)
        return nas_step_pass(s, 0);
    return nas_step_emit(s, NAS_OP_CONCAT, in, s->n_in, (nas_attr[]){{.n = 1, .v = &axis}});
}

static nas_status lift_flatten(nas_step *s)
{
    int x;
    int64_t axis;
    if (!nas_step_data(s, 0, &x) || !nas_step_int(s, "axis", 1, &axis))
        return NAS_FAILED;
    return nas_step_emit(s, NAS_OP_FLATTEN, &x, 1, (nas_attr[]){{.n = 1, .v = &axis}});
}

static nas_status emit_reshape(nas_step *s, int x, const int64_t *dim, int rank)
{
    return nas_step_emit(s, NAS_OP_RESHAPE, &x, 1, (nas_attr[]){{.n = rank, .v = dim}});
}

static nas_status lift_reshape(nas_step *s)
{
    int x;
    nas_attr to;
    int64_t dim[NAS_RANK_MAX], keep;
    if (!nas_step_data(s, 0, &x) || !nas_step_list(s, 1, "shape", &to) ||
        !nas_step_int(s, "allowzero", 0, &keep))
        return NAS_FAILED;
    if (to.n < 1 || to.n > NAS_RANK_MAX || keep)
        return nas_step_fault(s, "the new shape is not known");
    for (int i = 0; i < to.n; i++) {
        if (to.v[i] == NAS_BATCH && i > 0)
            return nas_step_fault(s, "the batch may only be the first dimension");
        dim[i] = to.v[i] == NAS_BATCH ? 0 : to.v[i];
    }
    return emit_reshape(s, x, dim, to.n);
}

/* Axes as bits: of attribute or input, relative to rank dimensions. */
static bool find_axes(nas_step *s, int rank, unsigned *bits)
{
    nas_attr axes;
    int axis;
    *bits = 0;
    if (!nas_step_list(s, 1, "axes", &axes))
        return false;
    for (int i = 0; i < axes.n; i++) {
        if (!find_axis(s, axes.v[i], rank, &axis))
            return false;
        *bits |= 1u << axis;
    }
    return true;
}

static nas_status lift_squeeze(nas_step *s)
{
    int x, n = 0;
    unsigned drop;
    int64_t dim[NAS_RANK_MAX];
    if (!nas_step_data(s, 0, &x))
        return NAS_FAILED;
    const nas_shape *shape = nas_step_shape(s, x);
    if (!find_axes(s, shape->rank, &drop))
        return NAS_FAILED;
    for (int i = 0; i < shape->rank; i++) {
        if (drop ? !(drop >> i & 1) : (i == 0 || shape->dim[i] != 1))
            dim[n++] = i ? shape->dim[i] : 0;
        else if (i == 0 || shape->dim[i] != 1)
            return nas_step_fault(s, "dimension %d does not have size 1", i);
    }
    return emit_reshape(s, x, dim, n);
}

static nas_status lift_unsqueeze(nas_step *s)
{
    int x, from = 0;
    unsigned add;
    int64_t dim[NAS_RANK_MAX];
    nas_attr axes;
    if (!nas_step_data(s, 0, &x) || !nas_step_list(s, 1, "axes", &axes))
        return NAS_FAILED;
    const nas_shape *shape = nas_step_shape(s, x);
    int rank = shape->rank + (axes.n > 0 ? axes.n : 0);
    if (rank > NAS_RANK_MAX)
        return nas_step_fault(s, "%d dimensions are not covered", rank);
    if (!find_axes(s, rank, &add))
        return NAS_FAILED;
    for (int i = 0; i < rank; i++)
        if (add >> i & 1)
            dim[i] = 1;
        else if (from < shape->rank)
            dim[i] = i ? shape->dim[from++] : from++;
        else
            return nas_step_fault(s, "an axis is given twice");
    return emit_reshape(s, x, dim, rank);
}

static nas_status lift_transpose(nas_step *s)
{
    int x;
    nas_attr perm;
    if (!nas_step_data(s, 0, &x) || !nas_step_ints(s, "perm", &perm))
        return NAS_FAILED;
    return nas_step_emit(s, NAS_OP_TRANSPOSE, &x, 1, &perm);
}

static nas_status lift_slice(nas_step *s)
{
    int x, axis;
    nas_attr attr[3], steps;
    if (!nas_step_data(s, 0, &x) || !nas_step_list(s, 1, "starts", &attr[NAS_SLICE_STARTS]) ||
        !nas_step_list(s, 2, "ends", &attr[NAS_SLICE_ENDS]) ||
        !nas_step_list(s, 3, "axes", &attr[NAS_SLICE_AXES]) || !nas_step_list(s, 4, "", &steps))
        return NAS_FAILED;
    for (int i = 0; i < steps.n; i++)
        if (steps.v[i] != 1)
            return nas_step_fault(s, "steps of %lld are not covered", (long long)steps.v[i]);
    int rank = nas_step_shape(s, x)->rank, n = attr[NAS_SLICE_AXES].n;
    int64_t *axes = nas_arena_get(nas_step_arena(s), (size_t)(n > rank ? n : rank) * sizeof *axes);
    for (int i = 0; i < n; i++) {
        if (!find_axis(s, attr[NAS_SLICE_AXES].v[i], rank, &axis))
            return NAS_FAILED;
        axes[i] = axis;
    }
    for (int i = 0; n < 0 && i < rank; i++)
        axes[i] = i;
    attr[NAS_SLICE_AXES] = (nas_attr){.n = n < 0 ? attr[NAS_SLICE_STARTS].n : n, .v = axes};
    if (attr[NAS_SLICE_AXES].n > rank)
        return nas_step_fault(s, "%d axes are sliced of %d", attr[NAS_SLICE_AXES].n, rank);
    return nas_step_emit(s, NAS_OP_SLICE, &x, 1, attr);
}

/* Each part is a slice. */
static nas_status lift_split(nas_step *s)
{
    int x, axis;
    int64_t given, from = 0;
    nas_attr parts;
    if (!nas_step_data(s, 0, &x) || !nas_step_list(s, 1, "split", &parts) ||
        !nas_step_int(s, "axis", 0, &given))
        return NAS_FAILED;
    nas_shape shape = *nas_step_shape(s, x);
    if (!find_axis(s, given, shape.rank, &axis))
        return NAS_FAILED;
    if (s->n_out < 1 || (parts.n >= 0 ? parts.n != s->n_out : shape.dim[axis] % s->n_out != 0))
        return nas_step_fault(s, "%lld values do not split into %d parts",
                              (long long)shape.dim[axis], s->n_out);
    nas_value *out = s->out;
    for (int i = 0; i < s->n_out; i++) {
        int64_t size = parts.n >= 0 ? parts.v[i] : shape.dim[axis] / s->n_out;
        if (size < 1 || size > shape.dim[axis] - from)
            return nas_step_fault(s, "part %d has %lld of %lld values", i, (long long)size,
                                  (long long)shape.dim[axis]);
        int64_t to = from + size, at = axis;
        nas_value first = out[0];
        if (nas_step_emit(
                s, NAS_OP_SLICE, &x, 1,
                (nas_attr[]){{.n = 1, .v = &from}, {.n = 1, .v = &to}, {.n = 1, .v = &at}}))
            return NAS_FAILED;
        out[i] = out[0];
        if (i > 0)
            out[0] = first;
        from = to;
    }
    return NAS_OK;
}

static nas_status lift_pad(nas_step *s)
{
    int x;
    nas_attr pads;
    const nas_value *fill;
    const Onnx__AttributeProto *mode = nas_step_attribute(s, "mode");
    if (!nas_step_data(s, 0, &x) || !nas_step_list(s, 1, "pads", &pads))
        return NAS_FAILED;
    if (mode && (mode->s.len != 8 || memcmp(mode->s.data, "constant", 8)))
        return nas_step_fault(s, "only padding with a constant is covered");
    if (nas_step_has(s, 2)) {
        if (!nas_step_constant(s, 2, -1, &fill))
            return NAS_FAILED;
        if (!fill->known || !nas_type_real(fill->type) || nas_value_count(fill) != 1 || fill->f[0])
            return nas_step_fault(s, "only padding with zero is covered");
    }
    bool any = false;
    for (int i = 0; i < pads.n; i++)
        any |= pads.v[i] != 0;
    return any || pads.n < 0 ? nas_step_emit(s, NAS_OP_PAD, &x, 1, &pads) : nas_step_pass(s, 0);
}

/* The mean over height and width is a global pool. */
static nas_status lift_mean(nas_step *s)
{
    int x;
    unsigned axes;
    int64_t keep;
    if (!nas_step_data(s, 0, &x) || !nas_step_int(s, "keepdims", 1, &keep))
        return NAS_FAILED;
    int rank = nas_step_shape(s, x)->rank;
    if (!find_axes(s, rank, &axes))
        return NAS_FAILED;
    if (rank != 4 || axes != 12)
        return nas_step_fault(s, "only means over height and width of an image are covered");
    int64_t channels = nas_step_shape(s, x)->dim[1];
    nas_status status = nas_step_emit(s, NAS_OP_GLOBALAVGPOOL, &x, 1, NULL);
    if (status == NAS_OK && !keep)
        status = emit_reshape(s, s->out[0].node, (int64_t[]){0, channels}, 2);
    return status;
}

/* The shape of data as a list, the batch as NAS_BATCH. */
static nas_status lift_shape(nas_step *s)
{
    int x;
    int64_t from, to;
    if (!nas_step_data(s, 0, &x) || !nas_step_int(s, "start", 0, &from))
        return NAS_FAILED;
    const nas_shape *shape = nas_step_shape(s, x);
    if (!nas_step_int(s, "end", shape->rank, &to))
        return NAS_FAILED;
    from = from < 0 ? from + shape->rank : from;
    to = to < 0 ? to + shape->rank : to > shape->rank ? shape->rank : to;
    if (from < 0 || from > to)
        return nas_step_fault(s, "dimensions %lld to %lld do not exist", (long long)from,
                              (long long)to);
    nas_status status = nas_step_give(s, NAS_TYPE_INT64, 1, (int64_t[]){to - from}, true);
    for (int64_t i = from; status == NAS_OK && i < to; i++)
        s->out[0].i[i - from] = i == 0 && shape->dim[0] == 0 ? NAS_BATCH : shape->dim[i];
    return status;
}

const nas_handler nas_lift_shapes[] = {
    {"Concat", lift_concat},   {"Flatten", lift_flatten},     {"Reshape", lift_reshape},
    {"Squeeze", lift_squeeze}, {"Unsqueeze", lift_unsqueeze}, {"Transpose", lift_transpose},
    {"Slice", lift_slice},     {"Split", lift_split},         {"Pad", lift_pad},
    {"ReduceMean", lift_mean}, {"Shape", lift_shape},         {NULL, NULL},
};
