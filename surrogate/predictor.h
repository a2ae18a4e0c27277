/* What do we guess, and how sure are we? Learned models of metrics behind one table.
 *
 *     nas_predictor p = {0};
 *     status = nas_predictor_fit(&p, nas_predictor_find("flan-1"), &labels, seed, &err);
 *     status = nas_predictor_predict(&p, arch, n, mean, spread, &err);   // (n, labels.m) each
 *     nas_predictor_clear(&p);
 *
 * A new kind of predictor is one nas_predictor_type; those of this library are in the list. Means
 * and spreads are in the metrics' own units. The same labels and seed give the same predictions for
 * any number of threads and any split into calls. */
#ifndef NAS_SURROGATE_PREDICTOR_H
#define NAS_SURROGATE_PREDICTOR_H

#include "results/metric.h"
#include "spaces/space.h"
#include "surrogate/memo.h"

/* What was measured: n architectures of one space and m metrics. */
typedef struct {
    const nas_space *space;
    const nas_task *task;
    const nas_arch *arch; /* [n] */
    size_t n;
    const nas_metric *metric; /* [m] */
    size_t m;
    const double *value; /* (n, m), NaN: missing */
    nas_memo *memo;      /* of fits of one type and of their predictions; NULL: nothing is kept */
} nas_labels;

/* An architecture some mutations away from row i modulo n. Random draws may be unlike what is
 * measured: random cells of nb101 are mostly small. */
void nas_labels_near(const nas_labels *labels, size_t i, nas_rng *rng, nas_arch *arch);

typedef struct nas_predictor_type nas_predictor_type;
struct nas_predictor_type {
    const char *name, *title;
    /* The state of a fitted predictor; NULL with a sentence. */
    void *(*fit)(const nas_predictor_type *, const nas_labels *, uint64_t seed, nas_err *);
    /* mean, spread: (n, m); spread may be NULL. */
    nas_status (*predict)(const void *state, const nas_arch *, size_t n, double *mean,
                          double *spread, nas_err *);
    /* A safetensors file whose metadata has "predictor": name. NULL: cannot be saved. */
    nas_status (*save)(const void *state, const char *path, nas_err *);
    void *(*load)(const nas_predictor_type *, const char *path, nas_err *);
    size_t (*parameters)(const void *state); /* numbers that were learned */
    void (*free)(void *state);
    const void *data; /* of types that share functions */
};

typedef struct {
    const nas_predictor_type *type;
    void *state;
} nas_predictor;

extern const nas_predictor_type *const nas_predictors[];        /* NULL ends */
const nas_predictor_type *nas_predictor_find(const char *name); /* NULL: no such predictor */
/* The type, or a sentence with the nearest name. */
const nas_predictor_type *nas_predictor_need(const char *name, nas_err *err);

/* Errors: no row with a value for a metric (NAS_FAILED), and the type's own. */
nas_status nas_predictor_fit(nas_predictor *predictor, const nas_predictor_type *type,
                             const nas_labels *labels, uint64_t seed, nas_err *err);
nas_status nas_predictor_predict(const nas_predictor *predictor, const nas_arch *arch, size_t n,
                                 double *mean, double *spread, nas_err *err);
size_t nas_predictor_parameters(const nas_predictor *predictor);
nas_status nas_predictor_save(const nas_predictor *predictor, const char *path, nas_err *err);
/* Of any type in the list. */
nas_status nas_predictor_load(nas_predictor *predictor, const char *path, nas_err *err);
void nas_predictor_clear(nas_predictor *predictor);

#endif
