/* surrogate/kernel, model: every CPU path against plain C, every gradient against differences, and
 * the same bits for any batch and number of threads. */
#include "spaces/base/mem.h"
#include "surrogate/model_tape.h"

#include "tests/check.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static float *normals(nas_rng *rng, size_t count)
{
    float *x = nas_alloc(count * sizeof *x);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)nas_rng_normal(rng);
    return x;
}

static double distance(const float *a, const float *b, size_t count)
{
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(isfinite(a[i]));
        worst = fmax(worst, fabs((double)a[i] - b[i]));
    }
    return worst;
}

/* ---- CPU paths ---- */

/* bf16 paths round inputs to 8 bits: an error of 2^-8 of the typical product, k summed. */
static double product_tolerance(const nas_kernels *kernels, size_t k)
{
    return (strstr(kernels->name, "bf16") ? 3e-2 : 2e-6) * sqrt((double)k) + 1e-6;
}

static void check_product(const nas_kernels *kernels, const nas_product *product, double tolerance,
                          size_t m, size_t n, size_t k, bool turned)
{
    nas_rng rng = nas_rng_seed(m * 100 + n * 10 + k);
    float *a = normals(&rng, m * k), *b = normals(&rng, k * n), *c = normals(&rng, m * n);
    float *want = nas_alloc(m * n * sizeof *want);
    nas_view va = turned ? (nas_view){a, 1, m} : (nas_view){a, k, 1};
    nas_view vb = turned ? (nas_view){b, 1, k} : (nas_view){b, n, 1};
    nas_packed mine = {0}, plain = {0};
    nas_packed_fill(&mine, product, k, n, vb);
    nas_packed_fill(&plain, nas_kernels_generic.exact, k, n, vb);
    memcpy(want, c, m * n * sizeof *c);
    for (int add = 1; add >= 0; add--) {
        nas_linear(m, va, &mine, c, n, (nas_finish){.add = add});
        nas_linear(m, va, &plain, want, n, (nas_finish){.add = add});
        if (distance(c, want, m * n) > tolerance)
            fail_msg("%s: product (%zu,%zu,%zu) is off by %g", kernels->name, m, n, k,
                     distance(c, want, m * n));
    }
    nas_packed_clear(&mine);
    nas_packed_clear(&plain);
    free(a);
    free(b);
    free(c);
    free(want);
}

/* On B as it lies in memory: the same bits, whatever lies between its rows. */
static void check_plain_product(const nas_kernels *kernels, size_t m, size_t panels, size_t k)
{
    const nas_product *exact = kernels->exact;
    size_t n = panels * exact->panel, ldb = n + 3;
    nas_rng rng = nas_rng_seed(m + k);
    float *a = normals(&rng, m * k), *b = normals(&rng, k * ldb), *c = normals(&rng, m * n);
    float *want = nas_alloc(m * n * sizeof *want);
    float *packed = nas_alloc_lines(exact->size(k, n) * sizeof *packed);
    memcpy(want, c, m * n * sizeof *c);
    exact->pack(k, n, (nas_view){b, ldb, 1}, packed);
    for (int add = 1; add >= 0; add--) {
        nas_finish finish = {.add = add, .bias = b};
        exact->run(m, n, k, (nas_view){a, 1, m}, packed, want, n, finish);
        exact->run_plain(m, n, k, (nas_view){a, 1, m}, b, ldb, c, n, finish);
        assert_memory_equal(c, want, m * n * sizeof *c);
    }
    free(a), free(b), free(c), free(want), free(packed);
}

