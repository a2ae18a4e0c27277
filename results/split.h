/* Which rows may be learned from? Splits of a table that need no files.
 *
 *     nas_split s = {0};
 *     nas_split_order(&s, "nb201", seed, key, n);
 *     train = s.order[0 .. m-1]; test = s.order[nas_split_test(&s, m) .. n-1];
 *     nas_split_clear(&s);
 *
 * The key of a row is its architecture's canonical string. Rows are ordered by the MD5 hex digest
 * of the text "SPACE:SEED:KEY"; rows of one key keep the table's order and never come to lie on
 * both sides. Anyone can repeat this in a few lines of any language. */
#ifndef NAS_RESULTS_SPLIT_H
#define NAS_RESULTS_SPLIT_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t n;
    uint32_t *order;    /* (n) rows */
    char (*digest)[33]; /* (n) of the rows in order */
} nas_split;

void nas_split_order(nas_split *split, const char *space, uint64_t seed, const char *const *key,
                     size_t n);
/* The first place behind the m training rows that is of another class than the last of them. */
size_t nas_split_test(const nas_split *split, size_t m);
void nas_split_clear(nas_split *split);

#endif
