/* The picture of a bench: which method ranks best from how many labels. */
#include "results/bench.h"

#include <stdlib.h>
#include <string.h>

/* One method: its first draw, and its mean at the most training rows. */
typedef struct {
    size_t first;
    double last;
} curve;

static bool begins_method(const nas_bench_picture *p, size_t i)
{
    return i == 0 || strcmp(p->draw[i].method, p->draw[i - 1].method) != 0;
}

static bool begins_group(const nas_bench_picture *p, size_t i)
{
    return begins_method(p, i) || p->draw[i].n != p->draw[i - 1].n;
}

static void mean_at(const nas_bench_picture *p, size_t i, double *mean, double *deviation)
{
    nas_bench_mean(p->draw, p->n, p->draw[i].method, p->draw[i].n, offsetof(nas_bench_draw, tau_b),
                   mean, deviation);
}

static int compare_curves(const void *a, const void *b)
{
    const curve *x = a, *y = b;
    if (x->last != y->last)
        return x->last < y->last ? 1 : -1;
    return x->first < y->first ? -1 : 1;
}

/* The curves, best first: the legend then reads as the right end of the picture does. */
static size_t list_curves(const nas_bench_picture *p, curve *curves)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        double deviation;
        if (begins_method(p, i))
            curves[n++].first = i;
        if (begins_group(p, i))
            mean_at(p, i, &curves[n - 1].last, &deviation);
    }
    qsort(curves, n, sizeof *curves, compare_curves);
    return n;
}

/* The points of a method as a block of data: rows, mean, deviation. */
static void put_data(const nas_bench_picture *p, curve c, size_t k, nas_bytes *script)
{
    nas_bytes_print(script, "$m%zu << EOD\n", k);
    for (size_t i = c.first; i < p->n && (i == c.first || !begins_method(p, i)); i++) {
        double mean, deviation;
        if (!begins_group(p, i))
            continue;
        mean_at(p, i, &mean, &deviation);
        nas_bytes_print(script, "%lld %.6f %.6f\n", (long long)p->draw[i].n, mean, deviation);
    }
    nas_bytes_puts(script, "EOD\n");
}

/* Tics where there are measurements; the range ends a little beyond them. */
static void put_axis(const nas_bench_picture *p, nas_bytes *script)
{
    long long least = (long long)p->draw[0].n, most = least;
    nas_bytes_puts(script, "set xtics (");
    for (size_t i = 0; i < p->n; i++) {
        long long n = (long long)p->draw[i].n;
        least = n < least ? n : least;
        most = n > most ? n : most;
        if (begins_group(p, i))
            nas_bytes_print(script, "%s%lld", i ? "," : "", n);
    }
    nas_bytes_print(script, ") rotate by 60 right\nset xrange [%g:%g]\n", (double)least / 1.2,
                    (double)most * 1.2);
}

/* Six colours that stay apart in grey and for the colour-blind; then the same dashed, dotted. */
static void put_styles(nas_bytes *script)
{
    static const char *const colour[] = {"#0072b2", "#d55e00", "#009e73",
                                         "#cc79a7", "#e69f00", "#000000"};
    enum { COLOURS = sizeof colour / sizeof *colour };
    for (int i = 0; i < 4 * COLOURS; i++)
        nas_bytes_print(script, "set linetype %d lc rgb '%s' lw 2 dt %d pt %d ps 0.7\n", i + 1,
                        colour[i % COLOURS], i / COLOURS + 1, i % 13 + 1);
    nas_bytes_print(script, "set linetype cycle %d\n", 4 * COLOURS);
}

nas_status nas_bench_script(const void *what, const char *terminal, nas_bytes *script, nas_err *err)
{
    const nas_bench_picture *p = what;
    if (p->n == 0)
        return nas_fail(err, NAS_EMPTY, "the bench has no draws yet");
    curve *curves = nas_alloc(p->n * sizeof *curves);
    size_t n = list_curves(p, curves);
    nas_bytes_print(script, "set terminal %s\n", terminal);
    for (size_t k = 0; k < n; k++)
        put_data(p, curves[k], k, script);
    put_styles(script);
    nas_bytes_print(script,
                    "set title '%s of %s, %s' noenhanced\n"
                    "set xlabel 'training rows'\nset ylabel 'Kendall tau-b'\n"
                    "set logscale x\nset grid\n"
                    "set key outside right noenhanced Left reverse samplen 2.5 spacing 0.95\n",
                    p->about.metric, p->about.space, p->about.setting);
    put_axis(p, script);
    for (size_t k = 0; k < n; k++)
        nas_bytes_print(script, "%s$m%zu using 1:2:3 with yerrorlines lt %zu title '%.60s'",
                        k ? ", \\\n     " : "plot ", k, k + 1, p->draw[curves[k].first].method);
    nas_bytes_puts(script, "\n");
    free(curves);
    return NAS_OK;
}
