/* Layers' products by oneDNN: the path of CPUs with AMX, and the same on AVX-512 bf16 instructions,
 * slower than our own. The rest is as in the AVX-512 path. oneDNN's result for a row may depend on
 * the number of rows and threads, so every call has the same TILE rows, one thread and at most
 * DEPTH inner steps; sums over more are ours. */
#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16,avx2,fma")
#include "surrogate/kernel.h"

#include "spaces/base/mem.h"

#include <dnnl.h>
#include <immintrin.h>
#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TILE  32
#define DEPTH 512 /* a multiple of EVEN */
#define EVEN  64  /* shorter depths are filled up with zeros to a multiple */
#define PLANS 64

/* ---- the two versions of the C API ---- */

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t desc;
#else
typedef const dnnl_memory_desc_t *desc;
#endif

/* (rows,cols) row by row; any: as the product likes it best. */
typedef struct {
#if DNNL_VERSION_MAJOR >= 3
    dnnl_memory_desc_t own;
#else
    dnnl_memory_desc_t own[1];
#endif
} matrix_desc;

static bool describe(matrix_desc *m, size_t rows, size_t cols, dnnl_data_type_t type, bool any)
{
    dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)cols};
    dnnl_format_tag_t tag = any ? dnnl_format_tag_any : dnnl_ab;
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_memory_desc_create_with_tag(&m->own, 2, dims, type, tag) == dnnl_success;
#else
    return dnnl_memory_desc_init_by_tag(m->own, 2, dims, type, tag) == dnnl_success;
#endif
}

static void forget(matrix_desc *m)
{
#if DNNL_VERSION_MAJOR >= 3
    dnnl_memory_desc_destroy(m->own);
#else
    (void)m;
#endif
}

static bool describe_product(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, matrix_desc *a,
                             matrix_desc *b, matrix_desc *c)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_matmul_primitive_desc_create(pd, engine, a->own, b->own, NULL, c->own, NULL) ==
           dnnl_success;
#else
    dnnl_matmul_desc_t op;
    return dnnl_matmul_desc_init(&op, a->own, b->own, NULL, c->own) == dnnl_success &&
           dnnl_primitive_desc_create(pd, &op, NULL, engine, NULL) == dnnl_success;
#endif
}

/* ---- plans: what is kept for a shape, by each thread ---- */

typedef struct {
    size_t k, n; /* k is even */
    dnnl_primitive_t product, reorder;
    dnnl_memory_t a, b, c;       /* (TILE,k) bf16, packed (k,n) bf16, (TILE,n) float */
    dnnl_memory_t plain, packed; /* of the reorder */
    size_t packed_floats;
    uint16_t *a_data, *plain_data;
    float *c_data;
} plan;

static dnnl_engine_t engine;
static pthread_once_t engine_once = PTHREAD_ONCE_INIT;
static _Thread_local plan plans[PLANS];
static _Thread_local size_t n_plans;
static _Thread_local dnnl_stream_t stream;

static void make_engine(void)
{
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success)
        engine = NULL;
}

static void *lines(size_t bytes)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes + 64) != 0)
        nas_out_of_memory(bytes);
    return memset(p, 0, bytes + 64);
}

static bool make_product(plan *p, matrix_desc *a, matrix_desc *b, matrix_desc *c,
                         matrix_desc *plain)
{
    dnnl_primitive_desc_t pd = NULL, reorder = NULL;
    bool ok = describe_product(&pd, engine, a, b, c);
    desc best = ok ? dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0) : NULL;
    ok = ok && dnnl_primitive_create(&p->product, pd) == dnnl_success &&
         dnnl_reorder_primitive_desc_create(&reorder, plain->own, engine, best, engine, NULL) ==
             dnnl_success &&
         dnnl_primitive_create(&p->reorder, reorder) == dnnl_success &&
         dnnl_memory_create(&p->a, a->own, engine, p->a_data) == dnnl_success &&
         dnnl_memory_create(&p->b, best, engine, NULL) == dnnl_success &&
         dnnl_memory_create(&p->c, c->own, engine, p->c_data) == dnnl_success &&
         dnnl_memory_create(&p->plain, plain->own, engine, p->plain_data) == dnnl_success &&
         dnnl_memory_create(&p->packed, best, engine, NULL) == dnnl_success;
    if (ok) /* whole cache lines */
        p->packed_floats = (dnnl_memory_desc_get_size(best) + 63) / 64 * 16;
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_desc_destroy(reorder);
    return ok;
}

