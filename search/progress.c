#include "search/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PLAIN_SECONDS = 10, WIDTH = 30 }; /* between lines; of the bar */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

nas_status nas_progress_open(nas_progress *p, const nas_options *o, uint64_t budget, nas_err *err)
{
    static const char *const hows[] = {"auto", "bar", "plain", "none"};
    const char *how = nas_options_text(o, "progress", "auto"), *term = getenv("TERM");
    char hint[100];
    *p = (nas_progress){.budget = budget, .before = "", .after = "\n", .start = seconds()};
    bool terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb");
    if (!strcmp(how, "auto"))
        how = terminal ? "bar" : "plain";
    p->bar = !strcmp(how, "bar");
    p->plain = !strcmp(how, "plain");
    p->next = p->start + (p->bar ? 0.2 : PLAIN_SECONDS);
    if (p->bar)
        p->before = "\r", p->after = "\033[K";
    if (!p->bar && !p->plain && strcmp(how, "none"))
        return nas_fail(err, NAS_USAGE, "unknown progress '%s'%s", how,
                        nas_hint(hint, sizeof hint, how, hows, 4));
    return NAS_OK;
}

bool nas_progress_due(nas_progress *p)
{
    double now = p->bar || p->plain ? seconds() : 0;
    if (now < p->next)
        return false;
    p->next = now + (p->bar ? 0.1 : PLAIN_SECONDS);
    return true;
}

double nas_progress_seconds(const nas_progress *p)
{
    return seconds() - p->start;
}

void nas_progress_show(void *progress, size_t rows, size_t front, double hypervolume)
{
    nas_progress *p = progress;
    if (!nas_progress_due(p))
        return;
    char bar[WIDTH + 1] = "";
    memset(bar, '.', WIDTH);
    memset(bar, '#', rows >= p->budget ? WIDTH : WIDTH * rows / p->budget);
    fputs(p->before, stderr);
    if (p->bar)
        fprintf(stderr, "[%s] ", bar);
    fprintf(stderr, "%zu of %llu evaluated, front %zu, hypervolume %.6g%s", rows,
            (unsigned long long)p->budget, front, hypervolume, p->after);
}

void nas_progress_close(nas_progress *p)
{
    if (p->bar)
        fputc('\n', stderr);
}
