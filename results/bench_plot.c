/* The picture of a bench: which method ranks best from how many labels. */
#include "results/bench.h"

#include <string.h>

static bool begins_method(const nas_bench_picture *p, size_t i)
{
    return i == 0 || strcmp(p->draw[i].method, p->draw[i - 1].method) != 0;
}

static bool begins_group(const nas_bench_picture *p, size_t i)
{
    return begins_method(p, i) || p->draw[i].n != p->draw[i - 1].n;
}

/* The points of each method as a block of data: rows, mean, deviation. */
static size_t put_data(const nas_bench_picture *p, nas_bytes *script)
{
    size_t methods = 0;
    for (size_t i = 0; i < p->n; i++) {
        double mean, deviation;
        if (begins_method(p, i))
            nas_bytes_print(script, "%s$m%zu << EOD\n", methods ? "EOD\n" : "", methods);
        methods += begins_method(p, i);
        if (!begins_group(p, i))
            continue;
        nas_bench_mean(p->draw, p->n, p->draw[i].method, p->draw[i].n,
                       offsetof(nas_bench_draw, tau_b), &mean, &deviation);
        nas_bytes_print(script, "%lld %.6f %.6f\n", (long long)p->draw[i].n, mean, deviation);
    }
    nas_bytes_puts(script, "EOD\n");
    return methods;
}

nas_status nas_bench_script(const void *what, const char *terminal, nas_bytes *script, nas_err *err)
{
    const nas_bench_picture *p = what;
    if (p->n == 0)
        return nas_fail(err, NAS_EMPTY, "the bench has no draws yet");
    nas_bytes_print(script, "set terminal %s\n", terminal);
    size_t methods = put_data(p, script), m = 0;
    nas_bytes_print(script,
                    "set title '%s of %s, %s' noenhanced\n"
                    "set xlabel 'training rows'\nset ylabel 'Kendall tau-b'\n"
                    "set logscale x\nset key outside right noenhanced\nset grid\n"
                    "set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05\nplot ",
                    p->about.metric, p->about.space, p->about.setting);
    for (size_t i = 0; i < p->n; i++)
        if (begins_method(p, i)) {
            nas_bytes_print(script,
                            "$m%zu using 1:2:3 with yerrorlines lw 2 pt %zu title '%.60s'%s", m,
                            m + 1, p->draw[i].method, m + 1 < methods ? ", \\\n     " : "\n");
            m++;
        }
    return NAS_OK;
}