static void check_rows(const nas_kernels *kernels, size_t n)
{
    nas_rng rng = nas_rng_seed(n);
    const nas_kernels *plain = &nas_kernels_generic;
    float *x = normals(&rng, n), *w = normals(&rng, n), *b = normals(&rng, n);
    float *y = normals(&rng, 2 * n), *z = y + n, stat[4];
    memcpy(y, x, n * sizeof *y);
    memcpy(z, x, n * sizeof *z);
    assert_true(fabsf(kernels->rows->softmax(y, n, 9) - plain->rows->softmax(z, n, 9)) < 1e-5);
    assert_true(distance(y, z, n) < 1e-6);
    memcpy(y, x, n * sizeof *y);
    memcpy(z, x, n * sizeof *z);
    kernels->rows->softmax_again(y, n, 2, 30);
    plain->rows->softmax_again(z, n, 2, 30);
    assert_true(distance(y, z, n) < 1e-9);
    kernels->rows->norm(x, w, b, n, y, stat);
    plain->rows->norm(x, w, b, n, z, stat + 2);
    assert_true(distance(y, z, n) < 1e-5 * (1 + fabs((double)stat[1])) &&
                fabsf(stat[0] - stat[2]) < 1e-5 && fabsf(stat[1] / stat[3] - 1) < 1e-5);
    memcpy(z, y, n * sizeof *y);
    kernels->rows->norm_back(x, w, b, stat, n, y);
    plain->rows->norm_back(x, w, b, stat, n, z);
    assert_true(distance(y, z, n) < 1e-5 * (1 + fabs((double)stat[1])));
    memcpy(z, y, n * sizeof *y);
    kernels->rows->add_scaled(y, 0.3f, w, n);
    plain->rows->add_scaled(z, 0.3f, w, n);
    assert_true(distance(y, z, n) < 1e-5 * (1 + fabs((double)stat[1])));
    assert_true(fabsf(kernels->rows->dot(x, w, n) - plain->rows->dot(x, w, n)) < 1e-5f * (float)n);
    free(x);
    free(w);
    free(b);
    free(y);
}

static void test_paths(void **state)
{
    (void)state;
    const size_t sizes[][3] = {{1, 1, 1},    {7, 5, 3},      {6, 16, 64},   {97, 257, 300},
                               {13, 33, 17}, {200, 40, 513}, {28, 64, 1025}};
    int tried = 0;
    for (size_t i = 0; nas_kernels_list[i]; i++) {
        const nas_kernels *kernels = nas_kernels_list[i];
        if (!kernels->available())
            continue;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int turned = 0; turned < 2; turned++) {
                const size_t *z = sizes[s];
                check_product(kernels, kernels->exact, 2e-6 * (double)z[2] + 1e-6, z[0], z[1], z[2],
                              turned);
                check_product(kernels, kernels->linear, product_tolerance(kernels, z[2]), z[0],
                              z[1], z[2], turned);
            }
        for (size_t n = 1; n < 70; n += n < 20 ? 1 : 7)
            check_rows(kernels, n);
        for (size_t m = 1; m < 120; m += 13)
            check_plain_product(kernels, m, 1 + m % 4, 3 * m);
        tried++;
    }
    assert_true(tried >= 1);
}

static void test_tiny_numbers(void **state)
{
    (void)state;
#if defined(__SSE__)
    volatile float small = 1e-38f, tenth = 0.1f;
    assert_true(small * tenth > 0);
    unsigned before = nas_tiny_flush();
    volatile float product = small * tenth;
    nas_tiny_keep(before);
    assert_true(product == 0);
    assert_true(small * tenth > 0);
#else
    skip();
#endif
}

static void test_choice(void **state)
{
    (void)state;
    nas_err err = {0};
    assert_ptr_equal(nas_kernels_find("generic", &err), &nas_kernels_generic);
    assert_null(nas_kernels_find("avx", &err));
    assert_int_equal(err.code, NAS_USAGE);
    assert_non_null(strstr(err.text, "avx2"));
    for (size_t i = 0; nas_kernels_list[i]; i++) {
        err = (nas_err){0};
        const nas_kernels *k = nas_kernels_find(nas_kernels_list[i]->name, &err);
        assert_true(k ? k == nas_kernels_list[i] : err.code == NAS_USAGE);
    }
}

