/* What does a model know of other metrics that tells a new one? A predictor for few labels.
 *
 *     const nas_predictor_type type = nas_predictor_known(rlm);
 *     status = nas_predictor_fit(&p, &type, &labels, seed, &err);
 *
 * A new metric is seen as a sum of those that the model has measured labels of in that space and
 * task, with weights that are not negative: a new device's latency as a mixture of known devices'.
 * So few weights differ from 0 that ten rows are enough to tell them (non-negative least squares,
 * Lawson and Hanson, 1974). Another such sum is of counts, convolutions and pools, parameters,
 * multiply-accumulates and memory, and a third of both by ridge regression; they are averaged, each
 * with the inverse of its mean square error on rows left out (stacking, Wolpert 1992). */
#ifndef NAS_SURROGATE_KNOWN_H
#define NAS_SURROGATE_KNOWN_H

#include "surrogate/predictor.h"
#include "surrogate/rlm.h"

/* The type keeps the pointer. Its fit fails (NAS_FAILED) when the model has measured no metric
 * there; its spread is the deviation of rows left out. It cannot be saved. */
nas_predictor_type nas_predictor_known(const nas_rlm *rlm);
/* The metrics it may use, as rows of the schema: those with measured labels for that space and
 * task, without the labels' own. metric (schema.n) may be NULL; returns how many. */
size_t nas_known_metrics(const nas_rlm *rlm, const nas_labels *labels, size_t *metric);

#endif
