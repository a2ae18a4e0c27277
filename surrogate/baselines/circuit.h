/* How do small graph networks learn? A fixed program of tensor operations, run forward and backward
 * over batches of padded graphs.
 *
 *     nas_circuit *t = nas_circuit_new(cells, nodes, labels);
 *     int h = nas_circuit_lookup(t, nas_circuit_param(t, labels, 48, NAS_INIT_NORMAL, 1));
 *     int y = nas_circuit_mean(t, h, false);                 // one row a cell
 *     nas_circuit_end(t, y);
 *     nas_work *w = nas_work_new(t, weights, 8, true);    // room for batches of 8
 *     nas_work_load(w, encoding, rows, 8);
 *     nas_work_forward(w, &rng);  fill(nas_work_gradient(w));  nas_work_backward(w, gradient);
 *
 * A value is an index. It has a number of rows for each architecture (cells * nodes, cells or 1) or
 * fixed rows (parameters and what is computed from them alone). The circuit and the weights are
 * read only while works run, so works may run in parallel; one work is one thread. */
#ifndef NAS_BASELINES_CIRCUIT_H
#define NAS_BASELINES_CIRCUIT_H

#include "surrogate/encode.h"

#include <stdbool.h>

typedef struct nas_circuit nas_circuit;
typedef struct nas_work nas_work;

typedef enum {
    NAS_INIT_ZERO,
    NAS_INIT_ONE,
    NAS_INIT_UNIFORM,
    NAS_INIT_NORMAL,
    NAS_INIT_FIRST, /* normal in the first row, else zero */
} nas_init;

/* How a node's row is made of its graph's rows. */
typedef enum {
    NAS_MIX_SELF_SUCC, /* the sum of itself and its successors */
    NAS_MIX_FORTH,     /* A + I with rows that sum to 1 (A[i][j]: i feeds j) */
    NAS_MIX_BACK,      /* the transpose of that, again with rows that sum to 1 */
    NAS_MIX_COUNT
} nas_mix;

/* What the rows of a value belong to. All but the first lie one after the other, as many as a batch
 * has. */
typedef enum {
    NAS_ROWS_NODES,  /* nodes, or what there is a fixed number of */
    NAS_ROWS_GATED,  /* nodes with an operator of the space: others need no learned gate */
    NAS_ROWS_FORTH,  /* distinct sets of predecessors */
    NAS_ROWS_BACK,   /* distinct sets of successors */
    NAS_ROWS_STATES, /* distinct states: a node's label and the states that feed it */
    NAS_ROWS_COUNT
} nas_rows_of;

/* For graphs of cells cells of at most nodes nodes whose labels are below labels. */
nas_circuit *nas_circuit_new(int cells, int nodes, int labels);
void nas_circuit_free(nas_circuit *circuit);
/* Ends the program: y has one row an architecture. */
void nas_circuit_end(nas_circuit *circuit, int y);

size_t nas_circuit_weights(const nas_circuit *circuit); /* floats of all parameters */
size_t nas_circuit_trained(const nas_circuit *circuit); /* without running statistics */
int nas_circuit_cols(const nas_circuit *circuit, int value);
void nas_circuit_init(const nas_circuit *circuit, const nas_rng *rng, float *weights);

/* ---- values ---- */

/* scale: half width of the uniform distribution, or the standard deviation. */
int nas_circuit_param(nas_circuit *circuit, int rows, int cols, nas_init init, double scale);
int nas_circuit_side(nas_circuit *circuit); /* nas_encoding.side, 2 columns */
/* Adjacency and labels of an architecture in one row, of its first nodes. */
int nas_circuit_plain(nas_circuit *circuit, int nodes);

/* ---- operations: each returns the new value. Those marked "over x" take its place: nothing else
 * may read x. ---- */

/* x w + bias, w: a parameter; bias -1: none */
int nas_circuit_linear(nas_circuit *circuit, int x, int w, int bias);
int nas_circuit_bias(nas_circuit *circuit, int x, int bias); /* over x */
/* scale_a a + scale_b b over b, negative values to 0 when relu */
int nas_circuit_sum(nas_circuit *circuit, int a, int b, float scale_a, float scale_b, bool relu);
int nas_circuit_relu(nas_circuit *circuit, int x);                     /* over x */
int nas_circuit_sigmoid(nas_circuit *circuit, int x);                  /* over x */
int nas_circuit_norm(nas_circuit *circuit, int x, int gain, int bias); /* layer norm, eps 1e-5 */
int nas_circuit_batch_norm(nas_circuit *circuit, int x, int gain, int bias,
                           int running);                       /* (2, cols) */
