#include "spaces/arch.h"

#include "spaces/base/mem.h"

#include <assert.h>
#include <stdlib.h>

_Static_assert(sizeof(nas_arch) == 128, "an architecture is 128 bytes");

/* Bytes before the genes that are never used. */
static size_t used_bytes(const nas_arch *arch)
{
    return offsetof(nas_arch, gene) + arch->n;
}

uint64_t nas_arch_hash(const nas_arch *arch)
{
    uint64_t word, h = 0x9e3779b97f4a7c15ULL;
    size_t bytes = used_bytes(arch);
    for (size_t i = 0; i < bytes; i += 8) { /* genes beyond n are zero: whole words are safe */
        memcpy(&word, (const char *)arch + i, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdULL;
        h ^= h >> 32;
    }
    return h;
}

void nas_arch_set_clear(nas_arch_set *set)
{
    free(set->entry);
    free(set->slot);
    *set = (nas_arch_set){0};
}

/* A slot is the upper half of the hash, which also says where it belongs, and entry + 1. */
static const uint64_t ENTRY = UINT32_MAX;

/* The slot that holds arch or the free one where it belongs. Entries are far in memory: only those
 * of the same hash are looked at. */
static size_t probe(const nas_arch_set *set, const nas_arch *arch, uint64_t hash)
{
    size_t i = hash >> 32 & (set->slots - 1), bytes = used_bytes(arch);
    for (uint64_t slot; (slot = set->slot[i]) != 0; i = (i + 1) & (set->slots - 1))
        if (slot >> 32 == hash >> 32 &&
            !memcmp(set->entry + ((slot & ENTRY) - 1) * set->width, arch, bytes))
            break;
    return i;
}

int64_t nas_arch_set_find(const nas_arch_set *set, const nas_arch *arch)
{
    if (set->slots == 0)
        return -1;
    return (int64_t)(set->slot[probe(set, arch, nas_arch_hash(arch))] & ENTRY) - 1;
}

static void rehash(nas_arch_set *set, size_t slots)
{
    uint64_t *old = set->slot;
    set->slot = nas_zalloc(slots, sizeof *set->slot);
    for (size_t k = 0; k < set->slots; k++) {
        size_t i = old[k] >> 32 & (slots - 1);
        while (old[k] && set->slot[i])
            i = (i + 1) & (slots - 1);
        if (old[k])
            set->slot[i] = old[k];
    }
    set->slots = slots;
    free(old);
}

int64_t nas_arch_set_add(nas_arch_set *set, const nas_arch *arch, bool *added)
{
    if (2 * (set->n + 1) > set->slots)
        rehash(set, set->slots ? 2 * set->slots : 64);
    if (set->n == 0)
        set->width = used_bytes(arch);
    assert(set->width == used_bytes(arch));
    uint64_t hash = nas_arch_hash(arch);
    size_t i = probe(set, arch, hash);
    if (added)
        *added = !set->slot[i];
    if (!set->slot[i]) {
        set->entry = nas_grow(set->entry, &set->cap, set->n + 1, set->width);
        memcpy(set->entry + set->n++ * set->width, arch, set->width);
        set->slot[i] = (hash & ~ENTRY) | set->n;
    }
    return (int64_t)(set->slot[i] & ENTRY) - 1;
}
