/* The trained surrogate as a whole: a small model learns the MACs of nb201 from texts, and is then
 * saved, loaded, split into batches and threads, extended and damaged. */
#include "onnx/read.h"
#include "results/rank.h"
#include "surrogate/corpus.h"
#include "surrogate/rlm_predictor.h"
#include "surrogate/structure.h"
#include "surrogate/train.h"

#include "tests/check.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TEST = 100 };
#define PATH "build/test_rlm.safetensors"

static nas_rlm *trained;
static const nas_space *space;
static nas_arch arch[TEST];

static nas_rlm *small(const char *const *metric, size_t n, size_t window, nas_err *err)
{
    nas_schema schema;
    nas_metric m;
    nas_schema_init(&schema, "SCI(2,2)", err);
    for (size_t i = 0; i < n; i++)
        if (nas_metric_make(&m, metric[i], err) == NAS_OK)
            nas_schema_add(&schema, &m, err);
    nas_vocab_trainer *trainer = nas_vocab_trainer_new_whole();
    nas_bytes text = {0};
    for (size_t i = 0; i < TEST; i++) {
        nas_bytes_reset(&text);
        nas_rlm_prompt(space, space->tasks, &arch[i], &text, err);
        nas_vocab_trainer_add(trainer, text.data, text.size);
    }
    nas_bytes_clear(&text);
    nas_vocab *vocab = nas_vocab_trainer_learn(trainer, 600, err);
    nas_vocab_trainer_free(trainer);
    nas_rng rng = nas_rng_seed(5);
    const nas_model_config sizes = {.d = 32,
                                    .encoder_layers = 1,
                                    .decoder_layers = 1,
                                    .heads = 2,
                                    .ffn = 64,
                                    .max_input = window};
    return nas_rlm_new(&sizes, vocab, &schema, &rng, err);
}

static int setup(void **state)
{
    static const char *const metrics[] = {"macs", "depth"};
    nas_err err = {0};
    (void)state;
    space = nas_space_find("nb201");
    nas_rng root = nas_rng_seed(9);
    for (size_t i = 0; i < TEST; i++) {
        nas_rng rng = nas_rng_child(&root, "test", i);
        nas_space_sample(space, &rng, &arch[i]);
    }
    trained = small(metrics, 2, 200, &err);
    nas_corpus *corpus = nas_corpus_new(trained, true);
    const nas_corpus_how how = {.copies = 4, .jitter = 0.1, .seed = 1};
    nas_corpus_add_random(corpus, space, space->tasks, 500, 3, &err);
    nas_corpus_fit(corpus, "normal", &err);
    const nas_train_config config = {
        .optim =
            {.rate = 4e-3, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .clip = 1, .warm = 10},
        .batch = 8,
        .epochs = 8,
        .seed = 2};
    nas_train_report report;
    nas_trainer *trainer = nas_trainer_new(trained->model, nas_corpus_batch(corpus, &how), &config);
    while (err.code == NAS_OK && nas_trainer_step(trainer, &report))
        ;
    nas_trainer_free(trainer);
    nas_corpus_free(corpus);
    return err.code;
}

static int teardown(void **state)
{
    (void)state;
    nas_rlm_free(trained);
    unlink(PATH);
    return 0;
}

static const size_t BOTH[] = {0, 1};

/* value (n,2) and spread (n,2) of the first n architectures, piece by piece. */
static void predict(const nas_rlm *rlm, size_t samples, size_t n, size_t piece, double *value,
                    double *spread)
{
    const nas_rlm_ask ask = {.metric = BOTH, .m = 2, .samples = samples, .seed = 7};
    nas_err err = {0};
    for (size_t i = 0; i < n; i += piece)
        assert_int_equal(nas_rlm_predict(rlm, &ask, space, space->tasks, arch + i,
                                         n - i < piece ? n - i : piece, value + 2 * i,
                                         spread + 2 * i, &err),
                         NAS_OK);
}

static void test_learns(void **state)
{
    double value[2 * TEST], spread[2 * TEST], label[NAS_STRUCTURE_COUNT];
    double truth[2][TEST], score[2][TEST];
    nas_err err = {0};
    nas_rank rank;
    (void)state;
    predict(trained, 0, TEST, TEST, value, spread);
    for (size_t i = 0; i < TEST; i++) {
        nas_graph *graph = nas_space_build(space, &arch[i], space->tasks);
        assert_int_equal(nas_structure_of(graph, label, &err), NAS_OK);
        nas_graph_free(graph);
        truth[0][i] = label[NAS_STRUCTURE_MACS];
        truth[1][i] = label[NAS_STRUCTURE_DEPTH];
        for (int k = 0; k < 2; k++) {
            score[k][i] = value[2 * i + (size_t)k];
            assert_true(spread[2 * i + (size_t)k] >= 0);
        }
    }
    for (int k = 0; k < 2; k++) {
        assert_int_equal(nas_rank_compare(truth[k], score[k], TEST, &rank, &err), NAS_OK);
        print_message("# spearman %.3f\n", rank.spearman);
        assert_true(rank.spearman > (k ? 0.7 : 0.85));
    }
}

