#include "surrogate/estimate.h"

#include "spaces/base/mem.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- atoms ---- */

static int by_value(const void *a, const void *b)
{
    const nas_atom *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->p > y->p) - (x->p < y->p);
}

nas_estimate nas_estimate_of(nas_atom *atom, size_t n)
{
    qsort(atom, n, sizeof *atom, by_value);
    double mass = 0, sum = 0, error = 0, square = 0;
    for (size_t i = 0; i < n; i++) {
        const nas_atom *a = &atom[i];
        mass += a->p;
        sum += a->p * a->value;
        error += a->p * fmax(a->high - a->value, a->value - a->low);
    }
    nas_estimate e = {.mean = sum / mass, .mass = mass, .error = error / mass};
    for (size_t i = 0; i < n; i++) {
        double d = atom[i].value - e.mean, width = atom[i].high - atom[i].low;
        square += atom[i].p * (d * d + width * width / 12); /* a range is as if uniform */
    }
    e.spread = sqrt(square / mass);
    e.median = nas_estimate_quantile(atom, n, 0.5);
    return e;
}

double nas_estimate_quantile(const nas_atom *atom, size_t n, double q)
{
    double mass = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        mass += atom[i].p;
    double goal = q * mass, slack = 1e-12 * mass;
    for (size_t i = 0; i < n; i++) {
        sum += atom[i].p;
        if (sum >= goal - slack) {
            bool between = sum <= goal + slack && i + 1 < n;
            return between ? (atom[i].value + atom[i + 1].value) / 2 : atom[i].value;
        }
    }
    return n ? atom[n - 1].value : NAN;
}

double nas_estimate_middle(const nas_atom *atom, size_t n)
{
    double mass = 0, sum = 0, share = 0, value = NAN;
    for (size_t i = 0; i < n; i++)
        mass += isfinite(atom[i].value) ? atom[i].p : 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(atom[i].value))
            continue;
        double next = sum + atom[i].p / 2, step = atom[i].value - value;
        if (next >= mass / 2)
            return isnan(value) ? atom[i].value
                                : value + step * (mass / 2 - share) / (next - share);
        value = atom[i].value;
        share = next;
        sum += atom[i].p;
    }
    return value;
}

/* ---- the tree ---- */

typedef struct {
    int32_t id[NAS_NUMBER_MAX];
    double p;
} node;

typedef struct {
    double p;
    int32_t parent, token;
} child;

struct nas_tree {
    nas_number number;
    int width, most; /* most ids that may follow a prefix */
    int level;       /* tokens of the prefixes in front */
    double threshold;
    int n_front, n_child;
    size_t n_atom;
    node *front, *next;      /* (width) */
    int32_t *parent, *token; /* (width) */
    child *children;         /* (width * most) */
    nas_atom *atom;          /* (width * base * digits); their values are those of tokens */
    nas_atom *scaled;        /* as atom, in the metric's unit */
};

nas_tree *nas_tree_new(const nas_number *number, int width)
{
    assert(width >= 1);
    nas_tree *tree = nas_zalloc(1, sizeof *tree);
    tree->number = *number;
    tree->width = width;
    for (int i = 0; i < number->length; i++) {
        nas_token_set legal = nas_number_legal(number, (int32_t[]){NAS_NUMBER_PAD}, i);
        int n = legal.end[0] - legal.first[0] + legal.end[1] - legal.first[1];
        tree->most = n > tree->most ? n : tree->most;
    }
    size_t w = (size_t)width, atoms = w * (size_t)(tree->most * number->length);
    tree->front = nas_alloc(w * sizeof *tree->front);
    tree->next = nas_alloc(w * sizeof *tree->next);
    tree->parent = nas_alloc(w * sizeof *tree->parent);
    tree->token = nas_alloc(w * sizeof *tree->token);
    tree->children = nas_alloc(w * (size_t)tree->most * sizeof *tree->children);
    tree->atom = nas_alloc(atoms * sizeof *tree->atom);
    tree->scaled = nas_alloc(atoms * sizeof *tree->scaled);
    return tree;
}

void nas_tree_free(nas_tree *tree)
{
    if (!tree)
        return;
    free(tree->front);
    free(tree->next);
    free(tree->parent);
    free(tree->token);
    free(tree->children);
    free(tree->atom);
    free(tree->scaled);
    free(tree);
}

void nas_tree_start(nas_tree *tree, double threshold)
{
    tree->threshold = threshold;
    tree->level = 0;
    tree->n_front = 1;
    tree->n_atom = 0;
    tree->front[0] = (node){.p = 1};
    tree->parent[0] = tree->token[0] = -1;
}

