#include "surrogate/tensor.h"

#include "spaces/base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t nas_tensors_add(nas_tensors *tensors, size_t rows, size_t cols, float init, bool decay,
                       const char *name, ...)
{
    tensors->tensor =
        nas_grow(tensors->tensor, &tensors->cap, tensors->n + 1, sizeof *tensors->tensor);
    nas_tensor *t = &tensors->tensor[tensors->n++];
    *t = (nas_tensor){.rows = rows, .cols = cols, .init = init, .decay = decay};
    t->at = tensors->count;
    t->count = rows * (cols ? cols : 1);
    tensors->count += t->count;
    va_list args;
    va_start(args, name);
    int length = vsnprintf(t->name, sizeof t->name, name, args);
    va_end(args);
    assert(length > 0 && (size_t)length < sizeof t->name);
    return t->at;
}

void nas_tensors_clear(nas_tensors *tensors)
{
    free(tensors->tensor);
    *tensors = (nas_tensors){0};
}

const nas_tensor *nas_tensors_find(const nas_tensors *tensors, const char *name)
{
    for (size_t i = 0; i < tensors->n; i++)
        if (strcmp(tensors->tensor[i].name, name) == 0)
            return &tensors->tensor[i];
    return NULL;
}

void nas_tensors_init(const nas_tensors *tensors, float *block, const nas_rng *rng)
{
    for (size_t i = 0; i < tensors->n; i++) {
        const nas_tensor *t = &tensors->tensor[i];
        nas_rng r = nas_rng_child(rng, t->name, 0);
        for (size_t j = 0; j < t->count; j++)
            block[t->at + j] = t->init < 0 ? 1 : t->init * (float)nas_rng_normal(&r);
    }
}

static const nas_safetensor *stored(const nas_tensor *t, const nas_safetensors *file,
                                    const char *prefix)
{
    char name[200];
    snprintf(name, sizeof name, "%s%s", prefix, t->name);
    return nas_safetensors_find(file, name);
}

nas_status nas_tensors_check(const nas_tensors *tensors, const nas_safetensors *file,
                             const char *prefix, nas_err *err)
{
    for (size_t i = 0; i < tensors->n; i++) {
        const nas_tensor *t = &tensors->tensor[i];
        const nas_safetensor *s = stored(t, file, prefix);
        if (!s)
            return nas_fail(err, NAS_FAILED, "tensor '%s%s' is missing", prefix, t->name);
        if (s->n_dim != (t->cols ? 2 : 1) || s->dim[0] != t->rows ||
            (t->cols && s->dim[1] != t->cols))
            return nas_fail(err, NAS_FAILED, "tensor '%s' does not have the shape %zu x %zu",
                            s->name, t->rows, t->cols ? t->cols : 1);
    }
    return NAS_OK;
}

nas_status nas_tensors_read(const nas_tensors *tensors, const nas_safetensors *file,
                            const char *prefix, float *block, nas_err *err)
{
    nas_status status = NAS_OK;
    for (size_t i = 0; i < tensors->n && !status; i++) {
        const nas_tensor *t = &tensors->tensor[i];
        status = nas_safetensor_floats(stored(t, file, prefix), block + t->at, t->count, err);
    }
    return status;
}

nas_status nas_tensors_save(const nas_tensors *tensors, const char *path,
                            const nas_tensor_block *blocks, size_t n_block, const json_t *metadata,
                            nas_err *err)
{
    nas_arena *arena = nas_arena_new();
    nas_safetensor *all = nas_zalloc(tensors->n * n_block, sizeof *all), *s = all;
    for (size_t b = 0; b < n_block; b++)
        for (size_t i = 0; i < tensors->n; i++) {
            const nas_tensor *t = &tensors->tensor[i];
            *s++ = (nas_safetensor){
                .name = nas_arena_print(arena, "%s%s", blocks[b].prefix, t->name),
                .dtype = NAS_F32,
                .n_dim = t->cols ? 2 : 1,
                .dim = {t->rows, t->cols},
                .count = t->count,
                .data = blocks[b].block + t->at,
            };
        }
    nas_status status = nas_safetensors_save(path, all, tensors->n * n_block, metadata, err);
    free(all);
    nas_arena_free(arena);
    return status;
}
