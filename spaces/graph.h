/* What does a network compute? A graph of operators with functions: each distinct block is written
 * once and called where it is used. `nas_graph_flat` inlines the calls and infers every shape;
 * cost, binary ONNX and graph networks read that. The `compact` text prints the functions as they
 * are.
 *
 *     nas_graph *g = nas_graph_new("net");
 *     int x = nas_graph_input(g, &shape);
 *     nas_body cell;
 *     if (nas_graph_function(g, "cell", 1, formals, 1, false, &cell))
 *         nas_body_return(cell, nas_body_op(cell, NAS_OP_RELU, &(int){0}, 1, NULL));
 *     int y = nas_body_call(nas_graph_main(g), "cell", &x, 1, (int64_t[]){16});
 *     nas_body_return(nas_graph_main(g), y);
 *     const nas_graph *flat = nas_graph_flat(g, &err);
 *
 * Every node has one output, which has the node's id; inputs have smaller ids, so ids are a
 * topological order. Nodes 0 .. n_in-1 of a function are its inputs. A function's attributes are
 * integers; bodies use them as channel counts and groups (NAS_FORMAL). */
#ifndef NAS_GRAPH_H
#define NAS_GRAPH_H

#include "spaces/base/mem.h"
#include "spaces/op.h"

struct nas_node {
    uint16_t op; /* nas_op_id */
    uint16_t fn; /* NAS_OP_CALL: the called function */
    int n_in;    /* data inputs */
    uint16_t
        n_attr;    /* as the operator's row; a call: as the function's formals, one integer each */
    bool formals;  /* attributes name those of the function (NAS_FORMAL) */
    int scope;     /* flat graphs: the call that the node came from, -1 in main */
    const int *in; /* [n_in] node ids */
    const nas_attr *attr; /* [n_attr] */
    nas_shape shape;      /* inputs of main; every node of a flat graph */
};

typedef struct {
    const char *name;
    bool prelude; /* the body follows from the name alone: the surrogate need not read it */
    int n_in;     /* nodes 0 .. n_in-1 are inputs */
    int n_formal;
    const char *const *formal; /* [n_formal] names of the attributes */
    nas_node *node;            /* [n_node] */
    size_t n_node, cap;
    size_t n_flat; /* nodes when all calls are inlined, inputs included */
    int out;       /* id of the output node; -1 until nas_body_return */
} nas_fn;

typedef struct {
    const char *name; /* of the called function */
    int parent;       /* enclosing call or -1 */
} nas_scope;

struct nas_graph {
    nas_arena *arena;
    const char *name;
    nas_fn *fn; /* [n_fn], fn[0] is main */
    size_t n_fn, fn_cap;
    nas_scope *scope; /* flat graphs: every inlined call */
    size_t n_scope, scope_cap;
    struct nas_graph *flat; /* cache of nas_graph_flat */
};
typedef struct nas_graph nas_graph;

/* A function under construction. */
typedef struct {
    nas_graph *graph;
    int fn;
} nas_body;

nas_graph *nas_graph_new(const char *name);
void nas_graph_free(nas_graph *graph);
nas_body nas_graph_main(nas_graph *graph);
int nas_graph_input(nas_graph *graph, const nas_shape *shape);

/* Starts the function of that name and returns true, or returns false when it is there already. */
bool nas_graph_function(nas_graph *graph, const char *name, int n_in, const char *const *formal,
                        int n_formal, bool prelude, nas_body *body);
int nas_graph_find(const nas_graph *graph, const char *name); /* -1: no such function */

/* Each returns the id of the new node. attr is copied with its lists; NULL where the row has none.
 */
int nas_body_op(nas_body body, nas_op_id op, const int *in, int n_in, const nas_attr *attr);
/* The function must be complete. arg: one integer a formal. */
int nas_body_call(nas_body body, const char *function, const int *in, int n_in, const int64_t *arg);
void nas_body_return(nas_body body, int out);

/* The graph with every call inlined (depth first, in order) and all shapes known; it belongs to
 * graph and stays valid as long. NULL with a sentence naming the node when shapes do not fit. */
const nas_graph *nas_graph_flat(nas_graph *graph, nas_err *err);

/* The shape of the output, found without inlining: each distinct call is looked at once. Fails as
 * nas_graph_flat does. */
nas_status nas_graph_output(nas_graph *graph, nas_shape *shape, nas_err *err);

/* The name of a flat graph's node: operator and id, as "conv12"; main inputs are "x" or "x0", … */
const char *nas_node_name(const nas_graph *flat, int id, char text[32]);
/* A Conv whose kernel is 1 along every axis. */
bool nas_conv_pointwise(const nas_node *conv);

#endif