int nas_tree_frontier(const nas_tree *tree, const int32_t **parent, const int32_t **token)
{
    *parent = tree->parent;
    *token = tree->token;
    return tree->n_front;
}

/* Appends the children of prefix i: softmax of its logits over the legal ids. */
static void add_children(nas_tree *tree, int32_t i, const float *logit)
{
    const node *from = &tree->front[i];
    nas_token_set legal = nas_number_legal(&tree->number, from->id, tree->level);
    child *start = &tree->children[tree->n_child];
    double top = -INFINITY, sum = 0;
    int n = 0;
    for (int k = 0; k < 2; k++)
        for (int32_t t = legal.first[k]; t < legal.end[k]; t++)
            top = fmax(top, logit[t]);
    for (int k = 0; k < 2; k++)
        for (int32_t t = legal.first[k]; t < legal.end[k]; t++) {
            start[n] = (child){exp(logit[t] - top), i, t};
            sum += start[n++].p;
        }
    for (int k = 0; k < n; k++)
        start[k].p *= from->p / sum;
    tree->n_child += n;
}

static node extended(const nas_tree *tree, const child *c)
{
    node result = tree->front[c->parent];
    result.id[tree->level] = c->token;
    result.p = c->p;
    return result;
}

/* A digit that is not followed stands for its range. */
static void end_at(nas_tree *tree, const child *c)
{
    if (tree->number.role[tree->level] != NAS_ROLE_DIGIT || c->token >= tree->number.special_id)
        return;
    node end = extended(tree, c);
    bool open = false; /* P10: the exponent is still to come */
    for (int i = tree->level + 1; i < tree->number.length; i++)
        open |= tree->number.role[i] != NAS_ROLE_DIGIT;
    nas_atom a = {.p = c->p};
    nas_number_range(&tree->number, end.id, tree->level + 1, &a.low, &a.high);
    a.value = (a.low + a.high) / 2;
    if (!open)
        tree->atom[tree->n_atom++] = a;
}

static int by_probability(const void *a, const void *b)
{
    const child *x = a, *y = b;
    if (x->p != y->p)
        return x->p > y->p ? -1 : 1;
    return x->parent != y->parent ? (x->parent > y->parent) - (x->parent < y->parent)
                                  : (x->token > y->token) - (x->token < y->token);
}

static int by_place(const void *a, const void *b)
{
    const child *x = a, *y = b;
    return x->parent != y->parent ? (x->parent > y->parent) - (x->parent < y->parent)
                                  : (x->token > y->token) - (x->token < y->token);
}

/* All children at the last level are values. */
static void finish(nas_tree *tree)
{
    for (int i = 0; i < tree->n_child; i++) {
        node leaf = extended(tree, &tree->children[i]);
        double value;
        bool legal = nas_number_decode(&tree->number, leaf.id, &value);
        assert(legal);
        (void)legal;
        if (isfinite(value))
            tree->atom[tree->n_atom++] = (nas_atom){value, leaf.p, value, value};
    }
    tree->n_front = 0;
}

/* Chooses whom to follow. */
static void follow(nas_tree *tree)
{
    child *c = tree->children;
    int keep = 1;
    qsort(c, (size_t)tree->n_child, sizeof *c, by_probability);
    while (keep < tree->n_child && keep < tree->width && c[keep].p >= tree->threshold)
        keep++;
    for (int i = keep; i < tree->n_child; i++)
        end_at(tree, &c[i]);
    qsort(c, (size_t)keep, sizeof *c, by_place);
    for (int i = 0; i < keep; i++) {
        tree->next[i] = extended(tree, &c[i]);
        tree->parent[i] = c[i].parent;
        tree->token[i] = c[i].token;
    }
    node *swap = tree->front;
    tree->front = tree->next;
    tree->next = swap;
    tree->n_front = keep;
}

void nas_tree_expand(nas_tree *tree, const float *logit, size_t stride)
{
    assert(tree->n_front > 0);
    tree->n_child = 0;
    for (int i = 0; i < tree->n_front; i++)
        add_children(tree, i, logit + (size_t)i * stride);
    if (tree->level + 1 == tree->number.length)
        finish(tree);
    else
        follow(tree);
    tree->level++;
}

nas_atom *nas_tree_atoms(nas_tree *tree, const nas_scale *scale, size_t *n)
{
    *n = tree->n_atom;
    for (size_t i = 0; i < tree->n_atom; i++) {
        nas_atom a = tree->atom[i];
        if (scale) {
            a.low = nas_scale_invert(scale, a.low);
            a.high = nas_scale_invert(scale, a.high);
            a.value = a.low < a.high ? (a.low + a.high) / 2 : a.low;
        }
        tree->scaled[i] = a;
    }
    return tree->scaled;
}
