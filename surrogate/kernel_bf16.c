/* The path of CPUs with AVX-512 bf16 instructions: layers' inputs are rounded to bf16 and
 * multiplied in pairs, sums are f32; the rest as in the AVX-512 path.
 *
 * A pair is two neighbours along k in one 32-bit word, the second one 0 where k is odd. Packed B is
 * a list of panels (pairs, NR), zero beyond column n. */
#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16,avx2,fma")
#include "surrogate/kernel.h"

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define MR 14  /* rows of a register tile, ... */
#define NR 32  /* and its columns */
#define KC 256 /* pairs: a panel of KC rows and the rounded rows of A stay in the near caches */

/* Rounded A: element (i, pair) is data[i * row + pair * col]. */
typedef struct {
    const uint32_t *data;
    size_t row, col;
} pairs_view;

static __mmask16 first(size_t n)
{
    return n < 16 ? (__mmask16)((1u << n) - 1) : (__mmask16)0xffff;
}

static __m256i rounded(__m512 x)
{
    return (__m256i)_mm512_cvtneps_pbh(x);
}

/* n <= 16 neighbours of one row and of the next one along k, or 0: n pairs. */
static inline __m512i pairs_of(const float *x, const float *next, size_t n)
{
    __mmask16 mask = first(n);
    __m512i low = _mm512_cvtepu16_epi32(rounded(_mm512_maskz_loadu_ps(mask, x)));
    if (!next)
        return low;
    __m512i high = _mm512_cvtepu16_epi32(rounded(_mm512_maskz_loadu_ps(mask, next)));
    return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

/* to[i] = pairs of n columns that lie side by side: rows l and l + 1 of (k,n). */
static void round_across(size_t k, size_t l, const float *x, size_t stride, size_t n, uint32_t *to)
{
    const float *next = l + 1 < k ? x + stride : NULL;
    for (size_t i = 0; i < n; i += 16) {
        __m512i pairs = pairs_of(x + i, next ? next + i : NULL, n - i);
        _mm512_mask_storeu_epi32(to + i, first(n - i), pairs);
    }
}

/* to[i] = the pairs of k neighbours. */
static void round_along(size_t k, const float *x, uint32_t *to)
{
    for (size_t l = 0; l < k; l += 16, to += 8) {
        size_t n = k - l < 16 ? k - l : 16;
        __m256i pairs = rounded(_mm512_maskz_loadu_ps(first(n), x + l));
        _mm256_mask_storeu_epi32(to, (__mmask8)first((n + 1) / 2), pairs);
    }
}

static size_t pairs(size_t k)
{
    return (k + 1) / 2;
}

static size_t packed_size(size_t k, size_t n)
{
    return (n + NR - 1) / NR * NR * pairs(k);
}

/* One panel whose columns lie far apart: rounded column by column, then turned. */
static void pack_turned(size_t k, size_t n, nas_view b, uint32_t *to)
{
    uint32_t column[KC];
    for (size_t j = 0; j < n; j++)
        for (size_t l = 0; l < k; l += 2 * KC) {
            size_t depth = k - l < 2 * KC ? k - l : 2 * KC;
            round_along(depth, b.data + j * b.col + l, column);
            for (size_t p = 0; p < pairs(depth); p++)
                to[(l / 2 + p) * NR + j] = column[p];
        }
}

/* Any strides. */
static void pack_slowly(size_t k, size_t n, nas_view b, uint32_t *to)
{
    for (size_t l = 0; l < k; l += 2, to += NR)
        for (size_t j = 0; j < n; j++) {
            float pair[2] = {b.data[l * b.row + j * b.col],
                             l + 1 < k ? b.data[(l + 1) * b.row + j * b.col] : 0};
            round_along(2, pair, to + j);
        }
}

static void pack(size_t k, size_t n, nas_view b, float *packed)
{
    uint32_t *to = (uint32_t *)packed;
    for (size_t j = 0; j < n; j += NR, b.data += NR * b.col, to += pairs(k) * NR) {
        size_t width = n - j < NR ? n - j : NR;
        if (width < NR)
            memset(to, 0, pairs(k) * NR * sizeof *to);
        if (b.col == 1)
            for (size_t l = 0; l < k; l += 2)
                round_across(k, l, b.data + l * b.row, b.row, width, to + l / 2 * NR);
        else if (b.row == 1)
            pack_turned(k, width, b, to);
        else
            pack_slowly(k, width, b, to);
    }
}

/* m <= NAS_ROWS rows of k <= 2 KC. */
static pairs_view round_rows(size_t m, size_t k, nas_view a, uint32_t *to)
{
    if (a.row == 1 && m > 1) {
        for (size_t l = 0; l < k; l += 2)
            round_across(k, l, a.data + l * a.col, a.col, m, to + l / 2 * m);
        return (pairs_view){to, 1, m};
    }
    for (size_t i = 0; i < m; i++)
        if (a.col == 1)
            round_along(k, a.data + i * a.row, to + i * pairs(k));
        else
            for (size_t l = 0; l < k; l += 2) {
                const float *x = a.data + i * a.row + l * a.col;
                round_along(2, (float[2]){x[0], l + 1 < k ? x[a.col] : 0},
                            to + i * pairs(k) + l / 2);
            }
    return (pairs_view){to, pairs(k), 1};
}

/* n floats of a result before they are stored at column j of row i. */
static inline __m512 finished(__m512 x, const nas_finish *f, size_t i, size_t j, size_t ldc,
                              __mmask16 n)
{
    if (f->bias)
        x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(n, f->bias + j));
    if (f->relu)
        x = _mm512_max_ps(x, _mm512_setzero_ps());
    if (f->gate) {
        __m512 gate = _mm512_maskz_loadu_ps(n, f->gate + i * ldc + j);
        __mmask16 open = _mm512_cmp_ps_mask(gate, _mm512_setzero_ps(), _CMP_GT_OQ);
        x = _mm512_maskz_mul_ps(open, x, _mm512_set1_ps(f->gate_scale));
    }
    return x;
}

