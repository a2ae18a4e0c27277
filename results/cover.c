#include "results/cover.h"

#include "spaces/base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { LEAF = 16 }; /* members of a leaf */

/* A leaf has n members at leaf; a branch has two children, members with coordinate axis below split
 * go to the first. */
struct nas_cover_node {
    uint32_t child[2]; /* 0, 0: a leaf */
    uint32_t leaf, n;
    uint32_t axis;
    double split;
};

typedef struct nas_cover_node node;

static bool is_below(const double *a, const double *p, size_t k)
{
    size_t j = 0;
    while (j < k && a[j] <= p[j])
        j++;
    return j == k;
}

static double *member(const nas_cover *c, const node *leaf, size_t i)
{
    return c->member + ((size_t)leaf->leaf * LEAF + i) * c->k;
}

static bool has_below(const nas_cover *c, uint32_t at, const double *p)
{
    if (!is_below(c->corner + at * c->k, p, c->k))
        return false;
    const node *n = &c->node[at];
    if (n->child[0])
        return has_below(c, n->child[0], p) || has_below(c, n->child[1], p);
    for (size_t i = n->n; i-- > 0;)
        if (is_below(member(c, n, i), p, c->k))
            return true;
    return false;
}

bool nas_cover_has(const nas_cover *cover, const double *p)
{
    return cover->n_node && has_below(cover, 0, p);
}

static uint32_t new_node(nas_cover *c)
{
    c->node = nas_grow(c->node, &c->node_cap, c->n_node + 1, sizeof *c->node);
    c->corner = nas_grow(c->corner, &c->corner_cap, (c->n_node + 1) * c->k, sizeof *c->corner);
    c->node[c->n_node] = (node){0};
    return (uint32_t)c->n_node++;
}

static uint32_t new_leaf(nas_cover *c)
{
    c->member =
        nas_grow(c->member, &c->member_cap, (c->n_leaf + 1) * LEAF * c->k, sizeof *c->member);
    return (uint32_t)c->n_leaf++;
}

static void put_member(nas_cover *c, uint32_t leaf, const double *p)
{
    node *n = &c->node[leaf];
    double *corner = c->corner + leaf * c->k;
    for (size_t j = 0; j < c->k; j++)
        corner[j] = n->n == 0 || p[j] < corner[j] ? p[j] : corner[j];
    memcpy(member(c, n, n->n++), p, c->k * sizeof *p);
}

/* The axis along which the members of a leaf lie widest, and a value that parts them there. */
static uint32_t choose_split(const nas_cover *c, const node *leaf, double *split)
{
    uint32_t best = 0;
    double widest = 0;
    for (uint32_t j = 0; j < c->k; j++) {
        double low = member(c, leaf, 0)[j], high = low;
        for (size_t i = 1; i < leaf->n; i++) {
            double v = member(c, leaf, i)[j];
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
        if (high - low > widest) { /* false for equal infinities */
            widest = high - low;
            best = j;
            *split = low / 2 + high / 2;
            *split = *split > low && *split <= high ? *split : high;
        }
    }
    return best;
}

static void split_leaf(nas_cover *c, uint32_t at)
{
    double old[LEAF * NAS_COVER_K];
    node leaf = c->node[at];
    memcpy(old, member(c, &leaf, 0), LEAF * c->k * sizeof *old);
    node branch = {.axis = choose_split(c, &leaf, &branch.split)};
    for (int side = 0; side < 2; side++)
        branch.child[side] = new_node(c);
    c->node[branch.child[0]].leaf = leaf.leaf;
    c->node[branch.child[1]].leaf = new_leaf(c);
    c->node[at] = branch;
    for (size_t i = 0; i < LEAF; i++) {
        const double *p = old + i * c->k;
        put_member(c, branch.child[p[branch.axis] >= branch.split], p);
    }
}

void nas_cover_add(nas_cover *cover, const double *p)
{
    if (cover->n_node == 0) {
        uint32_t root = new_node(cover);
        cover->node[root].leaf = new_leaf(cover);
    }
    uint32_t at = 0;
    for (;;) {
        node *n = &cover->node[at];
        if (!n->child[0] && n->n == LEAF) {
            split_leaf(cover, at);
            n = &cover->node[at];
        }
        if (!n->child[0])
            break;
        double *corner = cover->corner + at * cover->k;
        for (size_t j = 0; j < cover->k; j++)
            corner[j] = p[j] < corner[j] ? p[j] : corner[j];
        at = n->child[p[n->axis] >= n->split];
    }
    put_member(cover, at, p);
}

void nas_cover_clear(nas_cover *cover)
{
    free(cover->corner);
    free(cover->node);
    free(cover->member);
}
