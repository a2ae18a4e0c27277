/* Is there a member that is nowhere above a point? A growing set of points as a k-d tree.
 *
 *     nas_cover c = {.k = 4};
 *     if (!nas_cover_has(&c, p)) nas_cover_add(&c, p);  // p: (k)
 *     nas_cover_clear(&c);
 *
 * Every node knows the least coordinates below it: where one of them is above the point, nothing
 * below can be under it. Internal to fronts. */
#ifndef NAS_RESULTS_COVER_H
#define NAS_RESULTS_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NAS_COVER_K = 16 }; /* most coordinates */

typedef struct {
    size_t k;       /* coordinates, set by the caller */
    double *corner; /* (n_node, k) least coordinates of each node */
    struct nas_cover_node *node;
    double *member; /* (n_leaf, a leaf's members, k) */
    size_t n_node, n_leaf, corner_cap, node_cap, member_cap;
} nas_cover;

bool nas_cover_has(const nas_cover *cover, const double *p);
/* Adds p, which is no copy of a member. */
void nas_cover_add(nas_cover *cover, const double *p);
void nas_cover_clear(nas_cover *cover);

#endif
