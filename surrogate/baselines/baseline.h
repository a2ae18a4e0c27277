/* What do the baselines share? Each is a learner of one metric that scores architectures; targets,
 * units, several metrics and files are handled once for all of them.
 *
 *     const nas_predictor_type nas_predictor_mine = {
 *         "mine", "my learner", NAS_BASELINE_VERBS,
 *         .data = &(const nas_learner){.fit = fit, .score = score}};
 *
 * A learner gets targets made for it and returns scores; scores become values by a monotone map
 * made from the training rows, so that it never changes their order. The spread is the deviation
 * of the training rows from their own scores, left out in turn where the learner can do that. */
#ifndef NAS_BASELINES_BASELINE_H
#define NAS_BASELINES_BASELINE_H

#include "surrogate/predictor.h"

typedef enum {
    NAS_TARGET_NORMAL,   /* normal scores of ranks; standardised where less is better */
    NAS_TARGET_STANDARD, /* mean 0, deviation 1 */
    NAS_TARGET_ORDER,    /* as they are; only the order of scores means something */
} nas_target;

typedef struct {
    const nas_space *space;
    const nas_task *task;
    const nas_arch *arch; /* [n] */
    size_t n;
    const double *y; /* (n) targets */
    nas_rng rng;
    nas_memo *memo; /* NULL: nothing is kept */
} nas_problem;

/* All that a learner knows after training: numbers, and architectures that it compares with. */
typedef struct {
    double *number;
    size_t n_number;
    nas_arch *arch;
    size_t n_arch;
} nas_learned;

typedef struct nas_learner nas_learner;
struct nas_learner {
    nas_target target;
    /* Fills learned. own (n): scores of the first rows with each left out in turn; returns how many
     * there are, 0 when the learner has none. */
    size_t (*fit)(const nas_learner *, const nas_problem *, nas_learned *learned, double *own);
    /* where: space, task and memo only */
    void (*score)(const nas_learner *, const nas_problem *where, const nas_learned *,
                  const nas_arch *, size_t n, double *score);
    size_t (*parameters)(const nas_learner *, const nas_problem *where, const nas_learned *);
    /* Whether learned, from a file, has the sizes that score relies on. */
    bool (*fits)(const nas_learner *, const nas_problem *where, const nas_learned *);
    const void *data;
};

void *nas_baseline_fit(const nas_predictor_type *, const nas_labels *, uint64_t seed, nas_err *);
nas_status nas_baseline_predict(const void *state, const nas_arch *, size_t n, double *mean,
                                double *spread, nas_err *);
nas_status nas_baseline_save(const void *state, const char *path, nas_err *);
void *nas_baseline_load(const nas_predictor_type *, const char *path, nas_err *);
size_t nas_baseline_parameters(const void *state);
void nas_baseline_free(void *state);

#define NAS_BASELINE_VERBS                                                                         \
    .fit = nas_baseline_fit, .predict = nas_baseline_predict, .save = nas_baseline_save,           \
    .load = nas_baseline_load, .parameters = nas_baseline_parameters, .free = nas_baseline_free

/* The instances. */
extern const nas_predictor_type nas_predictor_params, nas_predictor_macs;
extern const nas_predictor_type nas_predictor_ridge, nas_predictor_krr_hamming,
    nas_predictor_krr_wl, nas_predictor_krr_free, nas_predictor_krr_both;
extern const nas_predictor_type nas_predictor_mlp, nas_predictor_gcn, nas_predictor_gcn_hinge,
    nas_predictor_brp_gcn, nas_predictor_dgf, nas_predictor_gat, nas_predictor_gat_released,
    nas_predictor_flan_1, nas_predictor_flan_2, nas_predictor_tagates;

#endif