/* C(rows, width) = or += A(rows, n pairs) times one panel, then last unless it is NULL; rows is a
 * constant where inlined. */
static inline __attribute__((always_inline)) void tile(size_t rows, size_t width, size_t n,
                                                       pairs_view a, const uint32_t *b, float *c,
                                                       size_t ldc, bool add, const nas_finish *last)
{
    __mmask16 left = first(width), right = first(width > 16 ? width - 16 : 0);
    __m512 sum[MR][2];
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++) {
        sum[i][0] = _mm512_maskz_loadu_ps(add ? left : 0, c + i * ldc);
        sum[i][1] = _mm512_maskz_loadu_ps(add ? right : 0, c + i * ldc + 16);
    }
    for (size_t p = 0; p < n; p++, b += NR, a.data += a.col) {
        __m512bh b0 = (__m512bh)_mm512_loadu_si512(b), b1 = (__m512bh)_mm512_loadu_si512(b + 16);
#pragma GCC unroll 16
        for (size_t i = 0; i < rows; i++) {
            __m512bh x = (__m512bh)_mm512_set1_epi32((int)a.data[i * a.row]);
            sum[i][0] = _mm512_dpbf16_ps(sum[i][0], x, b0);
            sum[i][1] = _mm512_dpbf16_ps(sum[i][1], x, b1);
        }
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++) {
        if (last) {
            sum[i][0] = finished(sum[i][0], last, i, 0, ldc, left);
            sum[i][1] = finished(sum[i][1], last, i, 16, ldc, right);
        }
        _mm512_mask_storeu_ps(c + i * ldc, left, sum[i][0]);
        _mm512_mask_storeu_ps(c + i * ldc + 16, right, sum[i][1]);
    }
}

#define TILE(rows)                                                                                 \
    case rows:                                                                                     \
        tile(rows, width, n, a, b, c, ldc, add, last);                                             \
        break;

static void tile_of(size_t rows, size_t width, size_t n, pairs_view a, const uint32_t *b, float *c,
                    size_t ldc, bool add, const nas_finish *last)
{
    switch (rows) {
        TILE(1)
        TILE(2)
        TILE(3)
        TILE(4)
        TILE(5)
        TILE(6)
        TILE(7)
        TILE(8)
        TILE(9)
        TILE(10)
        TILE(11)
        TILE(12)
        TILE(13)
        TILE(14)
    }
}

static void run(size_t m, size_t n, size_t k, nas_view a, const float *b, float *c, size_t ldc,
                nas_finish finish)
{
    bool plain = !finish.bias && !finish.relu && !finish.gate;
    uint32_t copy[NAS_ROWS * KC];
    for (size_t i = 0; i < m; i += NAS_ROWS)
        for (size_t l = 0; l < k; l += 2 * KC) {
            size_t rows = m - i < NAS_ROWS ? m - i : NAS_ROWS;
            size_t depth = k - l < 2 * KC ? k - l : 2 * KC;
            nas_view part = {a.data + i * a.row + l * a.col, a.row, a.col};
            pairs_view x = round_rows(rows, depth, part, copy);
            for (size_t j = 0; j < n; j += NR) {
                const uint32_t *panel = (const uint32_t *)b + j * pairs(k) + l / 2 * NR;
                for (size_t r = 0; r < rows; r += MR) {
                    pairs_view at = {x.data + r * x.row, x.row, x.col};
                    nas_finish last = nas_finish_at(finish, i + r, j, ldc);
                    tile_of(rows - r < MR ? rows - r : MR, n - j < NR ? n - j : NR, pairs(depth),
                            at, panel, c + (i + r) * ldc + j, ldc, finish.add || l > 0,
                            plain || l + depth < k ? NULL : &last);
                }
            }
        }
}

static bool available(void)
{
    return nas_kernels_avx512.available() && __builtin_cpu_supports("avx512bf16");
}

static const nas_product product = {packed_size, pack, run};

const nas_kernels nas_kernels_avx512_bf16 = {"avx512-bf16", available, &nas_product_avx512,
                                             &product, &nas_rows_avx512};
#endif
