/* naslm front, hv, show: what a run file says. */
#include "results/front.h"
#include "results/hypervolume.h"
#include "results/points.h"
#include "results/run.h"
#include "search/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- front ---- */

static const nas_option FRONT_OPTIONS[] = {
    {"all", 0, NULL, "every row with its state, not just the front", NAS_OPTION_FLAG},
    NAS_OPTION_FORMAT,
    {0}};

typedef struct {
    size_t row;
    double key; /* first objective, best first */
} ordered;

static int compare_ordered(const void *a, const void *b)
{
    const ordered *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Column names: of the front alone, or of all rows. */
static size_t front_columns(const nas_run_info *info, bool all, const char **column)
{
    static const char *const more[] = {"generation", "state",     "feasible",
                                       "on_front",   "violation", "hash"};
    size_t n = 0;
    column[n++] = "id";
    column[n++] = "arch";
    for (size_t i = 0; i < info->n_metric; i++)
        column[n++] = info->metric[i].name;
    for (size_t i = 0; all && i < sizeof more / sizeof *more; i++)
        column[n++] = more[i];
    return n;
}

static void report_row(nas_report *r, const nas_run_info *info, size_t id, const nas_run_row *row,
                       bool all, bool on_front)
{
    nas_report_int(r, (int64_t)id);
    nas_report_text(r, row->arch);
    for (size_t i = 0; i < info->n_metric; i++)
        nas_report_real(r, row->value[i]);
    if (!all)
        return;
    nas_report_int(r, row->generation);
    nas_report_text(r, nas_row_state_name(row->state));
    nas_report_text(r, row->feasible ? "yes" : "no");
    nas_report_text(r, on_front ? "yes" : "no");
    nas_report_real(r, row->violation);
    nas_report_text(r, row->hash);
}

static nas_status run_front(nas_options *o, nas_err *err)
{
    nas_run *run = NULL;
    nas_report report;
    if (nas_command_operands(o, 1, 1, "the run file", err) != NAS_OK ||
        nas_run_read(&run, o->operand[0], err) != NAS_OK)
        return err->code;
    const nas_run_info *info = nas_run_get_info(run);
    bool all = nas_options_has(o, "all");
    size_t rows = nas_run_rows(run), n = 0;
    bool *on_front = nas_zalloc(rows + 1, sizeof *on_front);
    const char **column = nas_alloc((info->n_metric + 8) * sizeof *column);
    ordered *order = nas_alloc((rows + 1) * sizeof *order);
    size_t size = nas_run_front(run, on_front);
    bool max = info->metric[0].direction == NAS_MAX;
    for (size_t i = 0; i < rows; i++) {
        double first = nas_run_get_row(run, i).value[0];
        if (all || on_front[i])
            order[n++] = (ordered){i, all ? 0 : max ? -first : first};
    }
    qsort(order, n, sizeof *order, compare_ordered);
    nas_status status = nas_report_open(&report, o, column, front_columns(info, all, column), err);
    for (size_t i = 0; i < n && status == NAS_OK; i++) {
        nas_run_row row = nas_run_get_row(run, order[i].row);
        report_row(&report, info, order[i].row, &row, all, on_front[order[i].row]);
    }
    if (status == NAS_OK)
        status = nas_report_close(&report, err);
    if (status == NAS_OK && size == 0)
        status = nas_fail(err, NAS_EMPTY, "'%s' has no feasible architecture", o->operand[0]);
    free(order);
    free(column);
    free(on_front);
    nas_run_close(run);
    return status;
}

const nas_command nas_command_front = {"front",
                                       "RUN.h5 [--all] [--format F]",
                                       "the non-dominated feasible architectures of a run",
                                       NULL,
                                       FRONT_OPTIONS,
                                       run_front};

/* ---- hv ---- */

static const nas_option HV_OPTIONS[] = {
    {"reference", 0, "R1,R2", "reference point; default: the one stored in the run",
     NAS_OPTION_TEXT},
    {"normalize", 0, NULL, "as a share of the box between ideal and reference point",
     NAS_OPTION_FLAG},
    {0}};

/* points: (n, m), less is better; what is printed names the reference in own units. */
static nas_status print_volume(const double *points, size_t n, size_t m, const double *reference,
                               const nas_metric *metric, bool normalize, nas_err *err)
{
    double volume, box = 1, inner[NAS_FRONT_COLUMNS];
    char number[32];
    memcpy(inner, reference, m * sizeof *reference);
    if (metric)
        nas_objectives_minimise(inner, 1, metric, m);
    if (nas_hypervolume(points, n, m, inner, &volume, err) != NAS_OK)
        return err->code;
    for (size_t k = 0; k < m && n; k++) {
        double ideal = INFINITY;
        for (size_t i = 0; i < n; i++)
            ideal = fmin(ideal, points[i * m + k]);
        box *= inner[k] - ideal;
    }
    if (volume == 0)
        fprintf(stderr, "naslm: warning: no point is better than the reference point\n");
    printf("%s, reference", normalize ? "normalized hypervolume" : "hypervolume");
    for (size_t k = 0; k < m; k++)
        printf("%c%s", k ? ',' : ' ', nas_real_text(reference[k], number));
    double value = normalize && volume > 0 ? volume / box : volume;
    printf(": %s\n", nas_real_text(value, number));
    return NAS_OK;
}

static nas_status run_volume(const char *path, const char *text, bool normalize, nas_err *err)
{
    nas_run *run = NULL;
    if (nas_run_read(&run, path, err) != NAS_OK)
        return err->code;
    const nas_run_info *info = nas_run_get_info(run);
    size_t m = info->n_objective, rows = nas_run_rows(run), n = 0;
    bool *on_front = nas_zalloc(rows + 1, sizeof *on_front);
    double *points = nas_alloc((rows + 1) * m * sizeof *points), own[NAS_OBJECTIVE_MOST];
    const double *reference = nas_run_reference(run);
    nas_run_front(run, on_front);
    for (size_t i = 0; i < rows; i++)
        if (on_front[i])
            memcpy(points + m * n++, nas_run_get_row(run, i).value, m * sizeof *points);
    nas_objectives_minimise(points, n, info->metric, m);
    nas_status status = NAS_OK;
    if (text) {
        status = nas_command_numbers(text, own, m, "reference point", err);
        reference = own;
    }
    if (status == NAS_OK && !reference)
        status = nas_fail(err, NAS_EMPTY,
                          "'%s' has no feasible architecture, so no reference point", path);
    if (status == NAS_OK)
        status = print_volume(points, n, m, reference, info->metric, normalize, err);
    free(points);
    free(on_front);
    nas_run_close(run);
    return status;
}

static nas_status points_volume(const char *path, const char *text, bool normalize, nas_err *err)
{
    nas_points p = {0};
    double reference[NAS_FRONT_COLUMNS];
    if (!text)
        return nas_fail(err, NAS_USAGE, "points need a --reference");
    nas_status status = nas_points_read(&p, path, err);
    if (status == NAS_OK && p.m > NAS_FRONT_COLUMNS)
        status = nas_fail(err, NAS_FAILED, "'%s' has %zu columns, at most %d objectives work", path,
                          p.m, NAS_FRONT_COLUMNS);
    if (status == NAS_OK)
        status = nas_command_numbers(text, reference, p.m, "reference point", err);
    for (size_t s = 0; s < p.n_set && status == NAS_OK; s++) {
        size_t begin = nas_points_begin(&p, s);
        status = print_volume(p.value + begin * p.m, p.end[s] - begin, p.m, reference, NULL,
                              normalize, err);
    }
    nas_points_clear(&p);
    return status;
}

/* Run files are HDF5; a run that has only a journal yet has no file at all. */
static bool is_run(const char *path)
{
    static const char signature[] = "\211HDF\r\n\032\n";
    char head[8];
    if (!strcmp(path, "-"))
        return false;
    FILE *file = fopen(path, "rb");
    if (!file)
        return true;
    bool hdf = fread(head, 1, 8, file) == 8 && !memcmp(head, signature, 8);
    fclose(file);
    return hdf;
}

static nas_status run_hv(nas_options *o, nas_err *err)
{
    if (nas_command_operands(o, 1, 1, "the run file", err) != NAS_OK)
        return err->code;
    const char *path = o->operand[0], *reference = nas_options_text(o, "reference", NULL);
    bool normalize = nas_options_has(o, "normalize");
    return is_run(path) ? run_volume(path, reference, normalize, err)
                        : points_volume(path, reference, normalize, err);
}

const nas_command nas_command_hv = {
    "hv",
    "RUN.h5 | POINTS.txt [--reference R1,R2,...] [--normalize]",
    "hypervolume of a front",
    "The reference is in the metrics' own units, in the order of the objectives. Points are one a\n"
    "line, less is better, empty lines separate sets, '#' starts a comment. The value is the last\n"
    "word printed.",
    HV_OPTIONS,
    run_hv};

/* ---- show ---- */

static const nas_option SHOW_OPTIONS[] = {{0}};

static void show_metrics(const nas_run *run, const nas_run_info *info)
{
    size_t rows = nas_run_rows(run);
    for (size_t k = 0; k < info->n_metric; k++) {
        const nas_metric *metric = &info->metric[k];
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < rows; i++) {
            double v = nas_run_get_row(run, i).value[k];
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
        printf("%-12s %s%s%s%s", k < info->n_objective ? "objective" : "metric", metric->name,
               *metric->unit ? " [" : "", metric->unit, *metric->unit ? "]" : "");
        if (metric->direction != NAS_NO_DIRECTION)
            printf(", %s", nas_direction_name(metric->direction));
        if (isfinite(info->lower[k]))
            printf(", at least %g", info->lower[k]);
        if (isfinite(info->upper[k]))
            printf(", at most %g", info->upper[k]);
        if (low <= high)
            printf(", seen %g to %g", low, high);
        putchar('\n');
    }
}

static nas_status run_show(nas_options *o, nas_err *err)
{
    nas_run *run = NULL;
    if (nas_command_operands(o, 1, 1, "the run file", err) != NAS_OK ||
        nas_run_read(&run, o->operand[0], err) != NAS_OK)
        return err->code;
    const nas_run_info *info = nas_run_get_info(run);
    size_t rows = nas_run_rows(run), generations = nas_run_generations(run);
    size_t failed = 0, feasible = 0;
    bool *on_front = nas_zalloc(rows + 1, sizeof *on_front);
    size_t front = nas_run_front(run, on_front);
    for (size_t i = 0; i < rows; i++) {
        nas_run_row row = nas_run_get_row(run, i);
        failed += row.state != NAS_ROW_OK;
        feasible += row.feasible;
    }
    printf("%-12s %s\n", "state", nas_run_finished(run) ? "finished" : "unfinished");
    printf("%-12s %s, task %s\n", "space", info->space, info->task);
    printf("%-12s %llu\n", "seed", (unsigned long long)info->seed);
    show_metrics(run, info);
    printf("%-12s %zu in %zu generations, %zu feasible, %zu failed\n", "evaluated", rows,
           generations, feasible, failed);
    printf("%-12s %zu architectures\n", "front", front);
    const double *reference = nas_run_reference(run);
    if (reference && generations) {
        printf("%-12s %.10g, reference", "hypervolume",
               nas_run_history(run)[generations - 1].hypervolume);
        for (size_t k = 0; k < info->n_objective; k++)
            printf("%c%g", k ? ',' : ' ', reference[k]);
        putchar('\n');
    }
    printf("%-12s %s\n", "config", info->config);
    free(on_front);
    nas_run_close(run);
    return NAS_OK;
}

const nas_command nas_command_show = {
    "show", "RUN.h5",     "what ran, how far and how good; also for unfinished runs",
    NULL,   SHOW_OPTIONS, run_show};
