#include "surrogate/teach.h"

#include "spaces/base/mem.h"
#include "surrogate/baselines/baseline.h"
#include "surrogate/committee.h"
#include "surrogate/known.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEACHERS_MOST = 8,
    JUDGED = 1000,   /* rows */
    NETS_LEAST = 50, /* rows: from 8, FLAN's tau-b is 0.02 and kernel ridge's 0.42 */
};

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

/* Kernel ridge takes time as the cube of the rows, for every metric: half an hour is too much. */
static bool takes_too_long(const nas_predictor_type *type, const nas_labels *labels)
{
    double n = (double)labels->n;
    return type == &nas_predictor_krr_both && (double)labels->m * n * n * n > 5e11;
}

/* The teachers there are: the names' types, unless they take too long, and what the model knows;
 * 0 with a sentence. */
static size_t gather(const nas_rlm *rlm, const nas_labels *labels, const char *const *name,
                     nas_predictor_type *type, nas_err *err)
{
    size_t n = 0;
    for (size_t i = 0; name[i]; i++) {
        const nas_predictor_type *found = nas_predictor_need(name[i], err);
        if (!found)
            return 0;
        assert(n < TEACHERS_MOST);
        if (!takes_too_long(found, labels))
            type[n++] = *found;
    }
    if (nas_known_metrics(rlm, labels, NULL))
        type[n++] = nas_predictor_known(rlm);
    return n;
}

/* Whether the first rows have values of every metric, enough to leave some out. */
static bool has_values(const nas_labels *labels, size_t rows)
{
    enum { ENOUGH = 20 };
    for (size_t k = 0; k < labels->m; k++) {
        size_t count = 0;
        for (size_t i = 0; i < rows; i++)
            count += isfinite(labels->value[i * labels->m + k]);
        if (count < ENOUGH)
            return false;
    }
    return true;
}

/* Where a teacher's spread, the deviation of labelled rows that it had not seen, is the least yet,
 * or none is known, it is the best: best[metric] = id. least (m). The first JUDGED rows show that,
 * unless they have no value of some metric: kernel ridge takes time as the cube of the rows. */
static nas_status judge(const nas_predictor_type *type, size_t id, const nas_labels *labels,
                        uint64_t seed, double *least, size_t *best, nas_err *err)
{
    size_t m = labels->m;
    nas_predictor p = {0};
    nas_labels some = *labels;
    double *mean = nas_alloc((2 * m + 1) * sizeof *mean), *spread = mean + m;
    some.n = labels->n < JUDGED || !has_values(labels, JUDGED) ? labels->n : JUDGED;
    if (nas_predictor_fit(&p, type, &some, seed, err) == NAS_OK)
        nas_predictor_predict(&p, labels->arch, 1, mean, spread, err);
    for (size_t k = 0; k < m && err->code == NAS_OK; k++)
        if (!isfinite(least[k]) || spread[k] < least[k]) {
            least[k] = spread[k];
            best[k] = id;
        }
    nas_predictor_clear(&p);
    free(mean);
    return err->code;
}

/* What the predictor says of the metrics in at (m of them), into their columns of value. */
static nas_status ask(const nas_predictor_type *type, const nas_labels *labels, const size_t *at,
                      size_t m, uint64_t seed, const nas_arch *arch, size_t n, double *value,
                      nas_err *err)
{
    nas_predictor p = {0};
    nas_labels some = *labels;
    nas_metric *metric = nas_alloc(m * sizeof *metric);
    double *row = nas_alloc((labels->n * m + n * m + 1) * sizeof *row), *mean = row + labels->n * m;
    for (size_t k = 0; k < m; k++) {
        metric[k] = labels->metric[at[k]];
        for (size_t i = 0; i < labels->n; i++)
            row[i * m + k] = labels->value[i * labels->m + at[k]];
    }
    some.metric = metric;
    some.m = m;
    some.value = row;
    if (nas_predictor_fit(&p, type, &some, seed, err) == NAS_OK)
        nas_predictor_predict(&p, arch, n, mean, NULL, err);
    for (size_t i = 0; i < n && err->code == NAS_OK; i++)
        for (size_t k = 0; k < m; k++)
            value[i * labels->m + at[k]] = mean[i * m + k];
    nas_predictor_clear(&p);
    free(metric);
    free(row);
    return err->code;
}

/* Each teacher labels the metrics that it is best at; large: those that are better large, or the
 * others. */
static nas_status ask_best(const nas_predictor_type *type, size_t id, const nas_labels *labels,
                           const size_t *best, bool large, uint64_t seed, const nas_arch *arch,
                           size_t n, double *value, nas_err *err)
{
    size_t *at = nas_alloc((labels->m + 1) * sizeof *at), m = 0;
    for (size_t k = 0; k < labels->m; k++)
        if (best[k] == id && (labels->metric[k].direction != NAS_MIN) == large)
            at[m++] = k;
    bool head =
        large && labels->n >= NETS_LEAST && !strcmp(type->name, nas_predictor_krr_both.name);
    nas_status status = NAS_OK;
    if (m)
        status =
            ask(head ? &nas_predictor_committee : type, labels, at, m, seed, arch, n, value, err);
    free(at);
    return status;
}

/* The best teacher's labels of each metric: value (n, labels->m). */
static nas_status ask_all(const nas_rlm *rlm, const nas_labels *labels, const char *const *teacher,
                          const nas_arch *arch, size_t n, uint64_t seed, double *value,
                          nas_err *err)
{
    nas_predictor_type type[TEACHERS_MOST + 1];
    size_t count = gather(rlm, labels, teacher, type, err);
    size_t *best = nas_zalloc(labels->m + 1, sizeof *best);
    double *least = nas_alloc((labels->m + 1) * sizeof *least);
    for (size_t k = 0; k < labels->m; k++)
        least[k] = INFINITY;
    for (size_t t = 0; t < count && err->code == NAS_OK; t++)
        judge(&type[t], t, labels, seed, least, best, err);
    for (size_t t = 0; t < 2 * count && err->code == NAS_OK; t++)
        ask_best(&type[t / 2], t / 2, labels, best, t % 2, seed, arch, n, value, err);
    free(best);
    free(least);
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
        nas_labels_near(labels, i, &rng, &arch[i]);
    }
    nas_status status = ask_all(nas_corpus_rlm(corpus), labels, teacher, arch, n, seed, value, err);
    if (status == NAS_OK)
        status = nas_teach_rows(corpus, labels, arch, value, n, err);
    free(arch);
    free(value);
    return status;
}
