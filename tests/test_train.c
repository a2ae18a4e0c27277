/* surrogate/optim, train: the update rule, the order of examples, learning, and resuming. */
#include "spaces/base/mem.h"
#include "surrogate/train.h"

#include "tests/check.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_rate(void **state)
{
    (void)state;
    nas_optim_config c = {.rate = 2, .floor = 0.1, .warm = 10, .steps = 110};
    assert_true(fabs(nas_optim_rate(&c, 0) - 0.2) < 1e-12);
    assert_true(fabs(nas_optim_rate(&c, 9) - 2) < 1e-12);
    assert_true(fabs(nas_optim_rate(&c, 10) - 2) < 1e-12);
    assert_true(fabs(nas_optim_rate(&c, 60) - 1.1) < 1e-12);
    assert_true(fabs(nas_optim_rate(&c, 110) - 0.2) < 1e-12);
    assert_true(fabs(nas_optim_rate(&c, 500) - 0.2) < 1e-12);
}

/* Two tensors, one of which decays, against the rule in double precision. */
static void test_update_rule(void **state)
{
    (void)state;
    nas_tensors t = {0};
    nas_tensors_add(&t, 30, 50, 1, true, "matrix");
    nas_tensors_add(&t, 7, 0, 1, false, "vector");
    nas_optim_config c = {.rate = 0.01,
                          .beta1 = 0.9,
                          .beta2 = 0.95,
                          .epsilon = 1e-8,
                          .decay = 0.1,
                          .clip = 1,
                          .average = 0.9,
                          .floor = 1};
    nas_optim *o = nas_optim_new(&t, &c);
    nas_rng rng = nas_rng_seed(2);
    enum { N = 1507, STEPS = 20 };
    static float w[N], g[N];
    static double x[N], m[N], v[N], mean[N];
    nas_tensors_init(&t, w, &rng);
    for (int i = 0; i < N; i++)
        x[i] = w[i];
    for (int s = 1; s <= STEPS; s++) {
        double norm = 0;
        for (int i = 0; i < N; i++) {
            g[i] = (float)nas_rng_normal(&rng) * (s == 3 ? 1e-3f : 1);
            norm += (double)g[i] * g[i];
        }
        norm = sqrt(norm);
        assert_true(fabs(nas_optim_step(o, w, g) / norm - 1) < 1e-6);
        for (int i = 0; i < N; i++) {
            double clipped = g[i] * (norm > 1 ? 1 / norm : 1);
            m[i] = 0.9 * m[i] + 0.1 * clipped;
            v[i] = 0.95 * v[i] + 0.05 * clipped * clipped;
            x[i] *= i < 1500 ? 1 - 0.01 * 0.1 : 1;
            x[i] -= 0.01 * m[i] / (1 - pow(0.9, s)) / (sqrt(v[i] / (1 - pow(0.95, s))) + 1e-8);
            mean[i] += fmax(0.1, 1.0 / s) * (x[i] - mean[i]);
            assert_true(fabs(w[i] - x[i]) < 1e-5);
            assert_true(fabs(o->average[i] - mean[i]) < 1e-5);
        }
    }
    float kept = w[3];
    g[5] = NAN;
    assert_true(isnan(nas_optim_step(o, w, g)));
    assert_true(w[3] == kept);
    nas_optim_free(o);
    nas_tensors_clear(&t);
}

/* ---- a task: does a token 3 occur, and are there more than two tokens 1? Every tenth example has
 * no label. ---- */

enum { EXAMPLES = 300, MOST = 12, DIGITS = 3 };

typedef struct {
    size_t in_at[EXAMPLES + 1], out_at[EXAMPLES + 1];
    int32_t tokens[EXAMPLES * MOST], shifted[EXAMPLES * DIGITS], target[EXAMPLES * DIGITS];
    nas_batch data;
} task;

