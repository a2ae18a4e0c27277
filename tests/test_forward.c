/* The reference forward pass on cases that can be worked out by hand, and on a file: with the name
 * of an ONNX file, `test_forward FILE WEIGHTS SEED` prints the outputs for the input that
 * forward_input makes (tests/test_ort.py compares them with ONNX Runtime's). */
#include "check.h"
#include "forward.h"
#include "hw/cost.h"
#include "onnx/read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Value i of the input: the same formula in tests/test_ort.py. */
static float *make_input(const nas_graph *flat)
{
    const nas_fn *main = &flat->fn[0];
    int64_t n = 0;
    for (int i = 0; i < main->n_in; i++)
        n += nas_shape_elements(&main->node[i].shape);
    float *x = nas_alloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((i * 7919 % 2003) / 1001.0 - 1);
    return x;
}

static int print_outputs(const char *path, const char *weights, const char *seed)
{
    nas_err err = {0};
    nas_graph *g;
    if (nas_onnx_read_file(path, &g, &err) != NAS_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    const nas_graph *flat = nas_graph_flat(g, NULL);
    nas_weights kind = strcmp(weights, "sine") ? NAS_WEIGHTS_RANDOM : NAS_WEIGHTS_SINE;
    float *x = make_input(flat), *y = forward_run(flat, kind, strtoull(seed, NULL, 10), x);
    int64_t n = nas_shape_elements(&flat->fn[0].node[flat->fn[0].out].shape);
    for (int64_t i = 0; i < n; i++)
        printf("%.9g\n", (double)y[i]);
    free(x);
    free(y);
    nas_graph_free(g);
    return 0;
}

static float *run_text(const char *inits, const char *body, const float *x, int *n)
{
    nas_bytes text = {0};
    nas_err err = {0};
    nas_graph *g;
    nas_bytes_print(&text,
                    "<ir_version: 8, opset_import: [\"\" : 13]>\n"
                    "net (float[N,2,3,3] x) => (float[] y) <%s> {\n%s\n}\n",
                    inits, body);
    nas_onnx_read(text.data, text.size, &g, &err);
    assert_string_equal(err.text, "");
    const nas_graph *flat = nas_graph_flat(g, NULL);
    float *y = forward_run(flat, NAS_WEIGHTS_SINE, 0, x);
    *n = (int)nas_shape_elements(&flat->fn[0].node[flat->fn[0].out].shape);
    nas_graph_free(g);
    nas_bytes_clear(&text);
    return y;
}

static void expect(const char *body, int n, const float *wanted)
{
    static const float x[18] = {1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -2, -3, -4, -5, -6, -7, -8, -9};
    int have;
    float *y = run_text("float[2] none = {1,1}", body, x, &have);
    assert_int_equal(have, n);
    for (int i = 0; i < n; i++)
        if (fabsf(y[i] - wanted[i]) > 1e-5f)
            fail_msg("%s: value %d is %g, not %g", body, i, (double)y[i], (double)wanted[i]);
    free(y);
}

static void test_by_hand(void **state)
{
    (void)state;
    expect("y = GlobalAveragePool(x)", 2, (float[]){5, -5});
    expect("y = GlobalMaxPool(x)", 2, (float[]){9, -1});
    expect("y = AveragePool<kernel_shape=[2,2]>(x)", 8, (float[]){3, 4, 6, 7, -3, -4, -6, -7});
    expect("y = AveragePool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x)", 8,
           (float[]){3, 4, 6, 7, -3, -4, -6, -7});
    expect("y = AveragePool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], "
           "count_include_pad=1>(x)",
           8,
           (float[]){12 / 9.f, 16 / 9.f, 24 / 9.f, 28 / 9.f, -12 / 9.f, -16 / 9.f, -24 / 9.f,
                     -28 / 9.f});
    expect("y = MaxPool<kernel_shape=[2,2], strides=[2,2], ceil_mode=1>(x)", 8,
           (float[]){5, 6, 8, 9, -1, -3, -7, -9});
    expect("a = GlobalAveragePool(x) b = Mul(x, a) y = GlobalMaxPool(b)", 2, (float[]){45, 45});
    expect("a = GlobalAveragePool(x) f = Flatten(a) y = Softmax(f)", 2,
           (float[]){0.9999546f, 4.539787e-05f});
    expect("t = Constant<value_float=2.0>() a = Clip(x, , t) y = GlobalMaxPool(a)", 2,
           (float[]){2, -1});
    expect("a = GlobalAveragePool(x) y = LeakyRelu<alpha=0.5>(a)", 2, (float[]){5, -2.5f});
}

static void test_moves(void **state)
{
    (void)state;
    expect("a = GlobalMaxPool(x) b = Concat<axis=1>(a, a) y = Flatten(b)", 4,
           (float[]){9, -1, 9, -1});
    expect("s = Constant<value_ints=[1]>() e = Constant<value_ints=[3]>() "
           "t = Constant<value_ints=[2]>() a = Slice(x, s, e, t) y = GlobalAveragePool(a)",
           2, (float[]){6.5f, -6.5f});
    expect("a = GlobalMaxPool(x) s = Constant<value_ints=[0,1,2,1,1]>() b = Reshape(a, s) "
           "c = Transpose<perm=[0,2,1,3,4]>(b) y = Flatten(c)",
           2, (float[]){9, -1});
}

/* The cheapest of a few networks of a space. */
static nas_graph *small_network(const nas_space *space)
{
    nas_rng rng = nas_rng_seed(3);
    nas_graph *best = NULL;
    nas_cost cost, least = {0};
    for (int i = 0; i < 20; i++) {
        nas_arch arch;
        nas_space_sample(space, &rng, &arch);
        nas_graph *g = nas_space_build(space, &arch, &space->tasks[0]);
        assert_int_equal(nas_cost_of(g, &cost, NULL), NAS_OK);
        bool better = !best || cost.macs < least.macs;
        nas_graph_free(better ? best : g);
        best = better ? g : best;
        least = better ? cost : least;
    }
    return best;
}

/* Every space's networks give finite outputs that are not all zero. */
static void test_spaces(void **state)
{
    (void)state;
    for (int s = 0; s < nas_space_count(); s++) {
        nas_graph *g = small_network(nas_spaces[s]);
        const nas_graph *flat = nas_graph_flat(g, NULL);
        const nas_shape *out = &flat->fn[0].node[flat->fn[0].out].shape;
        float *x = make_input(flat), *y = forward_run(flat, NAS_WEIGHTS_SINE, 0, x), most = 0;
        for (int64_t i = 0; i < nas_shape_elements(out); i++) {
            assert_true(isfinite(y[i]));
            most = fmaxf(most, fabsf(y[i]));
        }
        if (most == 0)
            fail_msg("%s: all outputs are zero", nas_spaces[s]->name);
        free(x);
        free(y);
        nas_graph_free(g);
    }
}

/* The largest output of a random network on images of 8 x 8, with random weights. */
static double random_output(const nas_space *space, nas_rng *rng)
{
    nas_arch arch;
    nas_task small = space->tasks[0];
    small.width = small.height = 8;
    nas_space_sample(space, rng, &arch);
    nas_graph *g = nas_space_build(space, &arch, &small);
    const nas_graph *flat = nas_graph_flat(g, NULL);
    float *x = make_input(flat), *y = forward_run(flat, NAS_WEIGHTS_RANDOM, 0, x);
    double most = 0;
    for (int i = 0; i < small.classes; i++)
        most = fmax(most, isnan(y[i]) ? INFINITY : fabs(y[i]));
    free(x);
    free(y);
    nas_graph_free(g);
    return most;
}

/* Random weights neither let values grow nor vanish in deep networks. */
static void test_random_range(void **state)
{
    (void)state;
    static const char *const deep[] = {"nasnet-fix", "amoeba-fix", "fbnet"};
    for (int s = 0; s < 3; s++) {
        nas_rng rng = nas_rng_seed(11);
        for (int i = 0; i < 3; i++) {
            double most = random_output(nas_space_find(deep[s]), &rng);
            if (!(most > 1e-3 && most < 1e5))
                fail_msg("%s, network %d: largest output %g", deep[s], i, most);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc == 4)
        return print_outputs(argv[1], argv[2], argv[3]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_random_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
