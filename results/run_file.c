#include "results/front.h"
#include "results/h5_metric.h"
#include "results/run_inner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT "naslm-run"
enum { SCHEMA = 1, ROW_FIELDS = 10, METRIC_FIELDS = NAS_H5_METRIC_FIELDS + 2, STEP_FIELDS = 4 };

/* ---- layouts ---- */

/* Fields of /evaluations into field (ROW_FIELDS + n_metric); returns the size of a row. The order
 * of the first ones is that of enum row_column. */
enum row_column {
    ID,
    GENERATION,
    PARENT1,
    PARENT2,
    STATE,
    FEASIBLE,
    ON_FRONT,
    ARCH,
    HASH,
    VIOLATION
};

static size_t row_fields(const nas_run *run, nas_h5_field *field, size_t arch, size_t hash)
{
    size_t n = 0, size = 0;
    nas_h5_field_add(field, &n, "id", NAS_H5_INT64, 0);
    nas_h5_field_add(field, &n, "generation", NAS_H5_INT64, 0);
    nas_h5_field_add(field, &n, "parent1", NAS_H5_INT64, 0);
    nas_h5_field_add(field, &n, "parent2", NAS_H5_INT64, 0);
    nas_h5_field_add(field, &n, "state", NAS_H5_TEXT, strlen("missing"));
    nas_h5_field_add(field, &n, "feasible", NAS_H5_BOOL, 0);
    nas_h5_field_add(field, &n, "on_front", NAS_H5_BOOL, 0);
    nas_h5_field_add(field, &n, "arch", NAS_H5_TEXT, arch);
    nas_h5_field_add(field, &n, "hash", NAS_H5_TEXT, hash);
    size = nas_h5_field_add(field, &n, "violation", NAS_H5_REAL, 0);
    for (size_t i = 0; i < run->info.n_metric; i++)
        size = nas_h5_field_add(field, &n, run->info.metric[i].column, NAS_H5_REAL, 0);
    return size;
}

static size_t metric_fields(nas_h5_field *field)
{
    size_t n = 0;
    nas_h5_metric_fields(field, &n);
    nas_h5_field_add(field, &n, "lower", NAS_H5_REAL, 0);
    return nas_h5_field_add(field, &n, "upper", NAS_H5_REAL, 0);
}

static size_t step_fields(nas_h5_field *field, size_t *n, bool has_tau)
{
    *n = 0;
    nas_h5_field_add(field, n, "evaluations", NAS_H5_INT64, 0);
    nas_h5_field_add(field, n, "front_size", NAS_H5_INT64, 0);
    size_t size = nas_h5_field_add(field, n, "hypervolume", NAS_H5_REAL, 0);
    return has_tau ? nas_h5_field_add(field, n, "tau", NAS_H5_REAL, 0) : size;
}

/* ---- writing ---- */

static void put_metrics(const nas_run *run, hid_t file)
{
    nas_h5_field field[METRIC_FIELDS];
    size_t size = metric_fields(field), n = run->info.n_metric;
    char *rows = nas_zalloc(n + 1, size);
    for (size_t i = 0; i < n; i++) {
        nas_metric metric = run->info.metric[i];
        char *row = rows + i * size;
        if (i >= run->info.n_objective)
            metric.direction = NAS_NO_DIRECTION;
        nas_h5_put_metric(row, field, &metric);
        memcpy(row + field[4].offset, &run->info.lower[i], sizeof(double));
        memcpy(row + field[5].offset, &run->info.upper[i], sizeof(double));
    }
    nas_h5_put_rows(file, "objectives", field, METRIC_FIELDS, rows, n);
    free(rows);
}

