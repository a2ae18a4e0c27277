#include "surrogate/memo.h"

#include <stdlib.h>

/* Reads the architectures new (n), which have the entries from `first` on. */
static void read_new(nas_memo *memo, const nas_arch *new, size_t n, size_t first,
                     nas_memo_reader *read, const void *context, size_t most)
{
#pragma omp parallel
    {
        void *scratch = nas_alloc(most);
#pragma omp for schedule(dynamic, 8)
        for (size_t i = 0; i < n; i++) {
            size_t bytes = read(context, &new[i], scratch);
#pragma omp critical(nas_memo)
            memo->entry[first + i] = nas_arena_copy(memo->text, scratch, bytes);
        }
        free(scratch);
    }
}

void nas_memo_read(nas_memo *memo, const nas_arch *arch, size_t n, nas_memo_reader *read,
                   const void *context, size_t most, const void **at)
{
    size_t *place = nas_alloc((n + 1) * sizeof *place), first = memo->known.n;
    nas_arch *new = nas_alloc((n + 1) * sizeof *new);
    if (!memo->text)
        memo->text = nas_arena_new();
    for (size_t i = 0; i < n; i++) {
        bool added = false;
        place[i] = (size_t)nas_arch_set_add(&memo->known, &arch[i], &added);
        if (added)
            new[memo->known.n - 1 - first] = arch[i];
    }
    memo->entry = nas_grow(memo->entry, &memo->cap, memo->known.n, sizeof *memo->entry);
    read_new(memo, new, memo->known.n - first, first, read, context, most);
    for (size_t i = 0; i < n; i++)
        at[i] = memo->entry[place[i]];
    free(new);
    free(place);
}

void nas_memo_clear(nas_memo *memo)
{
    if (memo->tool)
        memo->drop_tool(memo->tool);
    nas_arch_set_clear(&memo->known);
    nas_arena_free(memo->text);
    free(memo->entry);
    *memo = (nas_memo){0};
}
