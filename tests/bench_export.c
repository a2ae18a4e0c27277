/* How fast do networks leave the house and come back? CPU time of build and export of random
 * architectures by form, of reading back, and whether memory stays flat over 100,000 exports. */
#include "onnx/export.h"
#include "onnx/read.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DISTINCT = 200 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void sample(const nas_space *space, nas_arch arch[DISTINCT])
{
    nas_rng rng = nas_rng_seed(1);
    for (int i = 0; i < DISTINCT; i++)
        nas_space_sample(space, &rng, &arch[i]);
}

/* Exports a second, and the mean size of each. */
static double rate(const nas_space *space, nas_form form, double *bytes)
{
    nas_arch arch[DISTINCT];
    nas_bytes out = {0};
    int n = 0;
    sample(space, arch);
    double start = seconds(), size = 0, end = start;
    for (; end - start < 0.1; end = seconds())
        for (int i = 0; i < 10; i++, n++) {
            nas_bytes_reset(&out);
            nas_export(space, &arch[n % DISTINCT], &space->tasks[0], (nas_export_how){.form = form},
                       &out, NULL);
            size += (double)out.size;
        }
    nas_bytes_clear(&out);
    *bytes = size / n;
    return n / (end - start);
}

static double read_rate(const nas_space *space, nas_form form)
{
    nas_arch arch[DISTINCT];
    nas_bytes out = {0};
    int n = 0;
    sample(space, arch);
    nas_export(space, &arch[0], &space->tasks[0], (nas_export_how){.form = form}, &out, NULL);
    double start = seconds(), end = start;
    for (; end - start < 0.1; end = seconds(), n++) {
        nas_graph *graph;
        if (nas_onnx_read(out.data, out.size, &graph, NULL) != NAS_OK)
            abort();
        nas_graph_free(graph);
    }
    nas_bytes_clear(&out);
    return n / (end - start);
}

static void stream(const nas_space *space, nas_form form, int n)
{
    nas_arch arch[DISTINCT];
    nas_bytes out = {0};
    sample(space, arch);
    size_t first = 0;
    for (int i = 0; i < n; i++) {
        nas_bytes_reset(&out);
        nas_export(space, &arch[i % DISTINCT], &space->tasks[0], (nas_export_how){.form = form},
                   &out, NULL);
        if (i == DISTINCT)
            first = mallinfo2().uordblks;
    }
    printf("%d exports of %s as %s: %zu bytes in use after %d, %zu at the end\n", n, space->name,
           nas_form_names[form], first, (int)DISTINCT, (size_t)mallinfo2().uordblks);
    nas_bytes_clear(&out);
}

int main(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 28); /* keep freed memory, as the program does */
    mallopt(M_TRIM_THRESHOLD, 1 << 28);
    printf("exports a second, building the graph included (bytes each); reads a second\n%-12s",
           "space");
    for (int form = 0; form < NAS_FORM_COUNT; form++)
        printf(" %17s", nas_form_names[form]);
    printf(" %9s %9s\n", "read onnx", "compact");
    for (int s = 0; s < nas_space_count(); s++) {
        printf("%-12s", nas_spaces[s]->name);
        for (int form = 0; form < NAS_FORM_COUNT; form++) {
            double bytes, each = rate(nas_spaces[s], (nas_form)form, &bytes);
            printf(" %8.0f (%6.0f)", each, bytes);
        }
        printf(" %9.0f %9.0f\n", read_rate(nas_spaces[s], NAS_FORM_ONNX),
               read_rate(nas_spaces[s], NAS_FORM_COMPACT));
        fflush(stdout);
    }
    stream(nas_space_find("nb201"), NAS_FORM_COMPACT, 100000);
    stream(nas_space_find("nb201"), NAS_FORM_ONNX, 100000);
    return 0;
}