static void put_row(const nas_run *run, size_t i, bool on_front, const nas_h5_field *field,
                    char *out)
{
    const nas_run_row *row = &run->row[i];
    const char *state = nas_row_state_name(row->state);
    int64_t id = (int64_t)i;
    memcpy(out + field[ID].offset, &id, sizeof id);
    memcpy(out + field[GENERATION].offset, &row->generation, sizeof id);
    memcpy(out + field[PARENT1].offset, &row->parent1, sizeof id);
    memcpy(out + field[PARENT2].offset, &row->parent2, sizeof id);
    memcpy(out + field[STATE].offset, state, strlen(state));
    out[field[FEASIBLE].offset] = row->feasible;
    out[field[ON_FRONT].offset] = on_front;
    memcpy(out + field[ARCH].offset, row->arch, strlen(row->arch));
    memcpy(out + field[HASH].offset, row->hash, strlen(row->hash));
    memcpy(out + field[VIOLATION].offset, &row->violation, sizeof(double));
    memcpy(out + field[ROW_FIELDS].offset, nas_run_value(run, i),
           run->info.n_metric * sizeof(double));
}

static void put_evaluations(const nas_run *run, hid_t file)
{
    size_t arch = 1, hash = 1, n_field = ROW_FIELDS + run->info.n_metric, n_front = 0;
    for (size_t i = 0; i < run->n_committed; i++) {
        size_t a = strlen(run->row[i].arch), h = strlen(run->row[i].hash);
        arch = a > arch ? a : arch;
        hash = h > hash ? h : hash;
    }
    nas_h5_field *field = nas_alloc(n_field * sizeof *field);
    size_t size = row_fields(run, field, arch, hash);
    char *rows = nas_zalloc(run->n_committed + 1, size);
    bool *on_front = nas_zalloc(run->n + 1, sizeof *on_front);
    int64_t *front = nas_alloc((nas_run_front(run, on_front) + 1) * sizeof *front);
    for (size_t i = 0; i < run->n_committed; i++) {
        put_row(run, i, on_front[i], field, rows + i * size);
        if (on_front[i])
            front[n_front++] = (int64_t)i;
    }
    nas_h5_put_rows(file, "evaluations", field, n_field, rows, run->n_committed);
    nas_h5_put_ids(file, "front", front, n_front);
    free(front);
    free(on_front);
    free(rows);
    free(field);
}

static void put_history(const nas_run *run, hid_t file)
{
    nas_h5_field field[STEP_FIELDS];
    size_t n_field, size = step_fields(field, &n_field, run->info.has_tau);
    char *rows = nas_zalloc(run->generations + 1, size);
    for (size_t i = 0; i < run->generations; i++) {
        const nas_run_step *step = &run->step[i];
        memcpy(rows + i * size, &step->evaluations, sizeof(int64_t));
        memcpy(rows + i * size + field[1].offset, &step->front_size, sizeof(int64_t));
        memcpy(rows + i * size + field[2].offset, &step->hypervolume, sizeof(double));
        if (run->info.has_tau)
            memcpy(rows + i * size + field[3].offset, &step->tau, sizeof(double));
    }
    nas_h5_put_rows(file, "history", field, n_field, rows, run->generations);
    free(rows);
}

void nas_run_encode(const nas_run *run, nas_bytes *bytes)
{
    hid_t file = nas_h5_create();
    nas_h5_set_text(file, "format", FORMAT);
    nas_h5_set_int(file, "schema_major", SCHEMA);
    nas_h5_set_int(file, "schema_minor", 0);
    nas_h5_set_text(file, "producer_version", NAS_VERSION);
    nas_h5_set_uint(file, "seed", run->info.seed);
    nas_h5_set_text(file, "space", run->info.space);
    nas_h5_set_text(file, "task", run->info.task);
    nas_h5_set_int(file, "generations", (int64_t)run->generations);
    if (run->has_reference)
        nas_h5_set_reals(file, "reference_point", run->reference, run->info.n_objective);
    nas_h5_put_text(file, "config", run->info.config);
    nas_h5_put_text(file, "provenance", run->info.provenance);
    put_metrics(run, file);
    put_evaluations(run, file);
    put_history(run, file);
    nas_h5_close_into(file, bytes);
}

