/* naslm predict: what a trained surrogate says about architectures, or any texts. */
#include "onnx/export.h"
#include "onnx/read.h"
#include "results/csv.h"
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
    {"text", 0, "FILE", "predict for the texts of a CSV or JSON file instead", NAS_OPTION_TEXT},
    {"input", 0, "COL", "their column; '--task NAME': as 'naslm train --text FILE@NAME' learned",
     NAS_OPTION_TEXT},
    {"samples", 0, "N", "estimate from N samples; default: exact distribution", NAS_OPTION_U64},
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
    const char *of_space, *of_task; /* their names, or those of texts */
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
        if (!nas_rlm_knows(j->rlm, j->of_space, j->of_task, j->ask.metric[k]))
            fprintf(stderr,
                    "naslm: note: the model saw no %s of %s (%s): these values are an "
                    "extrapolation\n",
                    j->rlm->schema.metric[j->ask.metric[k]].name, j->of_space, j->of_task);
}

static void report_numbers(job *j, const double *value, const double *spread)
{
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
        nas_report_text(&j->report, text.data);
        report_numbers(j, j->value + i * m, j->spread + i * m);
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
        if (status == NAS_OK) {
            nas_report_text(&j->report, path);
            report_numbers(j, j->value, j->spread);
        } else {
            nas_fail_in(err, "'%s'", path);
        }
    }
    nas_bytes_clear(&text);
    free(scale);
    return status;
}

/* ---- any texts ---- */

/* Up to AT_ONCE texts of the file; those the model cannot read are named by their line. */
static nas_status read_texts(const job *j, nas_csv *csv, size_t column, nas_bytes *text, size_t *n,
                             nas_err *err)
{
    int32_t *id = NULL;
    size_t cap = 0, tokens;
    nas_err why = {0};
    int more = 1;
    for (*n = 0; *n < AT_ONCE && !why.code && (more = nas_csv_next(csv, err)) > 0; ++*n) {
        nas_bytes_reset(&text[*n]);
        nas_bytes_puts(&text[*n], csv->field[column]);
        if (nas_rlm_encode(j->rlm, &text[*n], &id, &cap, &tokens, &why))
            nas_csv_fail(csv, column, err, "%s", why.text);
    }
    free(id);
    return more < 0 || why.code ? err->code : NAS_OK;
}

/* Pieces of the file, until its end; *rows counts them. */
static nas_status predict_rows(job *j, nas_csv *csv, size_t column, size_t *rows, nas_err *err)
{
    nas_schema view;
    nas_scale *scale = nas_alloc((j->rlm->schema.n + 1) * sizeof *scale);
    nas_bytes *text = nas_zalloc(AT_ONCE, sizeof *text);
    nas_rlm_view(j->rlm, j->of_space, j->of_task, scale, &view);
    for (size_t n = AT_ONCE; n == AT_ONCE && err->code == NAS_OK;) {
        if (read_texts(j, csv, column, text, &n, err) ||
            nas_rlm_predict_texts(j->rlm, &j->ask, &view, text, n, j->value, j->spread, err) ||
            nas_command_output(err))
            break;
        for (size_t i = 0; i < n; i++) {
            *rows += 1;
            nas_report_int(&j->report, (int64_t)*rows);
            report_numbers(j, j->value + i * j->ask.m, j->spread + i * j->ask.m);
        }
    }
    for (size_t i = 0; i < AT_ONCE; i++)
        nas_bytes_clear(&text[i]);
    free(text);
    free(scale);
    return err->code;
}

static nas_status predict_texts(job *j, const char *path, const char *input, nas_err *err)
{
    size_t column, rows = 0;
    nas_csv *csv = nas_csv_open(path, err);
    if (csv && nas_csv_need(csv, input, &column, err) == NAS_OK &&
        predict_rows(j, csv, column, &rows, err) == NAS_OK && rows == 0)
        nas_fail(err, NAS_FAILED, "%s has no rows", path);
    nas_csv_close(csv);
    return err->code;
}

static nas_status predict(job *j, const nas_options *o, nas_err *err)
{
    const char *file = nas_options_text(o, "onnx", NULL), *text = nas_options_text(o, "text", NULL);
    return file   ? predict_file(j, file, err)
           : text ? predict_texts(j, text, nas_options_text(o, "input", NULL), err)
                  : predict_all(j, o, err);
}

/* The columns of the report: arch, or row of the texts, then each metric and its spread. */
static const char **name_columns(const job *j)
{
    const char **column = nas_arena_get(j->arena, (1 + 2 * j->ask.m) * sizeof *column);
    column[0] = j->space ? "arch" : "row";
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
        status = predict(j, o, err);
        nas_status closed = nas_report_close(&j->report, err);
        status = status ? status : closed;
    }
    free(j->arch);
    free(j->value);
    free(j->spread);
    return status;
}

static nas_status check_domain(job *j, const nas_options *o, nas_err *err)
{
    static const char *const others[] = {"space", "onnx"};
    bool text = nas_options_has(o, "text");
    for (size_t i = 0; i < 2; i++)
        if (text && nas_options_has(o, others[i]))
            return nas_fail(err, NAS_USAGE, "option '--%s' does not go with '--text'", others[i]);
    if (text != nas_options_has(o, "input"))
        return nas_fail(err, NAS_USAGE, "options '--text' and '--input' go together");
    j->of_space = NAS_TEXT_SPACE;
    j->of_task = nas_options_text(o, "task", NAS_TEXT_TASK);
    if (text)
        return NAS_OK;
    j->space = nas_command_space(o, err);
    if (!j->space || !(j->task = nas_command_task(o, j->space, err)))
        return err->code;
    j->of_space = j->space->name;
    j->of_task = j->task->name;
    return NAS_OK;
}

static nas_status check_options(job *j, const nas_options *o, nas_err *err)
{
    uint64_t samples = nas_options_u64(o, "samples", 0);
    if (check_domain(j, o, err))
        return err->code;
    if (nas_options_has(o, "samples") && (samples < 1 || samples > 1 << 16))
        return nas_fail(err, NAS_USAGE, "option '--samples' takes 1 to %d", 1 << 16);
    j->ask.samples = samples;
    if (nas_command_threads(o, err))
        return err->code;
    if (nas_options_has(o, "onnx") || nas_options_has(o, "text"))
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
    "[-m MODEL] -s SPACE --metrics LIST ARCH... | - | --onnx FILE\n"
    "       naslm predict -m MODEL --text FILE --input COL --metrics LIST",
    "what a trained surrogate says about architectures",
    "For each metric a column with the estimate, a median, and one with its spread (standard\n"
    "deviation), both in the metric's unit; metrics come in the model's order, all others\n"
    "conditioned on the estimate of the first, samples on all that was drawn before. Values do\n"
    "not depend on threads or on the other architectures.\n"
    "A file that 'naslm export' wrote as onnx or text reads as its architecture, any other as "
    "plain\n"
    "operators: an extrapolation, and often longer than the model reads. The texts of '--text' "
    "are\n"
    "numbered from 1 in the column 'row'.",
    OPTIONS,
    run};
