/* Which number do the token probabilities mean? A tree of digits, its mean and quantiles.
 *
 *     nas_tree_start(tree, 1e-3);
 *     while ((n = nas_tree_frontier(tree, &parent, &token)) > 0)
 *         nas_tree_expand(tree, logits_of(n, parent, token), stride);   // the model: n rows
 *     atom = nas_tree_atoms(tree, scale, &m);  estimate = nas_estimate_of(atom, m);
 *
 * The tree is walked level by level, so that a batch of trees makes one batch of prefixes. Less
 * probable prefixes are not followed: among digits they count with the middle of their range, which
 * bounds the error; signs and exponents are left out and the rest is taken as the whole, else an
 * exponent of no likelihood would carry the mean away. */
#ifndef NAS_SURROGATE_ESTIMATE_H
#define NAS_SURROGATE_ESTIMATE_H

#include "surrogate/number.h"
#include "surrogate/scale.h"

#include <stddef.h>

/* A value, or a range of values seen as its middle, and its probability. Samples are atoms too:
 * {x, 1, x, x} each. */
typedef struct {
    double value, p, low, high;
} nas_atom;

typedef struct {
    double mean, median;
    double spread; /* standard deviation, in the metric's unit */
    double mass;   /* the sum of p: what was not left out, for a tree */
    double error;  /* the mean of all values in the ranges is within mean +- error */
} nas_estimate;

/* Sorts n atoms by value. All members are nan for n = 0 but mass, 0. */
nas_estimate nas_estimate_of(nas_atom *atom, size_t n);
/* The least value with at least the share q of the mass at or below it, of sorted atoms; between
 * two values when q falls exactly there, as the usual median. nan for n = 0. */
double nas_estimate_quantile(const nas_atom *atom, size_t n, double q);
/* The median, of which as much is interpolated as lies between atoms: half of an atom's mass is
 * below its value. Two distributions that differ rarely share it, as they may a quantile. Sorted
 * atoms; those without a finite value do not count; nan when none is left. */
double nas_estimate_middle(const nas_atom *atom, size_t n);

typedef struct nas_tree nas_tree;

/* A tree for numbers of that layout that follows at most width prefixes a level. All memory is
 * taken here; start it again for every number. */
nas_tree *nas_tree_new(const nas_number *number, int width);
void nas_tree_free(nas_tree *tree);

/* Prefixes of probability below threshold are not followed, the most probable always is. */
void nas_tree_start(nas_tree *tree, double threshold);

/* How many prefixes wait for the distribution of their next token, 0 at the end. parent[i] is the
 * index of a prefix among those of the call before, token[i] the id behind it; -1 for the one empty
 * prefix at the start. parent is in increasing order. */
int nas_tree_frontier(const nas_tree *tree, const int32_t **parent, const int32_t **token);

/* logit: row i, at logit + i * stride, has (number.size) for prefix i. Illegal ids are ignored. */
void nas_tree_expand(nas_tree *tree, const float *logit, size_t stride);

/* The distribution at the end, in the metric's unit (scale NULL: as the tokens say), unsorted. The
 * atoms belong to the tree and hold until its next start. */
nas_atom *nas_tree_atoms(nas_tree *tree, const nas_scale *scale, size_t *n);

#endif