int nas_circuit_dropout(nas_circuit *circuit, int x, float p); /* over x */
int nas_circuit_join(nas_circuit *circuit, int a, int b);      /* columns of a, then of b */
/* Columns of a, b and c; no gradient flows back to a and b. a may have rows of NAS_ROWS_GATED. */
int nas_circuit_join_still(nas_circuit *circuit, int a, int b, int c);
int nas_circuit_merge(nas_circuit *circuit, int x); /* one row a cell -> one row an architecture */

/* Row of table for each node: by label, or 0 for inputs and 1 for others. */
int nas_circuit_lookup(nas_circuit *circuit, int table, nas_rows_of rows); /* nodes or gated */
int nas_circuit_ends(nas_circuit *circuit, int table, nas_rows_of rows);   /* nodes or states */
/* Rows of nodes or of a table by label, those of inputs 0. */
int nas_circuit_blank(nas_circuit *circuit, int x);
int nas_circuit_mix(nas_circuit *circuit, int x, nas_mix mix);
/* (relu(forth x1) + relu(back x2)) / 2 for x = [x1 x2]. */
int nas_circuit_convolve(nas_circuit *circuit, int x);

/* Along edges from predecessors, or back: from successors. The gate has a row for each node, or is
 * a table by label. States flow to states: forth and, where there is attention, masked, with such a
 * table. */
typedef struct {
    bool back;
    bool masked; /* attention: only over neighbours and itself */
} nas_flow;
/* gate * (sum of neighbours) + own row + bias */
int nas_circuit_flow(nas_circuit *circuit, int x, int gate, int bias, nas_flow flow);
/* The flow of GATES in two parts, between which a product may lie: the sum of each distinct set of
 * neighbours; gate * that + bias. Inputs (back: outputs) stand for themselves. Gates are known
 * where an operator does nothing: none is closed, skip and output are open; back, nothing reads
 * inputs, which are closed. The gate has rows of NAS_ROWS_GATED, or is a table by label. */
int nas_circuit_gather(nas_circuit *circuit, int x, bool back);
int nas_circuit_gated(nas_circuit *circuit, int sums, int gate, int bias);
/* Attention of FLAN: score_ij = leaky_relu(a . (x_i * x_j)), softmax over j, gate * sum_j w_ij x_j.
 * Not masked, it is over all nodes, with score * A_ij. a: (cols, 1). */
int nas_circuit_attend(nas_circuit *circuit, int x, int a, int gate, nas_flow flow);
int nas_circuit_mean(nas_circuit *circuit, int x, bool inputs); /* over the nodes of a cell */
int nas_circuit_output(nas_circuit *circuit, int x); /* the last node's row of each cell */
int nas_circuit_place(nas_circuit *circuit,
                      int x); /* a row a cell to its last node, zeros elsewhere */

/* ---- running ---- */

/* learns: backward will be called. Between two predictions of a work the weights stay the same. */
nas_work *nas_work_new(const nas_circuit *circuit, const float *weights, size_t most, bool learns);
void nas_work_free(nas_work *work);
/* Architectures of the encoding (whose shape fits the circuit); row NULL: first .. first + n - 1.
 */
void nas_work_load(nas_work *work, const nas_encoding *encoding, const uint32_t *row, size_t first,
                   size_t n);
/* In training, dropout and batch statistics are on; rng: of this step. NULL: prediction. */
void nas_work_forward(nas_work *work, const nas_rng *rng);
/* While held, columns without gradient stay as they are, so that differences of results show what
 * the gradient means. */
void nas_work_hold(nas_work *work, bool hold);
const float *nas_work_result(const nas_work *work); /* (n, cols of y) */
/* Where the gradient of the result goes, (n, cols of y): zeros, to be filled. */
float *nas_work_gradient(nas_work *work);
/* Adds to gradient, one float a weight. */
void nas_work_backward(nas_work *work, float *gradient);
/* New running statistics after a training step, into weights (the same that work reads). */
void nas_work_statistics(const nas_work *work, float *weights);

/* ---- optimiser ---- */

typedef struct {
    double rate, decay;
    bool decoupled; /* AdamW; else the decay is added to the gradient */
} nas_adam_step;

typedef struct {
    size_t n, step;
    float *mean, *square;
} nas_adam;

void nas_adam_init(nas_adam *adam, size_t n);
void nas_adam_clear(nas_adam *adam);
/* One step on n weights; clears the gradient. */
void nas_adam_update(nas_adam *adam, nas_adam_step step, float *weights, float *gradient);

#endif
