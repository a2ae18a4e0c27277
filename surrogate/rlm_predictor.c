#include "surrogate/rlm_predictor.h"

#include "spaces/base/option.h"
#include "surrogate/corpus.h"
#include "surrogate/structure.h"
#include "surrogate/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { VOCAB_TEXTS = 3000 };

static const nas_rlm_recipe RECIPE = {
    .sizes = {.d = 96,
              .encoder_layers = 2,
              .decoder_layers = 1,
              .heads = 4,
              .ffn = 384,
              .max_input = 2048},
    .number = "SCI(2,2)",
    .random = 12000,
    .reading =
        {.epochs = 10, .batch = 32, .numbers = 3, .rate = 2e-3, .jitter = 0.05, .decay = 0.05},
    .labels = {.epochs = 100,
               .visits = 20000,
               .least = 20,
               .batch = 16,
               .rate = 1e-3,
               .jitter = 0.3,
               .dropout = 0.1,
               .decay = 0.1,
               .average = 0.995},
};

typedef struct {
    nas_rlm *rlm;
    const nas_space *space;
    const nas_task *task;
    size_t m; /* the first metrics of the schema are the labels' */
} state;

/* ---- fitting ---- */

static nas_vocab *learn_vocab(const nas_labels *labels, size_t random, uint64_t seed, nas_err *err)
{
    nas_vocab_trainer *trainer = nas_vocab_trainer_new_whole();
    nas_rng root = nas_rng_seed(seed), texts = nas_rng_child(&root, "vocabulary", 0);
    nas_bytes text = {0};
    size_t n = random < VOCAB_TEXTS ? random : VOCAB_TEXTS;
    for (size_t i = 0; i < labels->n + n && err->code == NAS_OK; i++) {
        nas_rng rng = nas_rng_child(&texts, "text", i);
        nas_arch arch;
        if (i < labels->n)
            arch = labels->arch[i];
        else
            nas_space_sample(labels->space, &rng, &arch);
        nas_bytes_reset(&text);
        if (nas_rlm_prompt(labels->space, labels->task, &arch, &text, err) == NAS_OK)
            nas_vocab_trainer_add(trainer, text.data, text.size);
    }
    nas_vocab *vocab = err->code ? NULL : nas_vocab_trainer_learn(trainer, NAS_VOCAB_PIECES, err);
    nas_vocab_trainer_free(trainer);
    nas_bytes_clear(&text);
    return vocab;
}

/* The labels' metrics, then the counts. */
static nas_status make_schema(const nas_labels *labels, const char *number, nas_schema *schema,
                              nas_err *err)
{
    nas_metric metric;
    nas_status status = nas_schema_init(schema, number, err);
    for (size_t k = 0; k < labels->m && status == NAS_OK; k++)
        status = nas_schema_add(schema, &labels->metric[k], err);
    for (int k = 0; k < NAS_STRUCTURE_COUNT && status == NAS_OK; k++) {
        status = nas_metric_make(&metric, nas_structure_names[k], err);
        if (status == NAS_OK && nas_metric_find(schema->metric, schema->n, metric.name) < 0)
            status = nas_schema_add(schema, &metric, err);
    }
    return status;
}

static nas_rlm *new_rlm(const nas_labels *labels, const nas_rlm_recipe *recipe, uint64_t seed,
                        nas_err *err)
{
    nas_rng root = nas_rng_seed(seed), rng = nas_rng_child(&root, "weights", 0);
    nas_schema schema;
    nas_vocab *vocab = NULL;
    if (make_schema(labels, recipe->number, &schema, err) == NAS_OK)
        vocab = learn_vocab(labels, recipe->random, seed, err);
    if (vocab)
        return nas_rlm_new(&recipe->sizes, vocab, &schema, &rng, err);
    nas_schema_clear(&schema);
    return NULL;
}

static size_t epochs_of(const nas_rlm_stage *stage, size_t rows)
{
    size_t epochs = stage->epochs;
    if (stage->visits && epochs * rows > stage->visits)
        epochs = stage->visits / rows;
    return epochs > stage->least ? epochs : stage->least ? stage->least : 1;
}

/* Every visit of a row has noise of its own. */
static void run_stage(nas_corpus *corpus, const nas_rlm_stage *stage, uint64_t seed)
{
    size_t epochs = epochs_of(stage, nas_corpus_size(corpus));
    const nas_corpus_how how = {epochs, stage->jitter, stage->numbers, seed};
    const nas_batch *batch = nas_corpus_batch(corpus, &how);
    const nas_train_config config = {
        .optim = {.rate = stage->rate,
                  .floor = 0.02,
                  .beta1 = 0.9,
                  .beta2 = 0.95,
                  .epsilon = 1e-8,
                  .decay = stage->decay,
                  .clip = 1,
                  .average = stage->average,
                  .warm = batch->input.n / stage->batch / 20 + 1},
        .batch = stage->batch,
        .most_rows = 16384,
        .epochs = 1,
        .seed = seed,
        .dropout = stage->dropout,
    };
    nas_train_report report;
    nas_trainer *trainer = nas_trainer_new(nas_corpus_rlm(corpus)->model, batch, &config);
    while (nas_trainer_step(trainer, &report))
        ;
    nas_trainer_swap(trainer);
    nas_trainer_free(trainer);
}

