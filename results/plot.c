#include "results/plot.h"
#include "results/front.h"
#include "results/order.h"
#include "results/rank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Colours that people with any colour vision tell apart (Okabe and Ito 2008). */
static const char *const COLOUR[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                     "#e69f00", "#56b4e9", "#000000"};
enum { COLOURS = sizeof COLOUR / sizeof *COLOUR, GRID = 1024 };

typedef enum { CLOUD, INFEASIBLE, FRONT } mark;

typedef struct {
    double x, y;
    size_t run;
    mark mark;
} point;

typedef struct {
    nas_metric metric;
    bool is_number;  /* the evaluation's number, not a metric */
    double bound[2]; /* constraints, infinite: none */
    double low, high;
} axis;

typedef struct {
    const nas_plot *plot;
    axis x, y;
    point *point;
    size_t n, cap;
    size_t beyond; /* rows outside of the axes */
} picture;

/* ---- what is drawn ---- */

static nas_status find_axis(const nas_plot *plot, const char *name, axis *a, nas_err *err)
{
    a->bound[0] = -INFINITY;
    a->bound[1] = INFINITY;
    a->is_number = !strcmp(name, "evaluation");
    if (a->is_number) {
        nas_metric_make(&a->metric, name, NULL);
        a->metric.direction = NAS_MIN;
        return NAS_OK;
    }
    for (size_t r = plot->n_run; r-- > 0;) { /* the first run has the last word */
        const nas_run_info *info = nas_run_get_info(plot->run[r]);
        size_t i;
        nas_status status =
            nas_metric_need(info->metric, info->n_metric, name, plot->label[r], &i, err);
        if (status)
            return status;
        a->metric = info->metric[i];
        a->bound[0] = info->lower[i];
        a->bound[1] = info->upper[i];
    }
    return NAS_OK;
}

static double coordinate(const nas_run *run, const axis *a, size_t row)
{
    const nas_run_info *info = nas_run_get_info(run);
    if (a->is_number)
        return (double)row + 1;
    int i = nas_metric_find(info->metric, info->n_metric, a->metric.name);
    return nas_run_get_row(run, row).value[i];
}

static void add_rows(picture *p, size_t r)
{
    const nas_run *run = p->plot->run[r];
    for (size_t i = 0; i < nas_run_rows(run); i++) {
        nas_run_row row = nas_run_get_row(run, i);
        point at = {coordinate(run, &p->x, i), coordinate(run, &p->y, i), r,
                    row.feasible ? CLOUD : INFEASIBLE};
        if (row.state != NAS_ROW_OK || !isfinite(at.x) || !isfinite(at.y))
            continue;
        p->point = nas_grow(p->point, &p->cap, p->n + 1, sizeof *p->point);
        p->point[p->n++] = at;
    }
}

static double toward_less(const axis *a, double value)
{
    return a->metric.direction == NAS_MAX ? -value : value;
}

/* Marks the front of each run in the plane that is drawn. */
static void mark_fronts(picture *p)
{
    if (p->x.metric.direction == NAS_NO_DIRECTION || p->y.metric.direction == NAS_NO_DIRECTION)
        return;
    double *flat = nas_alloc((p->n + 1) * 2 * sizeof *flat);
    uint32_t *rank = nas_alloc((p->n + 1) * sizeof *rank);
    size_t *index = nas_alloc((p->n + 1) * sizeof *index);
    for (size_t r = 0; r < p->plot->n_run; r++) {
        size_t n = 0;
        for (size_t i = 0; i < p->n; i++)
            if (p->point[i].run == r && p->point[i].mark == CLOUD) {
                flat[2 * n] = toward_less(&p->x, p->point[i].x);
                flat[2 * n + 1] = toward_less(&p->y, p->point[i].y);
                index[n++] = i;
            }
        nas_front_sort(flat, n, 2, 1, rank, NULL);
        for (size_t i = 0; i < n; i++)
            if (rank[i] == 0)
                p->point[index[i]].mark = FRONT;
    }
    free(flat);
    free(rank);
    free(index);
}

/* ---- axes ---- */

