/* The paths of CPUs with bf16 instructions, AVX-512's and AMX': layers' inputs are rounded to bf16
 * and multiplied in pairs, sums are f32; the rest as in the AVX-512 path.
 *
 * A pair is two neighbours along k in one 32-bit word, the second one 0 where k is odd. Both
 * operands have a multiple of PAIRS pairs, 0 beyond k: A row by row, packed B as a list of panels
 * (pairs, NR), 0 beyond column n. */
#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16,avx2,fma,amx-tile,amx-bf16")
#include "surrogate/kernel.h"

#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MR    14  /* rows of a register tile, ... */
#define NR    32  /* and its columns */
#define PAIRS 16  /* of a vector or a row of an AMX tile */
#define KC    256 /* pairs: a panel of KC rows and the rounded rows of A stay in the near caches */

/* ---- rounding ---- */

static __mmask16 first(size_t n)
{
    return n < 16 ? (__mmask16)((1u << n) - 1) : (__mmask16)0xffff;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t padded(size_t k)
{
    return (k + 2 * PAIRS - 1) / (2 * PAIRS) * PAIRS;
}

/* The pairs of n <= 32 neighbours along k; 0 beyond them. */
static inline __m512i pairs_along(const float *x, size_t n)
{
    __m512 low = _mm512_maskz_loadu_ps(first(n), x);
    __m512 high = n > 16 ? _mm512_maskz_loadu_ps(first(n - 16), x + 16) : _mm512_setzero_ps();
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* The same where neighbours are stride floats apart. */
static inline __m512i pairs_apart(const float *x, size_t stride, size_t n)
{
    float row[2 * PAIRS] = {0};
    for (size_t l = 0; l < n && l < 2 * PAIRS; l++)
        row[l] = x[l * stride];
    return pairs_along(row, 2 * PAIRS);
}

/* n <= 16 pairs side by side, of row l of (k,n) and the one after it; 0 beyond k. */
static inline __m512i pairs_across(size_t k, size_t l, const float *x, size_t stride, size_t n)
{
    const __m512i turns =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    __m512 low = _mm512_maskz_loadu_ps(l < k ? first(n) : 0, x + l * stride);
    __m512 high = _mm512_maskz_loadu_ps(l + 1 < k ? first(n) : 0, x + (l + 1) * stride);
    return _mm512_permutexvar_epi16(turns, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

/* Exchanges rows and columns of 16 by 16 words. */
static inline void turn(__m512i x[16])
{
    __m512i y[16];
#pragma GCC unroll 8
    for (size_t i = 0; i < 16; i += 2) { /* words of two rows alternate, ... */
        y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < 16; i += 4) { /* of four: column j of each quarter is in x[i + j], ... */
        x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
        x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
        x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
        x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) { /* and quarters change places */
        __m512i a = _mm512_shuffle_i32x4(x[i], x[i + 4], 0x88);
        __m512i b = _mm512_shuffle_i32x4(x[i], x[i + 4], 0xdd);
        __m512i c = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0x88);
        __m512i d = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0xdd);
        y[i] = _mm512_shuffle_i32x4(a, c, 0x88);
        y[i + 4] = _mm512_shuffle_i32x4(b, d, 0x88);
        y[i + 8] = _mm512_shuffle_i32x4(a, c, 0xdd);
        y[i + 12] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
    memcpy(x, y, sizeof y);
}

/* Rows of k <= 2 KC floats: to (m, padded(k)). */
static void round_rows(size_t m, size_t k, nas_view a, uint32_t *to)
{
    size_t stride = padded(k);
    if (a.row == 1 && m > 1) {
        for (size_t i = 0; i < m; i += 16)
            for (size_t l = 0; l < k; l += 2 * PAIRS) {
                __m512i x[16];
#pragma GCC unroll 16
                for (size_t p = 0; p < PAIRS; p++)
                    x[p] = pairs_across(k, l + 2 * p, a.data + i, a.col, m - i);
                turn(x);
                for (size_t r = 0; r < least(16, m - i); r++)
                    _mm512_storeu_si512(to + (i + r) * stride + l / 2, x[r]);
            }
        return;
    }
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < k; l += 2 * PAIRS) {
            const float *x = a.data + i * a.row + l * a.col;
            _mm512_storeu_si512(to + i * stride + l / 2,
                                a.col == 1 ? pairs_along(x, k - l) : pairs_apart(x, a.col, k - l));
        }
}

/* One panel of n <= NR columns. */
static void pack_panel(size_t k, size_t n, nas_view b, uint32_t *to)
{
    for (size_t j = 0; j < NR; j += 16)
        for (size_t l = 0; l < k; l += 2 * PAIRS) {
            __m512i x[16];
            size_t columns = n > j ? n - j : 0;
            for (size_t p = 0; p < 16; p++) {
                const float *column = b.data + (j + p) * b.col + l * b.row;
                if (b.col == 1)
                    x[p] = pairs_across(k, l + 2 * p, b.data + j, b.row, columns);
                else if (p < columns)
                    x[p] =
                        b.row == 1 ? pairs_along(column, k - l) : pairs_apart(column, b.row, k - l);
                else
                    x[p] = _mm512_setzero_si512();
            }
            if (b.col != 1)
                turn(x);
            for (size_t p = 0; p < PAIRS; p++)
                _mm512_storeu_si512(to + (l / 2 + p) * NR + j, x[p]);
        }
}

static size_t packed_size(size_t k, size_t n)
{
    return (n + NR - 1) / NR * NR * padded(k);
}

static void pack(size_t k, size_t n, nas_view b, float *packed)
{
    uint32_t *to = (uint32_t *)packed;
    for (size_t j = 0; j < n; j += NR, b.data += NR * b.col, to += padded(k) * NR)
        pack_panel(k, least(NR, n - j), b, to);
}

/* ---- products of tiles ---- */

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
                                                       const uint32_t *a, size_t stride,
                                                       const uint32_t *b, float *c, size_t ldc,
                                                       bool add, const nas_finish *last)
{
    __mmask16 left = first(width), right = first(width > 16 ? width - 16 : 0);
    __m512 sum[MR][2];
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++) {
        sum[i][0] = _mm512_maskz_loadu_ps(add ? left : 0, c + i * ldc);
        sum[i][1] = _mm512_maskz_loadu_ps(add ? right : 0, c + i * ldc + 16);
    }
    for (size_t p = 0; p < n; p++, b += NR) {
        __m512bh b0 = (__m512bh)_mm512_loadu_si512(b), b1 = (__m512bh)_mm512_loadu_si512(b + 16);
#pragma GCC unroll 16
        for (size_t i = 0; i < rows; i++) {
            __m512bh x = (__m512bh)_mm512_set1_epi32((int)a[i * stride + p]);
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
        tile(rows, width, n, a, stride, b, c, ldc, add, last);                                     \
        break;

static void tile_of(size_t rows, size_t width, size_t n, const uint32_t *a, size_t stride,
                    const uint32_t *b, float *c, size_t ldc, bool add, const nas_finish *last)
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

/* How a path multiplies rows of A, rounded, by one panel: C(rows, width) = or += A(rows, n pairs)
 * B, then last unless it is NULL. */
typedef void multiply(size_t rows, size_t width, size_t n, const uint32_t *a, const uint32_t *b,
                      float *c, size_t ldc, bool add, const nas_finish *last);

static void multiply_avx512(size_t rows, size_t width, size_t n, const uint32_t *a,
                            const uint32_t *b, float *c, size_t ldc, bool add,
                            const nas_finish *last)
{
    size_t stride = padded(2 * n);
    for (size_t r = 0; r < rows; r += MR) {
        nas_finish part = last ? nas_finish_at(*last, r, 0, ldc) : (nas_finish){0};
        tile_of(least(MR, rows - r), width, n, a + r * stride, stride, b, c + r * ldc, ldc, add,
                last ? &part : NULL);
    }
}

/* Two by two tiles of 16 rows and 16 columns: 0-3 hold the sums, 4 and 5 rows of A, 6 and 7 columns
 * of B. The compiler does not know what a tile instruction reads and writes. */
static inline __attribute__((always_inline)) void amx_tile(bool tall, bool wide, size_t n,
                                                           const uint32_t *a, size_t stride,
                                                           const uint32_t *b, float *c, size_t ldc,
                                                           bool add)
{
    const size_t a_row = stride * sizeof *a, b_row = NR * sizeof *b, c_row = ldc * sizeof *c;
    float *right = c + 16, *low = c + 16 * ldc, *corner = low + 16;
    __asm__ volatile("" ::: "memory");
    if (add) {
        _tile_loadd(0, c, c_row);
        if (wide)
            _tile_loadd(1, right, c_row);
        if (tall)
            _tile_loadd(2, low, c_row);
        if (tall && wide)
            _tile_loadd(3, corner, c_row);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (size_t p = 0; p < n; p += PAIRS, a += PAIRS, b += PAIRS * NR) {
        _tile_loadd(4, a, a_row);
        _tile_loadd(6, b, b_row);
        _tile_dpbf16ps(0, 4, 6);
        if (wide) {
            _tile_loadd(7, b + 16, b_row);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (tall) {
            _tile_loadd(5, a + 16 * stride, a_row);
            _tile_dpbf16ps(2, 5, 6);
        }
        if (tall && wide)
            _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, c, c_row);
    if (wide)
        _tile_stored(1, right, c_row);
    if (tall)
        _tile_stored(2, low, c_row);
    if (tall && wide)
        _tile_stored(3, corner, c_row);
    __asm__ volatile("" ::: "memory");
}

static void amx_tile_of(bool tall, bool wide, size_t n, const uint32_t *a, const uint32_t *b,
                        float *c, size_t ldc, bool add)
{
    size_t stride = padded(2 * n);
    if (tall && wide)
        amx_tile(true, true, n, a, stride, b, c, ldc, add);
    else if (tall)
        amx_tile(true, false, n, a, stride, b, c, ldc, add);
    else if (wide)
        amx_tile(false, true, n, a, stride, b, c, ldc, add);
    else
        amx_tile(false, false, n, a, stride, b, c, ldc, add);
}

/* A tile at an edge, by way of a whole one; reads rows of A up to a multiple of 16. */
static void amx_edge(size_t rows, size_t width, size_t n, const uint32_t *a, const uint32_t *b,
                     float *c, size_t ldc, bool add)
{
    float whole[32 * NR];
    for (size_t i = 0; add && i < rows; i++)
        memcpy(whole + i * NR, c + i * ldc, width * sizeof *c);
    amx_tile_of(rows > 16, width > 16, n, a, b, whole, NR, add);
    for (size_t i = 0; i < rows; i++)
        memcpy(c + i * ldc, whole + i * NR, width * sizeof *c);
}

static void multiply_amx(size_t rows, size_t width, size_t n, const uint32_t *a, const uint32_t *b,
                         float *c, size_t ldc, bool add, const nas_finish *last)
{
    for (size_t r = 0; r < rows; r += 32) {
        size_t height = least(32, rows - r);
        float *to = c + r * ldc;
        if (height % 16 || width % 16)
            amx_edge(height, width, n, a + r * padded(2 * n), b, to, ldc, add);
        else
            amx_tile_of(height > 16, width > 16, n, a + r * padded(2 * n), b, to, ldc, add);
        for (size_t i = 0; last && i < height; i++)
            for (size_t j = 0; j < width; j += 16) {
                __mmask16 mask = first(width - j);
                __m512 x = _mm512_maskz_loadu_ps(mask, to + i * ldc + j);
                x = finished(x, last, r + i, j, ldc, mask);
                _mm512_mask_storeu_ps(to + i * ldc + j, mask, x);
            }
    }
}

/* ---- the two paths ---- */

static inline __attribute__((always_inline)) void run(multiply by, size_t m, size_t n, size_t k,
                                                      nas_view a, const float *b, float *c,
                                                      size_t ldc, nas_finish finish)
{
    bool plain = !finish.bias && !finish.relu && !finish.gate;
    uint32_t rounded[NAS_ROWS * KC] __attribute__((aligned(64)));
    for (size_t i = 0; i < m; i += NAS_ROWS)
        for (size_t l = 0; l < k; l += 2 * KC) {
            size_t rows = least(NAS_ROWS, m - i), depth = least(2 * KC, k - l);
            round_rows(rows, depth, (nas_view){a.data + i * a.row + l * a.col, a.row, a.col},
                       rounded);
            for (size_t j = 0; j < n; j += NR) {
                const uint32_t *panel = (const uint32_t *)b + j * padded(k) + l / 2 * NR;
                nas_finish last = nas_finish_at(finish, i, j, ldc);
                by(rows, least(NR, n - j), (depth + 1) / 2, rounded, panel, c + i * ldc + j, ldc,
                   finish.add || l > 0, plain || l + depth < k ? NULL : &last);
            }
        }
}

static void run_avx512(size_t m, size_t n, size_t k, nas_view a, const float *b, float *c,
                       size_t ldc, nas_finish finish)
{
    run(multiply_avx512, m, n, k, a, b, c, ldc, finish);
}

static void run_amx(size_t m, size_t n, size_t k, nas_view a, const float *b, float *c, size_t ldc,
                    nas_finish finish)
{
    static const struct {
        uint8_t palette, start, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } tiles __attribute__((aligned(64))) = {
        .palette = 1,
        .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
        .rows = {16, 16, 16, 16, 16, 16, 16, 16},
    };
    _tile_loadconfig(&tiles);
    run(multiply_amx, m, n, k, a, b, c, ldc, finish);
    _tile_release();
}

static bool has_bf16(void)
{
    return nas_kernels_avx512.available() && __builtin_cpu_supports("avx512bf16");
}

/* Linux hands out the tile registers on request (ARCH_REQ_XCOMP_PERM, feature 18). */
static bool has_amx(void)
{
    return has_bf16() && __builtin_cpu_supports("amx-bf16") &&
           syscall(SYS_arch_prctl, 0x1023, 18) == 0;
}

static const nas_product product_avx512 = {packed_size, pack, run_avx512, NULL, 0};
static const nas_product product_amx = {packed_size, pack, run_amx, NULL, 0};

const nas_kernels nas_kernels_avx512_bf16 = {"avx512-bf16",   has_bf16,        &nas_product_avx512,
                                             &product_avx512, &product_avx512, &nas_rows_avx512};
const nas_kernels nas_kernels_amx_bf16 = {"amx-bf16",   has_amx,      &nas_product_avx512,
                                          &product_amx, &product_amx, &nas_rows_avx512};
#endif