static void task_fill(task *t)
{
    nas_rng rng = nas_rng_seed(8);
    *t = (task){0};
    for (size_t i = 0; i < EXAMPLES; i++) {
        size_t length = 1 + nas_rng_below(&rng, MOST), at = t->in_at[i];
        int32_t ones = 0, threes = 0, *shifted = t->shifted + DIGITS * i,
                *target = t->target + DIGITS * i;
        for (size_t j = 0; j < length; j++) {
            int32_t token = t->tokens[at + j] = (int32_t)nas_rng_below(&rng, 4);
            ones += token == 1;
            threes += token == 3;
        }
        t->in_at[i + 1] = at + length;
        t->out_at[i + 1] = DIGITS * (i + 1);
        if (i % 10) {
            shifted[1] = target[0] = 1 + (threes > 0);
            shifted[2] = target[1] = 3 + (ones > 2);
        }
    }
    t->data = (nas_batch){.input = {EXAMPLES, t->in_at},
                          .output = {EXAMPLES, t->out_at},
                          .tokens = t->tokens,
                          .shifted = t->shifted,
                          .target = t->target};
}

static nas_model *task_model(void)
{
    const nas_model_config config = {.d = 32,
                                     .encoder_layers = 1,
                                     .decoder_layers = 1,
                                     .heads = 4,
                                     .ffn = 64,
                                     .encoder_vocab = 4,
                                     .decoder_vocab = 6,
                                     .max_input = MOST};
    nas_rng rng = nas_rng_seed(1);
    nas_err err = {0};
    nas_model *model = nas_model_new(&config, &rng, &err);
    assert_non_null(model);
    return model;
}

static const nas_train_config task_config = {.optim = {.rate = 4e-3,
                                                       .beta1 = 0.9,
                                                       .beta2 = 0.95,
                                                       .epsilon = 1e-8,
                                                       .decay = 0.01,
                                                       .clip = 1,
                                                       .average = 0.95,
                                                       .warm = 20},
                                             .batch = 32,
                                             .epochs = 30,
                                             .seed = 3,
                                             .dropout = 0.05};

static void test_order(void **state)
{
    (void)state;
    static task t;
    task_fill(&t);
    size_t a[EXAMPLES], b[EXAMPLES];
    bool seen[EXAMPLES] = {false};
    nas_train_order(a, &t.data, 32, 1, 0);
    nas_train_order(b, &t.data, 32, 1, 1);
    assert_memory_not_equal(a, b, sizeof a);
    nas_train_order(b, &t.data, 32, 1, 0);
    assert_memory_equal(a, b, sizeof a);
    size_t spread = 0;
    for (size_t i = 0; i < EXAMPLES; i++) {
        assert_true(a[i] < EXAMPLES && !seen[a[i]]);
        seen[a[i]] = true;
        if (i % 32) {
            size_t x = nas_spans_size(t.data.input, a[i]);
            size_t y = nas_spans_size(t.data.input, a[i - 1]);
            spread += x > y ? x - y : y - x;
        }
    }
    assert_true(spread < 2 * MOST); /* in order within a batch: at most MOST in all, and ties */
}

static void test_learns(void **state)
{
    (void)state;
    static task t;
    task_fill(&t);
    nas_model *model = task_model();
    nas_trainer *trainer = nas_trainer_new(model, &t.data, &task_config);
    nas_train_report report;
    double before = nas_model_loss(model, &t.data, 100);
    assert_true(fabs(before - nas_model_loss(model, &t.data, 0)) < 1e-6);
    assert_true(nas_trainer_bytes(trainer) > 5 * model->tensors.count * sizeof(float));
    uint64_t steps = 0;
    while (nas_trainer_step(trainer, &report)) {
        assert_int_equal(report.step, ++steps);
        assert_true(isfinite(report.loss) && report.norm > 0 && report.tokens > 0);
    }
    assert_int_equal(steps, 30 * 10);
    double after = nas_model_loss(model, &t.data, 0);
    nas_trainer_swap(trainer);
    double averaged = nas_model_loss(model, &t.data, 0);
    if (!(before > 1 && after < 0.1 && averaged < 0.1))
        fail_msg("loss %g, then %g, averaged %g", before, after, averaged);
    nas_trainer_free(trainer);
    nas_model_free(model);
}

/* Stopped after 17 steps and resumed in a fresh process' state: the same bits; also with another
 * number of threads. */
