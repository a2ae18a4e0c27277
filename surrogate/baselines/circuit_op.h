/* What is inside a circuit? Shared by the program (circuit.c) and its operations (circuit_op.c). */
#ifndef NAS_BASELINES_CIRCUIT_OP_H
#define NAS_BASELINES_CIRCUIT_OP_H

#include "surrogate/baselines/circuit.h"
#include "surrogate/kernel.h"

#ifdef __GNUC__
/* The loops over columns become vector code. */
#pragma GCC optimize("O3")
#endif

/* Code for wide vectors beside the plain one, chosen when the program starts; the results are the
 * same. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__)
#define FAST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FAST
#endif

enum { CIRCUIT_VALUES = 700, CIRCUIT_OPS = 600 };

typedef struct {
    size_t at; /* floats before it: among the weights, or among the rows of one architecture */
    int per;   /* rows an architecture, at most where list is not 0; 0: fixed */
    nas_rows_of list;
    int rows; /* fixed rows */
    int cols;
    int still;   /* the first columns, through which no gradient flows back */
    bool weight; /* a parameter */
    bool fixed;  /* a parameter that is not trained */
    nas_init init;
    double scale;
    int root;               /* the value whose memory it overwrites, itself else */
    size_t near_x, near_dx; /* as at, where memory is reused: predictions, and gradients */
} circuit_value;

typedef struct circuit_op circuit_op;
struct circuit_op {
    void (*forward)(nas_work *, const circuit_op *);
    void (*backward)(nas_work *, const circuit_op *);
    int out, a, b, c, d; /* values; -1: none */
    float p, q;          /* scales, probability */
    int kind;            /* mix, or a flag */
    bool may_relu, relu; /* the operation can make negative results 0 itself, and does */
    size_t scratch;      /* offset of the operation's own floats, scratch_per an architecture */
    size_t scratch_fixed;
};

struct nas_circuit {
    int cells, nodes, labels;
    circuit_value value[CIRCUIT_VALUES];
    int n_value;
    circuit_op op[CIRCUIT_OPS];
    int n_op;
    int y;
    size_t weights;       /* floats of parameters */
    size_t per, fixed;    /* floats of activations: an architecture, and fixed */
    size_t near_x;        /* floats of an architecture where values that were read for the last */
    size_t near_dx;       /* time give their memory to others: predictions, and gradients */
    size_t scratch;       /* floats of scratch an architecture */
    size_t scratch_fixed; /* and fixed */
    bool mixes[NAS_MIX_COUNT];
    bool rows[NAS_ROWS_COUNT];
    bool whole;                 /* operations need all of a batch */
    int opened[CIRCUIT_VALUES]; /* roots in the order in which their gradients begin, backward */
    int reader[CIRCUIT_VALUES]; /* by root: the last operation that reads it; n_op: y */
    int n_opened;
};

/* Rows of a block that belong to some of its nodes, or to sets of them. */
typedef struct {
    uint32_t *node; /* [n]: which, or the first node of the graph that the set is of */
    uint64_t *set;  /* [n]: bits in that graph; of a state: its colour */
    uint32_t *of;   /* by node: its row, or NO_ROW */
    size_t n;
} work_list;

#define NO_ROW UINT32_MAX

/* A weight as products read it, or transposed; made at a step. */
typedef struct {
    float *data;
    uint64_t step;
} work_pack;

/* What is known of the architectures of a batch. */
typedef struct {
    uint8_t *label;      /* (n, cells, nodes) */
    uint8_t *count;      /* (n, cells) */
    uint64_t *from, *to; /* (n, cells, nodes): predecessors and successors as bits */
    uint64_t *state;     /* (n, cells, nodes): colours, where the circuit has rows of states */
    float *side;         /* (n, 2) */
    float *mix[NAS_MIX_COUNT]; /* (n, cells, nodes, nodes), those that the circuit uses */
} work_graphs;

/* A batch runs in blocks of a few architectures, whose rows stay in the cache: operations see the
 * block at hand as if it were all. */
