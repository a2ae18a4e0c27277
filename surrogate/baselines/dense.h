/* How are small symmetric systems solved? Cholesky factors in double, row by row.
 *
 *     nas_cholesky(a, n);               // A -> L in the lower triangle
 *     nas_cholesky_solve(a, n, b);      // b -> A^-1 b
 *     nas_cholesky_inverse_diagonal(a, n, d);
 */
#ifndef NAS_BASELINES_DENSE_H
#define NAS_BASELINES_DENSE_H

#include <stddef.h>

/* a (n, n), its lower triangle; positive definite. */
void nas_cholesky(double *a, size_t n);
void nas_cholesky_solve(const double *l, size_t n, double *b);
/* d (n): the diagonal of A^-1. */
void nas_cholesky_inverse_diagonal(const double *l, size_t n, double *d);

#endif
