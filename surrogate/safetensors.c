/* Reading safetensors: the header is checked whole before anybody sees a tensor. */
#include "surrogate/safetensors.h"

#include "spaces/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_LIMIT (100u << 20) /* as the format's own reader */

struct nas_safetensors {
    json_t *header;         /* owns the names */
    json_t *metadata;       /* borrowed from header, or own and empty */
    nas_safetensor *tensor; /* in file order */
    size_t n;
    void *map; /* of open, else NULL */
    size_t map_size;
};

static const struct {
    const char *name;
    size_t bytes;
} dtypes[NAS_DTYPE_COUNT] = {
    [NAS_F64] = {"F64", 8},   [NAS_F32] = {"F32", 4}, [NAS_F16] = {"F16", 2},
    [NAS_BF16] = {"BF16", 2}, [NAS_I64] = {"I64", 8}, [NAS_I32] = {"I32", 4},
    [NAS_I16] = {"I16", 2},   [NAS_I8] = {"I8", 1},   [NAS_U64] = {"U64", 8},
    [NAS_U32] = {"U32", 4},   [NAS_U16] = {"U16", 2}, [NAS_U8] = {"U8", 1},
    [NAS_BOOL] = {"BOOL", 1},
};

size_t nas_dtype_bytes(nas_dtype dtype)
{
    return dtypes[dtype].bytes;
}

const char *nas_dtype_name(nas_dtype dtype)
{
    return dtypes[dtype].name;
}

static bool read_dtype(const char *text, nas_dtype *dtype)
{
    for (int i = 0; text && i < NAS_DTYPE_COUNT; i++)
        if (strcmp(text, dtypes[i].name) == 0) {
            *dtype = (nas_dtype)i;
            return true;
        }
    return false;
}

/* A non-negative integer that fits size_t. */
static bool read_size(const json_t *value, size_t *size)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *size = (size_t)json_integer_value(value);
    return true;
}

static nas_status read_shape(nas_safetensor *t, const json_t *shape, nas_err *err)
{
    if (!json_is_array(shape))
        return nas_fail(err, NAS_FAILED, "tensor '%.100s' has no shape", t->name);
    t->n_dim = json_array_size(shape);
    if (t->n_dim > NAS_TENSOR_DIMS)
        return nas_fail(err, NAS_FAILED, "tensor '%.100s' has %zu dimensions, at most %d are known",
                        t->name, t->n_dim, NAS_TENSOR_DIMS);
    t->count = 1;
    for (size_t i = 0; i < t->n_dim; i++)
        if (!read_size(json_array_get(shape, i), &t->dim[i]) ||
            __builtin_mul_overflow(t->count, t->dim[i], &t->count))
            return nas_fail(err, NAS_FAILED, "tensor '%.100s' has a bad shape", t->name);
    return NAS_OK;
}

/* One entry of the header; data lies in [base, base + size). */
static nas_status read_tensor(nas_safetensor *t, const char *name, const json_t *entry,
                              const char *base, size_t size, nas_err *err)
{
    t->name = name;
    if (!read_dtype(json_string_value(json_object_get(entry, "dtype")), &t->dtype))
        return nas_fail(err, NAS_FAILED, "tensor '%.100s' has an unknown dtype", name);
    if (read_shape(t, json_object_get(entry, "shape"), err))
        return err ? err->code : NAS_FAILED;
    const json_t *offsets = json_object_get(entry, "data_offsets");
    size_t begin, end, bytes;
    if (json_array_size(offsets) != 2 || !read_size(json_array_get(offsets, 0), &begin) ||
        !read_size(json_array_get(offsets, 1), &end) || begin > end || end > size)
        return nas_fail(err, NAS_FAILED, "tensor '%.100s' has data offsets outside the file", name);
    if (__builtin_mul_overflow(t->count, nas_dtype_bytes(t->dtype), &bytes) || bytes != end - begin)
        return nas_fail(err, NAS_FAILED,
                        "tensor '%.100s' has %zu bytes, its shape needs another size", name,
                        end - begin);
    t->data = base + begin;
    return NAS_OK;
}

static size_t tensor_bytes(const nas_safetensor *t)
{
    return t->count * nas_dtype_bytes(t->dtype);
}

static int by_place(const void *a, const void *b)
{
    const nas_safetensor *x = a, *y = b;
    if (x->data != y->data)
        return (const char *)x->data < (const char *)y->data ? -1 : 1;
    return (tensor_bytes(x) > tensor_bytes(y)) - (tensor_bytes(x) < tensor_bytes(y));
}

