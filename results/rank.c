#include "results/rank.h"

#include "results/order.h"
#include "spaces/base/mem.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static uint64_t pairs(uint64_t n)
{
    return n * (n - (n > 0)) / 2;
}

/* Double the mean rank of each row, from 2 to 2n, into twice (n); returns the number of tied pairs.
 * order: (n), the rows in any order; sorted by value afterwards, ties as they were. */
static uint64_t rank_column(const double *value, size_t n, uint32_t *order, uint64_t *twice)
{
    uint64_t ties = 0;
    nas_order_by(value, 1, order, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && value[order[end]] == value[order[i]];)
            end++;
        for (size_t k = i; k < end; k++)
            twice[order[k]] = i + 1 + end;
        ties += pairs(end - i);
    }
    return ties;
}

/* Counts discordant pairs and pairs tied in both; order: rows sorted by x, then y. A Fenwick tree
 * over the ranks of y tells how many earlier rows are not above a row. */
static void count_pairs(const uint64_t *rank_x, const uint64_t *rank_y, const uint32_t *order,
                        size_t n, nas_rank *rank)
{
    uint32_t *tree = nas_zalloc(n + 1, sizeof *tree);
    for (size_t i = 0, run = 0; i < n; i++) {
        size_t y = rank_y[order[i]] / 2;
        uint32_t below = 0;
        for (size_t k = y; k > 0; k &= k - 1)
            below += tree[k];
        for (size_t k = y; k <= n; k += k & -k)
            tree[k]++;
        rank->discordant += i - below;
        bool same = i && rank_x[order[i]] == rank_x[order[i - 1]] &&
                    rank_y[order[i]] == rank_y[order[i - 1]];
        run = same ? run + 1 : 0; /* rows before this one that equal it in both */
        rank->ties_both += run;
    }
    free(tree);
}

static double spearman_of(const uint64_t *rank_x, const uint64_t *rank_y, size_t n)
{
    double xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        double x = (double)rank_x[i] - (double)(n + 1), y = (double)rank_y[i] - (double)(n + 1);
        xx += x * x;
        yy += y * y;
        xy += x * y;
    }
    return fmax(-1, fmin(1, xy / sqrt(xx * yy)));
}

static void fill_coefficients(nas_rank *r)
{
    uint64_t all = pairs(r->n);
    double excess = (double)r->concordant - (double)r->discordant;
    r->tau_a = excess / (double)all;
    r->tau_b = excess / sqrt((double)(all - r->ties_x) * (double)(all - r->ties_y));
    r->tau_b = fmax(-1, fmin(1, r->tau_b));
    double half = r->n > 4 ? 1.959963984540054 * sqrt(0.437 / (double)(r->n - 4)) : INFINITY;
    double z = atanh(r->tau_b);
    r->low = isinf(half) ? -1 : tanh(z - half);
    r->high = isinf(half) ? 1 : tanh(z + half);
}

nas_status nas_rank_compare(const double *x, const double *y, size_t n, nas_rank *rank,
                            nas_err *err)
{
    *rank = (nas_rank){.n = n};
    rank->tau_a = rank->tau_b = rank->spearman = rank->low = rank->high = NAN;
    for (size_t i = 0; i < n; i++)
        if (isnan(x[i]) || isnan(y[i]))
            return nas_fail(err, NAS_FAILED, "row %zu of the %s column is not a number", i + 1,
                            isnan(x[i]) ? "first" : "second");
    uint32_t *order = nas_alloc(n * sizeof *order);
    uint64_t *rank_x = nas_alloc(2 * n * sizeof *rank_x), *rank_y = rank_x + n;
    nas_order_init(order, n);
    rank->ties_y = rank_column(y, n, order, rank_y);
    rank->ties_x = rank_column(x, n, order, rank_x);
    count_pairs(rank_x, rank_y, order, n, rank);
    rank->concordant = pairs(n) - rank->ties_x - rank->ties_y + rank->ties_both - rank->discordant;
    if (rank->ties_x < pairs(n) && rank->ties_y < pairs(n)) {
        fill_coefficients(rank);
        rank->spearman = spearman_of(rank_x, rank_y, n);
    } else if (n > 1) {
        rank->tau_a = 0;
    }
    free(rank_x);
    free(order);
    return NAS_OK;
}