/* A row has the same bits alone, in a batch, and wherever it lies. */
static void test_rows_do_not_matter(void **state)
{
    (void)state;
    enum { M = 211, N = 77, K = 300 };
    nas_rng rng = nas_rng_seed(3);
    float *a = normals(&rng, M * K), *b = normals(&rng, K * N);
    float *c = nas_alloc(M * N * sizeof *c), *one = nas_alloc(N * sizeof *one);
    for (size_t i = 0; nas_kernels_list[i]; i++) {
        if (!nas_kernels_list[i]->available())
            continue;
        nas_packed packed = {0};
        nas_packed_fill(&packed, nas_kernels_list[i]->linear, K, N, (nas_view){b, N, 1});
        nas_linear(M, (nas_view){a, K, 1}, &packed, c, N, (nas_finish){0});
        for (size_t row = 0; row < M; row++) {
            nas_linear(1, (nas_view){a + row * K, K, 1}, &packed, one, N, (nas_finish){0});
            assert_memory_equal(one, c + row * N, N * sizeof *one);
        }
        nas_packed_clear(&packed);
    }
    free(a);
    free(b);
    free(c);
    free(one);
}

/* ---- a small model with odd sizes ---- */

static const nas_model_config odd = {.d = 18,
                                     .encoder_layers = 2,
                                     .decoder_layers = 2,
                                     .heads = 3,
                                     .ffn = 23,
                                     .encoder_vocab = 13,
                                     .decoder_vocab = 9,
                                     .max_input = 70};
static const size_t in_at[] = {0, 1, 68, 73}, out_at[] = {0, 3, 4, 9};

enum { EXAMPLES = 3, INPUTS = 73, OUTPUTS = 9 };

typedef struct {
    nas_model *model;
    int32_t tokens[INPUTS], shifted[OUTPUTS], target[OUTPUTS];
    nas_batch batch;
} odd_case;

/* Biases are drawn too. */
static nas_model *odd_model(size_t decoder_vocab, nas_rng *draw)
{
    nas_rng rng = nas_rng_seed(11);
    nas_err err = {0};
    nas_model_config sizes = odd;
    sizes.decoder_vocab = decoder_vocab;
    nas_model *model = nas_model_new(&sizes, &rng, &err);
    assert_non_null(model);
    for (size_t i = 0; i < model->tensors.count; i++)
        model->weights[i] += 0.1f * (float)nas_rng_normal(draw);
    nas_model_pack(model, true);
    return model;
}

static void odd_new(odd_case *c)
{
    nas_rng rng = nas_rng_seed(11), draw = nas_rng_child(&rng, "draw", 0);
    c->model = odd_model(odd.decoder_vocab, &draw);
    for (size_t i = 0; i < INPUTS; i++)
        c->tokens[i] = (int32_t)nas_rng_below(&draw, odd.encoder_vocab);
    for (size_t i = 0; i < OUTPUTS; i++) {
        c->shifted[i] = (int32_t)nas_rng_below(&draw, odd.decoder_vocab);
        c->target[i] = i % 4 == 1 ? 0 : 1 + (int32_t)nas_rng_below(&draw, odd.decoder_vocab - 1);
    }
    c->batch = (nas_batch){.input = {EXAMPLES, in_at},
                           .output = {EXAMPLES, out_at},
                           .tokens = c->tokens,
                           .shifted = c->shifted,
                           .target = c->target};
}

static double mean_loss(odd_case *c, nas_tape *tape)
{
    float loss[EXAMPLES];
    nas_tape_forward(tape, &c->batch);
    nas_tape_loss(tape, &c->batch, loss, NULL);
    return ((double)loss[0] + loss[1] + loss[2]) / 3;
}

/* Along a random direction in each tensor of that part, the slope of the loss is the gradient's.
 * The step is small because the loss has kinks (relu), which leaves float noise of about 5e-4. */
