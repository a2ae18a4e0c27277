/* Do two columns order things alike? Kendall's tau-a and tau-b and Spearman's rho, with ties.
 *
 *     nas_rank r;
 *     status = nas_rank_compare(truth, score, n, &r, &err);
 *     printf("tau-b %.3f [%.3f, %.3f]\n", r.tau_b, r.low, r.high);
 *     if (isnan(r.tau_b)) ... undefined: fewer than two rows or a constant column
 *
 * Signs are never dropped: a reversed score gives -1. */
#ifndef NAS_RESULTS_RANK_H
#define NAS_RESULTS_RANK_H

#include "spaces/base/err.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t n;
    uint64_t concordant, discordant; /* pairs ordered alike and opposite in both columns */
    uint64_t ties_x, ties_y;         /* pairs equal in one column (those equal in both: in each) */
    uint64_t ties_both;
    double tau_a;     /* (concordant - discordant) / all pairs; NaN for n < 2 */
    double tau_b;     /* the same over the pairs untied in x and in y (geometric mean); NaN when one
                         column is constant or n < 2 */
    double spearman;  /* Pearson correlation of mean ranks; NaN as tau_b */
    double low, high; /* 95 % interval of tau_b: Fisher's z with variance 0.437 / (n - 4) (Fieller,
                         Hartley and Pearson 1957); -1 and 1 for n < 5, NaN when tau_b is */
} nas_rank;

/* O(n log n) after Knight 1966. Infinite values are ordinary; NaN: NAS_FAILED naming the row. */
nas_status nas_rank_compare(const double *x, const double *y, size_t n, nas_rank *rank,
                            nas_err *err);

#endif
