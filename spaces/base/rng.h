/* Where do random numbers come from? PCG streams (O'Neill 2014), and children keyed by meaning.
 *
 *     nas_rng run = nas_rng_seed(seed);
 *     nas_rng g = nas_rng_child(&run, "generation", 12);
 *     nas_rng m = nas_rng_child(&g, "mutate", 3);
 *     if (nas_rng_unit(&m) < 0.1) gene = nas_rng_below(&m, arity);
 *
 * A stream is a value: copy it to repeat it. Derive children from a stream that nobody draws from;
 * a child depends on the parent's state, the key and the id only, so the numbers do not depend on
 * threads, ranks or order. */
#ifndef NAS_BASE_RNG_H
#define NAS_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 nas_u128;

typedef struct {
    nas_u128 state, inc; /* pcg64: XSL-RR 128/64; inc is odd */
} nas_rng;

nas_rng nas_rng_seed(uint64_t seed);
nas_rng nas_rng_init(nas_u128 state, nas_u128 stream); /* the reference seeding of pcg64 */
nas_rng nas_rng_child(const nas_rng *parent, const char *key, uint64_t id);

uint64_t nas_rng_next(nas_rng *rng);
uint64_t nas_rng_below(nas_rng *rng, uint64_t n); /* uniform over 0..n-1, n > 0 (Lemire 2019) */
double nas_rng_unit(nas_rng *rng);                /* uniform over [0, 1), 53 bits */
double nas_rng_normal(nas_rng *rng); /* standard normal (Box-Muller, one of the pair) */
void nas_rng_shuffle(nas_rng *rng, void *items, size_t n, size_t bytes); /* items up to 256 bytes */

typedef struct {
    uint64_t state, inc; /* pcg32: XSH-RR 64/32 */
} nas_rng32;

nas_rng32 nas_rng32_init(uint64_t state, uint64_t stream);
uint32_t nas_rng32_next(nas_rng32 *rng);

#endif
