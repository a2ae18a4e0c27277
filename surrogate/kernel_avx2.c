/* The path of CPUs with AVX2 and FMA. */
#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#include <immintrin.h>

#define W            8
#define MR           6
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define PATH         nas_kernels_avx2
#define PATH_NAME    "avx2"

static _Bool available(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#include "surrogate/kernel_body.inc"
#endif