static bool make_plan(plan *p, size_t k, size_t n)
{
    matrix_desc a = {0}, b = {0}, c = {0}, plain = {0};
    *p = (plan){.k = k, .n = n};
    p->a_data = lines(TILE * k * sizeof *p->a_data);
    p->plain_data = lines(k * n * sizeof *p->plain_data);
    p->c_data = lines(TILE * n * sizeof *p->c_data);
    bool ok = describe(&a, TILE, k, dnnl_bf16, false) && describe(&b, k, n, dnnl_bf16, true) &&
              describe(&c, TILE, n, dnnl_f32, false) && describe(&plain, k, n, dnnl_bf16, false) &&
              make_product(p, &a, &b, &c, &plain);
    forget(&a);
    forget(&b);
    forget(&c);
    forget(&plain);
    return ok;
}

static void clear_plan(plan *p)
{
    dnnl_primitive_destroy(p->product);
    dnnl_primitive_destroy(p->reorder);
    dnnl_memory_t all[] = {p->a, p->b, p->c, p->plain, p->packed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        dnnl_memory_destroy(all[i]);
    free(p->a_data);
    free(p->plain_data);
    free(p->c_data);
}

/* The plan of a shape; NULL when oneDNN cannot do it. Made with one thread, as it is used. */
static plan *plan_of(size_t k, size_t n)
{
    k = (k + EVEN - 1) / EVEN * EVEN;
    for (size_t i = 0; i < n_plans; i++)
        if (plans[i].k == k && plans[i].n == n)
            return &plans[i];
    pthread_once(&engine_once, make_engine);
    if (!engine || (!stream && dnnl_stream_create(&stream, engine, 0) != dnnl_success))
        return NULL;
    while (n_plans == PLANS)
        for (; n_plans > 0; n_plans--)
            clear_plan(&plans[n_plans - 1]);
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    bool ok = make_plan(&plans[n_plans], k, n);
    omp_set_num_threads(threads);
    if (!ok)
        clear_plan(&plans[n_plans]);
    return ok ? &plans[n_plans++] : NULL;
}

/* ---- the product ---- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* to (rows,width) of which (k,n) are taken from b and the rest is 0. */
static void round_all(uint16_t *to, size_t rows, size_t width, nas_view b, size_t k, size_t n)
{
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < width; j += 16) {
            size_t left = j < n ? n - j : 0;
            __mmask16 from = (__mmask16)(left < 16 ? (1u << left) - 1 : 0xffff);
            __mmask16 kept = (__mmask16)(width - j < 16 ? (1u << (width - j)) - 1 : 0xffff);
            const float *x = b.data + i * b.row + j * b.col;
            float row[16];
            for (size_t l = 0; b.col != 1 && l < least(left, 16); l++)
                row[l] = x[l * b.col];
            __m512 v = _mm512_maskz_loadu_ps(from, b.col == 1 ? x : row);
            _mm256_mask_storeu_epi16(to + i * width + j, kept, (__m256i)_mm512_cvtneps_pbh(v));
        }
    memset(to + k * width, 0, (rows - k) * width * sizeof *to);
}

static size_t packed_size(size_t k, size_t n)
{
    size_t size = k / DEPTH ? k / DEPTH * plan_of(DEPTH, n)->packed_floats : 0;
    return size + (k % DEPTH ? plan_of(k % DEPTH, n)->packed_floats : 0);
}

static void pack(size_t k, size_t n, nas_view b, float *packed)
{
    for (size_t l = 0; l < k; l += DEPTH) {
        size_t depth = least(DEPTH, k - l);
        plan *p = plan_of(depth, n);
        nas_view part = {b.data + l * b.row, b.row, b.col};
        round_all(p->plain_data, p->k, n, part, depth, n);
        dnnl_memory_set_data_handle(p->packed, packed);
        dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, p->plain}, {DNNL_ARG_TO, p->packed}};
        dnnl_primitive_execute(p->reorder, stream, 2, args);
        packed += p->packed_floats;
    }
}

