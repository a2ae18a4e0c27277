/* Export of every space: same bytes twice, the bytes that protobuf-c packs, the prompt as a part of
 * the compact file, weights, names, sizes. */
#include "check.h"
#include "onnx.pb-c.h"
#include "onnx/export.h"
#include "onnx/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EACH = 20 };

static void for_each(void (*check)(const nas_space *, const nas_arch *, const nas_task *))
{
    for (int s = 0; s < nas_space_count(); s++) {
        const nas_space *space = nas_spaces[s];
        nas_rng rng = nas_rng_seed((uint64_t)s);
        for (int i = 0; i < EACH && space->build; i++) {
            nas_arch arch;
            nas_space_sample(space, &rng, &arch);
            check(space, &arch, &space->tasks[i % space->n_tasks]);
        }
    }
}

static nas_bytes export(const nas_space *space, const nas_arch *arch, const nas_task *task,
                        nas_form form, nas_weights weights, uint64_t seed)
{
    nas_bytes out = {0};
    nas_err err = {0};
    nas_status status =
        nas_export(space, arch, task, (nas_export_how){form, weights, seed}, &out, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, NAS_OK);
    return out;
}

static void check_stable(const nas_space *space, const nas_arch *arch, const nas_task *task)
{
    for (int form = 0; form < NAS_FORM_COUNT; form++) {
        nas_bytes a = export(space, arch, task, (nas_form)form, NAS_WEIGHTS_NONE, 1);
        nas_bytes b = export(space, arch, task, (nas_form)form, NAS_WEIGHTS_NONE, 2);
        assert_int_equal(a.size, b.size);
        assert_memory_equal(a.data, b.data, a.size);
        assert_true(a.size > 100);
        nas_bytes_clear(&a);
        nas_bytes_clear(&b);
    }
}

static void test_stable(void **state)
{
    (void)state;
    for_each(check_stable);
}

static void check_packed(const nas_space *space, const nas_arch *arch, const nas_task *task)
{
    nas_bytes a = export(space, arch, task, NAS_FORM_ONNX, NAS_WEIGHTS_NONE, 0);
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, a.size, (const uint8_t *)a.data);
    assert_non_null(m);
    assert_int_equal(onnx__model_proto__get_packed_size(m), a.size);
    uint8_t *again = nas_alloc(a.size);
    onnx__model_proto__pack(m, again);
    assert_memory_equal(again, a.data, a.size);
    assert_int_equal(m->ir_version, 8);
    assert_int_equal(m->n_opset_import, 1);
    assert_int_equal(m->opset_import[0]->version, 17);
    assert_int_equal(m->n_metadata_props, 4);
    assert_string_equal(m->metadata_props[0]->value, space->name);
    for (size_t i = 0; i < m->graph->n_initializer; i++)
        for (size_t k = 0; k < m->graph->n_input; k++)
            assert_string_not_equal(m->graph->initializer[i]->name, m->graph->input[k]->name);
    assert_int_equal(m->graph->n_value_info, m->graph->n_node - 1);
    free(again);
    onnx__model_proto__free_unpacked(m, NULL);
    nas_bytes_clear(&a);
}

/* Fields that the writer packed by themselves stand where protobuf-c has them: it reads the file
 * and packs the same bytes again. */
static void test_packed(void **state)
{
    (void)state;
    for_each(check_packed);
}

static void check_prompt(const nas_space *space, const nas_arch *arch, const nas_task *task)
{
    nas_bytes whole = export(space, arch, task, NAS_FORM_COMPACT, NAS_WEIGHTS_NONE, 0), part = {0};
    nas_graph *g = nas_space_build(space, arch, task);
    assert_int_equal(nas_export_prompt(g, space->name, task->name, &part, NULL), NAS_OK);
    char *line = strchr(part.data, '\n');
    assert_int_equal(line - part.data, strlen(space->name) + 1 + strlen(task->name));
    for (char *at = line + 1, *next; *at; at = next) { /* every function stands in the file */
        next = strstr(at, "\n}\n") + 3;
        char keep = *next;
        *next = '\0';
        assert_non_null(strstr(whole.data, at));
        *next = keep;
    }
    assert_true(part.size < whole.size / 2);
    nas_graph_free(g);
    nas_bytes_clear(&part);
    nas_bytes_clear(&whole);
}

static void test_prompt(void **state)
{
    (void)state;
    for_each(check_prompt);
}

