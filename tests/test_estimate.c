/* surrogate/estimate and surrogate/scale: the tree against all leaves, bounds, quantiles, maps. */
#include "spaces/base/mem.h"
#include "spaces/base/rng.h"
#include "surrogate/estimate.h"

#include "tests/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a made-up model: logits are a function of the prefix ---- */

typedef struct {
    nas_number number;
    uint64_t seed;
    double sharpness;
} made_up;

static void logits_of(const made_up *model, const int32_t *prefix, int n, float *logit)
{
    nas_rng rng = nas_rng_seed(model->seed);
    for (int i = 0; i < n; i++)
        rng = nas_rng_child(&rng, "prefix", (uint64_t)prefix[i]);
    for (int32_t t = 0; t < model->number.size; t++)
        logit[t] = (float)(nas_rng_normal(&rng) * model->sharpness);
}

/* Runs a tree over the model; prefixes are rebuilt from parent and token alone. */
static nas_atom *run(nas_tree *tree, const made_up *model, double threshold, int width,
                     const nas_scale *scale, size_t *n_atom)
{
    enum { MOST = 4096 };
    static int32_t prefix[2][MOST][NAS_NUMBER_MAX];
    static float logit[MOST][40];
    const int32_t *parent, *token;
    int n, level = 0;
    nas_tree_start(tree, threshold);
    for (; (n = nas_tree_frontier(tree, &parent, &token)) > 0; level++) {
        assert_true(n <= width && n <= MOST);
        for (int i = 0; i < n; i++) {
            int32_t *p = prefix[level % 2][i];
            if (level > 0) {
                memcpy(p, prefix[1 - level % 2][parent[i]], sizeof prefix[0][0]);
                p[level - 1] = token[i];
                assert_true(i == 0 || parent[i] >= parent[i - 1]);
            }
            logits_of(model, p, level, logit[i]);
        }
        nas_tree_expand(tree, logit[0], 40);
    }
    assert_int_equal(level, model->number.length);
    return nas_tree_atoms(tree, scale, n_atom);
}

/* All numbers of a layout, depth first; those whose sign or exponent is less probable than
 * threshold are left out. */
static void all_numbers(const made_up *model, int32_t *id, int n, double p, double threshold,
                        nas_atom *atom, size_t *count)
{
    if (n == model->number.length) {
        double value;
        assert_true(nas_number_decode(&model->number, id, &value));
        if (isfinite(value))
            atom[(*count)++] = (nas_atom){value, p, value, value};
        return;
    }
    float logit[40];
    double q[40], sum = 0;
    nas_token_set legal = nas_number_legal(&model->number, id, n);
    logits_of(model, id, n, logit);
    for (int32_t t = 0; t < model->number.size; t++) {
        q[t] = nas_token_set_has(legal, t) ? exp(logit[t]) : 0;
        sum += q[t];
    }
    for (int32_t t = 0; t < model->number.size; t++) {
        double next = p * q[t] / sum;
        bool digit = model->number.role[n] == NAS_ROLE_DIGIT;
        id[n] = t;
        if (q[t] > 0 && (digit || next >= threshold))
            all_numbers(model, id, n + 1, next, threshold, atom, count);
    }
}

enum { LEAVES = 100000 };