static double coordinate_of(const picture *p, const axis *a, size_t i)
{
    return a == &p->x ? p->point[i].x : p->point[i].y;
}

/* Widens the axis to the given share of the points of a mark, from the better end; all of them
 * where there is no better end. */
static void cover(const picture *p, axis *a, mark kind, double share)
{
    double *value = nas_alloc((p->n + 1) * sizeof *value);
    uint32_t *order = nas_alloc((p->n + 1) * sizeof *order);
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->point[i].mark == kind)
            value[n++] = toward_less(a, coordinate_of(p, a, i));
    nas_order_init(order, n);
    nas_order_by(value, 1, order, n);
    if (a->metric.direction == NAS_NO_DIRECTION || a->is_number)
        share = 1;
    if (n > 0) {
        double best = toward_less(a, value[order[0]]);
        size_t left_out = (size_t)((1 - share) * (double)n);
        double worst = toward_less(a, value[order[n - 1 - left_out]]);
        a->low = fmin(a->low, fmin(best, worst));
        a->high = fmax(a->high, fmax(best, worst));
    }
    free(value);
    free(order);
}

static void set_range(const picture *p, axis *a, bool all)
{
    a->low = INFINITY;
    a->high = -INFINITY;
    cover(p, a, FRONT, all ? 1 : 0.9);
    cover(p, a, CLOUD, all ? 1 : 0.9);
    double low = a->low, high = a->high;
    cover(p, a, FRONT, 1); /* all of the front, unless a stray end of it would dwarf the rest */
    if (a->high - a->low > 2 * (high - low)) {
        a->low = low;
        a->high = high;
    }
    cover(p, a, INFEASIBLE, all || a->low > a->high ? 1 : 0.5);
    double span = a->high - a->low;
    if (span == 0)
        span = a->low != 0 ? fabs(a->low) : 1;
    for (int k = 0; k < 2; k++) /* a constraint is shown when it is near */
        if (a->bound[k] > a->low - span / 2 && a->bound[k] < a->high + span / 2) {
            a->low = fmin(a->low, a->bound[k]);
            a->high = fmax(a->high, a->bound[k]);
        }
    a->low -= span * 0.04;
    a->high += span * 0.04;
}

/* ---- the script ---- */

/* A text in single quotes as gnuplot reads it. */
static void put_quoted(nas_bytes *out, const char *text)
{
    char *plain = nas_strdup(text);
    nas_plain(plain);
    nas_bytes_putc(out, '\'');
    for (const char *c = plain; *c; c++) {
        if (*c == '\'')
            nas_bytes_putc(out, '\'');
        nas_bytes_putc(out, *c);
    }
    nas_bytes_putc(out, '\'');
    free(plain);
}

static void put_head(nas_bytes *out, const char *terminal)
{
    nas_bytes_print(out, "set terminal %s\n", terminal);
    nas_bytes_puts(out, "set encoding utf8\n"
                        "set termoption noenhanced\n"
                        "set border 3 linecolor rgb '#404040'\n"
                        "set tics out nomirror\n"
                        "set grid linecolor rgb '#e4e4e4' linewidth 1 linetype 1\n"
                        "set key below samplen 2 spacing 1.1\n");
}

static void put_axis(nas_bytes *out, const axis *a, char name)
{
    static const char *const wish[] = {", less is better", ", more is better", ""};
    nas_bytes label = {0};
    nas_bytes_puts(&label, a->metric.name);
    if (a->metric.unit[0])
        nas_bytes_print(&label, " [%s]", a->metric.unit);
    if (!a->is_number)
        nas_bytes_puts(&label, wish[a->metric.direction]);
    nas_bytes_print(out, "set %clabel ", name);
    put_quoted(out, label.data);
    nas_bytes_puts(out, name == 'x' ? ".\"\\n\"" : ""); /* room above the key */
    nas_bytes_print(out, "\nset %crange [%.9g:%.9g]\n", name, a->low, a->high);
    if (fmax(fabs(a->low), fabs(a->high)) >= 1e5)
        nas_bytes_print(out, "set format %c '%%.1s%%c'\n", name);
    nas_bytes_clear(&label);
}