static nas_status learn(nas_rlm *rlm, const nas_labels *labels, const nas_rlm_recipe *recipe,
                        bool reading, uint64_t seed, nas_err *err)
{
    size_t n = labels->n, m = rlm->schema.n;
    nas_corpus *corpus = nas_corpus_new(rlm, reading);
    double *label = nas_alloc((n * m + 1) * sizeof *label);
    for (size_t i = 0; i < n * m; i++)
        label[i] = i % m < labels->m ? labels->value[i / m * labels->m + i % m] : NAN;
    nas_status status = reading ? nas_corpus_add_random(corpus, labels->space, labels->task,
                                                        recipe->random, seed, err)
                                : nas_corpus_add_archs(corpus, labels->space, labels->task,
                                                       labels->arch, label, n, err);
    if (status == NAS_OK)
        status = nas_corpus_fit(corpus, "normal", err);
    if (status == NAS_OK)
        run_stage(corpus, reading ? &recipe->reading : &recipe->labels, seed);
    nas_corpus_free(corpus);
    free(label);
    return status;
}

static void free_state(void *pointer)
{
    state *s = pointer;
    nas_rlm_free(s->rlm);
    free(s);
}

static void *fit(const nas_predictor_type *type, const nas_labels *labels, uint64_t seed,
                 nas_err *err)
{
    const nas_rlm_recipe *recipe = type->data;
    state *s = nas_zalloc(1, sizeof *s);
    *s = (state){new_rlm(labels, recipe, seed, err), labels->space, labels->task, labels->m};
    if (s->rlm && (!recipe->random || !learn(s->rlm, labels, recipe, true, seed, err)) &&
        !learn(s->rlm, labels, recipe, false, seed, err))
        return s;
    free_state(s);
    return NULL;
}

/* ---- the other verbs ---- */

static nas_status predict(const void *pointer, const nas_arch *arch, size_t n, double *mean,
                          double *spread, nas_err *err)
{
    const state *s = pointer;
    size_t *metric = nas_alloc(s->m * sizeof *metric);
    for (size_t k = 0; k < s->m; k++)
        metric[k] = k;
    const nas_rlm_ask ask = {.metric = metric, .m = s->m};
    nas_status status =
        nas_rlm_predict(s->rlm, &ask, s->space, s->task, arch, n, mean, spread, err);
    free(metric);
    return status;
}

static nas_status save(const void *pointer, const char *path, nas_err *err)
{
    const state *s = pointer;
    char text[24];
    snprintf(text, sizeof text, "%zu", s->m);
    nas_model_set_meta(s->rlm->model, "predictor", nas_predictor_rlm.name);
    nas_model_set_meta(s->rlm->model, "predictor_metrics", text);
    return nas_rlm_save(s->rlm, path, err);
}

static void *load(const nas_predictor_type *type, const char *path, nas_err *err)
{
    (void)type;
    uint64_t m = 0;
    nas_rlm *rlm = nas_rlm_load(path, err);
    if (!rlm)
        return NULL;
    const char *text = nas_model_meta(rlm->model, "predictor_metrics");
    state *s = nas_zalloc(1, sizeof *s);
    *s = (state){.rlm = rlm};
    if (!text || !nas_read_u64(text, &m) || m < 1 || m > rlm->schema.n || rlm->n_domain == 0)
        nas_fail(err, NAS_FAILED, "'%s' does not say what it predicts", path);
    s->m = m;
    if (err->code == NAS_OK)
        s->space = nas_space_need(rlm->domain[0].space, err);
    if (s->space)
        s->task = nas_space_task(s->space, rlm->domain[0].task, err);
    if (s->task)
        return s;
    free_state(s);
    return NULL;
}

static size_t parameters(const void *pointer)
{
    return ((const state *)pointer)->rlm->model->tensors.count;
}

#define VERBS                                                                                      \
    .name = "rlm", .title = "regression language model, from scratch", .fit = fit,                 \
    .predict = predict, .save = save, .load = load, .parameters = parameters, .free = free_state

const nas_predictor_type nas_predictor_rlm = {VERBS, .data = &RECIPE};

nas_predictor_type nas_predictor_rlm_with(const nas_rlm_recipe *recipe)
{
    return (nas_predictor_type){VERBS, .data = recipe};
}
