/* naslm plot: fronts and histories as pictures. */
#include "results/bench.h"
#include "results/plot.h"
#include "search/command.h"

#include <stdlib.h>

static const nas_option OPTIONS[] = {
    {"output", 'o', "FILE", "FILE.svg, .png, .pdf or .gp (default front.svg, bench.svg)",
     NAS_OPTION_TEXT},
    NAS_OPTION_FORCE,
    {"history", 0, NULL, "hypervolume over evaluations instead of the front", NAS_OPTION_FLAG},
    {"x", 0, "METRIC", "across (default: the second objective)", NAS_OPTION_TEXT},
    {"y", 0, "METRIC", "upwards (default: the first objective)", NAS_OPTION_TEXT},
    {0}};

/* The name of a run in the key: its file without folders and ending. */
static char *label_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *label = nas_strdup(slash ? slash + 1 : path);
    char *dot = strrchr(label, '.');
    if (dot && dot != label)
        *dot = '\0';
    return label;
}

/* A bench of predictors, if the first operand is one. */
static bool plot_bench(const nas_options *o, nas_err *err)
{
    nas_bench_picture p = {.n = 0};
    nas_bench_draw *draw = NULL;
    nas_err other = {0}; /* a run file, then */
    bool is_bench = nas_bench_load(o->operand[0], &p.about, &draw, &p.n, &other) == NAS_OK;
    p.draw = draw;
    if (is_bench && o->n_operand > 1)
        nas_fail(err, NAS_USAGE, "'%s' is a bench: it is drawn alone", o->operand[0]);
    else if (is_bench)
        nas_plot_draw(nas_bench_script, &p, nas_options_text(o, "output", "bench.svg"),
                      nas_options_has(o, "force"), &nas_disk_real, err);
    free(draw);
    return is_bench;
}

static nas_status run(nas_options *o, nas_err *err)
{
    if (nas_command_operands(o, 1, SIZE_MAX, "a run file", err) != NAS_OK || plot_bench(o, err))
        return err->code;
    size_t n = o->n_operand;
    nas_run **runs = nas_zalloc(n, sizeof *runs);
    char **labels = nas_zalloc(n, sizeof *labels);
    nas_status status = NAS_OK;
    for (size_t i = 0; i < n && status == NAS_OK; i++) {
        labels[i] = label_of(o->operand[i]);
        status = nas_run_read(&runs[i], o->operand[i], err);
    }
    const nas_plot plot = {.run = (const nas_run *const *)runs,
                           .label = (const char *const *)labels,
                           .n_run = n,
                           .history = nas_options_has(o, "history"),
                           .x = nas_options_text(o, "x", NULL),
                           .y = nas_options_text(o, "y", NULL)};
    if (status == NAS_OK)
        status = nas_plot_write(&plot, nas_options_text(o, "output", "front.svg"),
                                nas_options_has(o, "force"), &nas_disk_real, err);
    for (size_t i = 0; i < n; i++) {
        nas_run_close(runs[i]);
        free(labels[i]);
    }
    free(runs);
    free(labels);
    return status;
}

const nas_command nas_command_plot = {
    "plot",
    "RUN.h5... [-o FILE.svg|png|pdf] [--history] [--x METRIC --y METRIC]",
    "draw fronts and histories with gnuplot",
    "Several runs share one picture. With --x M --y M_predicted it shows predicted against "
    "measured.",
    OPTIONS,
    run};