/* ---- reading ---- */

/* A text of the file, kept in the arena of the run; NULL when it is not there. */
static const char *get_text(nas_run *run, hid_t file, const char *name,
                            bool (*get)(hid_t, const char *, nas_bytes *))
{
    nas_bytes bytes = {0};
    const char *text =
        get(file, name, &bytes) ? nas_arena_print(run->text, "%s", nas_bytes_text(&bytes)) : NULL;
    nas_bytes_clear(&bytes);
    return text;
}

/* Fills the metrics of info from /objectives; the objectives come first. */
static bool get_metrics(nas_run *run, hid_t file, nas_run_info *info)
{
    nas_h5_field field[METRIC_FIELDS];
    size_t size = metric_fields(field), n;
    void *rows;
    if (!nas_h5_get_rows(file, "objectives", field, METRIC_FIELDS, &rows, &n))
        return false;
    nas_metric *metric = nas_arena_get(run->text, (n + 1) * sizeof *metric);
    double *lower = nas_arena_get(run->text, (n + 1) * sizeof *lower);
    double *upper = nas_arena_get(run->text, (n + 1) * sizeof *upper);
    for (size_t i = 0; i < n; i++) {
        const char *row = (char *)rows + i * size;
        nas_h5_get_metric(row, field, &metric[i]);
        info->n_objective += metric[i].direction != NAS_NO_DIRECTION;
        memcpy(&lower[i], row + field[4].offset, sizeof(double));
        memcpy(&upper[i], row + field[5].offset, sizeof(double));
    }
    free(rows);
    info->metric = metric;
    info->n_metric = n;
    info->lower = lower;
    info->upper = upper;
    return info->n_objective > 0 && info->n_objective <= NAS_OBJECTIVE_MOST;
}

static nas_row_state state_of(const char *name)
{
    nas_row_state state = NAS_ROW_OK;
    while (state < NAS_ROW_MISSING && strcmp(name, nas_row_state_name(state)))
        state++;
    return state;
}

/* Adds row number i of the file to the run. */
static void get_row(nas_run *run, const char *in, const nas_h5_field *field, nas_bytes *arch,
                    double *value)
{
    nas_run_row row = {.arch = "", .value = value};
    char state[8];
    memcpy(&row.parent1, in + field[PARENT1].offset, sizeof row.parent1);
    memcpy(&row.parent2, in + field[PARENT2].offset, sizeof row.parent2);
    nas_h5_field_text(in, &field[STATE], state, sizeof state);
    row.state = state_of(state);
    row.feasible = in[field[FEASIBLE].offset];
    nas_bytes_reset(arch);
    nas_bytes_put(arch, in + field[ARCH].offset,
                  strnlen(in + field[ARCH].offset, field[ARCH].size));
    row.arch = nas_bytes_text(arch);
    nas_h5_field_text(in, &field[HASH], row.hash, sizeof row.hash);
    memcpy(&row.violation, in + field[VIOLATION].offset, sizeof(double));
    memcpy(value, in + field[ROW_FIELDS].offset, run->info.n_metric * sizeof(double));
    nas_run_add(run, &row);
}

/* Rows of /evaluations up to those of generation number wanted - 1 join the run. */
static bool get_generation(nas_run *run, const char *rows, size_t n, size_t size,
                           const nas_h5_field *field, nas_bytes *arch, double *value)
{
    int64_t generation = (int64_t)run->generations;
    for (; run->n < n; get_row(run, rows + run->n * size, field, arch, value)) {
        int64_t of;
        memcpy(&of, rows + run->n * size + field[GENERATION].offset, sizeof of);
        if (of < generation)
            return false;
        if (of > generation)
            break;
    }
    return true;
}