/* The tensors must cover the data exactly: no overlap, no hole, nothing behind. */
static nas_status check_cover(const nas_safetensors *f, const char *base, size_t size, nas_err *err)
{
    const char *at = base;
    for (size_t i = 0; i < f->n; i++) {
        if ((const char *)f->tensor[i].data != at)
            return nas_fail(err, NAS_FAILED, "tensor '%.100s' %s", f->tensor[i].name,
                            (const char *)f->tensor[i].data < at ? "overlaps another tensor"
                                                                 : "follows a hole in the data");
        at += tensor_bytes(&f->tensor[i]);
    }
    if (at != base + size)
        return nas_fail(err, NAS_FAILED, "%zu bytes behind the last tensor",
                        (size_t)(base + size - at));
    return NAS_OK;
}

static nas_status check_metadata(const json_t *metadata, nas_err *err)
{
    if (!json_is_object(metadata))
        return nas_fail(err, NAS_FAILED, "the metadata is not an object");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)metadata, key, value) if (!json_is_string(value)) return nas_fail(
        err, NAS_FAILED, "metadata '%.100s' is not a string", key);
    return NAS_OK;
}

static nas_status read_header(nas_safetensors *f, const char *base, size_t size, nas_err *err)
{
    f->tensor = nas_zalloc(json_object_size(f->header) + 1, sizeof *f->tensor);
    const char *name;
    json_t *entry;
    nas_status status = NAS_OK;
    json_object_foreach(f->header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) {
            f->metadata = json_incref(entry);
            status = check_metadata(entry, err);
        } else {
            status = read_tensor(&f->tensor[f->n++], name, entry, base, size, err);
        }
        if (status)
            return status;
    }
    if (!f->metadata)
        f->metadata = json_object();
    qsort(f->tensor, f->n, sizeof *f->tensor, by_place);
    return check_cover(f, base, size, err);
}

nas_safetensors *nas_safetensors_parse(const void *bytes, size_t size, nas_err *err)
{
    const unsigned char *b = bytes;
    uint64_t length = 0;
    for (int i = 0; i < 8 && size >= 8; i++)
        length |= (uint64_t)b[i] << (8 * i);
    if (size < 8 || length > size - 8 || length < 2 || b[8] != '{') {
        nas_fail(err, NAS_FAILED, "not a safetensors file, or cut short (%zu bytes)", size);
        return NULL;
    }
    if (length > HEADER_LIMIT) {
        nas_fail(err, NAS_FAILED, "the header is larger than %u MB", HEADER_LIMIT >> 20);
        return NULL;
    }
    json_error_t why;
    nas_safetensors *f = nas_zalloc(1, sizeof *f);
    f->header = json_loadb((const char *)b + 8, length, JSON_REJECT_DUPLICATES, &why);
    if (!f->header)
        nas_fail(err, NAS_FAILED, "the header is not JSON: %s", why.text);
    else if (read_header(f, (const char *)b + 8 + length, size - 8 - length, err) == NAS_OK)
        return f;
    nas_safetensors_free(f);
    return NULL;
}

nas_safetensors *nas_safetensors_open(const char *path, nas_err *err)
{
    struct stat st;
    nas_safetensors *f = NULL;
    void *map = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        nas_fail(err, NAS_FAILED, "cannot open '%s': %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode) || st.st_size < 8)
        nas_fail(err, NAS_FAILED, "'%s' is not a safetensors file", path);
    else if ((map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED)
        nas_fail(err, NAS_FAILED, "cannot read '%s': %s", path, strerror(errno));
    else if (!(f = nas_safetensors_parse(map, (size_t)st.st_size, err)))
        nas_fail_in(err, "'%s'", path);
    if (f) {
        f->map = map;
        f->map_size = (size_t)st.st_size;
    } else if (map != MAP_FAILED) {
        munmap(map, (size_t)st.st_size);
    }
    if (fd >= 0)
        close(fd);
    return f;
}

void nas_safetensors_free(nas_safetensors *f)
{
    if (!f)
        return;
    json_decref(f->metadata);
    json_decref(f->header);
    free(f->tensor);
    if (f->map)
        munmap(f->map, f->map_size);
    free(f);
}

size_t nas_safetensors_count(const nas_safetensors *f)
{
    return f->n;
}

const nas_safetensor *nas_safetensors_at(const nas_safetensors *f, size_t i)
{
    return &f->tensor[i];
}

const nas_safetensor *nas_safetensors_find(const nas_safetensors *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->tensor[i].name, name) == 0)
            return &f->tensor[i];
    return NULL;
}

const char *nas_safetensors_meta(const nas_safetensors *f, const char *key)
{
    return json_string_value(json_object_get(f->metadata, key));
}

const json_t *nas_safetensors_metadata(const nas_safetensors *f)
{
    return f->metadata;
}
