/* What is a candidate? An architecture as a value of 128 bytes.
 *
 *     nas_arch a;
 *     nas_space_sample(space, &rng, &a);
 *     nas_arch b = a;                         copied with =
 *     if (nas_arch_same(&a, &b)) ...          compared as bytes
 *
 * Genes are small numbers whose meaning the space defines; unused genes are zero, so two equal
 * architectures are equal bytes. Populations are arrays; an architecture can be sent as it is. */
#ifndef NAS_ARCH_H
#define NAS_ARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { NAS_ARCH_GENES = 120 };

typedef struct {
    uint32_t space; /* row of the list of spaces */
    uint32_t n;     /* genes in use */
    uint8_t gene[NAS_ARCH_GENES];
} nas_arch;

static inline bool nas_arch_same(const nas_arch *a, const nas_arch *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* A 64-bit hash of the bytes, for hash tables in memory; not stable across versions. */
uint64_t nas_arch_hash(const nas_arch *arch);

/* A set of architectures of one space in order of insertion: the keys of caches and look-ups. */
typedef struct {
    char *entry;                 /* (n, width) the bytes in use of each */
    uint64_t *slot;              /* open addressing: half of a hash and entry + 1, or 0 */
    size_t n, width, cap, slots; /* slots: a power of two, at most half of them taken */
} nas_arch_set;

void nas_arch_set_clear(nas_arch_set *set);
/* The entry of arch, or -1. */
int64_t nas_arch_set_find(const nas_arch_set *set, const nas_arch *arch);
/* Adds arch unless it is there; the entry either way. *added tells (may be NULL). */
int64_t nas_arch_set_add(nas_arch_set *set, const nas_arch *arch, bool *added);

#endif
