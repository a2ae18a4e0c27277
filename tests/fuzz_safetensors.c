/* libFuzzer target: a safetensors file as it stands, or, when the first byte is 'h', a header and
 * after a NUL the data, which get the length that belongs there (see tests/fuzz.sh). */
#include "spaces/base/mem.h"
#include "surrogate/safetensors.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
    if (!good)
        __builtin_trap();
}

/* Every byte of every tensor lies in the file, is found by its name and can be copied. */
static void check_tensor(const nas_safetensors *file, const nas_safetensor *t, const uint8_t *data,
                         size_t size)
{
    const uint8_t *first = t->data;
    size_t bytes = t->count * nas_dtype_bytes(t->dtype);
    must(first >= data && bytes <= size && first <= data + size - bytes);
    must(nas_safetensors_find(file, t->name) == t);
    float *copy = nas_alloc((t->count + 1) * sizeof *copy);
    nas_err err = {0};
    nas_status status = nas_safetensor_floats(t, copy, t->count, &err);
    must((status == NAS_OK) == (err.text[0] == '\0'));
    free(copy);
}

static void check_file(const uint8_t *data, size_t size)
{
    nas_err err = {0};
    nas_safetensors *file = nas_safetensors_parse(data, size, &err);
    must(!file == (err.text[0] != '\0'));
    for (size_t i = 0; file && i < nas_safetensors_count(file); i++)
        check_tensor(file, nas_safetensors_at(file, i), data, size);
    if (file)
        must(nas_safetensors_metadata(file) && json_is_object(nas_safetensors_metadata(file)));
    nas_safetensors_free(file);
}

/* A refusal says why; what is read lies in the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || data[0] != 'h') {
        check_file(data, size);
        return 0;
    }
    const char *header = (const char *)data + 1;
    uint64_t length = strnlen(header, size - 1);
    size_t rest = length + 1 < size ? (size_t)length + 2 : size; /* behind the NUL */
    uint8_t *file = nas_alloc(8 + (size_t)length + size - rest);
    memcpy(file, &length, 8);
    memcpy(file + 8, header, (size_t)length);
    memcpy(file + 8 + length, data + rest, size - rest);
    check_file(file, 8 + (size_t)length + size - rest);
    free(file);
    return 0;
}