static void test_same_bits(void **state)
{
    double whole[2 * TEST], part[2 * TEST], spread[2 * TEST], spread2[2 * TEST];
    int threads = omp_get_max_threads();
    (void)state;
    for (size_t samples = 0; samples <= 20; samples += 20) {
        omp_set_num_threads(1);
        predict(trained, samples, TEST, TEST, whole, spread);
        omp_set_num_threads(3);
        predict(trained, samples, TEST, 7, part, spread2);
        assert_memory_equal(whole, part, sizeof whole);
        assert_memory_equal(spread, spread2, sizeof spread);
    }
    omp_set_num_threads(threads);
}

static void test_samples_agree(void **state)
{
    double exact[2 * 8], drawn[2 * 8], spread[2 * 8], spread2[2 * 8];
    (void)state;
    predict(trained, 0, 8, 8, exact, spread);
    predict(trained, 500, 8, 8, drawn, spread2);
    for (size_t i = 0; i < 16; i += 2) {
        const nas_scale *scale = &trained->schema.scale[0];
        double difference = nas_scale_apply(scale, exact[i]) - nas_scale_apply(scale, drawn[i]);
        assert_true(fabs(difference) < 0.25); /* on a scale of about 1 to 9 */
        assert_true(fabs(spread[i] - spread2[i]) <= 0.35 * spread[i]);
    }
}

static void test_save_load(void **state)
{
    double before[2 * TEST], after[2 * TEST], spread[2 * TEST];
    nas_err err = {0};
    (void)state;
    predict(trained, 0, TEST, TEST, before, spread);
    assert_int_equal(nas_rlm_save(trained, PATH, &err), NAS_OK);
    nas_rlm *rlm = nas_rlm_load(PATH, &err);
    assert_non_null(rlm);
    predict(rlm, 0, TEST, TEST, after, spread);
    assert_memory_equal(before, after, sizeof before);
    assert_true(nas_rlm_knows(rlm, "nb201", "cifar10", 0));
    assert_false(nas_rlm_knows(rlm, "nb201", "cifar100", 0));
    nas_rlm_free(rlm);
}

/* Numbers that begin anew are those of a call of their own. */
static void test_begins_anew(void **state)
{
    double both[2 * TEST], spread[2 * TEST], alone[TEST];
    const nas_rlm_ask second = {.metric = BOTH + 1, .m = 1};
    nas_err err = {0};
    (void)state;
    trained->numbers = 1;
    predict(trained, 0, TEST, TEST, both, spread);
    trained->numbers = 0;
    nas_rlm_predict(trained, &second, space, space->tasks, arch, TEST, alone, NULL, &err);
    for (size_t i = 0; i < TEST; i++)
        assert_true(both[2 * i + 1] == alone[i]);
    const nas_rlm_ask each = {.metric = BOTH, .m = 2, .alone = true};
    memset(both, 0, sizeof both);
    nas_rlm_predict(trained, &each, space, space->tasks, arch, TEST, both, NULL, &err);
    for (size_t i = 0; i < TEST; i++)
        assert_true(both[2 * i + 1] == alone[i]);
}

/* The trained model, and one metric that it never saw. */
static nas_rlm *more_metrics(void)
{
    nas_err err = {0};
    nas_schema more;
    nas_metric metric;
    nas_rng rng = nas_rng_seed(4);
    assert_int_equal(nas_rlm_save(trained, PATH, &err), NAS_OK);
    nas_rlm *rlm = nas_rlm_load(PATH, &err);
    nas_schema_init(&more, "SCI(2,2)", &err);
    nas_metric_make(&metric, "latency:mine", &err);
    nas_schema_add(&more, &metric, &err);
    assert_int_equal(nas_rlm_extend(rlm, &more, &rng, &err), NAS_OK);
    nas_schema_clear(&more);
    return rlm;
}

