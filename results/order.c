#include "results/order.h"

#include "spaces/base/mem.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    uint64_t key;
    uint32_t row;
} item;

enum { FEW = 48, DIGITS = 8, BUCKETS = 256 };

/* Bits of a double, changed so that unsigned order is numeric order. */
static uint64_t key_of(double value)
{
    uint64_t bits;
    value += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &value, sizeof bits);
    return bits ^ ((bits >> 63) ? UINT64_MAX : UINT64_C(1) << 63);
}

static void sort_few(item *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        item moving = a[i];
        size_t j = i;
        for (; j > 0 && a[j - 1].key > moving.key; j--)
            a[j] = a[j - 1];
        a[j] = moving;
    }
}

/* Least significant byte first; bytes that all keys share cost no pass. Returns where the result
 * is: a or b. */
static item *sort_many(item *a, item *b, size_t n)
{
    size_t count[DIGITS][BUCKETS];
    memset(count, 0, sizeof count);
    for (size_t i = 0; i < n; i++)
        for (int d = 0; d < DIGITS; d++)
            count[d][a[i].key >> (8 * d) & 255]++;
    for (int d = 0; d < DIGITS; d++) {
        size_t start[BUCKETS], sum = 0;
        if (count[d][a[0].key >> (8 * d) & 255] == n)
            continue;
        for (int k = 0; k < BUCKETS; k++) {
            start[k] = sum;
            sum += count[d][k];
        }
        for (size_t i = 0; i < n; i++)
            b[start[a[i].key >> (8 * d) & 255]++] = a[i];
        item *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

void nas_order_init(uint32_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
}

void nas_order_by(const double *value, size_t stride, uint32_t *order, size_t n)
{
    item few[FEW];
    item *items = n <= FEW ? few : nas_alloc(2 * n * sizeof *items);
    for (size_t i = 0; i < n; i++)
        items[i] = (item){key_of(value[order[i] * stride]), order[i]};
    item *sorted = items;
    if (n <= FEW)
        sort_few(items, n);
    else
        sorted = sort_many(items, items + n, n);
    for (size_t i = 0; i < n; i++)
        order[i] = sorted[i].row;
    if (items != few)
        free(items);
}

void nas_order_rows(const double *points, size_t m, uint32_t *order, size_t n)
{
    nas_order_by(points, m, order, n);
    for (size_t k = 1; k < m; k++) /* rows that tie in the first k columns are sorted by the next */
        for (size_t i = 0, j; i < n; i = j) {
            for (j = i + 1; j < n; j++) {
                size_t c = 0;
                while (c < k && points[order[i] * m + c] == points[order[j] * m + c])
                    c++;
                if (c < k)
                    break;
            }
            if (j - i > 1)
                nas_order_by(points + k, m, order + i, j - i);
        }
}
