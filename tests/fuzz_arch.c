/* libFuzzer target: the first byte chooses a space, the rest is an architecture string (see
 * tests/fuzz.sh). */
#include "spaces/graph.h"
#include "spaces/space.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
    if (!good)
        __builtin_trap();
}

/* What is parsed is printed in the one form, which parses to the same; its graph has shapes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const nas_space *space = nas_spaces[data[0] % nas_space_count()];
    nas_bytes text = {0}, printed = {0};
    nas_err err = {0};
    nas_arch arch, again;
    nas_bytes_put(&text, data + 1, size - 1);
    if (nas_space_parse(space, nas_bytes_text(&text), &arch, &err) == NAS_OK) {
        nas_space_print(space, &arch, &printed);
        must(nas_space_parse(space, nas_bytes_text(&printed), &again, NULL) == NAS_OK);
        must(nas_arch_same(&arch, &again));
        nas_graph *graph = nas_space_build(space, &arch, &space->tasks[0]);
        must(nas_graph_flat(graph, NULL) != NULL);
        nas_graph_free(graph);
    } else {
        must(err.text[0] != '\0');
    }
    nas_bytes_clear(&text);
    nas_bytes_clear(&printed);
    return 0;
}
