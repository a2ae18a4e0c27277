/* The paths of CPUs with AVX2 and FMA: f32, and one that rounds as bf16 instructions do. */
#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#include <immintrin.h>

#define W            8
#define MR           6
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define SUM(x)       sum_of(x)
#define LANES                                                                                      \
    {                                                                                              \
        0, 1, 2, 3, 4, 5, 6, 7                                                                     \
    }

#define LOAD_PART(from, n)   _mm256_maskload_ps(from, mask_of(n))
#define STORE_PART(to, x, n) _mm256_maskstore_ps(to, mask_of(n), x)

static inline __m256i mask_of(size_t n)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n < W ? (int)n : W), lanes);
}

static inline float sum_of(__m256 x)
{
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(half) + _mm_cvtss_f32(_mm_movehdup_ps(half));
}

#include "spaces/base/mem.h"
#include "surrogate/kernel_body.inc"
#include "surrogate/safetensors.h"

#include <stdlib.h>

static bool available(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static const nas_product product = {packed_size, pack, run, run_plain, NR};
static const nas_rows rows = {softmax, softmax_again, norm, norm_back, dot, add_scaled};
/* The inputs rounded to bf16, as the paths with bf16 instructions do. */
static void pack_rounded(size_t k, size_t n, nas_view b, float *packed)
{
    pack(k, n, b, packed);
    for (size_t i = 0; i < packed_size(k, n); i++)
        packed[i] = nas_bf16_to_float(nas_bf16_from_float(packed[i]));
}

static void run_rounded(size_t m, size_t n, size_t k, nas_view a, const float *b, float *c,
                        size_t ldc, nas_finish finish)
{
    float *copy = nas_alloc(m * k * sizeof *copy);
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < k; l++)
            copy[i * k + l] = nas_bf16_to_float(nas_bf16_from_float(a.data[i * a.row + l * a.col]));
    run(m, n, k, (nas_view){copy, k, 1}, b, c, ldc, finish);
    free(copy);
}

static const nas_product rounded = {packed_size, pack_rounded, run_rounded, NULL, 0};
const nas_kernels nas_kernels_avx2_bf16 = {"avx2-bf16", available, &product,
                                           &rounded,    &rounded,  &rows};

const nas_kernels nas_kernels_avx2 = {"avx2", available, &product, &product, &product, &rows};
#endif