static void put_bounds(nas_bytes *out, const axis *a, bool is_x)
{
    for (int k = 0; k < 2; k++) {
        if (!(a->bound[k] >= a->low && a->bound[k] <= a->high))
            continue;
        nas_bytes text = {0};
        nas_bytes_print(&text, "%s %g %s", k ? "\342\211\244" : "\342\211\245", a->bound[k],
                        a->metric.unit);
        nas_bytes_print(out,
                        is_x ? "set arrow from first %.9g, graph 0 to first %.9g, graph 1"
                             : "set arrow from graph 0, first %.9g to graph 1, first %.9g",
                        a->bound[k], a->bound[k]);
        nas_bytes_puts(out, " nohead dashtype 2 linewidth 1.5 linecolor rgb '#606060'\nset label ");
        put_quoted(out, text.data);
        nas_bytes_print(out,
                        is_x ? " at first %.9g, graph 0.03 rotate by 90 left offset -0.8,0"
                             : " at graph 0.98, first %.9g right offset 0,0.6",
                        a->bound[k]);
        nas_bytes_puts(out, " textcolor rgb '#606060'\n");
        nas_bytes_clear(&text);
    }
}

/* The points of a mark; run SIZE_MAX: of all runs. Of points on one spot of the paper one is drawn.
 * Returns how many. */
static size_t put_points(nas_bytes *out, picture *p, const char *name, size_t run, mark kind)
{
    unsigned char *taken = nas_zalloc(GRID, GRID);
    uint32_t *order = nas_alloc((p->n + 1) * sizeof *order);
    double *x = nas_alloc((p->n + 1) * sizeof *x);
    size_t count = 0;
    for (size_t i = 0; i < p->n; i++)
        x[i] = p->point[i].x;
    nas_order_init(order, p->n);
    if (kind == FRONT)
        nas_order_by(x, 1, order, p->n);
    nas_bytes_print(out, "$%s << EOD\n", name);
    for (size_t k = 0; k < p->n; k++) {
        const point *at = &p->point[order[k]];
        if (at->mark != kind || (run != SIZE_MAX && at->run != run))
            continue;
        double u = (at->x - p->x.low) / (p->x.high - p->x.low);
        double v = (at->y - p->y.low) / (p->y.high - p->y.low);
        bool inside = u >= 0 && u <= 1 && v >= 0 && v <= 1;
        p->beyond += !inside;
        if (kind != FRONT) {
            unsigned char *spot = taken + (inside ? (int)(u * (GRID - 1)) : 0) * GRID +
                                  (inside ? (int)(v * (GRID - 1)) : 0);
            if (!inside || *spot)
                continue;
            *spot = 1;
        }
        nas_bytes_print(out, "%.9g %.9g\n", at->x, at->y);
        count++;
    }
    nas_bytes_puts(out, "EOD\n");
    free(x);
    free(order);
    free(taken);
    return count;
}

static void put_title(nas_bytes *out, const picture *p)
{
    const nas_plot *plot = p->plot;
    const nas_run_info *info = nas_run_get_info(plot->run[0]);
    nas_bytes title = {0};
    nas_bytes_print(&title, "%s %s, ", info->space, info->task);
    if (plot->n_run == 1)
        nas_bytes_print(&title, "seed %llu, %zu evaluations", (unsigned long long)info->seed,
                        nas_run_rows(plot->run[0]));
    else
        nas_bytes_print(&title, "%zu runs", plot->n_run);
    if (p->beyond)
        nas_bytes_print(&title, ", %zu beyond the axes", p->beyond);
    nas_bytes_puts(out, "set title ");
    put_quoted(out, title.data);
    nas_bytes_putc(out, '\n');
    nas_bytes_clear(&title);
}

/* "M" against "M_predicted": the diagonal and tau-b. */
static bool is_prediction(const picture *p)
{
    const char *x = p->x.metric.name, *y = p->y.metric.name;
    size_t nx = strlen(x), ny = strlen(y), shorter = nx < ny ? nx : ny;
    return nx != ny && !strncmp(x, y, shorter) &&
           !strcmp((nx > ny ? x : y) + shorter, "_predicted");
}

