/* What does nauty say? The canonical form of a directed graph with coloured vertices: two graphs
 * are isomorphic exactly when their keys are the same. Programs that include this link libnauty.
 *
 *     check_digraph g = {.n = 3, .colour = {0, 1, 0}, .edge = {[0][1] = true, [1][2] = true}};
 *     nas_arch key = check_nauty_key(&g);
 */
#ifndef NAS_TESTS_NAUTY_H
#define NAS_TESTS_NAUTY_H

#include "spaces/arch.h"

/* clang-format off */
#include <nauty/nauty.h>
#include <nauty/nautinv.h>
/* clang-format on */

enum { CHECK_VERTICES = 10, CHECK_COLOURS = 8 };

typedef struct {
    int n;
    int colour[CHECK_VERTICES]; /* 0 .. CHECK_COLOURS - 1 */
    bool edge[CHECK_VERTICES][CHECK_VERTICES];
} check_digraph;

/* The form and the number of vertices of each colour, as bytes that a nas_arch_set can hold. */
static inline nas_arch check_nauty_key(const check_digraph *d)
{
    static DEFAULTOPTIONS_DIGRAPH(options);
    nas_arch key = {.n = NAS_ARCH_GENES};
    graph g[CHECK_VERTICES], form[CHECK_VERTICES];
    int lab[CHECK_VERTICES], ptn[CHECK_VERTICES], orbits[CHECK_VERTICES], at = 0;
    statsblk stats;
    EMPTYGRAPH(g, 1, d->n);
    for (int v = 0; v < d->n; v++)
        for (int w = 0; w < d->n; w++)
            if (d->edge[v][w])
                ADDONEARC(g, v, w, 1);
    for (int colour = 0; colour < CHECK_COLOURS; colour++) {
        for (int v = 0; v < d->n; v++)
            if (d->colour[v] == colour) {
                key.gene[NAS_ARCH_GENES - 1 - colour]++;
                lab[at] = v;
                ptn[at++] = 1;
            }
        if (at > 0)
            ptn[at - 1] = 0;
    }
    options.getcanon = TRUE;
    options.defaultptn = FALSE;
    densenauty(g, lab, ptn, orbits, &options, &stats, 1, d->n, form);
    memcpy(key.gene, form, (size_t)d->n * sizeof *form);
    return key;
}

#endif
