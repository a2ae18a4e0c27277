/* The path of CPUs with AVX-512. */
#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")
#include <immintrin.h>

#define W            16
#define MR           14
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define SUM(x)       _mm512_reduce_add_ps(x)
#define LANES                                                                                      \
    {                                                                                              \
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15                                       \
    }

#define LOAD_PART(from, n)   _mm512_maskz_loadu_ps(mask_of(n), from)
#define STORE_PART(to, x, n) _mm512_mask_storeu_ps(to, mask_of(n), x)

static inline __mmask16 mask_of(size_t n)
{
    return (__mmask16)(n < W ? (1u << n) - 1 : 0xffff);
}

#include "surrogate/kernel_body.inc"

static bool available(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}

const nas_product nas_product_avx512 = {packed_size, pack, run, run_plain, NR};
const nas_rows nas_rows_avx512 = {softmax, softmax_again, norm, norm_back, dot, add_scaled};
const nas_kernels nas_kernels_avx512 = {
    "avx512",        available, &nas_product_avx512, &nas_product_avx512, &nas_product_avx512,
    &nas_rows_avx512};
#endif
