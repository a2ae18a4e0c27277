/* Constants: their shapes, and their values where those are few (sizes, axes, bounds). Large ones
 * are weights, whose values nothing here needs. */
#include "onnx/lift.h"

#include <math.h>
#include <string.h>

bool nas_type_real(int type)
{
    return type == NAS_TYPE_FLOAT || type == NAS_TYPE_DOUBLE || type == NAS_TYPE_FLOAT16 ||
           type == NAS_TYPE_BFLOAT16;
}

int64_t nas_value_count(const nas_value *value)
{
    int64_t n = 1;
    for (int i = 0; i < value->rank; i++) {
        if (value->dim[i] && n > NAS_MOST_VALUES / value->dim[i])
            return NAS_MOST_VALUES;
        n *= value->dim[i];
    }
    return n;
}

static void make_room(nas_arena *arena, nas_value *value)
{
    value->i = nas_arena_get(arena, (size_t)nas_value_count(value) * sizeof *value->i);
}

nas_status nas_step_give(nas_step *s, int type, int rank, const int64_t *dim, bool known)
{
    nas_value *v = &s->out[0];
    if (rank > NAS_VALUE_RANK)
        return nas_step_fault(s, "a constant of %d dimensions is not covered", rank);
    *v = (nas_value){.node = -1, .type = type, .rank = rank};
    for (int i = 0; i < rank; i++) {
        if (dim[i] < 0)
            return nas_step_fault(s, "dimension %d of the constant is %lld", i, (long long)dim[i]);
        v->dim[i] = dim[i];
    }
    if (nas_value_count(v) >= NAS_MOST_VALUES)
        return nas_step_fault(s, "the constant has too many values");
    v->known = known && nas_value_count(v) <= NAS_VALUE_KNOWN;
    if (v->known)
        make_room(nas_step_arena(s), v);
    return NAS_OK;
}

/* ---- tensors of files ---- */

static size_t element_bytes(int type)
{
    switch (type) {
    case NAS_TYPE_FLOAT:
    case NAS_TYPE_INT32:
        return 4;
    case NAS_TYPE_INT64:
    case NAS_TYPE_DOUBLE:
        return 8;
    case NAS_TYPE_FLOAT16:
    case NAS_TYPE_BFLOAT16:
        return 2;
    case NAS_TYPE_BOOL:
        return 1;
    default:
        return 0;
    }
}

/* Values in the typed fields; float16 and the small integers live in int32_data. */
static size_t typed_count(const Onnx__TensorProto *t)
{
    switch (t->data_type) {
    case NAS_TYPE_FLOAT:
        return t->n_float_data;
    case NAS_TYPE_DOUBLE:
        return t->n_double_data;
    case NAS_TYPE_INT64:
        return t->n_int64_data;
    default:
        return t->n_int32_data;
    }
}

static void read_element(const Onnx__TensorProto *t, size_t i, nas_value *value)
{
    const uint8_t *raw = t->has_raw_data && t->raw_data.len ? t->raw_data.data : NULL;
    float f;
    int32_t n;
    switch (t->data_type) {
    case NAS_TYPE_FLOAT:
        memcpy(&f, raw ? (const void *)(raw + 4 * i) : &t->float_data[i], sizeof f);
        value->f[i] = f;
        break;
    case NAS_TYPE_DOUBLE:
        memcpy(&value->f[i], raw ? (const void *)(raw + 8 * i) : &t->double_data[i], 8);
        break;
    case NAS_TYPE_INT64:
        memcpy(&value->i[i], raw ? (const void *)(raw + 8 * i) : &t->int64_data[i], 8);
        break;
    case NAS_TYPE_INT32:
        memcpy(&n, raw ? (const void *)(raw + 4 * i) : &t->int32_data[i], sizeof n);
        value->i[i] = n;
        break;
    default: /* NAS_TYPE_BOOL */
        value->i[i] = raw ? raw[i] : t->int32_data[i];
    }
}

