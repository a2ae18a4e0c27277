/* In which order are these numbers? A stable sort of row numbers by a column, linear in the rows.
 *
 *     uint32_t order[n];
 *     nas_order_init(order, n);               // 0, 1, 2, …
 *     nas_order_by(points + 1, 2, order, n);  // by the second of two columns
 *
 * Used by fronts, hypervolume, rank correlation. -0 equals 0; NaN must not occur. */
#ifndef NAS_RESULTS_ORDER_H
#define NAS_RESULTS_ORDER_H

#include <stddef.h>
#include <stdint.h>

void nas_order_init(uint32_t *order, size_t n);

/* Sorts the n row numbers in order by value[row * stride], ascending; equal rows keep their place.
 * Radix sort on the bits of the doubles, by insertion when there are few. */
void nas_order_by(const double *value, size_t stride, uint32_t *order, size_t n);

/* Sorts by all m columns of points (rows of m), the first one first. */
void nas_order_rows(const double *points, size_t m, uint32_t *order, size_t n);

#endif