/* Behind the first number, each of the others is written as if it was the only other one. */
static void test_behind_the_first(void **state)
{
    (void)state;
    enum { M = 3 };
    const size_t all[M] = {0, 1, 2};
    nas_rlm *rlm = more_metrics();
    double together[M * TEST], two[2 * TEST];
    nas_err err = {0};
    const nas_rlm_ask three = {.metric = all, .m = M};
    assert_int_equal(
        nas_rlm_predict(rlm, &three, space, space->tasks, arch, TEST, together, NULL, &err),
        NAS_OK);
    for (size_t k = 1; k < M; k++) {
        const size_t pair[2] = {0, k};
        const nas_rlm_ask ask = {.metric = pair, .m = 2};
        nas_rlm_predict(rlm, &ask, space, space->tasks, arch, TEST, two, NULL, &err);
        for (size_t i = 0; i < TEST; i++) {
            assert_true(two[2 * i] == together[M * i]);
            assert_true(two[2 * i + 1] == together[M * i + k]);
        }
    }
    nas_rlm_free(rlm);
}

/* A metric that is added changes no number of those before. */
static void test_extend(void **state)
{
    double before[2 * TEST], after[2 * TEST], spread[2 * TEST];
    (void)state;
    predict(trained, 0, TEST, TEST, before, spread);
    nas_rlm *rlm = more_metrics();
    assert_int_equal(rlm->schema.n, 3);
    predict(rlm, 0, TEST, TEST, after, spread);
    assert_memory_equal(before, after, sizeof before);
    nas_rlm_free(rlm);
}

/* ---- as a predictor ---- */

static void test_predictor(void **state)
{
    enum { N = 40, REST = TEST - N };
    static const nas_rlm_recipe recipe = {
        .sizes = {.d = 16,
                  .encoder_layers = 1,
                  .decoder_layers = 1,
                  .heads = 2,
                  .ffn = 32,
                  .max_input = 200},
        .number = "SCI(2,2)",
        .random = 40,
        .reading = {.epochs = 8, .batch = 16, .numbers = 2, .rate = 2e-3},
        .labels =
            {.epochs = 8, .visits = 120, .least = 1, .batch = 16, .rate = 2e-3, .jitter = 0.1},
    };
    const nas_predictor_type mine = nas_predictor_rlm_with(&recipe);
    double value[2 * N], mean[2 * REST], spread[2 * REST], mean2[2 * REST], spread2[2 * REST];
    nas_metric metric[2];
    nas_predictor p, q;
    nas_err err = {0};
    (void)state;
    nas_metric_make(&metric[0], "accuracy", &err);
    nas_metric_make(&metric[1], "latency:mine", &err);
    for (size_t i = 0; i < N; i++) {
        value[2 * i] = 90 + arch[i].gene[0] + 0.1 * arch[i].gene[1];
        value[2 * i + 1] = i % 3 ? 3 + arch[i].gene[5] : NAN;
    }
    const nas_labels labels = {space, space->tasks, arch, N, metric, 2, value, NULL};
    assert_int_equal(nas_predictor_fit(&p, &mine, &labels, 3, &err), NAS_OK);
    assert_int_equal(nas_predictor_predict(&p, arch + N, REST, mean, spread, &err), NAS_OK);
    assert_int_equal(nas_predictor_save(&p, PATH, &err), NAS_OK);
    assert_int_equal(nas_predictor_load(&q, PATH, &err), NAS_OK);
    assert_string_equal(q.type->name, "rlm"); /* with or without teachers */
    assert_int_equal(nas_predictor_parameters(&p), nas_predictor_parameters(&q));
    assert_int_equal(nas_predictor_predict(&q, arch + N, REST, mean2, spread2, &err), NAS_OK);
    assert_memory_equal(mean, mean2, sizeof mean);
    assert_memory_equal(spread, spread2, sizeof spread);
    for (size_t i = 0; i < 2 * REST; i++)
        assert_true(isfinite(mean[i]) && spread[i] >= 0);
    /* with teachers, one for each metric; from a model that has seen these labels: refused */
    static const char *const teachers[] = {"ridge", "krr-both", NULL};
    nas_rlm_recipe taught = recipe;
    taught.teacher = teachers;
    taught.taught = 60;
    const nas_predictor_type pupil = nas_predictor_rlm_with(&taught);
    nas_predictor_clear(&p);
    assert_int_equal(nas_predictor_fit(&p, &pupil, &labels, 3, &err), NAS_OK);
    assert_string_equal(p.type->name, "rlm");
    assert_string_equal(q.type->name, "rlm");
    assert_int_equal(nas_predictor_predict(&p, arch + N, REST, mean2, spread2, &err), NAS_OK);
    assert_memory_not_equal(mean, mean2, sizeof mean);
    taught.start = PATH;
    assert_int_equal(nas_predictor_fit(&(nas_predictor){0}, &pupil, &labels, 3, &err), NAS_USAGE);
    assert_non_null(strstr(err.text, "has seen labels of accuracy for nb201, cifar10"));
    err = (nas_err){0};
    nas_predictor_clear(&p);
    nas_predictor_clear(&q);
    assert_int_equal(nas_rlm_save(trained, PATH, &err), NAS_OK);
    assert_int_equal(nas_predictor_load(&q, PATH, &err), NAS_FAILED);
}