static void check_gradients(odd_case *c, nas_tape *tape, double loss_of(odd_case *, nas_tape *),
                            const char *part)
{
    float *grad = nas_zalloc(c->model->tensors.count, sizeof *grad);
    loss_of(c, tape);
    nas_tape_back(tape, &c->batch, 1 / (float)EXAMPLES, grad);
    nas_rng rng = nas_rng_seed(5);
    for (size_t i = 0; i < c->model->tensors.n; i++) {
        const nas_tensor *t = &c->model->tensors.tensor[i];
        if (!strstr(t->name, part))
            continue;
        float *direction = normals(&rng, t->count), *w = c->model->weights + t->at;
        float *kept = nas_alloc(t->count * sizeof *kept);
        memcpy(kept, w, t->count * sizeof *kept);
        double along = 0, slope = 0, step = 4e-4, length = 0;
        for (size_t j = 0; j < t->count; j++) {
            along += (double)grad[t->at + j] * direction[j];
            length += (double)grad[t->at + j] * grad[t->at + j];
        }
        for (int sign = 1; sign >= -1; sign -= 2) {
            for (size_t j = 0; j < t->count; j++)
                w[j] = kept[j] + (float)(sign * step) * direction[j];
            nas_model_pack(c->model, false);
            slope += sign * loss_of(c, tape) / (2 * step);
        }
        memcpy(w, kept, t->count * sizeof *kept);
        nas_model_pack(c->model, false);
        if (fabs(slope - along) > 0.01 * sqrt(length) + 1e-3)
            fail_msg("%s: slope %g, gradient %g", t->name, slope, along);
        free(direction);
        free(kept);
    }
    free(grad);
    nas_tape_free(tape);
    nas_model_free(c->model);
}

static void test_gradients(void **state)
{
    (void)state;
    odd_case c;
    odd_new(&c);
    check_gradients(&c, nas_tape_new(c.model, true), mean_loss, "");
}

/* ---- the ranking loss ---- */

static const nas_ranking ranking = {
    .weight = 0.5f, .temperature = 2, .plus = 1, .one = 2, .digit = 3, .digits = 1};

static double ranked_loss(odd_case *c, nas_tape *tape)
{
    double loss = mean_loss(c, tape);
    return loss + (double)ranking.weight * nas_tape_rank_loss(tape, &c->batch);
}

/* Four numbers "+ one digit" behind the tokens of their metrics: of 13: 4, 6, 6; of 14: 1. */
static void test_ranking(void **state)
{
    (void)state;
    static const size_t ends[] = {0, 8, 12, 16};
    static int32_t target[] = {13, 1, 2, 7, 14, 1, 2, 4, 13, 1, 2, 9, 13, 1, 2, 9}, shifted[16];
    for (int i = 0; i < 16; i++)
        shifted[i] = i % 4 || i == 4 ? target[i - 1] : 0;
    nas_rng draw = nas_rng_seed(7);
    odd_case c;
    odd_new(&c);
    nas_model_free(c.model);
    c.model = odd_model(15, &draw);
    c.batch.output = (nas_spans){EXAMPLES, ends};
    c.batch.target = target;
    c.batch.shifted = shifted;
    nas_tape *tape = nas_tape_new(c.model, true);
    nas_tape_rank(tape, &ranking);
    nas_tape_forward(tape, &c.batch);
    /* the loss by its definition: two pairs, 4 below each 6; equal ones make none */
    double expected[4], loss = 0;
    for (int k = 0; k < 4; k++) {
        const float *z = nas_tape_logits(tape) + (4 * k + 3) * 15 + 3;
        double sum = 0, mean = 0;
        for (int d = 0; d < 10; d++) {
            sum += exp((double)z[d]);
            mean += d * exp((double)z[d]);
        }
        expected[k] = mean / sum;
    }
    for (int k = 2; k < 4; k++)
        loss += log1p(exp(-(expected[k] - expected[0]) / 2)) / 2;
    assert_float_equal(nas_tape_rank_loss(tape, &c.batch), loss, 1e-5);
    check_gradients(&c, tape, ranked_loss, "generator."); /* all else follows from the logits */
}

/* The rows of one example do not depend on its companions, the threads, or what a tape remembers.
 */
