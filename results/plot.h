/* What does a run look like? Fronts and histories of one or several runs, drawn by gnuplot.
 *
 *     nas_plot p = {.run = runs, .label = names, .n_run = 2};
 *     status = nas_plot_write(&p, "front.svg", false, &nas_disk_real, &err);
 *     p.history = true;
 *     status = nas_plot_script(&p, "svg size 900,600", &text, &err);
 *
 * A front is a step line over the grey cloud of all rows; infeasible rows are marked apart,
 * constraints are dashed lines. The worst tenth of a metric with a direction may lie beyond the
 * axes; the picture says how many rows do. Same runs, same bytes. */
#ifndef NAS_RESULTS_PLOT_H
#define NAS_RESULTS_PLOT_H

#include "results/run.h"

typedef struct {
    const nas_run *const *run; /* [n_run], of the same objectives */
    const char *const *label;  /* [n_run] names in the key */
    size_t n_run;
    bool history;      /* hypervolume over evaluations instead of the front */
    const char *x, *y; /* metrics, or "evaluation": the row's number. NULL: the second objective
                          (the evaluation when there is one) and the first. With "M" and
                          "M_predicted" the diagonal is drawn and tau-b given */
} nas_plot;

/* The gnuplot script for a terminal, data included. NAS_USAGE: an unknown metric, runs of different
 * objectives, histories with different reference points; NAS_EMPTY: nothing to draw. */
nas_status nas_plot_script(const nas_plot *plot, const char *terminal, nas_bytes *script,
                           nas_err *err);

/* Makes a script for a terminal of what it knows. */
typedef nas_status nas_plot_maker(const void *what, const char *terminal, nas_bytes *script,
                                  nas_err *err);

/* Writes any such script, drawn, to out, which ends in .svg, .png, .pdf or .gp (the script itself).
 * NAS_FAILED: no gnuplot, disk. */
nas_status nas_plot_draw(nas_plot_maker *make, const void *what, const char *out, bool force,
                         const nas_disk *disk, nas_err *err);

/* The same with the script of a plot. */
nas_status nas_plot_write(const nas_plot *plot, const char *out, bool force, const nas_disk *disk,
                          nas_err *err);

#endif
