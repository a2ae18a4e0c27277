/* What was read of architectures before? A memo keeps it, so that each is read once.
 *
 *     nas_memo memo = {0};
 *     const void **at = ...;                                        // [n]
 *     nas_memo_read(&memo, arch, n, read, context, bytes, at);      // reads those that are new
 *     nas_memo_clear(&memo);
 *
 * A memo is for one kind of reading of one space and task, and for one caller at a time. */
#ifndef NAS_SURROGATE_MEMO_H
#define NAS_SURROGATE_MEMO_H

#include "spaces/arch.h"
#include "spaces/base/mem.h"

typedef struct {
    nas_arch_set known;
    nas_arena *text;
    const void **entry; /* [known.n] */
    size_t cap;
    void *tool; /* of whoever reads, who sets both; NULL: none */
    void (*drop_tool)(void *tool);
} nas_memo;

/* Writes what there is to know into out and returns its bytes, at most those that were said. */
typedef size_t nas_memo_reader(const void *context, const nas_arch *arch, void *out);

/* at (n): the entries, which stay where they are. Reads in parallel. */
void nas_memo_read(nas_memo *memo, const nas_arch *arch, size_t n, nas_memo_reader *read,
                   const void *context, size_t most, const void **at);
void nas_memo_clear(nas_memo *memo);

#endif