static void test_same_bits(void **state)
{
    (void)state;
    odd_case c;
    odd_new(&c);
    nas_tape *tape = nas_tape_new(c.model, true), *other = nas_tape_new(c.model, false);
    size_t count = c.model->tensors.count, vocab = odd.decoder_vocab;
    float *grad = nas_zalloc(2 * count, sizeof *grad);
    int threads = omp_get_max_threads();
    nas_tape_forward(tape, &c.batch);
    float logits[OUTPUTS * 9];
    memcpy(logits, nas_tape_logits(tape), sizeof logits);
    nas_tape_back(tape, &c.batch, 1, grad);
    omp_set_num_threads(3);
    nas_tape_forward(tape, &c.batch);
    assert_memory_equal(logits, nas_tape_logits(tape), sizeof logits);
    nas_tape_back(tape, &c.batch, 1, grad + count);
    assert_memory_equal(grad, grad + count, count * sizeof *grad);
    omp_set_num_threads(1);
    for (size_t e = 0; e < EXAMPLES; e++) {
        size_t ins[] = {0, in_at[e + 1] - in_at[e]}, outs[] = {0, out_at[e + 1] - out_at[e]};
        nas_batch one = {.input = {1, ins},
                         .output = {1, outs},
                         .tokens = c.tokens + in_at[e],
                         .shifted = c.shifted + out_at[e],
                         .target = c.target + out_at[e]};
        nas_tape_forward(other, &one);
        assert_memory_equal(logits + out_at[e] * vocab, nas_tape_logits(other),
                            outs[1] * vocab * sizeof *logits);
    }
    omp_set_num_threads(threads);
    free(grad);
    nas_tape_free(tape);
    nas_tape_free(other);
    nas_model_free(c.model);
}

/* ---- files ---- */

static void test_save_and_load(void **state)
{
    (void)state;
    odd_case c;
    odd_new(&c);
    char path[] = "/tmp/naslm-model-XXXXXX";
    close(mkstemp(path));
    nas_err err = {0};
    nas_model_set_meta(c.model, "vocabulary", "a\nb");
    assert_int_equal(nas_model_save(c.model, path, &err), NAS_OK);
    nas_model *m = nas_model_load(path, &err);
    assert_non_null(m);
    assert_memory_equal(&m->config, &odd, sizeof odd);
    assert_int_equal(m->tensors.count, c.model->tensors.count);
    assert_memory_equal(m->weights, c.model->weights, m->tensors.count * sizeof *m->weights);
    assert_string_equal(nas_model_meta(m, "vocabulary"), "a\nb");
    assert_null(nas_model_meta(m, "nothing"));
    nas_model_free(m);
    /* heads that do not divide the width, a missing tensor */
    nas_tensor_block none = {"other.", c.model->weights};
    assert_int_equal(nas_tensors_save(&c.model->tensors, path, &none, 1, NULL, &err), NAS_OK);
    assert_null(nas_model_load(path, &err));
    assert_non_null(strstr(err.text, "no regression language model"));
    err = (nas_err){0};
    nas_tensor_block right = {"encoder_decoder.", c.model->weights};
    assert_int_equal(nas_tensors_save(&c.model->tensors, path, &right, 1, NULL, &err), NAS_OK);
    assert_null(nas_model_load(path, &err));
    assert_non_null(strstr(err.text, "8 heads"));
    err = (nas_err){0};
    c.model->tensors.n--;
    assert_int_equal(nas_model_save(c.model, path, &err), NAS_OK);
    assert_null(nas_model_load(path, &err));
    assert_non_null(strstr(err.text, "'encoder_decoder.generator.bias' is missing"));
    unlink(path);
    nas_model_free(c.model);
    nas_model_config bad = odd;
    bad.d = 15;
    err = (nas_err){0};
    nas_rng rng = nas_rng_seed(1);
    assert_null(nas_model_new(&bad, &rng, &err));
    assert_int_equal(err.code, NAS_USAGE);
}

int main(void)
{
    size_t f32 = 0; /* differences need f32 */
    while (nas_kernels_list[f32]->linear != nas_kernels_list[f32]->exact ||
           !nas_kernels_list[f32]->available())
        f32++;
    setenv("NASLM_CPU", nas_kernels_list[f32]->name, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_tiny_numbers), cmocka_unit_test(test_rows_do_not_matter),
        cmocka_unit_test(test_gradients),    cmocka_unit_test(test_ranking),
        cmocka_unit_test(test_same_bits),    cmocka_unit_test(test_save_and_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
