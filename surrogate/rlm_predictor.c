#include "surrogate/rlm_predictor.h"

#include "spaces/base/option.h"
#include "surrogate/corpus.h"
#include "surrogate/structure.h"
#include "surrogate/teach.h"
#include "surrogate/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { VOCAB_TEXTS = 3000 };

#define READER                                                                                     \
    .sizes = {.d = 96,                                                                             \
              .encoder_layers = 3,                                                                 \
              .decoder_layers = 1,                                                                 \
              .heads = 4,                                                                          \
              .ffn = 384,                                                                          \
              .max_input = 2048},                                                                  \
    .number = "SCI(2,2)", .random = 20000,                                                         \
    .reading = {                                                                                   \
        .epochs = 10, .batch = 64, .numbers = 6, .rate = 2e-3, .jitter = 0.03, .decay = 0.05}

static const nas_rlm_recipe TAUGHT = {
    READER,
    .labels = {.epochs = 3, .batch = 64, .rate = 2e-3, .jitter = 0.02, .decay = 0.02},
    .teacher = nas_teachers,
    .taught = NAS_TAUGHT,
};
static const nas_rlm_recipe ALONE = {
    READER,
    .labels = {.epochs = 30,
               .visits = 20000,
               .least = 15,
               .batch = 16,
               .rate = 5e-4,
               .jitter = 0.1,
               .decay = 0.05},
};

