/* Reads ONNX files, binary or textual, and says what each network costs: read_onnx FILE… prints
 * file, parameters, multiply-accumulates, or why the file is refused; exit 1 when one was. */
#include "hw/cost.h"
#include "onnx/read.h"

#include <stdio.h>

static nas_status print_cost(const char *path)
{
    nas_err err = {0};
    nas_graph *graph;
    nas_cost cost;
    nas_status status = nas_onnx_read_file(path, &graph, &err);
    if (status == NAS_OK)
        status = nas_cost_of(graph, &cost, &err);
    if (status == NAS_OK)
        printf("%s,%lld,%lld\n", path, (long long)cost.params, (long long)cost.macs);
    else
        printf("refused: %s\n", err.text);
    nas_graph_free(graph);
    return status;
}

int main(int argc, char **argv)
{
    nas_status worst = NAS_OK;
    for (int i = 1; i < argc; i++)
        if (print_cost(argv[i]) != NAS_OK)
            worst = NAS_FAILED;
    return (int)worst;
}
