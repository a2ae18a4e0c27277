/* libFuzzer target: any bytes as an ONNX text (see tests/fuzz.sh). */
#include "hw/cost.h"
#include "onnx/export.h"
#include "onnx/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is read must be such that its costs can be counted and its text parsed again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nas_arena *arena = nas_arena_new();
    nas_err err = {0};
    nas_bytes out = {0};
    const nas_proto *model = nas_proto_parse(arena, (const char *)data, size, &err);
    nas_graph *graph = model ? nas_proto_lift(model, &err) : NULL;
    if (!graph && !err.text[0])
        __builtin_trap(); /* a refusal says why */
    nas_cost cost;
    if (graph)
        nas_cost_of(graph, &cost, &err);
    nas_export_how how = {.form = NAS_FORM_TEXT};
    if (graph && nas_export_graph(graph, NULL, how, &out, &err) == NAS_OK &&
        !nas_proto_parse(arena, out.data, out.size, &err))
        __builtin_trap();
    nas_bytes_clear(&out);
    nas_graph_free(graph);
    nas_arena_free(arena);
    return 0;
}