static void put_diagonal(nas_bytes *out, picture *p)
{
    double *x = nas_alloc((2 * p->n + 1) * sizeof *x), *y = x + p->n;
    nas_rank rank;
    for (size_t i = 0; i < p->n; i++) {
        x[i] = p->point[i].x;
        y[i] = p->point[i].y;
    }
    p->x.low = p->y.low = fmin(p->x.low, p->y.low);
    p->x.high = p->y.high = fmax(p->x.high, p->y.high);
    if (nas_rank_compare(x, y, p->n, &rank, NULL) == NAS_OK && !isnan(rank.tau_b))
        nas_bytes_print(out, "set label 'tau-b %.3f, n %zu' at graph 0.03, graph 0.95\n",
                        rank.tau_b, p->n);
    nas_bytes_puts(out, "set arrow from graph 0, graph 0 to graph 1, graph 1 nohead dashtype 2 "
                        "linecolor rgb '#606060'\n");
    free(x);
}

static void put_front_plots(nas_bytes *out, const picture *p, const size_t *n_front, size_t n_cloud,
                            size_t n_infeasible)
{
    const char *lead = "plot";
    const char *steps = p->x.metric.direction == NAS_MAX ? "fsteps" : "steps";
    if (n_cloud)
        nas_bytes_print(out,
                        "%s $cloud with points pointtype 7 pointsize 0.45 linecolor rgb "
                        "'#b8b8b8' title 'evaluated'",
                        lead);
    lead = n_cloud ? "," : lead;
    if (n_infeasible)
        nas_bytes_print(
            out,
            "%s $infeasible with points pointtype 2 pointsize 0.6 linewidth 1.5 linecolor rgb "
            "'#e0a080' title 'infeasible'",
            lead);
    lead = n_infeasible ? "," : lead;
    for (size_t r = 0; r < p->plot->n_run; r++) {
        if (n_front[r] == 0)
            continue;
        nas_bytes_print(out, "%s $front%zu with %s linewidth 2 linecolor rgb '%s' notitle", lead, r,
                        steps, COLOUR[r % COLOURS]);
        nas_bytes_print(out,
                        ", $front%zu with points pointtype 7 pointsize 0.9 linecolor rgb '%s'"
                        " title ",
                        r, COLOUR[r % COLOURS]);
        put_quoted(out, p->plot->n_run > 1 ? p->plot->label[r]
                        : p->x.is_number   ? "best so far"
                                           : "front");
        lead = ",";
    }
    nas_bytes_putc(out, '\n');
}

static nas_status script_front(const nas_plot *plot, nas_bytes *out, nas_err *err)
{
    const nas_run_info *info = nas_run_get_info(plot->run[0]);
    const char *second = info->n_objective > 1 ? info->metric[1].name : "evaluation";
    picture p = {.plot = plot};
    nas_status status = find_axis(plot, plot->x ? plot->x : second, &p.x, err);
    if (!status)
        status = find_axis(plot, plot->y ? plot->y : info->metric[0].name, &p.y, err);
    if (status)
        return status;
    for (size_t r = 0; r < plot->n_run; r++)
        add_rows(&p, r);
    if (p.n == 0)
        return nas_fail(err, NAS_EMPTY, "there is no row with both %s and %s to draw",
                        p.x.metric.name, p.y.metric.name);
    bool prediction = is_prediction(&p);
    if (!prediction)
        mark_fronts(&p);
    set_range(&p, &p.x, prediction);
    set_range(&p, &p.y, prediction);
    if (prediction)
        put_diagonal(out, &p);
    size_t *n_front = nas_zalloc(plot->n_run, sizeof *n_front);
    size_t n_cloud = put_points(out, &p, "cloud", SIZE_MAX, CLOUD);
    size_t n_infeasible = put_points(out, &p, "infeasible", SIZE_MAX, INFEASIBLE);
    for (size_t r = 0; r < plot->n_run; r++) {
        char name[32];
        snprintf(name, sizeof name, "front%zu", r);
        n_front[r] = put_points(out, &p, name, r, FRONT);
    }
    put_title(out, &p);
    put_axis(out, &p.x, 'x');
    put_axis(out, &p.y, 'y');
    put_bounds(out, &p.x, true);
    put_bounds(out, &p.y, false);
    put_front_plots(out, &p, n_front, n_cloud, n_infeasible);
    free(n_front);
    free(p.point);
    return NAS_OK;
}

