/* libFuzzer target: any bytes as a binary ONNX file (see tests/fuzz.sh). */
#include "hw/cost.h"
#include "onnx/export.h"
#include "onnx/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is read must be such that costs can be counted or refused and every form can be written. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nas_arena *arena = nas_arena_new();
    nas_err err = {0};
    const nas_proto *model = nas_proto_unpack(arena, data, size, &err);
    nas_graph *graph = model ? nas_proto_lift(model, &err) : NULL;
    if (!graph && !err.text[0])
        __builtin_trap(); /* a refusal says why */
    nas_cost cost;
    if (graph && nas_cost_of(graph, &cost, &err) == NAS_OK &&
        (cost.params < 0 || cost.macs < 0 || cost.activation_bytes < 0))
        __builtin_trap();
    for (int form = 0; graph && form < NAS_FORM_COUNT; form++) {
        nas_bytes out = {0};
        nas_export_graph(graph, NULL, (nas_export_how){.form = (nas_form)form}, &out, &err);
        nas_bytes_clear(&out);
    }
    nas_graph_free(graph);
    nas_arena_free(arena);
    return 0;
}
