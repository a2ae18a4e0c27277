#include "surrogate/predictor.h"

#include "surrogate/baselines/baseline.h"
#include "surrogate/committee.h"
#include "surrogate/rlm_predictor.h"
#include "surrogate/safetensors.h"

#include <math.h>
#include <string.h>

/* ---- the list ---- */

const nas_predictor_type *const nas_predictors[] = {
    &nas_predictor_params,      &nas_predictor_macs,         &nas_predictor_ridge,
    &nas_predictor_krr_hamming, &nas_predictor_krr_wl,       &nas_predictor_krr_free,
    &nas_predictor_krr_both,    &nas_predictor_mlp,          &nas_predictor_gcn,
    &nas_predictor_gcn_hinge,   &nas_predictor_brp_gcn,      &nas_predictor_dgf,
    &nas_predictor_gat,         &nas_predictor_gat_released, &nas_predictor_flan_1,
    &nas_predictor_flan_2,      &nas_predictor_tagates,      &nas_predictor_committee,
    &nas_predictor_rlm,         &nas_predictor_rlm_alone,    NULL,
};

const nas_predictor_type *nas_predictor_find(const char *name)
{
    for (size_t i = 0; nas_predictors[i]; i++)
        if (!strcmp(nas_predictors[i]->name, name))
            return nas_predictors[i];
    return NULL;
}

const nas_predictor_type *nas_predictor_need(const char *name, nas_err *err)
{
    const nas_predictor_type *type = nas_predictor_find(name);
    if (type)
        return type;
    const char *names[sizeof nas_predictors / sizeof *nas_predictors];
    size_t n = 0;
    for (; nas_predictors[n]; n++)
        names[n] = nas_predictors[n]->name;
    char hint[100];
    nas_fail(err, NAS_USAGE, "unknown predictor '%s'%s", name,
             nas_hint(hint, sizeof hint, name, names, n));
    return NULL;
}

/* ---- labels ---- */

enum { MUTATIONS_MOST = 8 };

void nas_labels_near(const nas_labels *labels, size_t i, nas_rng *rng, nas_arch *arch)
{
    *arch = labels->arch[i % labels->n];
    for (uint64_t steps = 1 + nas_rng_below(rng, MUTATIONS_MOST); steps > 0; steps--) {
        nas_arch from = *arch;
        nas_space_mutate(labels->space, rng, &from, arch);
    }
}

/* ---- verbs ---- */

static size_t values_of(const nas_labels *labels, size_t metric)
{
    size_t count = 0;
    for (size_t i = 0; i < labels->n; i++)
        count += !isnan(labels->value[i * labels->m + metric]);
    return count;
}

nas_status nas_predictor_fit(nas_predictor *predictor, const nas_predictor_type *type,
                             const nas_labels *labels, uint64_t seed, nas_err *err)
{
    *predictor = (nas_predictor){.type = type};
    for (size_t k = 0; k < labels->m; k++)
        if (values_of(labels, k) == 0)
            return nas_fail(err, NAS_FAILED, "predictor %s: no row has a value of %s", type->name,
                            labels->metric[k].name);
    nas_err own = {0};
    predictor->state = type->fit(type, labels, seed, &own);
    return predictor->state ? NAS_OK : nas_fail(err, own.code, "%s", own.text);
}

nas_status nas_predictor_predict(const nas_predictor *predictor, const nas_arch *arch, size_t n,
                                 double *mean, double *spread, nas_err *err)
{
    if (n == 0)
        return NAS_OK;
    return predictor->type->predict(predictor->state, arch, n, mean, spread, err);
}

size_t nas_predictor_parameters(const nas_predictor *predictor)
{
    return predictor->type->parameters(predictor->state);
}

nas_status nas_predictor_save(const nas_predictor *predictor, const char *path, nas_err *err)
{
    if (!predictor->type->save)
        return nas_fail(err, NAS_USAGE, "predictor %s cannot be saved", predictor->type->name);
    return predictor->type->save(predictor->state, path, err);
}

nas_status nas_predictor_load(nas_predictor *predictor, const char *path, nas_err *err)
{
    nas_err own = {0};
    *predictor = (nas_predictor){0};
    nas_safetensors *file = nas_safetensors_open(path, &own);
    if (!file)
        return nas_fail(err, own.code, "%s", own.text);
    const char *name = nas_safetensors_meta(file, "predictor");
    predictor->type = name ? nas_predictor_need(name, &own) : NULL;
    if (!name)
        nas_fail(&own, NAS_FAILED, "'%s' holds no predictor", path);
    nas_safetensors_free(file);
    if (predictor->type)
        predictor->state = predictor->type->load(predictor->type, path, &own);
    return predictor->state ? NAS_OK : nas_fail(err, NAS_FAILED, "%s", own.text);
}

void nas_predictor_clear(nas_predictor *predictor)
{
    if (predictor->state)
        predictor->type->free(predictor->state);
    *predictor = (nas_predictor){0};
}
