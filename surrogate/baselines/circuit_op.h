/* What is inside a circuit? Shared by the program (circuit.c) and its operations (circuit_op.c). */
#ifndef NAS_BASELINES_CIRCUIT_OP_H
#define NAS_BASELINES_CIRCUIT_OP_H

#include "surrogate/baselines/circuit.h"
#include "surrogate/kernel.h"

#ifdef __GNUC__
/* The loops over columns become vector code. */
#pragma GCC optimize("O3")
#endif

/* Code for AVX2 beside the plain one, chosen when the program starts; the results are the same. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__)
#define FAST __attribute__((target_clones("avx2", "default")))
#else
#define FAST
#endif

enum { CIRCUIT_VALUES = 700, CIRCUIT_OPS = 600 };

typedef struct {
    size_t at; /* floats before it: among the weights, or among the rows of one architecture */
    int per;   /* rows an architecture; 0: fixed */
    int rows;  /* fixed rows */
    int cols;
    bool weight; /* a parameter */
    bool fixed;  /* a parameter that is not trained */
    nas_init init;
    double scale;
} circuit_value;

typedef struct circuit_op circuit_op;
struct circuit_op {
    void (*forward)(nas_work *, const circuit_op *);
    void (*backward)(nas_work *, const circuit_op *);
    int out, a, b, c, d; /* values; -1: none */
    float p, q;          /* scales, probability */
    int kind;            /* mix, or a flag */
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
    size_t scratch;       /* floats of scratch an architecture */
    size_t scratch_fixed; /* and fixed */
    bool mixes[NAS_MIX_COUNT];
};

struct nas_work {
    const nas_circuit *circuit;
    const nas_kernels *kernels;
    const float *weights;
    size_t most, n;
    bool training, hold;
    nas_rng rng;
    float *x, *dx; /* activations: fixed ones, then most * per */
    float *dw;     /* during backward: the gradient of the weights */
    float *scratch;
    float *packed;
    size_t packed_cap;
    uint8_t *label;            /* (n, cells, nodes) */
    uint8_t *count;            /* (n, cells) */
    uint64_t *from, *to;       /* (n, cells, nodes): predecessors and successors as bits */
    float *side;               /* (n, 2) */
    float *mix[NAS_MIX_COUNT]; /* (n, cells, nodes, nodes), those that the circuit uses */
};

/* Adds an operation and its output value of per rows an architecture (or rows fixed ones). */
circuit_op *circuit_add(nas_circuit *circuit, int per, int rows, int cols);
/* Reserves scratch floats for an operation. */
void circuit_scratch(nas_circuit *circuit, circuit_op *op, size_t per, size_t fixed);

static inline size_t work_rows(const nas_work *w, int v)
{
    const circuit_value *value = &w->circuit->value[v];
    return value->per ? (size_t)value->per * w->n : (size_t)value->rows;
}

static inline size_t work_offset(const nas_work *w, const circuit_value *v)
{
    return v->per ? w->circuit->fixed + v->at * w->most : v->at;
}

static inline const float *work_x(const nas_work *w, int v)
{
    const circuit_value *value = &w->circuit->value[v];
    return value->weight ? w->weights + value->at : w->x + work_offset(w, value);
}

static inline float *work_out(nas_work *w, int v)
{
    return w->x + work_offset(w, &w->circuit->value[v]);
}

static inline float *work_d(nas_work *w, int v)
{
    const circuit_value *value = &w->circuit->value[v];
    return value->weight ? w->dw + value->at : w->dx + work_offset(w, value);
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

static inline float *work_scratch(nas_work *w, const circuit_op *op)
{
    return w->scratch + op->scratch_fixed + op->scratch * w->most;
}

#endif
