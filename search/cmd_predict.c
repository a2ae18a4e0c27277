/* naslm predict: what a trained surrogate says about architectures. */
#include "onnx/export.h"
#include "onnx/read.h"
#include "search/command.h"
#include "surrogate/rlm.h"

#include <stdio.h>
#include <stdlib.h>

static const nas_option OPTIONS[] = {
    {"model", 'm', "FILE", "model of 'naslm train'; default: $NASLM_MODEL or the installed one",
     NAS_OPTION_TEXT},
    NAS_OPTION_SPACE,
    NAS_OPTION_TASK,
    {"metrics", 0, "LIST", "metrics, as accuracy,latency:raspi4", NAS_OPTION_TEXT},
    {"onnx", 0, "FILE", "predict for this ONNX file (binary or text) as a network of SPACE",
     NAS_OPTION_TEXT},
    {"samples", 0, "N", "estimate from N samples; default: exact expectation", NAS_OPTION_U64},
    NAS_OPTION_SEED,
    NAS_OPTION_THREADS,
    NAS_OPTION_FORMAT,
    {0}};

enum { AT_ONCE = 1024 };

/* Everything that is the same for all pieces. */
typedef struct {
    nas_rlm *rlm;
    const nas_space *space;
    const nas_task *task;
    nas_rlm_ask ask;
    nas_arena *arena; /* of names */
    nas_report report;
    nas_arch *arch;         /* (AT_ONCE) */
    double *value, *spread; /* (AT_ONCE, m) */
} job;

/* --metrics, cut at commas; returns how many names. */
static size_t cut_names(nas_arena *arena, const char *text, const char ***name)
{
    size_t n = 1;
    for (const char *at = text; (at = strchr(at, ',')); at++)
        n++;
    *name = nas_arena_get(arena, n * sizeof **name);
    for (size_t i = 0; i < n; i++) {
        size_t length = strcspn(text, ",");
        (*name)[i] = nas_arena_print(arena, "%.*s", (int)length, text);
        text += length + 1;
    }
    return n;
}

/* The indices of --metrics in the order of the schema. */
static nas_status choose(job *j, const nas_options *o, nas_err *err)
{
    const char *text = nas_options_text(o, "metrics", NULL), **name;
    if (!text)
        return nas_fail(err, NAS_USAGE, "option '--metrics' is missing");
    size_t n = cut_names(j->arena, text, &name);
    size_t *metric = nas_arena_get(j->arena, (j->rlm->schema.n + 1) * sizeof *metric);
    j->ask.metric = metric;
    return nas_schema_choose(&j->rlm->schema, name, n, metric, &j->ask.m, err);
}

static void note_extrapolation(const job *j)
{
    for (size_t k = 0; k < j->ask.m; k++)
        if (!nas_rlm_knows(j->rlm, j->space->name, j->task->name, j->ask.metric[k]))
            fprintf(stderr,
                    "naslm: note: the model saw no %s of %s (%s): these values are an "
                    "extrapolation\n",
                    j->rlm->schema.metric[j->ask.metric[k]].name, j->space->name, j->task->name);
}

static void report_row(job *j, const char *name, const double *value, const double *spread)
{
    nas_report_text(&j->report, name);
    for (size_t k = 0; k < j->ask.m; k++) {
        nas_report_real(&j->report, value[k]);
        nas_report_real(&j->report, spread[k]);
    }
}

static nas_status predict_piece(job *j, size_t n, nas_err *err)
{
    size_t m = j->ask.m;
    nas_bytes text = {0};
    nas_status status =
        nas_rlm_predict(j->rlm, &j->ask, j->space, j->task, j->arch, n, j->value, j->spread, err);
    for (size_t i = 0; i < n && status == NAS_OK; i++) {
        nas_bytes_reset(&text);
        nas_space_print(j->space, &j->arch[i], &text);
        report_row(j, text.data, j->value + i * m, j->spread + i * m);
    }
    nas_bytes_clear(&text);
    return status;
}

/* Pieces of the input, until its end. */
static nas_status predict_all(job *j, const nas_options *o, nas_err *err)
{
    nas_arch_input input = {.space = j->space, .options = o};
    nas_status status = NAS_OK, read = NAS_OK;
    while (status == NAS_OK && read == NAS_OK) {
        size_t n = 0;
        while (n < AT_ONCE && (read = nas_arch_input_next(&input, &j->arch[n], err)) == NAS_OK)
            n++;
        if (n && (read == NAS_OK || read == NAS_EMPTY))
            status = predict_piece(j, n, err);
    }
    nas_arch_input_clear(&input);
    return status ? status : read == NAS_EMPTY ? NAS_OK : read;
}

static bool same_graph(nas_graph *a, nas_graph *b)
{
    const nas_export_how how = {.form = NAS_FORM_TEXT};
    nas_bytes left = {0}, right = {0};
    nas_err ignored;
    bool same = !nas_export_graph(a, NULL, how, &left, &ignored) &&
                !nas_export_graph(b, NULL, how, &right, &ignored) && left.size == right.size &&
                !memcmp(left.data, right.data, left.size);
    nas_bytes_clear(&left);
    nas_bytes_clear(&right);
    return same;
}

/* Files carry no blocks. One that names an architecture of the space, and is its network to the
 * last node, is read as that architecture; NULL: it is not. */
