#include "spaces/base/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define U128(hi, lo) ((nas_u128)(hi) << 64 | (lo))

static const nas_u128 MULTIPLIER = U128(2549297995355413924ULL, 4865540595714422341ULL);

nas_rng nas_rng_init(nas_u128 state, nas_u128 stream)
{
    nas_rng rng = {0, stream << 1 | 1};
    rng.state = rng.state * MULTIPLIER + rng.inc;
    rng.state += state;
    rng.state = rng.state * MULTIPLIER + rng.inc;
    return rng;
}

uint64_t nas_rng_next(nas_rng *rng)
{
    rng->state = rng->state * MULTIPLIER + rng->inc;
    uint64_t x = (uint64_t)(rng->state >> 64) ^ (uint64_t)rng->state;
    unsigned r = (unsigned)(rng->state >> 122);
    return x >> r | x << (-r & 63);
}

/* The finaliser of SplitMix64 (Steele et al. 2014): every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    return x ^ x >> 31;
}

nas_rng nas_rng_seed(uint64_t seed)
{
    uint64_t a = mix(seed), b = mix(a), c = mix(b), d = mix(c);
    return nas_rng_init(U128(a, b), U128(c, d));
}

/* Both state and increment are hashed: PCG streams with neighbouring increments correlate. */
nas_rng nas_rng_child(const nas_rng *parent, const char *key, uint64_t id)
{
    uint64_t name = 14695981039346656037ULL; /* FNV-1a */
    for (const char *c = key; *c; c++)
        name = (name ^ (unsigned char)*c) * 1099511628211ULL;
    const uint64_t parts[] = {(uint64_t)parent->state,
                              (uint64_t)(parent->state >> 64),
                              (uint64_t)parent->inc,
                              (uint64_t)(parent->inc >> 64),
                              name,
                              id};
    uint64_t h = 0, word[4];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        h = mix(h ^ parts[i]);
    for (size_t i = 0; i < 4; i++)
        word[i] = h = mix(h);
    return nas_rng_init(U128(word[0], word[1]), U128(word[2], word[3]));
}

uint64_t nas_rng_below(nas_rng *rng, uint64_t n)
{
    assert(n > 0);
    nas_u128 m = (nas_u128)nas_rng_next(rng) * n;
    if ((uint64_t)m < n) {
        uint64_t reject = -n % n;
        while ((uint64_t)m < reject)
            m = (nas_u128)nas_rng_next(rng) * n;
    }
    return (uint64_t)(m >> 64);
}

double nas_rng_unit(nas_rng *rng)
{
    return (double)(nas_rng_next(rng) >> 11) * 0x1p-53;
}

double nas_rng_normal(nas_rng *rng)
{
    double u = 1.0 - nas_rng_unit(rng);
    double v = nas_rng_unit(rng);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

void nas_rng_shuffle(nas_rng *rng, void *items, size_t n, size_t bytes)
{
    char swap[256], *base = items;
    assert(bytes <= sizeof swap);
    for (size_t i = n; i > 1; i--) {
        char *a = base + (i - 1) * bytes;
        char *b = base + (size_t)nas_rng_below(rng, i) * bytes;
        memcpy(swap, a, bytes);
        memmove(a, b, bytes);
        memcpy(b, swap, bytes);
    }
}

nas_rng32 nas_rng32_init(uint64_t state, uint64_t stream)
{
    nas_rng32 rng = {0, stream << 1 | 1};
    nas_rng32_next(&rng);
    rng.state += state;
    nas_rng32_next(&rng);
    return rng;
}

uint32_t nas_rng32_next(nas_rng32 *rng)
{
    uint64_t old = rng->state;
    rng->state = old * 6364136223846793005ULL + rng->inc;
    uint32_t x = (uint32_t)((old >> 18 ^ old) >> 27);
    unsigned r = (unsigned)(old >> 59);
    return x >> r | x << (-r & 31);
}
