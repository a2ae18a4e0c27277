/* What does a fitted baseline hold? Shared by its fitting (baseline.c) and its file
 * (baseline_file.c). */
#ifndef NAS_BASELINES_BASELINE_PART_H
#define NAS_BASELINES_BASELINE_PART_H

#include "surrogate/baselines/baseline.h"

typedef struct {
    double score, value;
} baseline_knot;

typedef struct {
    nas_metric metric;
    nas_learned learned;
    baseline_knot *knot; /* [n_knot] scores rising; the map from scores to values */
    size_t n_knot;
    double spread;
} baseline_column;

typedef struct {
    const nas_predictor_type *type; /* data: a nas_learner */
    const nas_space *space;
    const nas_task *task;
    baseline_column *column; /* [m] */
    size_t m;
    nas_memo *memo;
} baseline;

#endif
