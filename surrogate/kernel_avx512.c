/* The path of CPUs with AVX-512. */
#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")
#include <immintrin.h>

#define W            16
#define MR           14
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define PATH         nas_kernels_avx512
#define PATH_NAME    "avx512"

static _Bool available(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}

#include "surrogate/kernel_body.inc"
#endif