static nas_graph *with_blocks(const job *j, nas_graph *file, const nas_label *label)
{
    nas_arch arch;
    nas_err ignored;
    if (!label->space || !label->task || !label->arch || strcmp(label->space, j->space->name) ||
        strcmp(label->task, j->task->name) ||
        nas_space_parse(j->space, label->arch, &arch, &ignored))
        return NULL;
    nas_graph *graph = nas_space_build(j->space, &arch, j->task);
    if (same_graph(graph, file))
        return graph;
    nas_graph_free(graph);
    return NULL;
}

/* What the surrogate reads of a file. */
static nas_status read_file(const job *j, const char *path, nas_bytes *text, nas_err *err)
{
    nas_graph *graph = NULL;
    nas_label label = {0};
    nas_status status =
        nas_onnx_read_labelled(nas_command_path(path), j->arena, &graph, &label, err);
    if (status)
        return status;
    nas_graph *whole = with_blocks(j, graph, &label);
    if (!whole)
        fprintf(stderr,
                "naslm: note: '%s' does not say which architecture of %s (%s) it is: these values "
                "are an extrapolation\n",
                path, j->space->name, j->task->name);
    if (nas_export_prompt(whole ? whole : graph, j->space->name, j->task->name, text, err))
        status = nas_fail_in(err, "'%s'", path);
    nas_graph_free(whole);
    nas_graph_free(graph);
    return status;
}

static nas_status predict_file(job *j, const char *path, nas_err *err)
{
    nas_schema view;
    nas_scale *scale = nas_alloc((j->rlm->schema.n + 1) * sizeof *scale);
    nas_bytes text = {0};
    nas_status status = read_file(j, path, &text, err);
    nas_rlm_view(j->rlm, j->space->name, j->task->name, scale, &view);
    if (status == NAS_OK) {
        status = nas_rlm_predict_texts(j->rlm, &j->ask, &view, &text, 1, j->value, j->spread, err);
        if (status == NAS_OK)
            report_row(j, path, j->value, j->spread);
        else
            nas_fail_in(err, "'%s'", path);
    }
    nas_bytes_clear(&text);
    free(scale);
    return status;
}

/* The columns of the report: arch, then each metric and its spread. */
static const char **name_columns(const job *j)
{
    const char **column = nas_arena_get(j->arena, (1 + 2 * j->ask.m) * sizeof *column);
    column[0] = "arch";
    for (size_t k = 0; k < j->ask.m; k++) {
        column[1 + 2 * k] = j->rlm->schema.metric[j->ask.metric[k]].name;
        column[2 + 2 * k] = nas_arena_print(j->arena, "%s_spread", column[1 + 2 * k]);
    }
    return column;
}

static nas_status work(job *j, const nas_options *o, nas_err *err)
{
    size_t m = j->ask.m;
    const char **column = name_columns(j);
    j->arch = nas_alloc(AT_ONCE * sizeof *j->arch);
    j->value = nas_alloc(AT_ONCE * m * sizeof *j->value);
    j->spread = nas_alloc(AT_ONCE * m * sizeof *j->spread);
    note_extrapolation(j);
    nas_status status = nas_report_open(&j->report, o, column, 1 + 2 * m, err);
    if (status == NAS_OK) {
        const char *file = nas_options_text(o, "onnx", NULL);
        status = file ? predict_file(j, file, err) : predict_all(j, o, err);
        nas_status closed = nas_report_close(&j->report, err);
        status = status ? status : closed;
    }
    free(j->arch);
    free(j->value);
    free(j->spread);
    return status;
}

static nas_status check_options(job *j, const nas_options *o, nas_err *err)
{
    uint64_t samples = nas_options_u64(o, "samples", 0);
    j->space = nas_command_space(o, err);
    if (!j->space || !(j->task = nas_command_task(o, j->space, err)))
        return err->code;
    if (nas_options_has(o, "samples") && (samples < 1 || samples > 1 << 16))
        return nas_fail(err, NAS_USAGE, "option '--samples' takes 1 to %d", 1 << 16);
    j->ask.samples = samples;
    if (nas_command_threads(o, err))
        return err->code;
    if (nas_options_has(o, "onnx"))
        return nas_command_operands(o, 0, 0, "", err);
    return nas_command_operands(o, 1, SIZE_MAX, "an architecture (or -)", err);
}

static nas_status run(nas_options *o, nas_err *err)
{
    job j = {0};
    nas_status status = check_options(&j, o, err);
    if (status)
        return status;
    j.arena = nas_arena_new();
    nas_bytes path = {0};
    if (nas_command_model(nas_options_text(o, "model", NULL), &path, err) == NAS_OK)
        j.rlm = nas_rlm_load(path.data, err);
    nas_bytes_clear(&path);
    status = j.rlm ? choose(&j, o, err) : err->code;
    if (status == NAS_OK && j.ask.samples)
        j.ask.seed = nas_command_seed(o);
    if (status == NAS_OK)
        status = work(&j, o, err);
    nas_rlm_free(j.rlm);
    nas_arena_free(j.arena);
    return status;
}

const nas_command nas_command_predict = {
    "predict",
    "[-m MODEL] -s SPACE --metrics LIST ARCH... | - | --onnx FILE",
    "what a trained surrogate says about architectures",
    "For each metric a column with the estimate and one with its spread (standard deviation), "
    "both\n"
    "in the metric's unit; metrics come in the model's order, later ones conditioned on the\n"
    "estimates of earlier ones. Values do not depend on threads or on the other architectures.\n"
    "A file that 'naslm export' wrote as onnx or text reads as its architecture, any other as "
    "plain\n"
    "operators: an extrapolation, and often longer than the model reads.",
    OPTIONS,
    run};
