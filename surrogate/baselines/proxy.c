/* Scores that need no training: what an architecture costs. More counts as better, or as slower. */
#include "surrogate/baselines/baseline.h"

#include "hw/cost.h"

#include <stddef.h>

static size_t fit(const nas_learner *learner, const nas_problem *p, nas_learned *learned,
                  double *own)
{
    (void)learner, (void)p, (void)own;
    *learned = (nas_learned){0};
    return 0;
}

static void score(const nas_learner *learner, const nas_problem *where, const nas_learned *learned,
                  const nas_arch *arch, size_t n, double *to)
{
    (void)learned;
    const size_t *offset = learner->data;
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t i = 0; i < n; i++) {
        nas_graph *graph = nas_space_build(where->space, &arch[i], where->task);
        nas_cost cost;
        nas_cost_of(graph, &cost, NULL);
        to[i] = (double)*(const int64_t *)((const char *)&cost + *offset);
        nas_graph_free(graph);
    }
}

static size_t parameters(const nas_learner *learner, const nas_problem *where,
                         const nas_learned *learned)
{
    (void)learner, (void)where, (void)learned;
    return 0;
}

static bool fits(const nas_learner *learner, const nas_problem *where, const nas_learned *learned)
{
    (void)learner, (void)where;
    return learned->n_number == 0 && learned->n_arch == 0;
}

#define PROXY(member)                                                                              \
    NAS_BASELINE_VERBS, .data = &(const nas_learner)                                               \
    {                                                                                              \
        .target = NAS_TARGET_ORDER, .fit = fit, .score = score, .parameters = parameters,          \
        .fits = fits, .data = &(const size_t)                                                      \
        {                                                                                          \
            offsetof(nas_cost, member)                                                             \
        }                                                                                          \
    }

const nas_predictor_type nas_predictor_params = {"params", "number of parameters", PROXY(params)};
const nas_predictor_type nas_predictor_macs = {"macs", "multiply-accumulates", PROXY(macs)};