typedef struct {
    nas_rlm *rlm;
    const nas_space *space;
    const nas_task *task;
    size_t m;
    size_t *metric; /* (m) rows of the schema, as the labels' metrics are ordered */
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
    size_t epochs = epochs_of(stage, nas_corpus_examples(corpus));
    const nas_corpus_how how = {
        .copies = epochs, .jitter = stage->jitter, .numbers = stage->numbers, .seed = seed};
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

static nas_status read_first(nas_rlm *rlm, const nas_labels *labels, const nas_rlm_recipe *recipe,
                             uint64_t seed, nas_err *err)
{
    nas_corpus *corpus = nas_corpus_new(rlm, true);
    nas_status status =
        nas_corpus_add_random(corpus, labels->space, labels->task, recipe->random, seed, err);
    if (status == NAS_OK)
        status = nas_corpus_fit(corpus, "normal", err);
    if (status == NAS_OK)
        run_stage(corpus, &recipe->reading, seed);
    nas_corpus_free(corpus);
    return status;
}

static nas_status learn(nas_rlm *rlm, const nas_labels *labels, const nas_rlm_recipe *recipe,
                        uint64_t seed, nas_err *err)
{
    nas_corpus *corpus = nas_corpus_new(rlm, false);
    nas_corpus_repeat(corpus, recipe->teacher ? nas_teach_times(labels->n, recipe->taught) : 1);
    nas_status status = nas_teach_rows(corpus, labels, labels->arch, labels->value, labels->n, err);
    if (status == NAS_OK)
        status = nas_corpus_fit(corpus, "normal", err);
    nas_corpus_repeat(corpus, 1);
    if (status == NAS_OK && recipe->teacher)
        status = nas_teach(corpus, labels, recipe->teacher, recipe->taught, seed, err);
    if (status == NAS_OK)
        run_stage(corpus, &recipe->labels, seed);
    nas_corpus_free(corpus);
    return status;
}

static void free_state(void *pointer)
{
    state *s = pointer;
    nas_rlm_free(s->rlm);
    free(s->metric);
    free(s);
}

/* A model that can read the space, with the labels' metrics. */
static nas_rlm *open_reader(const nas_labels *labels, const nas_rlm_recipe *recipe, uint64_t seed,
                            nas_err *err)
{
    if (!recipe->start) {
        nas_rlm *rlm = new_rlm(labels, recipe, seed, err);
        if (rlm && recipe->random)
            read_first(rlm, labels, recipe, seed, err);
        return rlm;
    }
    nas_rng root = nas_rng_seed(seed), rng = nas_rng_child(&root, "weights", 0);
    nas_schema more = {0};
    nas_rlm *rlm = nas_rlm_load(recipe->start, err);
    for (size_t k = 0; k < labels->m && err->code == NAS_OK; k++) {
        const nas_metric *metric = &labels->metric[k];
        int at = nas_metric_find(rlm->schema.metric, rlm->schema.n, metric->name);
        if (at >= 0 && nas_rlm_knows(rlm, labels->space->name, labels->task->name, (size_t)at))
            nas_fail(err, NAS_USAGE, "'%s' has seen labels of %s for %s, %s", recipe->start,
                     metric->name, labels->space->name, labels->task->name);
        else
            nas_schema_add(&more, metric, err);
    }
    if (err->code == NAS_OK)
        nas_rlm_extend(rlm, &more, &rng, err);
    nas_schema_clear(&more);
    return rlm;
}

static void find_metrics(state *s, const nas_labels *labels)
{
    s->metric = nas_alloc(labels->m * sizeof *s->metric);
    for (size_t k = 0; k < labels->m; k++)
        s->metric[k] = (size_t)nas_metric_find(s->rlm->schema.metric, s->rlm->schema.n,
                                               labels->metric[k].name);
}

static void *fit(const nas_predictor_type *type, const nas_labels *labels, uint64_t seed,
                 nas_err *err)
{
    const nas_rlm_recipe *recipe = type->data;
    state *s = nas_zalloc(1, sizeof *s);
    *s = (state){.rlm = open_reader(labels, recipe, seed, err),
                 .space = labels->space,
                 .task = labels->task,
                 .m = labels->m};
    if (err->code == NAS_OK && learn(s->rlm, labels, recipe, seed, err) == NAS_OK) {
        find_metrics(s, labels);
        return s;
    }
    free_state(s);
    return NULL;
}

/* ---- the other verbs ---- */

static int by_row(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* The model writes metrics in the order of its schema. */
static nas_status predict(const void *pointer, const nas_arch *arch, size_t n, double *mean,
                          double *spread, nas_err *err)
{
    const state *s = pointer;
    size_t m = s->m, *sorted = nas_alloc(m * sizeof *sorted);
    double *value = nas_alloc((2 * n * m + 1) * sizeof *value);
    memcpy(sorted, s->metric, m * sizeof *sorted);
    qsort(sorted, m, sizeof *sorted, by_row);
    const nas_rlm_ask ask = {.metric = sorted, .m = m};
    nas_status status =
        nas_rlm_predict(s->rlm, &ask, s->space, s->task, arch, n, value, value + n * m, err);
    for (size_t k = 0; k < m && status == NAS_OK; k++) {
        const size_t *at = bsearch(&s->metric[k], sorted, m, sizeof *sorted, by_row);
        for (size_t i = 0; i < n; i++) {
            size_t from = i * m + (size_t)(at - sorted);
            mean[i * m + k] = value[from];
            if (spread)
                spread[i * m + k] = value[n * m + from];
        }
    }
    free(sorted);
    free(value);
    return status;
}

/* What the file says beside the model: space, task and metrics, with blanks between. */
static nas_status save(const void *pointer, const char *path, nas_err *err)
{
    const state *s = pointer;
    nas_bytes text = {0};
    nas_bytes_print(&text, "%s %s", s->space->name, s->task->name);
    for (size_t k = 0; k < s->m; k++)
        nas_bytes_print(&text, " %s", s->rlm->schema.metric[s->metric[k]].name);
    nas_model_set_meta(s->rlm->model, "predictor", nas_predictor_rlm.name);
    nas_model_set_meta(s->rlm->model, "predictor_of", text.data);
    nas_bytes_clear(&text);
    return nas_rlm_save(s->rlm, path, err);
}

/* Reads what save wrote; false when it is not that. */
static bool read_aim(state *s, const char *text, nas_err *err)
{
    size_t size = strlen(text) + 1;
    char *copy = nas_strdup(text), *rest = copy, *word = strsep(&rest, " ");
    s->space = nas_space_need(word, err);
    word = strsep(&rest, " ");
    s->task = s->space && word ? nas_space_task(s->space, word, err) : NULL;
    s->metric = nas_alloc(size * sizeof *s->metric);
    bool ok = s->task != NULL;
    while (ok && (word = strsep(&rest, " "))) {
        int at = nas_metric_find(s->rlm->schema.metric, s->rlm->schema.n, word);
        s->metric[s->m++] = (size_t)at;
        ok = at >= 0;
    }
    free(copy);
    return ok && s->m > 0;
}

static void *load(const nas_predictor_type *type, const char *path, nas_err *err)
{
    (void)type;
    nas_rlm *rlm = nas_rlm_load(path, err);
    if (!rlm)
        return NULL;
    const char *text = nas_model_meta(rlm->model, "predictor_of");
    state *s = nas_zalloc(1, sizeof *s);
    s->rlm = rlm;
    if (text && read_aim(s, text, err))
        return s;
    if (err->code == NAS_OK)
        nas_fail(err, NAS_FAILED, "'%s' does not say what it predicts", path);
    free_state(s);
    return NULL;
}

static size_t parameters(const void *pointer)
{
    return ((const state *)pointer)->rlm->model->tensors.count;
}

#define VERBS                                                                                      \
    .fit = fit, .predict = predict, .save = save, .load = load, .parameters = parameters,          \
    .free = free_state

const nas_predictor_type nas_predictor_rlm = {
    .name = "rlm",
    .title = "regression language model, taught by kernel ridge on the same rows",
    VERBS,
    .data = &TAUGHT};
const nas_predictor_type nas_predictor_rlm_alone = {
    .name = "rlm-alone", .title = "regression language model, no teacher", VERBS, .data = &ALONE};

nas_predictor_type nas_predictor_rlm_with(const nas_rlm_recipe *recipe)
{
    return (nas_predictor_type){.name = recipe->teacher ? nas_predictor_rlm.name
                                                        : nas_predictor_rlm_alone.name,
                                .title = "regression language model",
                                VERBS,
                                .data = recipe};
}
