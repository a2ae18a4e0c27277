/* How does the language model take part in the bench? As a predictor that learns from scratch:
 * first to read, from labels of random architectures that cost nothing, then the labels.
 *
 *     const nas_predictor_type mine = nas_predictor_rlm_with(&recipe);   // or nas_predictor_rlm
 *     status = nas_predictor_fit(&p, &mine, &labels, seed, &err);
 *
 * With teachers it learns more than the labelled rows (teach.h). The recipe is what was found by
 * measurement; another one makes another predictor. */
#ifndef NAS_SURROGATE_RLM_PREDICTOR_H
#define NAS_SURROGATE_RLM_PREDICTOR_H

#include "surrogate/predictor.h"
#include "surrogate/rlm.h"

/* One stage of training: each row is visited epochs times, but at most visits examples in all,
 * unless each row would then be visited fewer than least times. */
typedef struct {
    size_t epochs, visits, least;
    size_t batch, numbers; /* labels of an example, 0: all */
    double rate, jitter, dropout, decay, average;
} nas_rlm_stage;

typedef struct {
    nas_model_config sizes; /* vocabularies follow from the space */
    const char *number;     /* layout */
    const char *start;      /* a trained model that can read; NULL: it learns that first */
    size_t random;          /* architectures to learn reading from */
    nas_rlm_stage reading, labels;
    const char *const *teacher; /* names of predictors, NULL ends; NULL: none. Each metric is taught
                                   by the one with the least error on rows left out */
    size_t taught;              /* architectures that they label */
} nas_rlm_recipe;

extern const nas_predictor_type nas_predictor_rlm;       /* with teachers */
extern const nas_predictor_type nas_predictor_rlm_alone; /* without */
nas_predictor_type nas_predictor_rlm_with(const nas_rlm_recipe *recipe);

#endif