static int by_size(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Half of a space's networks are read by the surrogate in at most so many bytes. */
static size_t median_prompt(const nas_space *space)
{
    enum { MANY = 101 };
    size_t size[MANY];
    nas_rng rng = nas_rng_seed(0);
    nas_bytes out = {0};
    for (int i = 0; i < MANY; i++) {
        const nas_task *task = &space->tasks[i % space->n_tasks];
        nas_arch arch;
        nas_space_sample(space, &rng, &arch);
        nas_graph *g = nas_space_build(space, &arch, task);
        nas_bytes_reset(&out);
        assert_int_equal(nas_export_prompt(g, space->name, task->name, &out, NULL), NAS_OK);
        size[i] = out.size;
        nas_graph_free(g);
    }
    nas_bytes_clear(&out);
    qsort(size, MANY, sizeof *size, by_size);
    return size[MANY / 2];
}

/* What the surrogate reads is short: the cost of reading grows with its square. Inception's blocks
 * are free and have no bound. */
static void test_prompt_short(void **state)
{
    (void)state;
    for (int s = 0; s < nas_space_count(); s++) {
        const char *name = nas_spaces[s]->name;
        bool cell = !strcmp(name, "nb101") || !strcmp(name, "nb201");
        size_t most = cell ? 1200 : 4000, have = median_prompt(nas_spaces[s]);
        if (have >= most && strcmp(name, "inception"))
            fail_msg("%s: median prompt of %zu bytes, not under %zu", name, have, most);
    }
}

/* Members of one class give the same compact text. */
static void check_canonical(const nas_space *space, const nas_arch *arch, const nas_task *task)
{
    nas_arch canonical;
    nas_space_canonical(space, arch, &canonical);
    nas_bytes a = export(space, arch, task, NAS_FORM_COMPACT, NAS_WEIGHTS_NONE, 0);
    nas_bytes b = export(space, &canonical, task, NAS_FORM_COMPACT, NAS_WEIGHTS_NONE, 0);
    assert_string_equal(a.data, b.data);
    nas_bytes_clear(&a);
    nas_bytes_clear(&b);
}

static void test_canonical(void **state)
{
    (void)state;
    for_each(check_canonical);
}

static void test_letters(void **state)
{
    (void)state;
    nas_graph *g = nas_graph_new("long_chain");
    nas_body main = nas_graph_main(g);
    int x = nas_graph_input(g, &(nas_shape){2, {0, 4}});
    for (int i = 0; i < 700; i++)
        x = nas_body_op(main, NAS_OP_RELU, &x, 1, NULL);
    nas_body_return(main, x);
    nas_bytes out = {0};
    assert_int_equal(
        nas_export_graph(g, NULL, (nas_export_how){.form = NAS_FORM_COMPACT}, &out, NULL), NAS_OK);
    assert_non_null(strstr(out.data, "  a = Relu (x)\n"));
    assert_non_null(strstr(out.data, "  z = Relu (w)\n  aa = Relu (z)\n  ab = Relu (aa)\n"));
    assert_non_null(strstr(out.data, "  zz = Relu (zw)\n  aaa = Relu (zz)\n"));
    assert_null(strstr(out.data, " x = "));
    nas_bytes_clear(&out);
    nas_graph_free(g);
}

/* A function that returns what it is given. */
static void test_identity(void **state)
{
    (void)state;
    nas_graph *g = nas_graph_new("net");
    nas_body main = nas_graph_main(g), own;
    int x = nas_graph_input(g, &(nas_shape){2, {0, 4}});
    if (nas_graph_function(g, "pass", 2, NULL, 0, false, &own))
        nas_body_return(own, 1);
    x = nas_body_call(main, "pass", (int[]){x, x}, 2, NULL);
    nas_body_return(main, nas_body_op(main, NAS_OP_RELU, &x, 1, NULL));
    nas_bytes out = {0};
    assert_int_equal(
        nas_export_graph(g, NULL, (nas_export_how){.form = NAS_FORM_COMPACT}, &out, NULL), NAS_OK);
    assert_non_null(strstr(out.data, "pass (x0, x1) => (y) {\n  y = Identity (x1)\n}\n"));
    nas_bytes_clear(&out);
    nas_graph_free(g);
}

static void test_weights(void **state)
{
    (void)state;
    const nas_space *space = nas_space_find("nb201");
    nas_arch arch;
    nas_space_init(space, &arch);
    nas_bytes none = export(space, &arch, &space->tasks[0], NAS_FORM_ONNX, NAS_WEIGHTS_NONE, 0);
    nas_bytes zeros = export(space, &arch, &space->tasks[0], NAS_FORM_ONNX, NAS_WEIGHTS_ZEROS, 0);
    nas_bytes one = export(space, &arch, &space->tasks[0], NAS_FORM_ONNX, NAS_WEIGHTS_RANDOM, 1);
    nas_bytes same = export(space, &arch, &space->tasks[0], NAS_FORM_ONNX, NAS_WEIGHTS_RANDOM, 1);
    nas_bytes two = export(space, &arch, &space->tasks[0], NAS_FORM_ONNX, NAS_WEIGHTS_RANDOM, 2);
    assert_true(none.size < zeros.size && zeros.size == one.size && one.size == two.size);
    assert_memory_equal(one.data, same.data, one.size);
    assert_memory_not_equal(one.data, two.data, one.size);
    nas_graph *g = nas_space_build(space, &arch, &space->tasks[0]);
    const nas_graph *flat = nas_graph_flat(g, NULL);
    nas_bytes w = {0};
    nas_weights_put(flat, 1, 0, NAS_WEIGHTS_SINE, 0, &w); /* conv1: 16 x 3 x 3 x 3 */
    float value[432];
    assert_int_equal(w.size, sizeof value);
    memcpy(value, w.data, sizeof value);
    for (int i = 0; i < 432; i++)
        assert_true(fabs(value[i] - sin(i * i % 9973) / sqrt(27 * 0.5)) < 1e-6);
    nas_bytes_clear(&w);
    nas_graph_free(g);
    nas_bytes *all[] = {&none, &zeros, &one, &same, &two};
    for (int i = 0; i < 5; i++)
        nas_bytes_clear(all[i]);
}

/* Linear layers of about 1 GiB each: two are refused before anything is written. */
static void test_too_large(void **state)
{
    (void)state;
    nas_graph *g = nas_graph_new("wide");
    nas_body main = nas_graph_main(g);
    const int64_t n = 16384;
    int x = nas_graph_input(g, &(nas_shape){2, {0, n}});
    for (int i = 0; i < 2; i++)
        x = nas_body_op(main, NAS_OP_GEMM, &x, 1,
                        (nas_attr[]){{.n = 1, .v = (int64_t[]){1}},
                                     {.n = 2, .v = (int64_t[]){n, n}},
                                     {.n = -1}});
    nas_body_return(main, x);
    nas_bytes out = {0};
    nas_err err = {0};
    nas_export_how how = {NAS_FORM_ONNX, NAS_WEIGHTS_ZEROS, 0};
    assert_int_equal(nas_export_graph(g, NULL, how, &out, &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "2 GiB"));
    assert_int_equal(out.size, 0);
    how.weights = NAS_WEIGHTS_NONE;
    assert_int_equal(nas_export_graph(g, NULL, how, &out, NULL), NAS_OK);
    nas_bytes_clear(&out);
    nas_graph_free(g);
}

static void test_float(void **state)
{
    (void)state;
    const struct {
        float f;
        const char *text;
    } list[] = {{0, "0.0"},
                {1, "1.0"},
                {-2, "-2.0"},
                {1e-5f, "1e-05"},
                {0.5f, "0.5"},
                {0.1f, "0.1"},
                {1e20f, "1e+20"},
                {1.0f / 6, "0.16666667"},
                {16777216, "16777216.0"}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        nas_bytes out = {0};
        nas_put_float(&out, list[i].f);
        assert_true(strtof(out.data, NULL) == list[i].f);
        assert_true(strpbrk(out.data, ".e") != NULL);
        if (i < 8)
            assert_string_equal(out.data, list[i].text);
        nas_bytes_clear(&out);
    }
}

/* 5,000 nodes with long edges are drawn without delay, and every node is there. */
static void test_large_drawing(void **state)
{
    (void)state;
    nas_graph *g = nas_graph_new("large");
    nas_body main = nas_graph_main(g);
    int x = nas_graph_input(g, &(nas_shape){2, {0, 4}}), old = x;
    for (int i = 0; i < 2500; i++) {
        int y = nas_body_op(main, NAS_OP_RELU, &x, 1, NULL);
        x = nas_body_op(main, NAS_OP_ADD, (int[]){y, old}, 2, NULL);
        if (i % 5 == 0)
            old = y;
    }
    nas_body_return(main, x);
    nas_bytes out = {0};
    assert_int_equal(nas_export_graph(g, NULL, (nas_export_how){.form = NAS_FORM_SVG}, &out, NULL),
                     NAS_OK);
    int boxes = 0;
    for (const char *at = out.data; (at = strstr(at, "<rect x=")); at++)
        boxes++;
    assert_int_equal(boxes, 5001);
    nas_bytes_clear(&out);
    nas_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stable),        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_prompt),        cmocka_unit_test(test_prompt_short),
        cmocka_unit_test(test_canonical),     cmocka_unit_test(test_letters),
        cmocka_unit_test(test_identity),      cmocka_unit_test(test_weights),
        cmocka_unit_test(test_too_large),     cmocka_unit_test(test_float),
        cmocka_unit_test(test_large_drawing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
