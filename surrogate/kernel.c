/* Choosing a CPU path, and products spread over threads. */
#include "surrogate/kernel.h"

#include "spaces/base/mem.h"

#include <stdlib.h>
#include <string.h>

const nas_kernels *const nas_kernels_list[] = {
#if defined(__x86_64__)
    &nas_kernels_amx_bf16,
    &nas_kernels_avx512_bf16,
    &nas_kernels_avx512,
    &nas_kernels_avx2,
    &nas_kernels_generic,
    &nas_kernels_avx2_bf16,
#else
    &nas_kernels_generic,
#endif
    NULL,
};

const nas_kernels *nas_kernels_find(const char *name, nas_err *err)
{
    const char *names[8];
    size_t n = 0;
    for (; nas_kernels_list[n]; n++) {
        const nas_kernels *k = nas_kernels_list[n];
        names[n] = k->name;
        if (strcmp(name, k->name) == 0) {
            if (k->available())
                return k;
            nas_fail(err, NAS_USAGE, "this CPU has no '%s' path", name);
            return NULL;
        }
    }
    char hint[100];
    nas_fail(err, NAS_USAGE, "unknown CPU path '%s'%s", name,
             nas_hint(hint, sizeof hint, name, names, n));
    return NULL;
}

const nas_kernels *nas_kernels_choose(nas_err *err)
{
    const char *name = getenv("NASLM_CPU");
    if (name && *name)
        return nas_kernels_find(name, err);
    size_t i = 0;
    while (!nas_kernels_list[i]->available())
        i++;
    return nas_kernels_list[i];
}

#if defined(__SSE__)
unsigned nas_tiny_flush(void)
{
    enum { FLUSH = 0x8000, ZEROS = 0x0040 };
    unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | FLUSH | ZEROS);
    return before;
}

void nas_tiny_keep(unsigned before)
{
    __builtin_ia32_ldmxcsr(before);
}
#else
unsigned nas_tiny_flush(void)
{
    return 0;
}

void nas_tiny_keep(unsigned before)
{
    (void)before;
}
#endif

static size_t blocks(size_t n, size_t size)
{
    return (n + size - 1) / size;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Floats of one full column block. */
static size_t block_size(const nas_packed *p)
{
    return p->product->size(p->k, NAS_COLUMNS);
}

void nas_packed_fill(nas_packed *p, const nas_product *product, size_t k, size_t n, nas_view b)
{
    p->product = product;
    p->k = k;
    p->n = n;
    size_t count = blocks(n, NAS_COLUMNS), need = count * block_size(p);
    if (need > p->cap) {
        free(p->data);
        p->data = nas_alloc_lines(need * sizeof *p->data);
        p->cap = need;
    }
#pragma omp parallel for schedule(dynamic) if (k * n > NAS_ALONE)
    for (size_t i = 0; i < count; i++) {
        size_t j = i * NAS_COLUMNS;
        nas_view part = {b.data + j * b.col, b.row, b.col};
        product->pack(k, least(NAS_COLUMNS, n - j), part, p->data + i * block_size(p));
    }
}

void nas_packed_clear(nas_packed *p)
{
    free(p->data);
    *p = (nas_packed){0};
}

NAS_WIDE void nas_finish_block(size_t m, size_t n, nas_finish finish, float *c, size_t ldc)
{
    for (size_t i = 0; i < m; i++, c += ldc) {
        for (size_t j = 0; finish.bias && j < n; j++)
            c[j] += finish.bias[j];
        for (size_t j = 0; finish.relu && j < n; j++)
            c[j] = c[j] > 0 ? c[j] : 0;
        for (size_t j = 0; finish.gate && j < n; j++)
            c[j] = finish.gate[i * ldc + j] > 0 ? finish.gate_scale * c[j] : 0;
    }
}

void nas_linear(size_t m, nas_view a, const nas_packed *b, float *c, size_t ldc, nas_finish finish)
{
    size_t rows = blocks(m, NAS_ROWS), columns = blocks(b->n, NAS_COLUMNS);
#pragma omp parallel for schedule(dynamic) if (m * b->n * b->k / 16 > NAS_ALONE)
    for (size_t task = 0; task < rows * columns; task++) {
        size_t i = task / columns * NAS_ROWS, j = task % columns * NAS_COLUMNS;
        size_t height = least(NAS_ROWS, m - i), width = least(NAS_COLUMNS, b->n - j);
        nas_view part = {a.data + i * a.row, a.row, a.col};
        b->product->run(height, width, b->k, part, b->data + j / NAS_COLUMNS * block_size(b),
                        c + i * ldc + j, ldc, nas_finish_at(finish, i, j, ldc));
    }
}
