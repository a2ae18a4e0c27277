#include "search/train_progress.h"

#include <math.h>
#include <stdio.h>

void nas_train_progress_step(nas_train_progress *g, const nas_train_report *r, double tau,
                             bool last)
{
    const nas_progress *line = &g->line;
    g->steps++;
    g->tokens += r->tokens;
    g->loss = g->steps == 1 ? r->loss : 0.98 * g->loss + 0.02 * r->loss;
    if (!nas_progress_due(&g->line) && !(last && (line->bar || line->plain)))
        return;
    double took = nas_progress_seconds(line) + 1e-9, rate = (double)g->steps / took;
    fprintf(stderr, "%sstep %llu of %llu, loss %.4f, ", line->before, (unsigned long long)r->step,
            (unsigned long long)r->steps, g->loss);
    if (!isnan(tau))
        fprintf(stderr, "tau-b %.4f at best, ", tau);
    fprintf(stderr, "%.0f tokens/s, %.0f s left%s", (double)g->tokens / took,
            (double)(r->steps - r->step) / rate, line->after);
}