nas_status nas_value_of(nas_arena *arena, const Onnx__TensorProto *t, nas_value *value,
                        nas_err *err)
{
    size_t width = element_bytes(t->data_type);
    *value = (nas_value){.node = -1, .type = t->data_type, .rank = (int)t->n_dims};
    if (!width)
        return nas_fail(err, NAS_FAILED, "elements of type %d are not covered", t->data_type);
    if (t->n_dims > NAS_VALUE_RANK)
        return nas_fail(err, NAS_FAILED, "%zu dimensions are not covered", t->n_dims);
    for (size_t i = 0; i < t->n_dims; i++) {
        if (t->dims[i] < 0)
            return nas_fail(err, NAS_FAILED, "dimension %zu is %lld", i, (long long)t->dims[i]);
        value->dim[i] = t->dims[i];
    }
    int64_t n = nas_value_count(value);
    if (n >= NAS_MOST_VALUES)
        return nas_fail(err, NAS_FAILED, "the tensor has too many values");
    if (t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        return NAS_OK;
    bool raw = t->has_raw_data && t->raw_data.len;
    size_t have = raw ? t->raw_data.len / width : typed_count(t);
    if (have != (size_t)n || (raw && t->raw_data.len % width))
        return nas_fail(err, NAS_FAILED, "its shape asks for %lld values, %zu are there",
                        (long long)n, have);
    value->known = n <= NAS_VALUE_KNOWN && width > 0 && t->data_type != NAS_TYPE_FLOAT16 &&
                   t->data_type != NAS_TYPE_BFLOAT16;
    if (value->known)
        make_room(arena, value);
    for (int64_t i = 0; value->known && i < n; i++)
        read_element(t, (size_t)i, value);
    return NAS_OK;
}

/* ---- operators on constants ---- */

static nas_status fold_constant(nas_step *s)
{
    const Onnx__AttributeProto *a;
    nas_err own = {0};
    if ((a = nas_step_attribute(s, "value")) && a->t) {
        if (nas_value_of(nas_step_arena(s), a->t, &s->out[0], &own) != NAS_OK)
            return nas_step_fault(s, "%s", own.text);
        return NAS_OK;
    }
    nas_status status = NAS_OK;
    if ((a = nas_step_attribute(s, "value_int"))) {
        status = nas_step_give(s, NAS_TYPE_INT64, 0, NULL, true);
        s->out[0].i[0] = a->i;
    } else if ((a = nas_step_attribute(s, "value_float"))) {
        status = nas_step_give(s, NAS_TYPE_FLOAT, 0, NULL, true);
        s->out[0].f[0] = a->f;
    } else if ((a = nas_step_attribute(s, "value_ints"))) {
        status = nas_step_give(s, NAS_TYPE_INT64, 1, (int64_t[]){(int64_t)a->n_ints}, true);
        for (size_t i = 0; s->out[0].known && i < a->n_ints; i++)
            s->out[0].i[i] = a->ints[i];
    } else if ((a = nas_step_attribute(s, "value_floats"))) {
        status = nas_step_give(s, NAS_TYPE_FLOAT, 1, (int64_t[]){(int64_t)a->n_floats}, true);
        for (size_t i = 0; s->out[0].known && i < a->n_floats; i++)
            s->out[0].f[i] = (double)a->floats[i];
    } else {
        return nas_step_fault(s, "the constant has no value that is covered");
    }
    return status;
}

/* Elementwise without values: the type and shape of the input. */
static nas_status fold_same(nas_step *s)
{
    const nas_value *v;
    if (!nas_step_constant(s, 0, -1, &v))
        return NAS_FAILED;
    return nas_step_give(s, v->type, v->rank, v->dim, false);
}

static nas_status fold_pass(nas_step *s)
{
    return nas_step_pass(s, 0);
}

static nas_status fold_cast(nas_step *s)
{
    const nas_value *v;
    int64_t to;
    if (!nas_step_int(s, "to", 0, &to) || !nas_step_constant(s, 0, -1, &v))
        return NAS_FAILED;
    if (to < 1 || to > 16)
        return nas_step_fault(s, "elements of type %lld are not covered", (long long)to);
    bool real = nas_type_real((int)to), was = nas_type_real(v->type);
    nas_status status = nas_step_give(s, (int)to, v->rank, v->dim, v->known);
    nas_value *o = &s->out[0];
    for (int64_t i = 0; status == NAS_OK && o->known && i < nas_value_count(o); i++)
        if (real && was)
            o->f[i] = v->f[i];
        else if (real)
            o->f[i] = (double)v->i[i];
        else if (!was)
            o->i[i] = v->i[i];
        else if (fabs(v->f[i]) < 1e18)
            o->i[i] = (int64_t)v->f[i];
        else
            o->known = false;
    return status;
}

/* The shape of two operands broadcast against each other. */
static bool broadcast(nas_step *s, int rank_a, const int64_t *a, int rank_b, const int64_t *b,
                      int64_t out[NAS_VALUE_RANK])
{
    int rank = rank_a > rank_b ? rank_a : rank_b;
    for (int i = 0; i < rank; i++) {
        int ia = i - (rank - rank_a), ib = i - (rank - rank_b);
        int64_t p = ia < 0 ? 1 : a[ia], q = ib < 0 ? 1 : b[ib];
        if (p != q && p != 1 && q != 1)
            return nas_step_fault(s, "%lld and %lld values do not go together", (long long)p,
                                  (long long)q) == NAS_OK;
        out[i] = p == 1 ? q : p;
    }
    return true;
}

static double compute_real(char op, double a, double b)
{
    return op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
}

/* False: not a number that a size could be. */
static bool compute_int(char op, int64_t a, int64_t b, int64_t *out)
{
    const int64_t most = INT64_C(1) << 31;
    if (a < -most || a > most || b < -most || b > most || (op == '/' && b == 0))
        return false;
    *out = op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
    return true;
}

static nas_status fold_binary(nas_step *s, char op)
{
    const nas_value *a, *b;
    int64_t dim[NAS_VALUE_RANK];
    if (!nas_step_constant(s, 0, -1, &a) || !nas_step_constant(s, 1, -1, &b) ||
        !broadcast(s, a->rank, a->dim, b->rank, b->dim, dim))
        return NAS_FAILED;
    if (nas_type_real(a->type) != nas_type_real(b->type))
        return nas_step_fault(s, "the operands have elements of type %d and %d", a->type, b->type);
    int64_t na = nas_value_count(a), nb = nas_value_count(b);
    bool known = a->known && b->known && (na == nb || na == 1 || nb == 1);
    nas_status status =
        nas_step_give(s, a->type, a->rank > b->rank ? a->rank : b->rank, dim, known);
    nas_value *o = &s->out[0];
    for (int64_t i = 0; status == NAS_OK && o->known && i < nas_value_count(o); i++) {
        int64_t ia = na == 1 ? 0 : i, ib = nb == 1 ? 0 : i;
        if (ia >= na || ib >= nb)
            o->known = false; /* [n,1] with [1,n] */
        else if (nas_type_real(a->type))
            o->f[i] = compute_real(op, a->f[ia], b->f[ib]);
        else
            o->known = compute_int(op, a->i[ia], b->i[ib], &o->i[i]);
    }
    return status;
}

static nas_status fold_add(nas_step *s)
{
    return fold_binary(s, '+');
}

static nas_status fold_sub(nas_step *s)
{
    return fold_binary(s, '-');
}

static nas_status fold_mul(nas_step *s)
{
    return fold_binary(s, '*');
}

static nas_status fold_div(nas_step *s)
{
    return fold_binary(s, '/');
}

/* Over all dimensions, as the generators of weights and flattening code use it. */
static nas_status fold_product(nas_step *s)
{
    const nas_value *v;
    int64_t keep;
    static const int64_t ones[NAS_VALUE_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (!nas_step_constant(s, 0, -1, &v) || !nas_step_int(s, "keepdims", 1, &keep))
        return NAS_FAILED;
    if (nas_step_attribute(s, "axes") || nas_type_real(v->type))
        return nas_step_fault(s, "only products of all integers are covered");
    nas_status status = nas_step_give(s, v->type, keep ? v->rank : 0, ones, v->known);
    nas_value *o = &s->out[0];
    if (status == NAS_OK && o->known)
        o->i[0] = 1;
    for (int64_t i = 0; status == NAS_OK && o->known && i < nas_value_count(v); i++)
        o->known = compute_int('*', o->i[0], v->i[i], &o->i[0]);
    return status;
}

static nas_status fold_range(nas_step *s)
{
    const nas_value *v[3];
    for (int i = 0; i < 3; i++) {
        if (!nas_step_constant(s, i, 0, &v[i]))
            return NAS_FAILED;
        if (!v[i]->known || nas_type_real(v[i]->type))
            return nas_step_fault(s, "the bounds of the range are not known integers");
    }
    int64_t from = v[0]->i[0], to = v[1]->i[0], step = v[2]->i[0], span;
    if (step < 1 || step > INT32_MAX || !compute_int('-', to, from, &span))
        return nas_step_fault(s, "the range is not covered");
    int64_t n = span <= 0 ? 0 : (span + step - 1) / step;
    nas_status status = nas_step_give(s, v[0]->type, 1, &n, true);
    for (int64_t i = 0; status == NAS_OK && s->out[0].known && i < n; i++)
        s->out[0].i[i] = from + i * step;
    return status;
}

static nas_status fold_fill(nas_step *s)
{
    nas_attr shape;
    nas_value fill = {.node = -1, .type = NAS_TYPE_FLOAT, .known = true, .f = (double[]){0}};
    nas_err own = {0};
    const Onnx__AttributeProto *a = nas_step_attribute(s, "value");
    if (!nas_step_list(s, 0, "", &shape))
        return NAS_FAILED;
    if (a && a->t && nas_value_of(nas_step_arena(s), a->t, &fill, &own) != NAS_OK)
        return nas_step_fault(s, "%s", own.text);
    if (shape.n < 0 || shape.n > NAS_VALUE_RANK)
        return nas_step_fault(s, "the shape is not known");
    nas_status status =
        nas_step_give(s, fill.type, shape.n, shape.v, fill.known && nas_value_count(&fill) == 1);
    nas_value *o = &s->out[0];
    for (int64_t i = 0; status == NAS_OK && o->known && i < nas_value_count(o); i++)
        o->i[i] = fill.i[0]; /* floats have the same size */
    return status;
}

static nas_status fold_expand(nas_step *s)
{
    const nas_value *v;
    nas_attr shape;
    int64_t dim[NAS_VALUE_RANK];
    if (!nas_step_constant(s, 0, -1, &v) || !nas_step_list(s, 1, "", &shape))
        return NAS_FAILED;
    if (shape.n < 0 || shape.n > NAS_VALUE_RANK ||
        !broadcast(s, v->rank, v->dim, shape.n, shape.v, dim))
        return nas_step_fault(s, "the shape is not known");
    return nas_step_give(s, v->type, v->rank > shape.n ? v->rank : shape.n, dim, false);
}

static nas_status fold_reshape(nas_step *s)
{
    const nas_value *v;
    nas_attr to;
    int64_t dim[NAS_VALUE_RANK], known = 1;
    int open = -1;
    if (!nas_step_constant(s, 0, -1, &v) || !nas_step_list(s, 1, "shape", &to))
        return NAS_FAILED;
    if (to.n < 0 || to.n > NAS_VALUE_RANK)
        return nas_step_fault(s, "the new shape is not known");
    for (int i = 0; i < to.n; i++) {
        dim[i] = to.v[i] == 0 && i < v->rank ? v->dim[i] : to.v[i];
        if (dim[i] == -1 && open < 0)
            open = i;
        else if (dim[i] < 1 || known > NAS_MOST_VALUES / dim[i])
            return nas_step_fault(s, "dimension %d of the new shape is %lld", i,
                                  (long long)to.v[i]);
        known *= open == i ? 1 : dim[i];
    }
    int64_t n = nas_value_count(v);
    if (open >= 0)
        dim[open] = n / known;
    if (open >= 0 ? n % known != 0 : n != known)
        return nas_step_fault(s, "%lld values do not fill the new shape", (long long)n);
    nas_value old = *v;
    nas_status status = nas_step_give(s, old.type, to.n, dim, false);
    s->out[0].known = old.known; /* the values stay as they are */
    s->out[0].i = old.i;
    return status;
}

static nas_status fold_concat(nas_step *s)
{
    const nas_value *v;
    int64_t n = 0, at = 0;
    for (int i = 0; i < s->n_in; i++) {
        if (!nas_step_constant(s, i, 1, &v))
            return NAS_FAILED;
        if (!v->known || nas_type_real(v->type))
            return nas_step_fault(s, "only known integers are joined");
        n += v->dim[0];
    }
    if (n > NAS_VALUE_KNOWN || s->n_in == 0)
        return nas_step_fault(s, "%lld values are not covered", (long long)n);
    nas_status status = nas_step_give(s, NAS_TYPE_INT64, 1, &n, true);
    for (int i = 0; status == NAS_OK && i < s->n_in; i++)
        for (int64_t k = 0; k < s->in[i]->dim[0]; k++)
            s->out[0].i[at++] = s->in[i]->i[k];
    return status;
}

static int64_t clamped(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* The rows first, first + step, … below (step < 0: above) last; how many there are. */
static int64_t count_rows(int64_t n, int64_t *first, int64_t last, int64_t step)
{
    *first = clamped(*first < 0 && *first >= -n ? *first + n : *first, 0, n - (step < 0));
    last = clamped(last < 0 && last >= -n ? last + n : last, step < 0 ? -1 : 0, n);
    int64_t span = step < 0 ? *first - last : last - *first;
    int64_t size = step < 0 ? -step : step;
    return n > 0 && span > 0 ? (span + size - 1) / size : 0;
}

/* Of rows: the first dimension. */
static nas_status fold_slice(nas_step *s)
{
    const nas_value *v;
    nas_attr starts, ends, axes, steps;
    if (!nas_step_constant(s, 0, -1, &v) || !nas_step_list(s, 1, "starts", &starts) ||
        !nas_step_list(s, 2, "ends", &ends) || !nas_step_list(s, 3, "axes", &axes) ||
        !nas_step_list(s, 4, "", &steps))
        return NAS_FAILED;
    int64_t step = steps.n == 1 ? steps.v[0] : 1;
    if (v->rank < 1 || starts.n != 1 || ends.n != 1 || (axes.n > 0 && axes.v[0] != 0) ||
        step == 0 || step > NAS_VALUE_KNOWN || step < -NAS_VALUE_KNOWN)
        return nas_step_fault(s, "only slices of the first dimension are covered");
    int64_t dim[NAS_VALUE_RANK], first = starts.v[0];
    memcpy(dim, v->dim, sizeof dim);
    dim[0] = count_rows(v->dim[0], &first, ends.v[0], step);
    nas_status status = nas_step_give(s, v->type, v->rank, dim, v->known);
    int64_t row = v->dim[0] ? nas_value_count(v) / v->dim[0] : 0;
    for (int64_t i = 0; status == NAS_OK && s->out[0].known && i < dim[0] * row; i++)
        s->out[0].i[i] = v->i[(first + i / row * step) * row + i % row];
    return status;
}

/* Of a list, by a number or a list of them. */
static nas_status fold_gather(nas_step *s)
{
    const nas_value *v, *index;
    int64_t axis;
    if (!nas_step_constant(s, 0, 1, &v) || !nas_step_constant(s, 1, -1, &index) ||
        !nas_step_int(s, "axis", 0, &axis))
        return NAS_FAILED;
    if (!v->known || !index->known || nas_type_real(index->type))
        return nas_step_fault(s, "the values are not known");
    nas_status status = nas_step_give(s, v->type, index->rank, index->dim, true);
    for (int64_t i = 0; status == NAS_OK && i < nas_value_count(index); i++) {
        int64_t at = index->i[i] < 0 ? index->i[i] + v->dim[0] : index->i[i];
        if (at < 0 || at >= v->dim[0])
            return nas_step_fault(s, "value %lld of %lld is asked for", (long long)index->i[i],
                                  (long long)v->dim[0]);
        s->out[0].i[i] = v->i[at];
    }
    return status;
}

/* Scalars to lists and back: the values stay, the shape is of at most one dimension. */
static nas_status fold_list(nas_step *s)
{
    const nas_value *v;
    bool more = s->node->op_type[0] == 'U'; /* Unsqueeze */
    if (!nas_step_constant(s, 0, more ? 0 : 1, &v))
        return NAS_FAILED;
    if (!more && v->dim[0] != 1)
        return nas_step_fault(s, "a list of %lld values is no scalar", (long long)v->dim[0]);
    nas_value old = *v;
    nas_status status = nas_step_give(s, old.type, more, (int64_t[]){1}, false);
    s->out[0].known = old.known;
    s->out[0].i = old.i;
    return status;
}

static nas_status fold_transpose(nas_step *s)
{
    const nas_value *v;
    nas_attr perm;
    int64_t dim[NAS_VALUE_RANK];
    if (!nas_step_constant(s, 0, -1, &v) || !nas_step_ints(s, "perm", &perm))
        return NAS_FAILED;
    if (perm.n >= 0 && perm.n != v->rank)
        return nas_step_fault(s, "perm has %d values for %d dimensions", perm.n, v->rank);
    for (int i = 0; i < v->rank; i++) {
        int64_t from = perm.n >= 0 ? perm.v[i] : v->rank - 1 - i;
        if (from < 0 || from >= v->rank)
            return nas_step_fault(s, "perm names dimension %lld", (long long)from);
        dim[i] = v->dim[from];
    }
    nas_status status = nas_step_give(s, v->type, v->rank, dim, v->known && v->rank == 2);
    bool turned = perm.n < 0 || perm.v[0] == 1;
    for (int64_t i = 0; status == NAS_OK && s->out[0].known && i < nas_value_count(v); i++)
        s->out[0].i[i] = v->i[turned ? i % dim[1] * dim[0] + i / dim[1] : i];
    return status;
}

const nas_handler nas_lift_constants[] = {
    {"Constant", fold_constant},
    {"ConstantOfShape", fold_fill},
    {"Identity", fold_pass},
    {"Cast", fold_cast},
    {"Add", fold_add},
    {"Sub", fold_sub},
    {"Mul", fold_mul},
    {"Div", fold_div},
    {"Sqrt", fold_same},
    {"Mod", fold_same},
    {"Sin", fold_same},
    {"Cos", fold_same},
    {"Exp", fold_same},
    {"Abs", fold_same},
    {"Neg", fold_same},
    {"Floor", fold_same},
    {"ReduceProd", fold_product},
    {"Range", fold_range},
    {"Expand", fold_expand},
    {"Reshape", fold_reshape},
    {"Concat", fold_concat},
    {"Slice", fold_slice},
    {"Gather", fold_gather},
    {"Unsqueeze", fold_list},
    {"Squeeze", fold_list},
    {"Transpose", fold_transpose},
    {NULL, NULL},
};
