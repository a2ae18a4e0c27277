#include "onnx/read.h"

#include "onnx/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Binary models begin with small field numbers and lengths, which are control characters. */
static bool is_text(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size && i < 4096; i++)
        if (data[i] < 32 && !memchr("\t\n\r", data[i], 3))
            return false;
    return true;
}

nas_status nas_onnx_read(const void *data, size_t size, nas_graph **graph, nas_err *err)
{
    nas_err own = {0};
    nas_arena *arena = nas_arena_new();
    *graph = NULL;
    const nas_proto *model = NULL;
    if (size == 0)
        nas_fail(&own, NAS_FAILED, "the file is empty");
    else if (is_text(data, size))
        model = nas_proto_parse(arena, data, size, &own);
    else
        model = nas_proto_unpack(arena, data, size, &own);
    if (model)
        *graph = nas_proto_lift(model, &own);
    nas_arena_free(arena);
    return own.code == NAS_OK ? NAS_OK : nas_fail(err, own.code, "%s", own.text);
}

static nas_status read_whole(const char *path, nas_bytes *bytes, nas_err *err)
{
    FILE *file = fopen(path, "rb");
    char piece[1 << 14];
    if (!file)
        return nas_fail(err, NAS_FAILED, "cannot open '%s': %s", path, strerror(errno));
    for (size_t n; bytes->size <= INT32_MAX && (n = fread(piece, 1, sizeof piece, file)) > 0;)
        nas_bytes_put(bytes, piece, n);
    bool failed = ferror(file) != 0;
    fclose(file);
    return failed ? nas_fail(err, NAS_FAILED, "cannot read '%s'", path) : NAS_OK;
}

nas_status nas_onnx_read_file(const char *path, nas_graph **graph, nas_err *err)
{
    nas_bytes bytes = {0};
    nas_err own = {0};
    *graph = NULL;
    nas_status status = read_whole(path, &bytes, &own);
    if (status == NAS_OK) {
        status = nas_onnx_read(bytes.data, bytes.size, graph, &own);
        if (status != NAS_OK)
            nas_fail_in(&own, "'%s'", path);
    }
    nas_bytes_clear(&bytes);
    return status == NAS_OK ? NAS_OK : nas_fail(err, status, "%s", own.text);
}
