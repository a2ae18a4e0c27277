/* naslm export: one network as a file, or many as JSON lines. */
#include "onnx/export.h"
#include "results/disk.h"
#include "search/command.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const nas_option OPTIONS[] = {
    NAS_OPTION_SPACE,
    NAS_OPTION_TASK,
    {"form", 0, "FORM", "onnx (default), text, printable, compact, dot or svg", NAS_OPTION_TEXT},
    {"weights", 0, "W", "none (default: inputs of the graph), zeros, random or sine",
     NAS_OPTION_TEXT},
    {"seed", 0, "K", "seed of random weights (default 0)", NAS_OPTION_U64},
    {"format", 0, "jsonl", "one line {arch, text} for each of many", NAS_OPTION_TEXT},
    NAS_OPTION_OUTPUT,
    NAS_OPTION_FORCE,
    {0}};

static nas_status read_choice(const nas_options *o, const char *option, const char *fallback,
                              const char *const *names, int n, int *choice, nas_err *err)
{
    const char *text = nas_options_text(o, option, fallback);
    char hint[100];
    for (*choice = 0; *choice < n; ++*choice)
        if (!strcmp(names[*choice], text))
            return NAS_OK;
    return nas_fail(err, NAS_USAGE, "unknown %s '%s'%s", option, text,
                    nas_hint(hint, sizeof hint, text, names, (size_t)n));
}

static nas_status export_one(const nas_options *o, const nas_space *space, const nas_task *task,
                             nas_export_how how, nas_err *err)
{
    const char *path = nas_options_text(o, "output", "-");
    nas_arch_input input = {.space = space, .options = o};
    nas_arch arch;
    nas_bytes bytes = {0};
    bool file = strcmp(path, "-") != 0;
    nas_status status = nas_arch_input_next(&input, &arch, err);
    nas_arch_input_clear(&input);
    if (status == NAS_EMPTY)
        return nas_fail(err, NAS_FAILED, "standard input has no architecture");
    if (status == NAS_OK && file)
        status = nas_disk_vacant(path, nas_options_has(o, "force"), err);
    if (status == NAS_OK && !file && how.form == NAS_FORM_ONNX && isatty(STDOUT_FILENO))
        status = nas_fail(err, NAS_USAGE, "binary ONNX does not go to a terminal (use -o FILE)");
    if (status == NAS_OK)
        status = nas_export(space, &arch, task, how, &bytes, err);
    if (status == NAS_OK && file)
        status = nas_disk_replace(&nas_disk_real, path, bytes.data, bytes.size, err);
    else if (status == NAS_OK && fwrite(bytes.data, 1, bytes.size, stdout) != bytes.size)
        status = nas_fail(err, NAS_FAILED, "cannot write to standard output");
    nas_bytes_clear(&bytes);
    return status;
}

static nas_status export_lines(const nas_options *o, const nas_space *space, const nas_task *task,
                               nas_export_how how, nas_err *err)
{
    if (how.form == NAS_FORM_ONNX)
        return nas_fail(err, NAS_USAGE, "--format jsonl is for text forms, not onnx");
    if (nas_options_has(o, "output"))
        return nas_fail(err, NAS_USAGE, "--format jsonl goes to standard output, not to a file");
    nas_arch_input input = {.space = space, .options = o};
    nas_arch arch;
    nas_bytes bytes = {0}, name = {0};
    nas_status status;
    while ((status = nas_arch_input_next(&input, &arch, err)) == NAS_OK) {
        nas_bytes_reset(&bytes);
        nas_bytes_reset(&name);
        status = nas_export(space, &arch, task, how, &bytes, err);
        if (status != NAS_OK)
            break;
        nas_space_print(space, &arch, &name);
        json_t *line = json_pack("{s:s, s:s}", "arch", name.data, "text", bytes.data);
        char *text = json_dumps(line, JSON_COMPACT);
        json_decref(line);
        puts(text);
        free(text);
    }
    nas_arch_input_clear(&input);
    nas_bytes_clear(&bytes);
    nas_bytes_clear(&name);
    return status == NAS_EMPTY ? NAS_OK : status;
}

static nas_status run(nas_options *o, nas_err *err)
{
    const nas_space *space = nas_command_space(o, err);
    const nas_task *task = space ? nas_command_task(o, space, err) : NULL;
    const char *format = nas_options_text(o, "format", NULL);
    int form, weights;
    if (!task ||
        read_choice(o, "form", "onnx", nas_form_names, NAS_FORM_COUNT, &form, err) != NAS_OK ||
        read_choice(o, "weights", "none", nas_weights_names, NAS_WEIGHTS_COUNT, &weights, err) !=
            NAS_OK)
        return err->code;
    if (format && strcmp(format, "jsonl"))
        return nas_fail(err, NAS_USAGE, "unknown format '%s' (only jsonl)", format);
    if (nas_command_operands(o, 1, format ? SIZE_MAX : 1, "an architecture", err) != NAS_OK)
        return err->code;
    const nas_export_how how = {(nas_form)form, (nas_weights)weights,
                                nas_options_u64(o, "seed", 0)};
    return (format ? export_lines : export_one)(o, space, task, how, err);
}

const nas_command nas_command_export = {
    "export",
    "-s SPACE [--task T] ARCH [--form FORM] [-o FILE]\n"
    "       naslm export -s SPACE --form compact --format jsonl ARCH... | -",
    "write a network as ONNX, as text or as a drawing",
    "onnx is binary, text the official textual syntax of the whole graph, compact the same syntax\n"
    "with every distinct block as a function, printable the layout of printable_graph.",
    OPTIONS,
    run};
