#include "surrogate/committee.h"

#include "surrogate/baselines/baseline.h"

#include <stdlib.h>

enum { NETS = 2, NEAR = 2000 }; /* neighbours among which a rank is taken */
#define SHARE 0.25              /* of a network */

typedef struct {
    nas_predictor kernel, net[NETS];
    size_t m;
    double *rank;  /* (NETS, m, NEAR) rising: what a network says of the neighbours, */
    double *value; /* (m, NEAR) rising: and what the kernel says */
} state;

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* What a member says of the neighbours, sorted, into to (m, NEAR). */
static nas_status rank_near(const nas_predictor *member, const nas_arch *near, size_t m, double *to,
                            nas_err *err)
{
    double *mean = nas_alloc(NEAR * m * sizeof *mean);
    nas_status status = nas_predictor_predict(member, near, NEAR, mean, NULL, err);
    for (size_t k = 0; k < m && status == NAS_OK; k++) {
        for (size_t i = 0; i < NEAR; i++)
            to[k * NEAR + i] = mean[i * m + k];
        qsort(to + k * NEAR, NEAR, sizeof *to, compare);
    }
    free(mean);
    return status;
}

/* The value whose rank is that of x: linear between neighbours, beyond them with the slope of all.
 */
static double value_of(const double *rank, const double *value, double x)
{
    size_t low = 0, high = NEAR - 1;
    double span = rank[high] - rank[low], slope = span > 0 ? (value[high] - value[low]) / span : 0;
    if (x <= rank[low])
        return value[low] + slope * (x - rank[low]);
    if (x >= rank[high])
        return value[high] + slope * (x - rank[high]);
    while (high - low > 1) {
        size_t mid = (low + high) / 2;
        if (rank[mid] <= x)
            low = mid;
        else
            high = mid;
    }
    double step = rank[high] - rank[low];
    return value[low] + (step > 0 ? (x - rank[low]) / step : 0) * (value[high] - value[low]);
}

/* ---- the verbs ---- */

static void free_state(void *pointer)
{
    state *s = pointer;
    nas_predictor_clear(&s->kernel);
    for (int k = 0; k < NETS; k++)
        nas_predictor_clear(&s->net[k]);
    free(s->rank);
    free(s->value);
    free(s);
}

static void *fit(const nas_predictor_type *type, const nas_labels *labels, uint64_t seed,
                 nas_err *err)
{
    static const nas_predictor_type *const nets[NETS] = {&nas_predictor_flan_1,
                                                         &nas_predictor_flan_2};
    (void)type;
    state *s = nas_zalloc(1, sizeof *s);
    size_t m = s->m = labels->m;
    nas_labels own = *labels;
    own.memo = NULL; /* it is for fits of one type */
    nas_arch *near = nas_alloc(NEAR * sizeof *near);
    nas_rng root = nas_rng_seed(seed), draw = nas_rng_child(&root, "committee", 0);
    for (size_t i = 0; i < NEAR; i++) {
        nas_rng rng = nas_rng_child(&draw, "architecture", i);
        nas_labels_near(labels, i, &rng, &near[i]);
    }
    s->rank = nas_alloc((NETS * m * NEAR + 1) * sizeof *s->rank);
    s->value = nas_alloc((m * NEAR + 1) * sizeof *s->value);
    if (nas_predictor_fit(&s->kernel, &nas_predictor_krr_both, &own, seed, err) == NAS_OK)
        rank_near(&s->kernel, near, m, s->value, err);
    for (int k = 0; k < NETS && err->code == NAS_OK; k++)
        if (nas_predictor_fit(&s->net[k], nets[k], &own, seed, err) == NAS_OK)
            rank_near(&s->net[k], near, m, s->rank + (size_t)k * m * NEAR, err);
    free(near);
    if (err->code == NAS_OK)
        return s;
    free_state(s);
    return NULL;
}

static nas_status predict(const void *pointer, const nas_arch *arch, size_t n, double *mean,
                          double *spread, nas_err *err)
{
    const state *s = pointer;
    size_t m = s->m;
    double *said = nas_alloc((n * m + 1) * sizeof *said);
    nas_status status = nas_predictor_predict(&s->kernel, arch, n, mean, spread, err);
    for (size_t i = 0; i < n * m && status == NAS_OK; i++)
        mean[i] *= 1 - NETS * SHARE;
    for (size_t net = 0; net < NETS && status == NAS_OK; net++) {
        status = nas_predictor_predict(&s->net[net], arch, n, said, NULL, err);
        for (size_t i = 0; i < n && status == NAS_OK; i++)
            for (size_t k = 0; k < m; k++)
                mean[i * m + k] += SHARE * value_of(s->rank + (net * m + k) * NEAR,
                                                    s->value + k * NEAR, said[i * m + k]);
    }
    free(said);
    return status;
}

static size_t parameters(const void *pointer)
{
    const state *s = pointer;
    size_t count = nas_predictor_parameters(&s->kernel);
    for (int k = 0; k < NETS; k++)
        count += nas_predictor_parameters(&s->net[k]);
    return count;
}

const nas_predictor_type nas_predictor_committee = {.name = "committee",
                                                    .title = "krr-both, flan-1 and flan-2 together",
                                                    .fit = fit,
                                                    .predict = predict,
                                                    .parameters = parameters,
                                                    .free = free_state};