/* At most TILE rows, at most DEPTH deep: C += A B. */
__attribute__((optimize("O3"))) static void run_tile(plan *p, size_t m, size_t k, nas_view a,
                                                     const float *b, float *c, size_t ldc)
{
    round_all(p->a_data, TILE, p->k, a, m, k);
    dnnl_memory_set_data_handle(p->b, (void *)b);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, p->a}, {DNNL_ARG_WEIGHTS, p->b}, {DNNL_ARG_DST, p->c}};
    dnnl_primitive_execute(p->product, stream, 3, args);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < p->n; j++)
            c[i * ldc + j] += p->c_data[i * p->n + j];
}

static void run(size_t m, size_t n, size_t k, nas_view a, const float *b, float *c, size_t ldc,
                nas_finish finish)
{
    for (size_t i = 0; !finish.add && i < m; i++)
        memset(c + i * ldc, 0, n * sizeof *c);
    for (size_t l = 0; l < k; l += DEPTH) {
        size_t depth = least(DEPTH, k - l);
        plan *p = plan_of(depth, n);
        for (size_t i = 0; i < m; i += TILE) {
            nas_view part = {a.data + i * a.row + l * a.col, a.row, a.col};
            run_tile(p, least(TILE, m - i), depth, part, b, c + i * ldc, ldc);
        }
        b += p->packed_floats;
    }
    nas_finish_block(m, n, finish, c, ldc);
}

/* ---- the two paths ---- */

/* Does a row give the same bits wherever it lies in a tile? Predictions are promised not to depend
 * on the batch, so a path that fails here is not offered. */
static bool rows_agree(size_t k, size_t n)
{
    float *a = nas_alloc(k * sizeof *a), *b = nas_alloc(k * n * sizeof *b);
    float *c = nas_alloc(TILE * n * sizeof *c), *packed = NULL;
    for (size_t i = 0; i < k; i++)
        a[i] = (float)(i % 61) / 61 - 0.4f;
    for (size_t i = 0; i < k * n; i++)
        b[i] = (float)(i % 127) / 127 - 0.6f;
    bool ok = plan_of(k, n) != NULL;
    if (ok) {
        packed = lines(packed_size(k, n) * sizeof *packed);
        pack(k, n, (nas_view){b, n, 1}, packed);
        run(TILE, n, k, (nas_view){a, 0, 1}, packed, c, n, (nas_finish){0});
        for (size_t i = 1; i < TILE; i++)
            ok = ok && memcmp(c, c + i * n, n * sizeof *c) == 0;
    }
    free(a);
    free(b);
    free(c);
    free(packed);
    return ok;
}

static bool works(void)
{
    return rows_agree(DEPTH, NAS_COLUMNS) && rows_agree(EVEN, 40);
}

static bool has_bf16(void)
{
    return nas_kernels_avx512.available() && __builtin_cpu_supports("avx512bf16");
}

/* Once oneDNN has run with AMX in this process it keeps using it. */
static bool available_bf16(void)
{
    if (!has_bf16())
        return false;
    dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16);
    return works();
}

/* Linux hands out the tile registers on request (ARCH_REQ_XCOMP_PERM, feature 18). */
static bool available_amx(void)
{
    return has_bf16() && __builtin_cpu_supports("amx-bf16") &&
           syscall(SYS_arch_prctl, 0x1023, 18) == 0 && works();
}

static const nas_product product = {packed_size, pack, run};

const nas_kernels nas_kernels_dnnl_bf16 = {"dnnl-bf16", available_bf16, &nas_product_avx512,
                                           &product, &nas_rows_avx512};
const nas_kernels nas_kernels_amx_bf16 = {"amx-bf16", available_amx, &nas_product_avx512, &product,
                                          &nas_rows_avx512};

const char *nas_kernels_library(char text[32])
{
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, 32, "%d.%d.%d", v->major, v->minor, v->patch);
    return text;
}
#else
const char *nas_kernels_library(char text[32])
{
    return strcpy(text, "none");
}
#endif