/* ---- history ---- */

static nas_status check_references(const nas_plot *plot, nas_err *err)
{
    const double *first = nas_run_reference(plot->run[0]);
    size_t m = nas_run_get_info(plot->run[0])->n_objective;
    for (size_t r = 0; r < plot->n_run; r++) {
        const double *reference = nas_run_reference(plot->run[r]);
        if (!reference || nas_run_generations(plot->run[r]) == 0)
            return nas_fail(err, NAS_EMPTY, "%s has no history of hypervolume", plot->label[r]);
        if (memcmp(first, reference, m * sizeof *first))
            return nas_fail(err, NAS_USAGE,
                            "%s and %s have different reference points: their hypervolumes cannot "
                            "be compared (run both with --reference)",
                            plot->label[0], plot->label[r]);
    }
    return NAS_OK;
}

static nas_status script_history(const nas_plot *plot, nas_bytes *out, nas_err *err)
{
    nas_status status = check_references(plot, err);
    if (status)
        return status;
    const nas_run_info *info = nas_run_get_info(plot->run[0]);
    const double *reference = nas_run_reference(plot->run[0]);
    nas_bytes label = {0};
    nas_bytes_puts(&label, "hypervolume up to");
    for (size_t j = 0; j < info->n_objective; j++)
        nas_bytes_print(&label, "%s %.4g %s", j ? "," : "", reference[j], info->metric[j].unit);
    nas_bytes_puts(out, "set xlabel \"evaluations\\n\"\nset ylabel ");
    put_quoted(out, label.data);
    nas_bytes_puts(out, "\n");
    nas_bytes_clear(&label);
    put_title(out, &(picture){.plot = plot});
    for (size_t r = 0; r < plot->n_run; r++) {
        const nas_run_step *step = nas_run_history(plot->run[r]);
        nas_bytes_print(out, "$run%zu << EOD\n", r);
        for (size_t g = 0; g < nas_run_generations(plot->run[r]); g++)
            nas_bytes_print(out, "%lld %.9g\n", (long long)step[g].evaluations,
                            step[g].hypervolume);
        nas_bytes_puts(out, "EOD\n");
    }
    for (size_t r = 0; r < plot->n_run; r++) {
        nas_bytes_print(out, "%s $run%zu with steps linewidth 2 linecolor rgb '%s' title ",
                        r ? "," : "plot", r, COLOUR[r % COLOURS]);
        put_quoted(out, plot->label[r]);
    }
    nas_bytes_putc(out, '\n');
    return NAS_OK;
}

static nas_status check_objectives(const nas_plot *plot, nas_err *err)
{
    const nas_run_info *a = nas_run_get_info(plot->run[0]);
    for (size_t r = 1; r < plot->n_run; r++) {
        const nas_run_info *b = nas_run_get_info(plot->run[r]);
        bool same = a->n_objective == b->n_objective;
        for (size_t j = 0; j < a->n_objective && same; j++)
            same = !strcmp(a->metric[j].name, b->metric[j].name) &&
                   !strcmp(a->metric[j].unit, b->metric[j].unit) &&
                   a->metric[j].direction == b->metric[j].direction;
        if (!same)
            return nas_fail(err, NAS_USAGE, "%s and %s have different objectives", plot->label[0],
                            plot->label[r]);
    }
    return NAS_OK;
}

nas_status nas_plot_script(const nas_plot *plot, const char *terminal, nas_bytes *script,
                           nas_err *err)
{
    nas_status status = check_objectives(plot, err);
    if (status)
        return status;
    put_head(script, terminal);
    return plot->history ? script_history(plot, script, err) : script_front(plot, script, err);
}
