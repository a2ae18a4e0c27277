/* naslm check: is a file what it says? ONNX files, run files, tables, models. */
#include "hw/cost.h"
#include "onnx/read.h"
#include "results/run.h"
#include "results/table.h"
#include "search/command.h"
#include "surrogate/safetensors.h"

#include <stdio.h>

static const nas_option OPTIONS[] = {{0}};

/* Row i names a member of the space, under its own hash where it has one. */
static nas_status check_row(const nas_space *space, const char *path, size_t i, const char *text,
                            const char *hash, nas_err *err)
{
    nas_arch arch;
    char own[33];
    if (nas_space_parse(space, text, &arch, err) != NAS_OK) {
        nas_fail_in(err, "'%s', row %zu", path, i);
        return err->code = NAS_EMPTY;
    }
    nas_space_hash(space, &arch, own);
    if (hash && strcmp(own, hash))
        return nas_fail(err, NAS_EMPTY, "'%s', row %zu: the hash of '%s' is %s, not %s", path, i,
                        text, own, hash);
    return NAS_OK;
}

static nas_status check_rows(const nas_run *run, const char *path, nas_err *err)
{
    const nas_space *space = nas_space_need(nas_run_get_info(run)->space, err);
    if (!space)
        return err->code = NAS_FAILED;
    nas_status status = NAS_OK;
    for (size_t i = 0; i < nas_run_rows(run) && status == NAS_OK; i++) {
        nas_run_row row = nas_run_get_row(run, i);
        status = check_row(space, path, i, row.arch, row.hash, err);
    }
    return status;
}

static nas_status check_table(const nas_table *table, const char *path, nas_err *err)
{
    nas_bytes text = {0};
    nas_status status = NAS_OK;
    for (size_t i = 0; i < table->n && status == NAS_OK; i++) {
        char hash[33];
        bool hashed = nas_table_hash(table, i, hash);
        status = check_row(table->space, path, i, nas_table_arch(table, i, &text),
                           hashed ? hash : NULL, err);
    }
    nas_bytes_clear(&text);
    return status;
}

static nas_status check_run(const char *path, nas_err *err)
{
    nas_run *run = NULL;
    if (nas_run_read(&run, path, err) != NAS_OK)
        return err->code;
    nas_status status = check_rows(run, path, err);
    if (status == NAS_OK)
        printf("%s: %s run on %s, %zu rows in %zu generations\n", path,
               nas_run_finished(run) ? "finished" : "unfinished", nas_run_get_info(run)->space,
               nas_run_rows(run), nas_run_generations(run));
    nas_run_close(run);
    return status;
}

/* An HDF5 file is a run or a table; the sentence of the better guess is kept. */
static nas_status check_hdf5(const char *path, nas_err *err)
{
    nas_err as_table = {0};
    nas_table *table = nas_table_open(path, &as_table);
    if (!table)
        return check_run(path, err);
    nas_status status = check_table(table, path, err);
    if (status == NAS_OK)
        printf("%s: table of %s, %zu rows, %zu metrics\n", path, table->space->name, table->n,
               table->n_metric);
    nas_table_close(table);
    return status;
}

static nas_status check_model(const char *path, nas_err *err)
{
    nas_safetensors *file = nas_safetensors_open(path, err);
    if (!file)
        return err->code;
    printf("%s: safetensors, %zu tensors\n", path, nas_safetensors_count(file));
    nas_safetensors_free(file);
    return NAS_OK;
}

static nas_status check_onnx(const char *path, nas_err *err)
{
    nas_graph *graph = NULL;
    nas_cost cost;
    if (nas_onnx_read_file(path, &graph, err) != NAS_OK)
        return err->code;
    nas_status status = nas_cost_of(graph, &cost, err);
    if (status == NAS_OK)
        printf("%s: ONNX, %lld parameters, %lld multiply-accumulates\n", path,
               (long long)cost.params, (long long)cost.macs);
    nas_graph_free(graph);
    return status;
}

static nas_status run(nas_options *o, nas_err *err)
{
    char head[8] = {0};
    if (nas_command_operands(o, 1, 1, "the file", err) != NAS_OK)
        return err->code;
    const char *path = nas_command_path(o->operand[0]);
    if (path != o->operand[0]) /* can be read only once: no look at its head */
        return check_onnx(path, err);
    FILE *file = fopen(path, "rb");
    if (!file)
        return nas_ends_with(path, ".h5") ? check_run(path, err)
                                          : nas_fail(err, NAS_FAILED, "cannot open '%s': %m", path);
    size_t got = fread(head, 1, sizeof head, file);
    fclose(file);
    if (got == sizeof head && !memcmp(head, "\211HDF\r\n\032\n", sizeof head))
        return check_hdf5(path, err);
    if (nas_ends_with(path, ".h5"))
        return check_run(path, err);
    return nas_ends_with(path, ".safetensors") ? check_model(path, err) : check_onnx(path, err);
}

const nas_command nas_command_check = {
    "check",
    "FILE | -",
    "validate an ONNX file, a run file, a table or a model",
    "- is standard input, which must be ONNX. Exit code 1: the file cannot be what it says; 3: it "
    "can, and its content contradicts itself.",
    OPTIONS,
    run};