/* ---- refusals ---- */

static void refuse_with(const char *key, const char *text, const char *why)
{
    nas_err err = {0};
    nas_rlm_describe(trained);
    char *kept = nas_strdup(nas_model_meta(trained->model, key));
    if (text)
        nas_model_set_meta(trained->model, key, text);
    else
        json_object_del(trained->model->meta, key);
    assert_int_equal(nas_model_save(trained->model, PATH, &err), NAS_OK);
    nas_model_set_meta(trained->model, key, kept);
    free(kept);
    assert_null(nas_rlm_load(PATH, &err));
    assert_int_equal(err.code, NAS_FAILED);
    assert_non_null(strstr(err.text, why));
    assert_non_null(strstr(err.text, PATH));
}

static void test_refuses_files(void **state)
{
    (void)state;
    refuse_with("vocabulary", NULL, "no 'vocabulary'");
    refuse_with("schema", NULL, "no 'schema'");
    refuse_with("domains", NULL, "no 'domains'");
    refuse_with("vocabulary", "{\"format\":\"naslm-vocab\",\"version\":1,\"merges\":[]}",
                "the vocabulary has 257 ids");
    refuse_with("schema", "{\"number\":\"XYZ(2)\",\"plain\":false,\"metrics\":[]}", "XYZ");
    refuse_with("schema", "{\"number\":\"SCI(2,2)\",\"plain\":false,\"metrics\":[]}",
                "domain nb201/cifar10 has the metric");
    refuse_with("domains", "{}", "no JSON array");
    refuse_with("domains", "[{\"space\":\"a\"}]", "domain 0 is not complete");
    nas_err err = {0};
    assert_null(nas_rlm_load("tests/check.h", &err));
    assert_int_equal(err.code, NAS_FAILED);
}

static void test_refuses_texts(void **state)
{
    static const char *const metrics[] = {"macs"};
    nas_err err = {0};
    double value, label = 1;
    const nas_rlm_ask ask = {.metric = BOTH, .m = 1};
    (void)state;
    nas_rlm *narrow = small(metrics, 1, 4, &err);
    assert_int_equal(
        nas_rlm_predict(narrow, &ask, space, space->tasks, arch, 1, &value, NULL, &err),
        NAS_FAILED);
    assert_non_null(strstr(err.text, "the model reads at most 4"));
    assert_non_null(strstr(err.text, "architecture '|"));
    /* of many that fail, in any thread, the first is named */
    double values[TEST];
    nas_bytes name = {0};
    nas_err first = err;
    int threads = omp_get_max_threads();
    omp_set_num_threads(3);
    err = (nas_err){0};
    assert_int_equal(
        nas_rlm_predict(narrow, &ask, space, space->tasks, arch, TEST, values, NULL, &err),
        NAS_FAILED);
    omp_set_num_threads(threads);
    nas_space_print(space, &arch[0], &name);
    assert_non_null(strstr(err.text, name.data));
    assert_string_equal(err.text, first.text);
    nas_bytes_clear(&name);
    nas_rlm_free(narrow);

    nas_bytes text = {0};
    nas_corpus *corpus = nas_corpus_new(trained, false);
    err = (nas_err){0};
    assert_int_equal(nas_corpus_fit(corpus, "normal", &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "nothing to learn from"));
    double labels[2] = {NAN, NAN};
    err = (nas_err){0};
    assert_int_equal(nas_corpus_add(corpus, 0, &text, labels, &err), NAS_OK);
    assert_int_equal(nas_corpus_size(corpus), 0);
    labels[0] = label;
    assert_int_equal(nas_corpus_add(corpus, 0, &text, labels, &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "empty"));
    err = (nas_err){0};
    labels[1] = INFINITY;
    assert_int_equal(nas_corpus_add(corpus, 0, &text, labels, &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "'depth' is infinite"));
    nas_corpus_free(corpus);
}

