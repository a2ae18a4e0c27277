#include "surrogate/baselines/dense.h"

#include "spaces/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__)
#define FAST __attribute__((target_clones("avx2", "default")))
#else
#define FAST
#endif

typedef double quad __attribute__((vector_size(32)));
typedef double loose __attribute__((vector_size(32), aligned(8), may_alias));

/* Rows are taken in fours that share the rows before them; a fixed order of sums. */
enum { ROWS = 4 };

/* dot[r] = rows r of a (stride n) times b over k values. */
FAST static void dots(const double *a, size_t n, size_t rows, const double *b, size_t k,
                      double *dot)
{
    quad sum[ROWS] = {{0}};
    size_t i = 0;
    for (; i + 4 <= k; i += 4) {
        quad right = *(const loose *)(b + i);
        for (size_t r = 0; r < rows; r++)
            sum[r] += *(const loose *)(a + r * n + i) * right;
    }
    for (size_t r = 0; r < rows; r++) {
        dot[r] = (sum[r][0] + sum[r][1]) + (sum[r][2] + sum[r][3]);
        for (size_t j = i; j < k; j++)
            dot[r] += a[r * n + j] * b[j];
    }
}

void nas_cholesky(double *a, size_t n)
{
    double dot[ROWS];
    for (size_t i = 0; i < n; i += ROWS) {
        size_t rows = n - i < ROWS ? n - i : ROWS;
        for (size_t j = 0; j < i + rows; j++) {
            size_t skip = j > i ? j - i : 0; /* rows above the diagonal have no such element */
            double *row = a + (i + skip) * n;
            dots(row, n, rows - skip, a + j * n, j, dot);
            for (size_t r = 0; r < rows - skip; r++) {
                double rest = row[r * n + j] - dot[r];
                row[r * n + j] = i + skip + r == j ? sqrt(rest) : rest / a[j * n + j];
            }
        }
    }
}

void nas_cholesky_solve(const double *l, size_t n, double *b)
{
    for (size_t i = 0; i < n; i++) {
        double dot;
        dots(l + i * n, n, 1, b, i, &dot);
        b[i] = (b[i] - dot) / l[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        b[i] /= l[i * n + i];
        for (size_t j = 0; j < i; j++)
            b[j] -= l[i * n + j] * b[i];
    }
}

/* Rows of L^-1 one after the other; column i of it squared and summed is the i-th element. */
FAST void nas_cholesky_inverse_diagonal(const double *l, size_t n, double *d)
{
    double *m = nas_zalloc(n * n, sizeof *m);
    memset(d, 0, n * sizeof *d);
    for (size_t i = 0; i < n; i++) {
        double *restrict row = m + i * n;
        for (size_t k = 0; k < i; k++)
            for (size_t j = 0; j <= k; j++)
                row[j] -= l[i * n + k] * m[k * n + j];
        for (size_t j = 0; j < i; j++)
            row[j] /= l[i * n + i];
        row[i] = 1 / l[i * n + i];
        for (size_t j = 0; j <= i; j++)
            d[j] += row[j] * row[j];
    }
    free(m);
}
