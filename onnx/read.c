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

static const char *metadata(const nas_proto *model, nas_arena *arena, const char *key)
{
    for (size_t i = 0; i < model->n_metadata_props; i++) {
        const Onnx__StringStringEntryProto *e = model->metadata_props[i];
        if (e->key && e->value && !strcmp(e->key, key))
            return nas_arena_print(arena, "%s", e->value);
    }
    return NULL;
}

/* *label is left alone when label_arena is NULL. */
static nas_status read_bytes(const nas_bytes *file, nas_arena *label_arena, nas_graph **graph,
                             nas_label *label, nas_err *err)
{
    nas_err own = {0};
    nas_arena *arena = nas_arena_new();
    *graph = NULL;
    const nas_proto *model = NULL;
    if (file->size == 0)
        nas_fail(&own, NAS_FAILED, "the file is empty");
    else if (is_text((const uint8_t *)file->data, file->size))
        model = nas_proto_parse(arena, file->data, file->size, &own);
    else
        model = nas_proto_unpack(arena, (const uint8_t *)file->data, file->size, &own);
    if (model)
        *graph = nas_proto_lift(model, &own);
    if (*graph && label_arena)
        *label = (nas_label){
            metadata(model, label_arena, "nas.space"), metadata(model, label_arena, "nas.task"),
            metadata(model, label_arena, "nas.arch"), metadata(model, label_arena, "nas.hash")};
    nas_arena_free(arena);
    return own.code == NAS_OK ? NAS_OK : nas_fail(err, own.code, "%s", own.text);
}

nas_status nas_onnx_read(const void *data, size_t size, nas_graph **graph, nas_err *err)
{
    return read_bytes(&(nas_bytes){.data = (char *)data, .size = size}, NULL, graph, NULL, err);
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

nas_status nas_onnx_read_labelled(const char *path, nas_arena *arena, nas_graph **graph,
                                  nas_label *label, nas_err *err)
{
    nas_bytes bytes = {0};
    nas_err own = {0};
    *graph = NULL;
    nas_status status = read_whole(path, &bytes, &own);
    if (status == NAS_OK) {
        status = read_bytes(&bytes, arena, graph, label, &own);
        if (status != NAS_OK)
            nas_fail_in(&own, "'%s'", path);
    }
    nas_bytes_clear(&bytes);
    return status == NAS_OK ? NAS_OK : nas_fail(err, status, "%s", own.text);
}

nas_status nas_onnx_read_file(const char *path, nas_graph **graph, nas_err *err)
{
    return nas_onnx_read_labelled(path, NULL, graph, NULL, err);
}