/* ---- structure ---- */

static void test_structure(void **state)
{
    static const char *const line =
        "|nor_conv_3x3~0|+|none~0|nor_conv_1x1~1|+|skip_connect~0|none~1|avg_pool_3x3~2|";
    double label[NAS_STRUCTURE_COUNT];
    nas_err err = {0};
    nas_arch a;
    (void)state;
    assert_int_equal(nas_space_parse(space, line, &a, &err), NAS_OK);
    nas_graph *graph = nas_space_build(space, &a, space->tasks);
    assert_int_equal(nas_structure_of(graph, label, &err), NAS_OK);
    nas_graph_free(graph);
    /* 15 cells of two paths, with 2 and 0 convolutions; between them 2 residual blocks of two paths
     * with 2 and 1; the stem has one */
    assert_true(label[NAS_STRUCTURE_DEPTH] == 1 + 15 * 2 + 2 * 2);
    assert_true(label[NAS_STRUCTURE_DEPTH_LEAST] == 1 + 2);
    assert_true(fabs(label[NAS_STRUCTURE_DEPTH_MEAN] - (1 + 15 + 3)) < 1e-9);
    assert_true(fabs(label[NAS_STRUCTURE_PATHS] - 17) < 1e-4);
    assert_true(label[NAS_STRUCTURE_ACTIVE_CONVS] == 1 + 30 + 6);
    assert_true(label[NAS_STRUCTURE_CONVS] == label[NAS_STRUCTURE_ACTIVE_CONVS]);
}

/* a: one 3x3. The sum has the energies 1 of a and 1 of b (one 1x1 more); behind the pool, 8
 * channels of it stand beside 8 of c, whose energy is 1 and which has two 3x3. */
static void test_signal(void **state)
{
    static const char text[] =
        "<ir_version: 8, opset_import: [\"\" : 17]>\n"
        "net (float[N,8,4,4] x, float[8,8,3,3] v, float[8,8,1,1] w, float[8,8,3,3] u)"
        " => (float[N,16,4,4] y) {\n"
        "  a = Conv <kernel_shape=[3,3],pads=[1,1,1,1]> (x, v)\n"
        "  b = Conv <kernel_shape=[1,1]> (a, w)\n"
        "  s = Add (a, b)\n"
        "  p = MaxPool <kernel_shape=[3,3],pads=[1,1,1,1]> (s)\n"
        "  c = Conv <kernel_shape=[3,3],pads=[1,1,1,1]> (a, u)\n"
        "  y = Concat <axis=1> (p, c)\n"
        "}\n";
    nas_graph *graph;
    nas_signal signal;
    nas_err err = {0};
    (void)state;
    if (nas_onnx_read(text, sizeof text - 1, &graph, &err) != NAS_OK)
        fail_msg("%s", err.text);
    nas_signal_of(nas_graph_flat(graph, &err), &signal);
    nas_graph_free(graph);
    /* shares of the energy: 1/3 each of (3x3 pool), (3x3 1x1 pool), (3x3 3x3) */
    assert_float_equal(signal.energy, 1.5, 1e-12); /* mean of 2 and 1 over channels */
    assert_float_equal(signal.growth, 1, 1e-12);   /* every Conv reads energy 1 */
    assert_float_equal(signal.mean[NAS_SIGNAL_CONV], 5.0 / 3, 1e-12);
    assert_float_equal(signal.mean[NAS_SIGNAL_POINTWISE], 1.0 / 3, 1e-12);
    assert_float_equal(signal.mean[NAS_SIGNAL_SPATIAL], 4.0 / 3, 1e-12);
    assert_float_equal(signal.mean[NAS_SIGNAL_POOL], 2.0 / 3, 1e-12);
    assert_float_equal(signal.variance[NAS_SIGNAL_CONV], 2.0 / 9, 1e-12);
    assert_float_equal(signal.half[NAS_SIGNAL_POOL], -log2((0.5 + 0.5 + 1) / 3), 1e-12);
    assert_float_equal(signal.tenth[NAS_SIGNAL_SPATIAL], -log10((0.1 + 0.1 + 0.01) / 3), 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learns),        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_samples_agree), cmocka_unit_test(test_save_load),
        cmocka_unit_test(test_begins_anew),   cmocka_unit_test(test_extend),
        cmocka_unit_test(test_predictor),     cmocka_unit_test(test_refuses_files),
        cmocka_unit_test(test_refuses_texts), cmocka_unit_test(test_structure),
        cmocka_unit_test(test_signal),        cmocka_unit_test(test_behind_the_first),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
