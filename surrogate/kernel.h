/* How are the numbers computed here? Products of matrices and row operations for one CPU path.
 *
 *     const nas_kernels *kernels = nas_kernels_choose(&err);      // best path, or NASLM_CPU
 *     nas_packed w = {0};
 *     nas_packed_fill(&w, kernels->linear, k, n, (nas_view){weights, 1, k}); // W(n,k)^T
 *     nas_linear(rows, (nas_view){x, k, 1}, &w, y, n, (nas_finish){0});   // y = x W^T
 *
 * One row of nas_kernels_list is one path. "generic" is plain C and the specification of the
 * others. In every path each result is a sum over k in ascending order that does not depend on
 * where its row lies, so the same rows give the same bits for any batch and number of threads. */
#ifndef NAS_SURROGATE_KERNEL_H
#define NAS_SURROGATE_KERNEL_H

#include "spaces/base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* A matrix of floats anywhere in memory: element (i,j) is data[i * row + j * col]. */
typedef struct {
    const float *data;
    size_t row, col;
} nas_view;

/* What becomes of a product before it is stored. {0}: C = A B. */
typedef struct {
    bool add;          /* C += ... */
    const float *bias; /* (n) is added to each row, or NULL */
    bool relu;         /* negative results become 0 */
    const float *gate; /* (m, ldc) or NULL: results are 0 where it is not above 0, ... */
    float gate_scale;  /* ... else they are multiplied by this */
} nas_finish;

/* The finish of the part of C that begins at row i, column j. */
static inline nas_finish nas_finish_at(nas_finish f, size_t i, size_t j, size_t ldc)
{
    f.bias = f.bias ? f.bias + j : NULL;
    f.gate = f.gate ? f.gate + i * ldc + j : NULL;
    return f;
}

/* All but the addition, on results (m,n) that are stored already. */
void nas_finish_block(size_t m, size_t n, nas_finish finish, float *c, size_t ldc);

/* Both halves of a product C(m,n) = A(m,k) B(k,n); B is rearranged first, once for many A. */
typedef struct {
    size_t (*size)(size_t k, size_t n); /* floats that pack writes */
    void (*pack)(size_t k, size_t n, nas_view b, float *packed);
    /* C = A B with a finish; c has ldc floats a row. One thread. */
    void (*run)(size_t m, size_t n, size_t k, nas_view a, const float *packed, float *c, size_t ldc,
                nas_finish finish);
    /* The same with B as it lies in memory, ldb floats a row, where n is a multiple of panel: for
     * few rows of A packing costs more than it brings. NULL, 0: not this product. */
    void (*run_plain)(size_t m, size_t n, size_t k, nas_view a, const float *b, size_t ldb,
                      float *c, size_t ldc, nas_finish finish);
    size_t panel;
} nas_product;

/* Operations on one row of n > 0 floats. */
typedef struct {
    /* x[i] <- softmax(scale * x)[i] over n > 0 values; returns log sum exp(scale * x). */
    float (*softmax)(float *x, size_t n, float scale);
    /* x[i] <- exp(scale * x[i] - log_sum): the same values again. */
    void (*softmax_again)(float *x, size_t n, float scale, float log_sum);
    /* Layer norm of n values, eps 1e-5: y = (x - mean) * rstd * w + b; stat gets {mean, rstd}. */
    void (*norm)(const float *x, const float *w, const float *b, size_t n, float *y, float *stat);
    /* dx += the gradient of norm at x for the output gradient dy. */
    void (*norm_back)(const float *x, const float *w, const float *dy, const float *stat, size_t n,
                      float *dx);
    float (*dot)(const float *a, const float *b, size_t n);
    void (*add_scaled)(float *y, float scale, const float *x, size_t n); /* y += scale * x */
} nas_rows;

/* Before a small loop over floats: compiled for several vector widths, with the same bits. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define NAS_WIDE __attribute__((optimize("O3"), target_clones("avx512f", "avx2", "default")))
#else
#define NAS_WIDE
#endif

typedef struct {
    const char *name; /* as NASLM_CPU spells it */
    bool (*available)(void);
    const nas_product *exact;  /* f32: heads */
    const nas_product *linear; /* layers: f32, or bf16 inputs with f32 sums */
    const nas_product *attend; /* attention: either */
    const nas_rows *rows;
} nas_kernels;

extern const nas_kernels *const nas_kernels_list[]; /* fastest first; slow ones last; NULL ends */

/* The fastest path this CPU has, or the one that the environment variable NASLM_CPU names: NULL and
 * NAS_USAGE when it is unknown or this CPU lacks it. */
const nas_kernels *nas_kernels_choose(nas_err *err);

/* Numbers below the normal range (1e-38) are zero in this thread until nas_tiny_keep is given what
 * this returned. Moments of weights that are no longer moved sink there, and x86 takes a hundred
 * times longer over them. It is for training alone: a user's 1e-310 is a number. Elsewhere these do
 * nothing. */
unsigned nas_tiny_flush(void);
void nas_tiny_keep(unsigned before);
/* The path called name, with the same errors. */
const nas_kernels *nas_kernels_find(const char *name, nas_err *err);

/* ---- products over all threads ---- */

/* A loop over fewer floats runs on one thread: waking others costs more. */
#define NAS_ALONE 65536

#define NAS_ROWS    96  /* rows of A that one thread takes at a time */
#define NAS_COLUMNS 512 /* columns of B that one thread takes at a time */

/* B(k,n) packed in blocks of NAS_COLUMNS columns; {0} is empty and memory is reused. */
typedef struct {
    const nas_product *product;
    float *data;
    size_t k, n, cap;
} nas_packed;

void nas_packed_fill(nas_packed *packed, const nas_product *product, size_t k, size_t n,
                     nas_view b);
void nas_packed_clear(nas_packed *packed);

/* C(m,n) = A(m,k) B with a finish, in parallel over blocks of C. */
void nas_linear(size_t m, nas_view a, const nas_packed *b, float *c, size_t ldc, nas_finish finish);

/* ---- the paths ---- */

extern const nas_kernels nas_kernels_generic, nas_kernels_avx2, nas_kernels_avx512;
extern const nas_kernels nas_kernels_avx512_bf16, nas_kernels_amx_bf16;
extern const nas_kernels nas_kernels_avx2_bf16; /* rounds like them on a CPU without bf16: slow */

extern const nas_product nas_product_avx512;
extern const nas_rows nas_rows_avx512;

#endif