static void near(double a, double b)
{
    if (fabs(a - b) > 1e-9 * fmax(1, fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static void check_exact(const char *layout, uint64_t seed)
{
    made_up model = {.seed = seed, .sharpness = 1.5};
    assert_int_equal(nas_number_parse(&model.number, layout, NULL), NAS_OK);
    nas_tree *tree = nas_tree_new(&model.number, 4096);
    nas_atom *all = nas_alloc(LEAVES * sizeof *all);
    size_t n = 0, m = 0;
    int32_t id[NAS_NUMBER_MAX];
    all_numbers(&model, id, 0, 1, 0, all, &n);
    nas_atom *atom = run(tree, &model, 0, 4096, NULL, &m);
    assert_int_equal(m, n);
    nas_estimate want = nas_estimate_of(all, n), got = nas_estimate_of(atom, m);
    near(got.mean, want.mean);
    near(got.spread, want.spread);
    near(got.median, want.median);
    near(got.mass, want.mass);
    assert_true(got.error == 0);
    for (double q = 0.05; q < 1; q += 0.0937)
        near(nas_estimate_quantile(atom, m, q), nas_estimate_quantile(all, n, q));
    free(all);
    nas_tree_free(tree);
}

static void test_exact(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        check_exact("SCI(3,2)", seed);
        check_exact("P10(2,3)", seed);
        check_exact("IEEE(10,1,2)", seed);
        check_exact("SCI(2,3)+special", seed);
    }
}

/* With a threshold: the true mean of what was kept lies within the error told, the mass is that of
 * the signs and exponents kept, and the tree stays small. */
static void test_bounded(void **state)
{
    (void)state;
    made_up model = {.sharpness = 2};
    nas_number_parse(&model.number, "SCI(3,4)", NULL);
    nas_tree *tree = nas_tree_new(&model.number, 4096);
    nas_atom *all = nas_alloc(LEAVES * sizeof *all);
    double loosest = 0;
    for (model.seed = 0; model.seed < 60; model.seed++) {
        const double threshold[] = {0.3, 0.03, 0.001, 1e-5};
        for (int k = 0; k < 4; k++) {
            size_t n = 0, m;
            int32_t id[NAS_NUMBER_MAX];
            nas_atom *atom = run(tree, &model, threshold[k], 4096, NULL, &m);
            nas_estimate got = nas_estimate_of(atom, m);
            all_numbers(&model, id, 0, 1, threshold[k], all, &n);
            if (n == 0)
                continue; /* not one exponent reaches it: the tree follows the best alone */
            nas_estimate want = nas_estimate_of(all, n);
            near(got.mass, want.mass);
            assert_true(fabs(got.mean - want.mean) <= got.error * (1 + 1e-9) + 1e-12);
            assert_true(got.mass > 1 - 2 * 9 * threshold[k]);
            assert_true(k < 3 || got.error <= 1e-3 * got.spread);
            loosest = fmax(loosest, got.error);
        }
    }
    assert_true(loosest > 0);
    free(all);
    nas_tree_free(tree);
}

/* A width of one is greedy decoding; a narrow tree never follows more. */
static void test_narrow(void **state)
{
    (void)state;
    made_up model = {.seed = 9, .sharpness = 6};
    nas_number_parse(&model.number, "SCI(4,3)", NULL);
    int32_t id[NAS_NUMBER_MAX];
    float logit[40];
    double greedy;
    for (int i = 0; i < model.number.length; i++) {
        nas_token_set legal = nas_number_legal(&model.number, id, i);
        logits_of(&model, id, i, logit);
        id[i] = legal.first[0];
        for (int32_t t = legal.first[0]; t < legal.end[0]; t++)
            if (logit[t] > logit[id[i]])
                id[i] = t;
    }
    nas_number_decode(&model.number, id, &greedy);
    for (int width = 1; width < 20; width += 6) {
        nas_tree *tree = nas_tree_new(&model.number, width);
        size_t n, best = 0;
        nas_atom *atom = run(tree, &model, 1e-9, width, NULL, &n);
        for (size_t i = 0; i < n; i++)
            if (atom[i].p > atom[best].p)
                best = i;
        assert_true(atom[best].value == greedy);
        nas_tree_free(tree);
    }
}

static void test_samples(void **state)
{
    (void)state;
    nas_atom a[] = {{4, 1, 4, 4}, {1, 1, 1, 1}, {10, 1, 10, 10}, {2, 1, 2, 2}};
    nas_estimate e = nas_estimate_of(a, 4);
    near(e.mean, 4.25);
    near(e.median, 3);
    near(e.spread, sqrt((0.0625 + 10.5625 + 33.0625 + 5.0625) / 4));
    assert_true(e.mass == 4 && e.error == 0);
    near(nas_estimate_quantile(a, 4, 0.7), 4);
    near(nas_estimate_quantile(a, 4, 0), 1);
    near(nas_estimate_quantile(a, 4, 1), 10);
    near(nas_estimate_middle(a, 4), 3);
    near(nas_estimate_of(a, 3).median, 2);
    near(nas_estimate_middle(a, 3), 2);
    assert_true(isnan(nas_estimate_of(a, 0).mean) && isnan(nas_estimate_of(a, 0).median));
}

/* ---- scales ---- */

static void check_scale(const nas_scale *scale, const double *label, size_t n)
{
    assert_true(nas_scale_valid(scale));
    for (size_t i = 0; i < n; i++) {
        double z = nas_scale_apply(scale, label[i]);
        near(nas_scale_invert(scale, z), label[i]);
        if (scale->kind)
            assert_true(z >= 0.5 && z <= 9.5);
        for (size_t k = 0; k < n; k += 7)
            if (label[k] < label[i])
                assert_true(nas_scale_apply(scale, label[k]) < z);
    }
    double past = nas_scale_apply(scale, 1e6), further = nas_scale_apply(scale, 2e6);
    assert_true(past < further);
    near(nas_scale_invert(scale, further), 2e6);
}

static void test_scales(void **state)
{
    (void)state;
    enum { N = 500 };
    double label[N];
    nas_rng rng = nas_rng_seed(4);
    nas_scale scale;
    nas_err err = {0};
    for (int i = 0; i < N; i++) /* skewed as accuracies are */
        label[i] = 95 - exp(nas_rng_normal(&rng) * 1.5);
    const char *kinds[] = {"raw", "affine", "normal"};
    for (int k = 0; k < 3; k++) {
        assert_int_equal(nas_scale_fit(&scale, kinds[k], label, N, &err), NAS_OK);
        assert_string_equal(nas_scale_name(&scale), kinds[k]);
        check_scale(&scale, label, N);
    }
    double sum = 0, square = 0;
    for (int i = 0; i < N; i++) {
        double z = nas_scale_apply(&scale, label[i]);
        sum += z / N;
        square += z * z / N;
    }
    assert_true(fabs(sum - 5) < 0.02);
    assert_true(fabs(sqrt(square - sum * sum) - 1) < 0.03);
}

static void test_scales_of_few(void **state)
{
    (void)state;
    nas_scale scale;
    nas_err err = {0};
    const char *kinds[] = {"affine", "normal"};
    double ties[] = {3, 3, 3, 8, 8, NAN, 3, 3, 1};
    double one[] = {1e9, NAN, 1e9};
    for (int k = 0; k < 2; k++) {
        assert_int_equal(nas_scale_fit(&scale, kinds[k], ties, 9, &err), NAS_OK);
        check_scale(&scale, ties, 5);
        assert_int_equal(nas_scale_fit(&scale, kinds[k], one, 3, &err), NAS_OK);
        check_scale(&scale, one, 1);
        near(nas_scale_apply(&scale, 1e9), 5);
    }
    assert_int_equal(nas_scale_fit(&scale, "affine", one + 1, 1, &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "no label"));
    err = (nas_err){0};
    assert_int_equal(nas_scale_fit(&scale, "affine", (double[]){1, INFINITY}, 2, &err), NAS_FAILED);
    err = (nas_err){0};
    assert_int_equal(nas_scale_fit(&scale, "quantile", one, 3, &err), NAS_USAGE);
    assert_non_null(strstr(err.text, "quantile"));
    assert_int_equal(nas_scale_find("normal"), 2);
    scale = (nas_scale){.kind = 1, .n = 2, .x = {1, 1}, .z = {1, 2}};
    assert_false(nas_scale_valid(&scale));
    scale.x[1] = NAN;
    assert_false(nas_scale_valid(&scale));
    scale = (nas_scale){.kind = 0, .n = 2, .x = {1, 2}, .z = {1, 2}};
    assert_false(nas_scale_valid(&scale));
}

/* An estimate in the metric's unit: the mean of the inverted values, not the inverse of a mean. */
static void test_scaled_tree(void **state)
{
    (void)state;
    made_up model = {.seed = 3, .sharpness = 2};
    nas_number_parse(&model.number, "SCI(2,1)", NULL);
    nas_scale scale = {.kind = 1, .n = 3, .x = {10, 20, 200}, .z = {1, 5, 9}};
    nas_tree *tree = nas_tree_new(&model.number, 4096);
    nas_atom *all = nas_alloc(LEAVES * sizeof *all);
    size_t n = 0, m;
    int32_t id[NAS_NUMBER_MAX];
    all_numbers(&model, id, 0, 1, 0, all, &n);
    double mean = 0;
    for (size_t i = 0; i < n; i++)
        mean += all[i].p * nas_scale_invert(&scale, all[i].value);
    nas_atom *atom = run(tree, &model, 0, 4096, &scale, &m);
    near(nas_estimate_of(atom, m).mean, mean);
    nas_estimate exact = nas_estimate_of(atom, m);
    atom = run(tree, &model, 0.02, 4096, &scale, &m);
    nas_estimate pruned = nas_estimate_of(atom, m);
    assert_true(pruned.error > 0 && fabs(pruned.median - exact.median) < exact.spread);
    free(all);
    nas_tree_free(tree);
}

/* A median that follows small changes, but not what lies far out. */
static void test_middle(void **state)
{
    (void)state;
    nas_atom a[] = {{1, 0.2, 1, 1}, {2, 0.5, 2, 2}, {3, 0.3, 3, 3}};
    near(nas_estimate_middle(a, 3), 2 + (0.5 - 0.45) / (0.85 - 0.45));
    a[2].value = a[2].high = 1000;
    near(nas_estimate_middle(a, 3), 2 + 998 * 0.05 / 0.4);
    a[1].p = 0.6;
    double less = nas_estimate_middle(a, 3);
    a[0].p = 0.25;
    assert_true(nas_estimate_middle(a, 3) < less);
    a[2].value = INFINITY;
    near(nas_estimate_middle(a, 3), 1 + (0.425 - 0.125) / (0.55 - 0.125));
    near(nas_estimate_middle(a + 1, 1), 2);
    assert_true(isnan(nas_estimate_middle(a + 2, 1)) && isnan(nas_estimate_middle(a, 0)));
}

/* Errors that grow as the square root of what was told, which was too much: corrected, nine in ten
 * lie within 1.645 spreads, whether those are small or large. */
static void test_calibration(void **state)
{
    (void)state;
    enum { N = 6000, FEW = NAS_CALIBRATION_LEAST };
    static double error[N], spread[N];
    nas_rng rng = nas_rng_seed(5);
    size_t within[2] = {0, 0}, total[2] = {0, 0};
    for (int i = 0; i < N; i++) {
        spread[i] = exp(2 * nas_rng_normal(&rng));
        error[i] = 0.4 * sqrt(spread[i]) * nas_rng_normal(&rng);
    }
    spread[7] = 0, error[8] = NAN; /* say nothing */
    nas_calibration c = nas_calibration_fit(error, spread, N / 2);
    near(c.slope, -0.5);
    assert_true(fabs(c.offset - log(0.4)) < 0.05 && nas_calibration_valid(&c));
    for (int i = N / 2; i < N; i++) {
        bool wide = spread[i] > 1;
        within[wide] += fabs(error[i]) < 1.645 * nas_calibration_apply(&c, spread[i]);
        total[wide]++;
    }
    for (int k = 0; k < 2; k++)
        assert_true(fabs((double)within[k] / (double)total[k] - 0.9) < 0.02);
    assert_true(nas_calibration_apply(&c, 0) == 0);
    error[0] = 0; /* a perfect estimate is no reason to fail */
    nas_calibration few = nas_calibration_fit(error, spread, FEW + 2), none = {0};
    assert_true(few.offset != 0 && nas_calibration_valid(&few));
    few = nas_calibration_fit(error, spread, FEW + 1);
    assert_memory_equal(&few, &none, sizeof none);
    near(nas_calibration_apply(&none, 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),       cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_narrow),      cmocka_unit_test(test_samples),
        cmocka_unit_test(test_scales),      cmocka_unit_test(test_scales_of_few),
        cmocka_unit_test(test_scaled_tree), cmocka_unit_test(test_calibration),
        cmocka_unit_test(test_middle),
    };
    return cmocka_run_group_tests_name("estimate", tests, NULL, NULL);
}