static bool get_evaluations(nas_run *run, hid_t file, const nas_run_step *steps, size_t n_step)
{
    size_t arch = nas_h5_width(file, "evaluations", "arch"), n, n_field;
    size_t hash = nas_h5_width(file, "evaluations", "hash");
    nas_h5_field *field = nas_alloc((ROW_FIELDS + run->info.n_metric) * sizeof *field);
    size_t size = row_fields(run, field, arch, hash);
    n_field = ROW_FIELDS + run->info.n_metric;
    void *rows = NULL;
    bool good = arch && hash && nas_h5_get_rows(file, "evaluations", field, n_field, &rows, &n);
    nas_bytes text = {0};
    double *value = nas_alloc((run->info.n_metric + 1) * sizeof *value);
    for (size_t i = 0; i < n_step && good; i++) {
        good = get_generation(run, rows, n, size, field, &text, value);
        nas_run_end_generation(run, &steps[i]);
    }
    good = good && run->n == n;
    nas_bytes_clear(&text);
    free(value);
    free(rows);
    free(field);
    return good;
}

static bool get_steps(hid_t file, bool *has_tau, nas_run_step **steps, size_t *n)
{
    nas_h5_field field[STEP_FIELDS];
    void *rows = NULL;
    size_t n_field, size = 0;
    *has_tau = true;
    for (int without = 0; without < 2 && !rows; without++) {
        *has_tau = !without;
        size = step_fields(field, &n_field, *has_tau);
        nas_h5_get_rows(file, "history", field, n_field, &rows, n);
    }
    if (!rows)
        return false;
    *steps = nas_alloc((*n + 1) * sizeof **steps);
    for (size_t i = 0; i < *n; i++) {
        const char *row = (char *)rows + i * size;
        nas_run_step *step = &(*steps)[i];
        *step = (nas_run_step){.tau = NAN};
        memcpy(&step->evaluations, row, sizeof(int64_t));
        memcpy(&step->front_size, row + field[1].offset, sizeof(int64_t));
        memcpy(&step->hypervolume, row + field[2].offset, sizeof(double));
        if (*has_tau)
            memcpy(&step->tau, row + field[3].offset, sizeof(double));
    }
    free(rows);
    return true;
}

static bool get_all(nas_run *run, hid_t file)
{
    nas_run_info info = {0};
    nas_run_step *steps = NULL;
    size_t n_step = 0;
    info.space = get_text(run, file, "space", nas_h5_text);
    info.task = get_text(run, file, "task", nas_h5_text);
    info.config = get_text(run, file, "config", nas_h5_get_text);
    info.provenance = get_text(run, file, "provenance", nas_h5_get_text);
    bool good = info.space && info.task && info.config && info.provenance &&
                nas_h5_uint(file, "seed", &info.seed) && get_metrics(run, file, &info) &&
                get_steps(file, &info.has_tau, &steps, &n_step);
    if (good) {
        nas_run_adopt(run, &info);
        size_t n = nas_h5_reals(file, "reference_point", run->reference, NAS_OBJECTIVE_MOST);
        run->has_reference = n > 0;
        good = (n == 0 || n == info.n_objective) && get_evaluations(run, file, steps, n_step);
    }
    free(steps);
    return good;
}

nas_status nas_run_decode(nas_run *run, const char *path, nas_err *err)
{
    if (access(path, F_OK))
        return NAS_EMPTY;
    hid_t file = nas_h5_open(path, FORMAT, SCHEMA, err);
    if (file < 0)
        return NAS_FAILED;
    nas_status status = NAS_OK;
    if (!get_all(run, file))
        status = nas_fail(err, NAS_FAILED, "'%s' is damaged: it lacks parts of a run", path);
    nas_h5_close(file);
    return status;
}

void nas_run_versions(char library[32], char schema[32])
{
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    snprintf(library, 32, "%u.%u.%u", major, minor, release);
    snprintf(schema, 32, "%d.0", SCHEMA);
}
