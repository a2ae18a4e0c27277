#include "search/train_progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

nas_train_progress nas_train_progress_start(const char *how)
{
    return (nas_train_progress){.any = strcmp(how, "none"),
                                .bar = !strcmp(how, "bar") ||
                                       (!strcmp(how, "auto") && isatty(STDERR_FILENO)),
                                .start = seconds()};
}

static void tell(nas_train_progress *g, const nas_train_report *r, double tau, double now)
{
    double took = now - g->start + 1e-9, rate = (double)g->steps / took;
    g->told = now;
    fprintf(stderr, "%sstep %llu of %llu, loss %.4f, ", g->bar ? "\r" : "",
            (unsigned long long)r->step, (unsigned long long)r->steps, g->loss);
    if (!isnan(tau))
        fprintf(stderr, "tau-b %.4f at best, ", tau);
    fprintf(stderr, "%.0f tokens/s, %.0f s left%s", (double)g->tokens / took,
            (double)(r->steps - r->step) / rate, g->bar ? "\033[K" : "\n");
}

double nas_train_progress_step(nas_train_progress *g, const nas_train_report *r, double tau,
                               bool last)
{
    double now = seconds();
    g->steps++;
    g->tokens += r->tokens;
    g->loss = g->steps == 1 ? r->loss : 0.98 * g->loss + 0.02 * r->loss;
    if (g->any && (last || now >= g->told + (g->bar ? 0.2 : 10)))
        tell(g, r, tau, now);
    return now - g->start;
}

void nas_train_progress_end(const nas_train_progress *g)
{
    if (g->bar && g->any)
        fputc('\n', stderr);
}