struct nas_work {
    const nas_circuit *circuit;
    const nas_kernels *kernels;
    const float *weights;
    bool learns, training, hold;
    bool plain; /* no sets are shared: the specification */
    nas_rng rng, block_rng;
    size_t most, loaded; /* architectures of a batch */
    size_t block;        /* most of a block */
    size_t n;            /* of the block at hand */
    float *x, *scratch;  /* of the block: fixed ones, then block * per */
    float *dx;           /* fixed ones, then block * near_dx */
    float *dw;           /* during backward: the gradient of the weights */
    float *y, *dy;       /* (loaded, cols): results and their gradient */
    float *all_x, *all_scratch;
    work_graphs all;
    uint8_t *label, *count; /* of the block */
    uint64_t *from, *to, *state;
    float *side, *mix[NAS_MIX_COUNT];
    work_list list[NAS_ROWS_COUNT]; /* of the block */
    uint32_t *slot;                 /* [slots]: rows of states by colour */
    size_t slots;                   /* a power of two */
    work_pack (*pack)[2];           /* by value: as it is, transposed */
    uint64_t step;
    float *packed, *left, *right; /* buffers of products */
    size_t packed_cap, left_cap, right_cap;
    uint32_t *live; /* rows with a gradient, of a product at hand */
    size_t live_cap;
};

/* Adds an operation and its output value of per rows an architecture (or rows fixed ones). */
circuit_op *circuit_add(nas_circuit *circuit, int per, int rows, int cols);
/* The same, but the output takes the memory of value x, which only its maker may have and only this
 * operation may read. Its gradient is replaced, too, by that of x. */
circuit_op *circuit_over(nas_circuit *circuit, int x);
/* The rows of the output are listed. */
void circuit_list(nas_circuit *circuit, circuit_op *op, nas_rows_of rows);
/* Decides where values lie (near_x, near_dx). */
void circuit_place(nas_circuit *circuit);
/* The rows of the block that are listed. */
void work_lists(nas_work *work);
void work_clear_packs(nas_work *work);
/* Reserves scratch floats for an operation. */
void circuit_scratch(nas_circuit *circuit, circuit_op *op, size_t per, size_t fixed);

/* Floats of whole cache lines that hold n: loads that cross lines cost double. */
static inline size_t circuit_lines(size_t n)
{
    return (n + 15) / 16 * 16;
}

static inline size_t work_rows(const nas_work *w, int v)
{
    const circuit_value *value = &w->circuit->value[v];
    if (value->list)
        return w->list[value->list].n;
    return value->per ? (size_t)value->per * w->n : (size_t)value->rows;
}

/* Nodes that a block has room for. */
static inline size_t work_room(const nas_work *w)
{
    return w->block * (size_t)(w->circuit->cells * w->circuit->nodes);
}

static inline float *work_out(nas_work *w, int v)
{
    const circuit_value *value = &w->circuit->value[v];
    size_t at = w->learns ? value->at : value->near_x;
    return w->x + (value->per ? w->circuit->fixed + at * w->block : value->at);
}

static inline const float *work_x(const nas_work *w, int v)
{
    const circuit_value *value = &w->circuit->value[v];
    return value->weight ? w->weights + value->at : work_out((nas_work *)w, v);
}

static inline float *work_d(nas_work *w, int v)
{
    const circuit_value *value = &w->circuit->value[v];
    if (value->weight)
        return w->dw + value->at;
    return w->dx + (value->per ? w->circuit->fixed + value->near_dx * w->block : value->at);
}

static inline size_t work_cols(const nas_work *w, int v)
{
    return (size_t)w->circuit->value[v].cols;
}

/* y += scale * x */
static inline void work_add(float *restrict y, const float *restrict x, float scale, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += scale * x[i];
}

/* Whether a row is zeros: what is made of a gradient that is, is too. Most rows that are not show
 * it at once. */
static inline bool work_blank(const float *x, size_t n)
{
    for (size_t i = 0; i < n && i < 4; i++)
        if (x[i] != 0)
            return false;
    int any = 0;
    for (size_t i = 0; i < n; i++)
        any |= x[i] != 0;
    return !any;
}

/* The node that a row of nodes, or of a list, belongs to. */
static inline size_t work_node(const nas_work *w, int v, size_t row)
{
    const nas_rows_of list = w->circuit->value[v].list;
    return list ? w->list[list].node[row] : row;
}

/* The row of a node, or of a list that it is in. */
static inline size_t work_row(const nas_work *w, int v, size_t node)
{
    const nas_rows_of list = w->circuit->value[v].list;
    return list ? w->list[list].of[node] : node;
}

/* Whether a node is one of its graph: the others fill up its room. */
static inline bool work_in_use(const nas_work *w, size_t node)
{
    const size_t nodes = (size_t)w->circuit->nodes;
    return node % nodes < w->count[node / nodes];
}

static inline float *work_scratch(nas_work *w, const circuit_op *op)
{
    return w->scratch + op->scratch_fixed + op->scratch * w->block;
}

#endif
