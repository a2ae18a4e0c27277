#include "spaces/arch.h"

#include "spaces/base/mem.h"

#include <stdlib.h>

_Static_assert(sizeof(nas_arch) == 128, "an architecture is 128 bytes");

uint64_t nas_arch_hash(const nas_arch *arch)
{
    uint64_t word, h = 0x9e3779b97f4a7c15ULL;
    size_t bytes = offsetof(nas_arch, gene) + arch->n;
    for (size_t i = 0; i < bytes; i += 8) { /* genes beyond n are zero: whole words are safe */
        memcpy(&word, (const char *)arch + i, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdULL;
        h ^= h >> 32;
    }
    return h;
}

void nas_arch_set_clear(nas_arch_set *set)
{
    free(set->arch);
    free(set->slot);
    *set = (nas_arch_set){0};
}

/* The slot that holds arch or the empty one where it belongs. */
static size_t probe(const nas_arch_set *set, const nas_arch *arch)
{
    size_t i = nas_arch_hash(arch) & (set->slots - 1);
    while (set->slot[i] && !nas_arch_same(&set->arch[set->slot[i] - 1], arch))
        i = (i + 1) & (set->slots - 1);
    return i;
}

int64_t nas_arch_set_find(const nas_arch_set *set, const nas_arch *arch)
{
    return set->slots ? (int64_t)set->slot[probe(set, arch)] - 1 : -1;
}

static void rehash(nas_arch_set *set, size_t slots)
{
    free(set->slot);
    set->slot = nas_zalloc(slots, sizeof *set->slot);
    set->slots = slots;
    for (size_t i = 0; i < set->n; i++)
        set->slot[probe(set, &set->arch[i])] = (uint32_t)i + 1;
}

int64_t nas_arch_set_add(nas_arch_set *set, const nas_arch *arch, bool *added)
{
    if (2 * (set->n + 1) > set->slots)
        rehash(set, set->slots ? 2 * set->slots : 64);
    size_t i = probe(set, arch);
    if (added)
        *added = !set->slot[i];
    if (!set->slot[i]) {
        set->arch = nas_grow(set->arch, &set->cap, set->n + 1, sizeof *set->arch);
        set->arch[set->n++] = *arch;
        set->slot[i] = (uint32_t)set->n;
    }
    return (int64_t)set->slot[i] - 1;
}
