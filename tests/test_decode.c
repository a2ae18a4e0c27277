/* surrogate/decode: stepping with remembered keys says what the whole forward pass says. */
#include "spaces/base/mem.h"
#include "surrogate/decode.h"

#include "tests/check.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 4, ROWS = 98, LENGTH = 7, VOCAB = 11 };
static const size_t in_at[] = {0, 1, 70, 75, ROWS}, out_at[] = {0, 7, 14, 21, 28};

static const nas_model_config config = {.d = 24,
                                        .encoder_layers = 1,
                                        .decoder_layers = 2,
                                        .heads = 4,
                                        .ffn = 40,
                                        .encoder_vocab = 17,
                                        .decoder_vocab = VOCAB,
                                        .max_input = 70};

static nas_model *model_new(int32_t tokens[ROWS], int32_t shifted[INPUTS * LENGTH])
{
    nas_rng rng = nas_rng_seed(4), draw = nas_rng_child(&rng, "tokens", 0);
    nas_err err = {0};
    nas_model *model = nas_model_new(&config, &rng, &err);
    assert_non_null(model);
    for (size_t i = 0; i < ROWS; i++)
        tokens[i] = (int32_t)nas_rng_below(&draw, 17);
    for (size_t i = 0; i < INPUTS * LENGTH; i++)
        shifted[i] = i % LENGTH ? 1 + (int32_t)nas_rng_below(&draw, VOCAB - 1) : 0;
    return model;
}

/* logits (INPUTS * LENGTH, VOCAB), one step a position for all inputs. */
static void step_all(nas_decoder *d, const int32_t *shifted, float *logits)
{
    const float *z = nas_decoder_first(d);
    for (size_t t = 0; t < LENGTH; t++) {
        for (size_t e = 0; e < INPUTS; e++)
            memcpy(logits + (e * LENGTH + t) * VOCAB, z + e * VOCAB, VOCAB * sizeof *z);
        int32_t prefix[INPUTS], token[INPUTS];
        for (size_t e = 0; e < INPUTS; e++) {
            prefix[e] = (int32_t)(t * INPUTS + e);
            token[e] = t + 1 < LENGTH ? shifted[e * LENGTH + t + 1] : 0;
        }
        z = nas_decoder_step(d, INPUTS, prefix, token);
        assert_int_equal(nas_decoder_count(d), (t + 2) * INPUTS);
    }
}

static void test_steps_are_the_forward_pass(void **state)
{
    (void)state;
    int32_t tokens[ROWS], shifted[INPUTS * LENGTH];
    nas_model *model = model_new(tokens, shifted);
    nas_batch batch = {
        .input = {INPUTS, in_at}, .output = {INPUTS, out_at}, .tokens = tokens, .shifted = shifted};
    nas_tape *tape = nas_tape_new(model, false);
    nas_tape_forward(tape, &batch);
    nas_decoder *d = nas_decoder_new(model);
    float logits[INPUTS * LENGTH * VOCAB];
    /* The decoder looks back in f32, the forward pass as its path attends. */
    float tolerance = model->kernels->attend == model->kernels->exact ? 2e-5f : 2e-2f;
    for (int round = 0; round < 2; round++) {
        nas_decoder_start(d, batch.input, tokens);
        step_all(d, shifted, logits);
        for (size_t i = 0; i < INPUTS * LENGTH * VOCAB; i++)
            assert_true(fabsf(logits[i] - nas_tape_logits(tape)[i]) < tolerance);
    }
    nas_decoder_free(d);
    nas_tape_free(tape);
    nas_model_free(model);
}

/* One input alone, all its tokens in one call, in the middle of other branches, other threads. */
static void test_same_bits_in_any_company(void **state)
{
    (void)state;
    int32_t tokens[ROWS], shifted[INPUTS * LENGTH];
    nas_model *model = model_new(tokens, shifted);
    nas_decoder *d = nas_decoder_new(model), *alone = nas_decoder_new(model);
    float logits[INPUTS * LENGTH * VOCAB];
    nas_decoder_start(d, (nas_spans){INPUTS, in_at}, tokens);
    step_all(d, shifted, logits);
    int threads = omp_get_max_threads();
    omp_set_num_threads(3);
    for (size_t e = 0; e < INPUTS; e++) {
        size_t at[] = {0, in_at[e + 1] - in_at[e]};
        nas_decoder_start(alone, (nas_spans){1, at}, tokens + in_at[e]);
        assert_memory_equal(nas_decoder_first(alone), logits + e * LENGTH * VOCAB,
                            VOCAB * sizeof *logits);
        /* decoys, then the real tokens as a chain within one call, decoys between */
        int32_t prefix[2 * LENGTH], token[2 * LENGTH];
        for (int32_t t = 0; t + 1 < LENGTH; t++) {
            prefix[2 * t] = t ? 2 * t : 0;
            token[2 * t] = 1;
            prefix[2 * t + 1] = t ? 2 * t : 0;
            token[2 * t + 1] = shifted[e * LENGTH + (size_t)t + 1];
        }
        size_t n = 2 * (LENGTH - 1);
        const float *z = nas_decoder_step(alone, n, prefix, token);
        for (size_t t = 0; t + 1 < LENGTH; t++)
            assert_memory_equal(z + (2 * t + 1) * VOCAB, logits + (e * LENGTH + t + 1) * VOCAB,
                                VOCAB * sizeof *z);
        /* forget and continue from the same place again */
        nas_decoder_forget(alone, 1);
        z = nas_decoder_step(alone, 1, (int32_t[]){0}, &shifted[e * LENGTH + 1]);
        assert_memory_equal(z, logits + (e * LENGTH + 1) * VOCAB, VOCAB * sizeof *z);
    }
    omp_set_num_threads(threads);
    nas_decoder_free(d);
    nas_decoder_free(alone);
    nas_model_free(model);
}

static void test_one_token(void **state)
{
    (void)state;
    const float logit[8] = {9, 1, 3, 3, 0, 2, 8, -1};
    const nas_token_set legal = {{2, 5}, {5, 6}};
    assert_int_equal(nas_token_best(logit, legal), 2);
    nas_rng rng = nas_rng_seed(1);
    int count[8] = {0}, n = 20000;
    for (int i = 0; i < n; i++)
        count[nas_token_draw(logit, legal, 2, 1, &rng)]++;
    double sum = 0;
    for (int32_t i = 2; i < 6; i++)
        sum += exp(logit[i] / 2.0);
    for (int32_t i = 0; i < 8; i++) {
        double p = nas_token_set_has(legal, i) ? exp(logit[i] / 2.0) / sum : 0;
        assert_true(fabs(count[i] / (double)n - p) <= 4 * sqrt(p * (1 - p) / n));
    }
    /* exp(3) twice, exp(2), 1: half of the mass is in the first two */
    const nas_token_set four = {{2, 0}, {6, 0}};
    memset(count, 0, sizeof count);
    for (int i = 0; i < n; i++)
        count[nas_token_draw(logit, four, 1, 0.5, &rng)]++;
    assert_int_equal(count[2] + count[3], n);
    assert_true(abs(count[2] - n / 2) < 4 * sqrt(n / 4.0));
    for (int i = 0; i < 100; i++)
        assert_int_equal(nas_token_draw(logit, four, 1, 0, &rng), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_the_forward_pass),
        cmocka_unit_test(test_same_bits_in_any_company),
        cmocka_unit_test(test_one_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
