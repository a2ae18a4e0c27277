#include "onnx/export.h"

#include "onnx/file.h"

const char *const nas_form_names[NAS_FORM_COUNT] = {"onnx",    "text", "printable",
                                                    "compact", "dot",  "svg"};
const char *const nas_weights_names[NAS_WEIGHTS_COUNT] = {"none", "zeros", "random", "sine"};

static void (*const WRITE[NAS_FORM_COUNT])(const nas_export_job *) = {
    nas_write_onnx,    nas_write_text, nas_write_printable,
    nas_write_compact, nas_write_dot,  nas_write_svg};

/* A protobuf message must stay below 2 GiB; structure gets a generous share for each node. Text
 * spends at most 16 bytes where binary spends 4. */
static nas_status check_size(const nas_graph *flat, nas_export_how how, nas_err *err)
{
    const int64_t most = INT64_C(1) << 31, structure = 4096;
    const nas_fn *main = &flat->fn[0];
    int64_t bytes = structure * (1 + (int64_t)main->n_node);
    bool data =
        how.weights != NAS_WEIGHTS_NONE && (how.form == NAS_FORM_ONNX || how.form == NAS_FORM_TEXT);
    nas_tensor tensor;
    for (size_t i = 0; data && i < main->n_node && bytes < most; i++)
        for (int p = 0; p < nas_ops[main->node[i].op].n_params; p++)
            if (nas_tensor_of(&main->node[i], p, &tensor))
                bytes += nas_tensor_values(&tensor) * (how.form == NAS_FORM_TEXT ? 16 : 4);
    if (bytes >= most)
        return nas_fail(err, NAS_FAILED,
                        "the %s file of '%s' would reach 2 GiB (about %lld bytes with weights)",
                        nas_form_names[how.form], flat->name, (long long)bytes);
    return NAS_OK;
}

nas_status nas_export_graph(nas_graph *graph, const nas_label *label, nas_export_how how,
                            nas_bytes *out, nas_err *err)
{
    nas_export_job job = {.graph = graph, .label = label, .how = how, .out = out};
    nas_status status = NAS_OK;
    if (how.form == NAS_FORM_COMPACT) {
        status = nas_graph_output(graph, &job.output, err);
    } else {
        job.flat = nas_graph_flat(graph, err);
        status = job.flat ? check_size(job.flat, how, err) : NAS_FAILED;
    }
    if (status == NAS_OK)
        WRITE[how.form](&job);
    return status;
}

nas_status nas_export(const nas_space *space, const nas_arch *arch, const nas_task *task,
                      nas_export_how how, nas_bytes *out, nas_err *err)
{
    nas_bytes text = {0};
    char hash[33];
    nas_space_print(space, arch, &text);
    nas_space_hash(space, arch, hash);
    nas_graph *graph = nas_space_build(space, arch, task);
    nas_status status = nas_export_graph(
        graph, &(nas_label){space->name, task->name, nas_bytes_text(&text), hash}, how, out, err);
    nas_graph_free(graph);
    nas_bytes_clear(&text);
    return status;
}

nas_status nas_export_prompt(nas_graph *graph, const char *space, const char *task, nas_bytes *out,
                             nas_err *err)
{
    const nas_label label = {.space = space, .task = task};
    nas_export_job job = {.graph = graph, .label = &label, .out = out};
    nas_status status = nas_graph_output(graph, &job.output, err);
    if (status == NAS_OK)
        nas_write_prompt(&job);
    return status;
}
