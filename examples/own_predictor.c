/* A predictor of one's own in one table: the value of the nearest architectures that were measured,
 * by the Hamming distance of genes. Learns a made metric of nb201 from 100 cells and ranks 500
 * others, beside ridge regression. To have it in `naslm bench predictors`, put such a file into
 * surrogate/ and its table into the list of surrogate/predictor.c. */
#include "results/rank.h"
#include "surrogate/predictor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEARNED = 100, ASKED = 500 };

typedef struct {
    nas_arch *arch;
    double *value; /* (n, m) */
    size_t n, m;
} nearest;

static void *fit(const nas_predictor_type *type, const nas_labels *labels, uint64_t seed,
                 nas_err *err)
{
    (void)type, (void)seed, (void)err;
    nearest *s = nas_alloc(sizeof *s);
    *s = (nearest){.n = labels->n, .m = labels->m};
    s->arch = nas_alloc(s->n * sizeof *s->arch);
    s->value = nas_alloc(s->n * s->m * sizeof *s->value);
    memcpy(s->arch, labels->arch, s->n * sizeof *s->arch);
    memcpy(s->value, labels->value, s->n * s->m * sizeof *s->value);
    return s;
}

static int distance(const nas_arch *a, const nas_arch *b)
{
    int differ = 0;
    for (uint32_t g = 0; g < a->n; g++)
        differ += a->gene[g] != b->gene[g];
    return differ;
}

/* Mean and deviation of one metric over all rows, nearer ones with more weight. */
static void guess(const nearest *s, const nas_arch *arch, size_t metric, double *mean,
                  double *spread)
{
    double weight = 0, sum = 0, square = 0;
    for (size_t i = 0; i < s->n; i++) {
        double value = s->value[i * s->m + metric], w = exp(-3.0 * distance(arch, &s->arch[i]));
        if (isnan(value))
            continue;
        weight += w;
        sum += w * value;
        square += w * value * value;
    }
    *mean = sum / weight;
    *spread = sqrt(fmax(square / weight - *mean * *mean, 0));
}

static nas_status predict(const void *state, const nas_arch *arch, size_t n, double *mean,
                          double *spread, nas_err *err)
{
    (void)err;
    const nearest *s = state;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s->m; k++) {
            double deviation;
            guess(s, &arch[i], k, &mean[i * s->m + k], &deviation);
            if (spread)
                spread[i * s->m + k] = deviation;
        }
    return NAS_OK;
}

static size_t parameters(const void *state)
{
    const nearest *s = state;
    return s->n * s->m;
}

static void clear(void *state)
{
    nearest *s = state;
    free(s->arch);
    free(s->value);
    free(s);
}

static const nas_predictor_type nas_predictor_nearest = {.name = "nearest",
                                                         .title = "values of near architectures",
                                                         .fit = fit,
                                                         .predict = predict,
                                                         .parameters = parameters,
                                                         .free = clear};

/* More and earlier 3x3 convolutions are better; cells without a way through are bad. */
static double made_metric(const nas_arch *a)
{
    double value = 60;
    for (uint32_t g = 0; g < a->n; g++)
        value += a->gene[g] == 3 ? 6.0 - g : a->gene[g] == 0 ? -2 : 0;
    return a->gene[3] == 0 && a->gene[4] == 0 && a->gene[5] == 0 ? 10 : value;
}

int main(void)
{
    const nas_space *space = nas_space_find("nb201");
    const nas_predictor_type *const types[] = {&nas_predictor_nearest, nas_predictor_find("ridge")};
    static nas_arch arch[LEARNED + ASKED];
    static double value[LEARNED + ASKED], mean[ASKED];
    nas_rng rng = nas_rng_seed(1);
    nas_metric metric;
    nas_err err = {0};
    nas_metric_make(&metric, "accuracy", &err);
    for (size_t i = 0; i < LEARNED + ASKED; i++) {
        nas_space_sample(space, &rng, &arch[i]);
        value[i] = made_metric(&arch[i]);
    }
    const nas_labels labels = {.space = space,
                               .task = &space->tasks[0],
                               .arch = arch,
                               .n = LEARNED,
                               .metric = &metric,
                               .m = 1,
                               .value = value};
    for (size_t t = 0; t < 2; t++) {
        nas_predictor p;
        nas_rank rank;
        if (nas_predictor_fit(&p, types[t], &labels, 1, &err) != NAS_OK ||
            nas_predictor_predict(&p, arch + LEARNED, ASKED, mean, NULL, &err) != NAS_OK ||
            nas_rank_compare(value + LEARNED, mean, ASKED, &rank, &err) != NAS_OK) {
            fprintf(stderr, "%s\n", err.text);
            return err.code;
        }
        printf("%s: %zu numbers learned, tau-b %.3f over %d architectures\n", p.type->name,
               nas_predictor_parameters(&p), rank.tau_b, ASKED);
        nas_predictor_clear(&p);
    }
    return 0;
}
