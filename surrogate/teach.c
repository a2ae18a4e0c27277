#include "surrogate/teach.h"

#include "spaces/base/mem.h"
#include "surrogate/known.h"

#include <math.h>
#include <stdlib.h>

enum { MUTATIONS_MOST = 8 };

const char *const nas_teachers[] = {"krr-both", "ridge", NULL};

size_t nas_teach_times(size_t rows, size_t n)
{
    size_t times = rows ? n / (8 * rows) : 0;
    return times ? times : 1;
}

nas_status nas_teach_rows(nas_corpus *corpus, const nas_labels *labels, const nas_arch *arch,
                          const double *value, size_t n, nas_err *err)
{
    const nas_schema *schema = &nas_corpus_rlm(corpus)->schema;
    size_t m = schema->n;
    double *label = nas_alloc((n * m + 1) * sizeof *label);
    for (size_t i = 0; i < n * m; i++)
        label[i] = NAN;
    for (size_t k = 0; k < labels->m; k++) {
        size_t at = (size_t)nas_metric_find(schema->metric, m, labels->metric[k].name);
        for (size_t i = 0; i < n; i++)
            label[i * m + at] = value[i * labels->m + k];
    }
    nas_status status =
        nas_corpus_add_archs(corpus, labels->space, labels->task, arch, label, n, err);
    free(label);
    return status;
}

/* What one teacher says of n architectures; of each metric it replaces what is in value (n, m) when
 * its spread, the deviation of labelled rows that it had not seen, is below best[metric], or when
 * nothing is known of the spreads before. */
static nas_status ask_teacher(const nas_predictor_type *type, const nas_labels *labels,
                              uint64_t seed, const nas_arch *arch, size_t n, double *best,
                              double *value, nas_err *err)
{
    size_t m = labels->m;
    nas_predictor p = {0};
    double *mean = nas_alloc((2 * n * m + 1) * sizeof *mean), *spread = mean + n * m;
    if (nas_predictor_fit(&p, type, labels, seed, err) == NAS_OK)
        nas_predictor_predict(&p, arch, n, mean, spread, err);
    for (size_t k = 0; k < m && err->code == NAS_OK; k++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += spread[i * m + k];
        if (isfinite(best[k]) && !(sum < best[k]))
            continue;
        best[k] = sum;
        for (size_t i = 0; i < n; i++)
            value[i * m + k] = mean[i * m + k];
    }
    nas_predictor_clear(&p);
    free(mean);
    return err->code;
}

/* An architecture some mutations away from a labelled row: random draws may be unlike what is
 * measured (random cells of nb101 are mostly small). */
static void draw_taught(const nas_labels *labels, size_t i, nas_rng *rng, nas_arch *arch)
{
    *arch = labels->arch[i % labels->n];
    for (uint64_t steps = 1 + nas_rng_below(rng, MUTATIONS_MOST); steps > 0; steps--) {
        nas_arch from = *arch;
        nas_space_mutate(labels->space, rng, &from, arch);
    }
}

/* The best teacher's labels of each metric: value (n, labels->m). */
static nas_status ask_all(const nas_rlm *rlm, const nas_labels *labels, const char *const *teacher,
                          const nas_arch *arch, size_t n, uint64_t seed, double *value,
                          nas_err *err)
{
    double *best = nas_alloc((labels->m + 1) * sizeof *best);
    for (size_t k = 0; k < labels->m; k++)
        best[k] = INFINITY;
    for (size_t t = 0; err->code == NAS_OK && teacher[t]; t++) {
        const nas_predictor_type *type = nas_predictor_need(teacher[t], err);
        if (type)
            ask_teacher(type, labels, seed, arch, n, best, value, err);
    }
    if (err->code == NAS_OK && nas_known_metrics(rlm, labels, NULL)) {
        const nas_predictor_type known = nas_predictor_known(rlm);
        ask_teacher(&known, labels, seed, arch, n, best, value, err);
    }
    free(best);
    return err->code;
}

nas_status nas_teach(nas_corpus *corpus, const nas_labels *labels, const char *const *teacher,
                     size_t n, uint64_t seed, nas_err *err)
{
    nas_rng root = nas_rng_seed(seed), draw = nas_rng_child(&root, "taught", 0);
    nas_arch *arch = nas_alloc((n + 1) * sizeof *arch);
    double *value = nas_zalloc(n * labels->m + 1, sizeof *value);
    for (size_t i = 0; i < n; i++) {
        nas_rng rng = nas_rng_child(&draw, "architecture", i);
        draw_taught(labels, i, &rng, &arch[i]);
    }
    nas_status status = ask_all(nas_corpus_rlm(corpus), labels, teacher, arch, n, seed, value, err);
    if (status == NAS_OK)
        status = nas_teach_rows(corpus, labels, arch, value, n, err);
    free(arch);
    free(value);
    return status;
}
