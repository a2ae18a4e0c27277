/* How many architectures of each space a second on one core: drawn, made canonical, and their
 * networks built, inlined with shapes and costed? */
#include "hw/cost.h"
#include "spaces/space.h"

#include <stdio.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void)
{
    enum { N = 2000 };
    static nas_arch arch[N];
    printf("%-12s %12s %12s %12s %8s\n", "space", "drawn/s", "canonical/s", "costed/s", "nodes");
    for (int k = 0; k < nas_space_count(); k++) {
        const nas_space *s = nas_spaces[k];
        nas_rng rng = nas_rng_seed(1);
        nas_arch canonical;
        size_t nodes = 0;
        double start = seconds();
        for (int i = 0; i < N; i++)
            nas_space_sample(s, &rng, &arch[i]);
        double drawn = seconds();
        for (int i = 0; i < N; i++)
            nas_space_canonical(s, &arch[i], &canonical);
        double named = seconds();
        for (int i = 0; i < N; i++) {
            nas_cost cost;
            nas_graph *g = nas_space_build(s, &arch[i], &s->tasks[0]);
            if (nas_cost_of(g, &cost, NULL) == NAS_OK)
                nodes += nas_graph_flat(g, NULL)->fn[0].n_node;
            nas_graph_free(g);
        }
        printf("%-12s %12.0f %12.0f %12.0f %8zu\n", s->name, N / (drawn - start),
               N / (named - drawn), N / (seconds() - named), nodes / N);
    }
    return 0;
}
