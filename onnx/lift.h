/* How does a model become a graph? Its nodes are run in order on values that are either data, which
 * become nodes of the graph, or constants, of which shapes matter and, where they are few, values.
 *
 * A handler reads the inputs and attributes of one step and gives its outputs:
 *
 *     static nas_status lift_relu(nas_step *s)
 *     {
 *         int x;
 *         return nas_step_data(s, 0, &x) ? nas_step_emit(s, NAS_OP_RELU, &x, 1, NULL) : NAS_FAILED;
 *     }
 *
 * Calls of model-local functions are run in place: that is how they are expanded. */
#ifndef NAS_ONNX_LIFT_H
#define NAS_ONNX_LIFT_H

#include "onnx/model.h"

enum { NAS_VALUE_RANK = 8, NAS_VALUE_KNOWN = 64 };
/* In the values of a shape: the symbolic batch. */
#define NAS_BATCH       (INT64_MIN + 1000)
#define NAS_MOST_VALUES (INT64_C(1) << 40)

typedef enum {
    NAS_TYPE_FLOAT = 1,
    NAS_TYPE_INT32 = 6,
    NAS_TYPE_INT64 = 7,
    NAS_TYPE_BOOL = 9,
    NAS_TYPE_FLOAT16 = 10,
    NAS_TYPE_DOUBLE = 11,
    NAS_TYPE_BFLOAT16 = 16,
} nas_type; /* those of TensorProto that the reader tells apart */

typedef struct {
    int node; /* of the graph; -1: a constant */
    int type; /* of TensorProto */
    int rank;
    int64_t dim[NAS_VALUE_RANK]; /* of a constant */
    bool known;                  /* the values of a constant, at most NAS_VALUE_KNOWN */
    union {
        int64_t *i; /* integers */
        double *f;  /* floats */
    };
} nas_value;

typedef struct nas_lifter nas_lifter;
typedef struct nas_scope_map nas_scope_map;

typedef struct {
    nas_lifter *lifter;
    const Onnx__NodeProto *node;
    const nas_scope_map *scope; /* names and attributes of the function around */
    const nas_value **in;       /* [n_in]; NULL: left out */
    int n_in;
    nas_value *out; /* [n_out] cleared; what has node -1 and type 0 afterwards does not exist */
    int n_out;
} nas_step;

typedef struct {
    const char *name;
    nas_status (*lift)(nas_step *);
} nas_handler;

/* Three tables, each ending with a NULL: operators on data, changes of shape, constants. The
 * handler of a name is the first that is found; those of constants only when no input is data. */
extern const nas_handler nas_lift_operators[], nas_lift_shapes[], nas_lift_constants[];

/* ---- for handlers ---- */

/* Reports "node 'n' (Conv of 'x'): …"; returns NAS_FAILED. */
__attribute__((format(printf, 2, 3))) nas_status nas_step_fault(nas_step *s, const char *format,
                                                                ...);
nas_arena *nas_step_arena(nas_step *s);
int64_t nas_step_opset(const nas_step *s);
const char *nas_step_input_name(const nas_step *s, int i);

/* The attribute of the node, through the reference of a function; NULL: absent. */
const Onnx__AttributeProto *nas_step_attribute(const nas_step *s, const char *name);
/* Each reports an attribute of another type and returns false; absent gives the fallback. */
bool nas_step_int(nas_step *s, const char *name, int64_t fallback, int64_t *value);
bool nas_step_float(nas_step *s, const char *name, float fallback, float *value);
/* Absent: n is -1. */
bool nas_step_ints(nas_step *s, const char *name, nas_attr *value);

static inline bool nas_step_has(const nas_step *s, int i)
{
    return i < s->n_in && s->in[i];
}
/* Input i as data: its node. Reports what is missing or constant. */
bool nas_step_data(nas_step *s, int i, int *node);
/* Input i as a constant of that rank (-1: any). */
bool nas_step_constant(nas_step *s, int i, int rank, const nas_value **value);
/* A list of integers: attribute `name`, or else input i; absent in both: n is -1. */
bool nas_step_list(nas_step *s, int i, const char *name, nas_attr *list);
const nas_shape *nas_step_shape(const nas_step *s, int node);

/* Adds a node whose value is output 0 and finds its shape. */
nas_status nas_step_emit(nas_step *s, nas_op_id op, const int *in, int n_in, const nas_attr *attr);
/* Output 0 is input i itself. */
nas_status nas_step_pass(nas_step *s, int i);
/* Output 0 as a constant; values may be filled afterwards when it is known. */
nas_status nas_step_give(nas_step *s, int type, int rank, const int64_t *dim, bool known);

bool nas_type_real(int type);
int64_t nas_value_count(const nas_value *value);
/* The value of a constant tensor of a file. */
nas_status nas_value_of(nas_arena *arena, const Onnx__TensorProto *tensor, nas_value *value,
                        nas_err *err);

#endif