static void test_resume(void **state)
{
    (void)state;
    static task t;
    task_fill(&t);
    nas_model *straight = task_model(), *first = task_model(), *second = task_model();
    nas_train_config config = task_config;
    config.dropout = 0.1;
    nas_trainer *a = nas_trainer_new(straight, &t.data, &config);
    nas_trainer *b = nas_trainer_new(first, &t.data, &config);
    nas_train_report report;
    nas_err err = {0};
    char path[] = "/tmp/naslm-train-XXXXXX";
    close(mkstemp(path));
    for (int i = 0; i < 40; i++)
        assert_true(nas_trainer_step(a, &report));
    int threads = omp_get_max_threads();
    omp_set_num_threads(3);
    for (int i = 0; i < 17; i++)
        assert_true(nas_trainer_step(b, &report));
    omp_set_num_threads(threads);
    assert_int_equal(nas_trainer_save(b, path, &err), NAS_OK);
    nas_trainer *c = nas_trainer_new(second, &t.data, &config);
    assert_int_equal(nas_trainer_resume(c, path, &err), NAS_OK);
    for (int i = 17; i < 40; i++)
        assert_true(nas_trainer_step(c, &report));
    size_t bytes = straight->tensors.count * sizeof(float);
    assert_memory_equal(straight->weights, second->weights, bytes);
    /* the model in the checkpoint is one like any other */
    nas_model *loaded = nas_model_load(path, &err);
    assert_non_null(loaded);
    assert_memory_equal(loaded->weights, first->weights, bytes);
    assert_int_equal(nas_model_save(straight, path, &err), NAS_OK);
    assert_int_equal(nas_trainer_resume(c, path, &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "no training to resume"));
    unlink(path);
    nas_trainer_free(a);
    nas_trainer_free(b);
    nas_trainer_free(c);
    nas_model_free(straight);
    nas_model_free(first);
    nas_model_free(second);
    nas_model_free(loaded);
}

/* Weights that were kept outlive more steps and a checkpoint. */
static void test_keep(void **state)
{
    (void)state;
    static task t;
    task_fill(&t);
    nas_model *model = task_model(), *other = task_model();
    nas_trainer *a = nas_trainer_new(model, &t.data, &task_config);
    nas_trainer *b = nas_trainer_new(other, &t.data, &task_config);
    nas_train_report report;
    nas_err err = {0};
    char path[] = "/tmp/naslm-train-XXXXXX";
    close(mkstemp(path));
    size_t bytes = model->tensors.count * sizeof(float);
    float *good = malloc(bytes), *now = malloc(bytes);
    for (int i = 0; i < 10; i++) {
        if (i == 5) {
            nas_trainer_keep(a);
            memcpy(good, model->weights, bytes);
        }
        assert_true(nas_trainer_step(a, &report));
    }
    memcpy(now, model->weights, bytes);
    assert_int_equal(nas_trainer_save(a, path, &err), NAS_OK);
    nas_trainer_recall(a);
    assert_memory_equal(model->weights, good, bytes);
    nas_trainer_recall(b); /* nothing is kept there yet */
    assert_int_equal(nas_trainer_resume(b, path, &err), NAS_OK);
    assert_memory_equal(other->weights, now, bytes);
    nas_trainer_recall(b);
    assert_memory_equal(other->weights, good, bytes);
    unlink(path);
    nas_trainer_free(a);
    nas_trainer_free(b);
    nas_model_free(model);
    nas_model_free(other);
    free(good);
    free(now);
}

/* A batch taken in parts has the same gradient up to rounding. */
static void test_parts(void **state)
{
    (void)state;
    static task t;
    task_fill(&t);
    nas_model *whole = task_model(), *parts = task_model();
    nas_train_config config = task_config;
    config.dropout = 0;
    nas_trainer *a = nas_trainer_new(whole, &t.data, &config);
    config.most_rows = 50;
    nas_trainer *b = nas_trainer_new(parts, &t.data, &config);
    nas_train_report x, y;
    for (int i = 0; i < 5; i++) {
        assert_true(nas_trainer_step(a, &x) && nas_trainer_step(b, &y));
        assert_true(x.tokens == y.tokens && fabs(x.loss - y.loss) < 1e-4);
        assert_true(fabs(x.norm / y.norm - 1) < 1e-3);
    }
    nas_trainer_free(a);
    nas_trainer_free(b);
    nas_model_free(whole);
    nas_model_free(parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rate),   cmocka_unit_test(test_update_rule),
        cmocka_unit_test(test_order),  cmocka_unit_test(test_learns),
        cmocka_unit_test(test_resume), cmocka_unit_test(test_keep),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
