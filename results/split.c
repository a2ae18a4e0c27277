#include "results/split.h"

#include "spaces/base/mem.h"

#include <inttypes.h>
#include <md5.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char digest[33];
    uint32_t row;
} entry;

static int compare(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = strcmp(x->digest, y->digest);
    return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

void nas_split_order(nas_split *split, const char *space, uint64_t seed, const char *const *key,
                     size_t n)
{
    entry *all = nas_alloc(n * sizeof *all);
    nas_bytes text = {0};
    for (size_t i = 0; i < n; i++) {
        nas_bytes_reset(&text);
        nas_bytes_print(&text, "%s:%" PRIu64 ":%s", space, seed, key[i]);
        MD5Data((const uint8_t *)text.data, text.size, all[i].digest);
        all[i].row = (uint32_t)i;
    }
    nas_bytes_clear(&text);
    qsort(all, n, sizeof *all, compare);
    nas_split_clear(split);
    *split = (nas_split){.n = n};
    split->order = nas_alloc(n * sizeof *split->order);
    split->digest = nas_alloc(n * sizeof *split->digest);
    for (size_t i = 0; i < n; i++) {
        split->order[i] = all[i].row;
        memcpy(split->digest[i], all[i].digest, sizeof *split->digest);
    }
    free(all);
}

size_t nas_split_test(const nas_split *split, size_t m)
{
    size_t at = m;
    while (m > 0 && at < split->n && !strcmp(split->digest[at], split->digest[m - 1]))
        at++;
    return at < split->n ? at : split->n;
}

void nas_split_clear(nas_split *split)
{
    free(split->order);
    free(split->digest);
    *split = (nas_split){0};
}
