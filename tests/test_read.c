/* The reader: what was written comes back, foreign ways to say the same, and refusals that name the
 * node and the tensor. */
#include "check.h"
#include "hw/cost.h"
#include "onnx/export.h"
#include "onnx/model.h"
#include "onnx/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Architectures a space; NASLM_LONG: as many as anybody asks for. */
enum { EACH = 12, EACH_LONG = 200 };

static void same_graph(const nas_graph *a, const nas_graph *b)
{
    const nas_fn *f = &a->fn[0], *h = &b->fn[0];
    assert_string_equal(a->name, b->name);
    assert_int_equal(f->n_node, h->n_node);
    assert_int_equal(f->n_in, h->n_in);
    assert_int_equal(f->out, h->out);
    for (size_t i = 0; i < f->n_node; i++) {
        const nas_node *p = &f->node[i], *q = &h->node[i];
        assert_int_equal(p->op, q->op);
        assert_int_equal(p->n_in, q->n_in);
        for (int k = 0; k < p->n_in; k++)
            assert_int_equal(p->in[k], q->in[k]);
        assert_true(nas_shape_same(&p->shape, &q->shape));
        for (int k = 0; k < nas_ops[p->op].n_attrs; k++) {
            assert_int_equal(p->attr[k].n, q->attr[k].n);
            if (nas_ops[p->op].attrs[k].type == NAS_ATTR_FLOAT)
                assert_true(p->attr[k].f == q->attr[k].f);
            for (int v = 0; v < p->attr[k].n; v++)
                assert_true(p->attr[k].v[v] == q->attr[k].v[v]);
        }
    }
}

/* One graph through one form and back. */
static void check_form(nas_graph *g, nas_form form, nas_weights weights)
{
    nas_bytes out = {0};
    nas_err err = {0};
    nas_graph *back;
    nas_export_how how = {form, weights, 1};
    assert_int_equal(nas_export_graph(g, NULL, how, &out, &err), NAS_OK);
    nas_onnx_read(out.data, out.size, &back, &err);
    assert_string_equal(err.text, "");
    same_graph(nas_graph_flat(g, NULL), nas_graph_flat(back, NULL));
    nas_cost a, b;
    nas_cost_of(g, &a, NULL);
    nas_cost_of(back, &b, NULL);
    assert_memory_equal(&a, &b, sizeof a);
    nas_graph_free(back);
    nas_bytes_clear(&out);
}

static void test_identity(void **state)
{
    (void)state;
    int each = getenv("NASLM_LONG") ? EACH_LONG : EACH;
    for (int s = 0; s < nas_space_count(); s++) {
        const nas_space *space = nas_spaces[s];
        nas_rng rng = nas_rng_seed(77);
        for (int i = 0; i < each; i++) {
            nas_arch arch;
            nas_space_sample(space, &rng, &arch);
            nas_graph *g = nas_space_build(space, &arch, &space->tasks[i % space->n_tasks]);
            check_form(g, NAS_FORM_ONNX, NAS_WEIGHTS_NONE);
            check_form(g, NAS_FORM_TEXT, NAS_WEIGHTS_NONE);
            check_form(g, NAS_FORM_COMPACT, NAS_WEIGHTS_NONE);
            if (i == 0)
                check_form(g, NAS_FORM_ONNX, NAS_WEIGHTS_ZEROS);
            nas_graph_free(g);
        }
    }
}

/* The expander alone: compact, read and written flat, is the text that the graph itself gives. */
static void test_expander(void **state)
{
    (void)state;
    for (int s = 0; s < nas_space_count(); s++) {
        const nas_space *space = nas_spaces[s];
        nas_rng rng = nas_rng_seed(78);
        for (int i = 0; i < 20; i++) {
            nas_arch arch;
            nas_space_sample(space, &rng, &arch);
            nas_graph *g = nas_space_build(space, &arch, &space->tasks[0]), *back;
            nas_bytes compact = {0}, a = {0}, b = {0};
            nas_export_graph(g, NULL, (nas_export_how){.form = NAS_FORM_COMPACT}, &compact, NULL);
            assert_int_equal(nas_onnx_read(compact.data, compact.size, &back, NULL), NAS_OK);
            nas_export_graph(g, NULL, (nas_export_how){.form = NAS_FORM_TEXT}, &a, NULL);
            nas_export_graph(back, NULL, (nas_export_how){.form = NAS_FORM_TEXT}, &b, NULL);
            assert_string_equal(a.data, b.data);
            nas_graph_free(g);
            nas_graph_free(back);
            nas_bytes_clear(&compact);
            nas_bytes_clear(&a);
            nas_bytes_clear(&b);
        }
    }
}

/* ---- texts by hand: BODY within a graph of one input N x 4 x 8 x 8 ---- */

static nas_graph *read_body(int opset, const char *inits, const char *body, nas_err *err)
{
    nas_bytes text = {0};
    nas_graph *g;
    nas_bytes_print(&text,
                    "<ir_version: 8, opset_import: [\"\" : %d]>\n"
                    "net (float[N,4,8,8] x, float[6,4,3,3] w, float[6] b) => (float[] y) "
                    "<float[4] c, int64[2] unused = {1,2}%s%s>\n{\n%s\n}\n",
                    opset, *inits ? ", " : "", inits, body);
    nas_onnx_read(text.data, text.size, &g, err);
    nas_bytes_clear(&text);
    return g;
}

static const struct {
    int opset;
    const char *inits, *body, *shape; /* of the output */
    int64_t params, macs;
} FOREIGN[] = {
    {17, "", "y = Conv(x, w)", "Nx6x6x6", 216, 216 * 36},
    {17, "", "y = Conv<auto_pad=\"SAME_UPPER\", strides=[2,2]>(x, w, b)", "Nx6x4x4", 222, 216 * 16},
    {17, "", "y = Conv(x, w, b) <pads=[1,1,1,1]>", "Nx6x8x8", 222, 216 * 64},
    {17, "", "y = Conv<auto_pad=\"VALID\">(x, w)", "Nx6x6x6", 216, 216 * 36},
    {17, "", "[n1] y = Clip(x) # no bounds", "Nx4x8x8", 0, 0},
    {9, "", "y = Clip<min=0.0, max=6.0>(x)", "Nx4x8x8", 0, 0},
    {13, "float low = {0}, float high = {6}", "y = Clip(x, low, high)", "Nx4x8x8", 0, 0},
    {13, "float high = {6}", "y = Clip(x, , high)", "Nx4x8x8", 0, 0},
    {13, "float[256,10] m", "f = Flatten(x) m = Constant<value=float[256,10] {}>() y = Identity(f)",
     NULL, 0, 0},
    {13, "float[1,4,1,1] k = {1,2,3,4}", "a = Mul(x, k) y = Add(k, a)", "Nx4x8x8", 8, 0},
    {13, "", "t = Constant<value=float {2.0}>() y = Mul(t, x)", "Nx4x8x8", 0, 0},
    {13, "", "t = Constant<value_float=2.0>() y = Div(x, t)", "Nx4x8x8", 0, 0},
    {13, "",
     "s = Shape(x) i = Constant<value_int=0>() n = Gather<axis=0>(s, i) "
     "a = Constant<value_ints=[0]>() u = Unsqueeze(n, a) m = Constant<value_ints=[-1]>() "
     "t = Concat<axis=0>(u, m) y = Reshape(x, t)",
     "Nx256", 0, 0},
    {11, "", "m = ReduceMean<axes=[2,3], keepdims=0>(x) y = Softmax(m)", "Nx4", 0, 0},
    {13, "", "m = ReduceMean<axes=[-1,-2]>(x) y = Flatten(m)", "Nx4", 0, 0},
    {13, "", "g = GlobalAveragePool(x) a = Constant<value_ints=[3,2]>() y = Squeeze(g, a)", "Nx4",
     0, 0},
    {11, "", "g = GlobalAveragePool(x) y = Squeeze<axes=[2,3]>(g)", "Nx4", 0, 0},
    {13, "", "a = Relu(x) r = Constant<value_float=0.5>() y, mask = Dropout(a, r)", "Nx4x8x8", 0,
     0},
    {13, "", "p, q = Split<axis=1>(x) y = Concat<axis=1>(q, p)", "Nx4x8x8", 0, 0},
    {11, "", "p, q = Split<axis=1, split=[1,3]>(x) y = Relu(q)", "Nx3x8x8", 0, 0},
    {10, "", "y = Pad<pads=[0,0,1,2,0,0,3,4]>(x)", "Nx4x12x14", 0, 0},
    {13, "int64[8] p = {0,0,1,1,0,0,1,1}", "a = Pad<mode=\"constant\">(x, p) y = Conv(a, w)",
     "Nx6x8x8", 216, 216 * 64},
    {9, "", "y = Slice<starts=[1], ends=[3], axes=[2]>(x)", "Nx4x2x8", 0, 0},
    {13, "", "y = MaxPool<kernel_shape=[3,3], strides=[2,2], ceil_mode=1>(x)", "Nx4x4x4", 0, 0},
    {13, "", "a = Relu(x) y = Sum(x, a, a)", "Nx4x8x8", 0, 0},
    {13, "", "a = LeakyRelu<alpha=0.2>(x) b2 = Elu(a) c2 = Tanh(b2) y = Sub(c2, x)", "Nx4x8x8", 0,
     0},
    {13, "float[4,1,1] k = {1,2,3,4}", "y = PRelu(x, k)", "Nx4x8x8", 4, 0},
    {13, "", "y = LRN<size=5>(x)", "Nx4x8x8", 0, 0},
    {7, "float[4] o = {1,1,1,1}", "y = BatchNormalization<spatial=1>(x, o, o, o, o)", "Nx4x8x8", 8,
     0},
};

static void test_foreign(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof FOREIGN / sizeof *FOREIGN; i++) {
        nas_err err = {0};
        nas_graph *g = read_body(FOREIGN[i].opset, FOREIGN[i].inits, FOREIGN[i].body, &err);
        if (!FOREIGN[i].shape) { /* declared twice */
            assert_null(g);
            continue;
        }
        assert_string_equal(err.text, "");
        const nas_graph *flat = nas_graph_flat(g, NULL);
        nas_cost cost;
        char text[96];
        assert_string_equal(nas_shape_print(&flat->fn[0].node[flat->fn[0].out].shape, text),
                            FOREIGN[i].shape);
        assert_int_equal(nas_cost_of(g, &cost, NULL), NAS_OK);
        assert_int_equal(cost.params, FOREIGN[i].params);
        assert_int_equal(cost.macs, FOREIGN[i].macs);
        check_form(g, NAS_FORM_ONNX, NAS_WEIGHTS_NONE);
        check_form(g, NAS_FORM_TEXT, NAS_WEIGHTS_ZEROS);
        check_form(g, NAS_FORM_COMPACT, NAS_WEIGHTS_NONE);
        nas_graph_free(g);
    }
}

static const struct {
    int opset;
    const char *inits, *body, *sentence; /* parts that must be in it, separated by '|' */
} REFUSED[] = {
    {5, "", "y = Relu(x)", "operator set 5"},
    {99, "", "y = Relu(x)", "operator set 99"},
    {13, "", "y = Einsum(x)", "node 'y'|'x'|'Einsum'"},
    {13, "", "y = com.acme.Magic(x)", "node 'y'|'com.acme.Magic'"},
    {13, "", "a = Relu(y) y = Relu(a)", "node 'a'|reads 'y'|node 'y'|cycle"},
    {13, "", "y = Relu(nowhere)", "node 'y'|'nowhere'"},
    {13, "", "[first] y = Relu(x) [second] y = Relu(x)", "node 'second'|'y'|node 'first'"},
    {13, "", "x = Relu(x) y = Relu(x)", "node 'x'|'x'|input 'x'"},
    {13, "", "y = Conv<group=3>(x, w)", "node 'y'|'x'|3 groups do not divide 4"},
    {13, "", "y = Conv<group=-1>(x, w)", "node 'y'|groups"},
    {13, "", "y = Conv<group=2>(x, w)", "node 'y'|reads 4 channels a group"},
    {13, "", "y = Conv<kernel_shape=[5,5]>(x, w)", "node 'y'|same size"},
    {13, "", "y = Conv<strides=[0,1]>(x, w)", "node 'y'|stride 0"},
    {13, "", "y = Conv<pads=[-1,0,0,0]>(x, w)", "node 'y'|pads of -1 and 0"},
    {13, "", "y = Conv<pads=[9223372036854775807,0,9223372036854775807,0]>(x, w)", "node 'y'|pads"},
    {13, "", "y = MaxPool<kernel_shape=[1,1], pads=[1048576,0,1048576,0]>(x)", "node 'y'|pads"},
    {13, "int64[4] s = {0,4,9007199254740992,8192}", "y = Reshape(x, s)", "node 'y'|do not fill"},
    {13, "int64[3] s = {0,-1,7443324284136587276}", "y = Reshape(x, s)", "node 'y'|do not fill"},
    {13, "int64 a = {1}, int64 z = {9}, int64 t = {9223372036854775807}",
     "r = Range(a, z, t) y = Relu(x)", "node 'r'|range"},
    {13, "", "y = Conv<pads=[1,1]>(x, w)", "node 'y'|4 pads"},
    {13, "", "y = Conv<dilations=[1]>(x, w)", "node 'y'|dilations"},
    {13, "", "y = Conv<dilations=[9,9]>(x, w)", "node 'y'|larger than the padded input of 8"},
    {13, "", "y = Conv(x, b)", "node 'y'|'b' has 1 dimensions, 4"},
    {13, "", "y = Conv(x, x)", "node 'y'|'x' is computed"},
    {13, "float[5] c5 = {1,1,1,1,1}", "y = Conv(x, w, c5)", "node 'y'|5 values for 6"},
    {13, "float[5] c5 = {1,1,1,1,1}", "y = BatchNormalization(x, c5, c5, c5, c5)",
     "node 'y'|5 channels|4"},
    {13, "float[5] c5 = {1,1,1,1,1}, float[4] c4 = {1,1,1,1}",
     "y = BatchNormalization(x, c4, c5, c4, c4)", "node 'y'|'c5' has 5|'c4' has 4"},
    {13, "", "y = Conv<group=-9223372036854775808>(x, w)", "node 'y'|range"},
    {13, "", "y = MaxPool<kernel_shape=[3,3], dilations=[2,2]>(x)", "node 'y'|dilated"},
    {13, "", "y = MaxPool(x)", "node 'y'|2 sizes"},
    {13, "", "p = Relu(x) c2 = Conv(x, w) y = Add(p, c2)", "node 'y'|Nx4x8x8|Nx6x6x6"},
    {13, "", "c2 = Conv(x, w) y = Concat<axis=1>(x, c2)", "node 'y'|Nx6x6x6|axis 1"},
    {13, "float[9,5] m = {1}", "y = Flatten(x)", "initializer 'm'|45 values, 1 "},
    {13, "int64[2] s = {7,7}", "y = Reshape(x, s)", "node 'y'|256 values"},
    {13, "", "y = Gemm(x, w)", "node 'y'|'w' has 4 dimensions, 2"},
    {13, "", "f = Flatten(x) y = Gemm<transA=1>(f, c)", "reads 'c'"},
    {13, "", "y = Dropout(x) z = Relu(q)", "node 'z'|'q'"},
    {13, "", "y = Constant<value_float=1.0>()", "'y' is not computed"},
    {13, "", "y = Identity(x)", "'y' is not computed"},
    {13, "", "z = Relu(x)", "no node makes the output 'y'"},
    {13, "", "y = Relu<", "line 5, column 1"},
    {13, "", "y = Relu(x", "line 5, column 1"},
    {13, "", "y = Relu(x))", "line 4, column 12"},
    {13, "", "y = Cast<to=7>(x)", "node 'y'|type 7"},
    {13, "", "y = Conv<strides=1>(x, w)", "node 'y'|'strides'"},
    {13, "complex64 q = {1}", "y = Relu(x)", "line 2|'complex64'"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        nas_err err = {0};
        nas_graph *g = read_body(REFUSED[i].opset, REFUSED[i].inits, REFUSED[i].body, &err);
        char parts[200];
        assert_null(g);
        assert_int_equal(err.code, NAS_FAILED);
        snprintf(parts, sizeof parts, "%s", REFUSED[i].sentence);
        for (char *part = strtok(parts, "|"); part; part = strtok(NULL, "|"))
            if (!strstr(err.text, part))
                fail_msg("'%s' is not in: %s", part, err.text);
        assert_null(strchr(err.text, '\n'));
    }
}

/* A whole model, for what read_body fixes. */
static void refuse_text(const char *text, const char *part)
{
    nas_err err = {0};
    nas_graph *g;
    assert_int_equal(nas_onnx_read(text, strlen(text), &g, &err), NAS_FAILED);
    assert_null(g);
    if (!strstr(err.text, part))
        fail_msg("'%s' is not in: %s", part, err.text);
}

#define HEAD     "<ir_version: 8, opset_import: [\"\" : 17, \"f\" : 1]>\n"
#define FUNCTION "<domain: \"f\", opset_import: [\"\" : 17, \"f\" : 1]>\n"

static void test_refused_models(void **state)
{
    (void)state;
    refuse_text("", "empty");
    refuse_text("hello", "'(' is missing");
    refuse_text("net (float[N,3] x) => (float[N,3] y) { y = Relu(x) }", "operator set 0");
    refuse_text("<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx\" : 13]>\n"
                "net (float[N,3] x) => (float[N,3] y) { y = Relu(x) }",
                "both operator set 17 and 13");
    refuse_text(HEAD "net (int64[N,3] x) => (int64[N,3] y) { y = Relu(x) }", "input 'x'");
    refuse_text(HEAD "net (float[N,H] x) => (float[N,H] y) { y = Relu(x) }", "dimension 1");
    refuse_text(HEAD "net (float[N,0] x) => (float[N,0] y) { y = Relu(x) }", "dimension 1");
    refuse_text(HEAD
                "net (float[N,65536,65536,65536,65536] x) => (float[N,H,H,H,H] y) { y = Relu(x) }",
                "input 'x' has too many values");
    refuse_text(HEAD "net (float[N,3] x, float[4611686018427387904,3] w) => (float[N,4] y) "
                     "{ y = Gemm<transB=1>(x, w) }",
                "weight 'w' has too many values");
    refuse_text(HEAD "net (float[N,3] x) => (float[N,4] y) { y = Relu(x) }",
                "'y' is declared as Nx4, but node 'y' computes Nx3");
    refuse_text(HEAD "net (float[N,3] x) => (float[N,3] y) <float[N,5] a> { a = Relu(x) "
                     "y = Relu(a) }",
                "'a' is declared as Nx5");
    refuse_text(HEAD "net (float[N,3] x) => (float[N,3] y, float[N,3] z) { y = Relu(x) "
                     "z = Relu(x) }",
                "2 outputs");
    refuse_text(HEAD "net (float[N,3] x, float[N,3] x) => (float[N,3] y) { y = Relu(x) }",
                "input 'x' makes the tensor 'x'");
    refuse_text(HEAD "net (float[N,3] x) => (float[N,3] y) { y = f.g(x) }\n" FUNCTION
                     "g (x) => (y) { y = f.g(x) }",
                "function 'g'");
    refuse_text(HEAD "net (float[N,3] x) => (float[N,3] y) { y = f.g(x) }\n" FUNCTION
                     "g (x) => (y) { a = Relu(x) }",
                "never makes its output 'y'");
    refuse_text(HEAD "net (float[N,3] x) => (float[N,3] y) { y = f.g(x, x) }\n" FUNCTION
                     "g (x) => (y) { y = Relu(x) }",
                "takes 1 inputs");
    refuse_text(HEAD "net (float[N,3] x) => (float[N,3] y) { y = f.g(x) }\n" FUNCTION
                     "g (x) => (y) { y = Relu(x) }\n" FUNCTION "g (x) => (y) { y = Relu(x) }",
                "'g' is given twice");
}

/* Every tensor has a size that is allowed; their products leave 64 bits. */
static void test_costs_beyond_64_bits(void **state)
{
    (void)state;
    const char *text = HEAD "net (float[N,1,1048576,1048576] x, float[1,1,4096,4096] w) => "
                            "(float[N,1,1044481,1044481] y) { y = Conv(x, w) }";
    nas_err err = {0};
    nas_graph *g;
    nas_cost cost;
    assert_int_equal(nas_onnx_read(text, strlen(text), &g, &err), NAS_OK);
    assert_int_equal(nas_cost_of(g, &cost, &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "beyond 64 bits"));
    nas_graph_free(g);
}

/* Each function calls the one before twice: 2^40 nodes if anybody let it. */
static void test_explosion(void **state)
{
    (void)state;
    nas_bytes text = {0};
    nas_bytes_puts(&text, HEAD "net (float[N,3] x) => (float[N,3] y) { y = f.g40(x) }\n");
    for (int i = 40; i > 0; i--)
        nas_bytes_print(&text, FUNCTION "g%d (x) => (y) { a = f.g%d(x) y = f.g%d(a) }\n", i, i - 1,
                        i - 1);
    nas_bytes_puts(&text, FUNCTION "g0 (x) => (y) { y = Relu(x) }\n");
    refuse_text(text.data, "nodes");
    nas_bytes_clear(&text);
}

/* ---- binary ---- */

static void refuse_bytes(const void *data, size_t size, const char *part)
{
    nas_err err = {0};
    nas_graph *g;
    assert_int_equal(nas_onnx_read(data, size, &g, &err), NAS_FAILED);
    assert_null(g);
    if (!strstr(err.text, part))
        fail_msg("'%s' is not in: %s", part, err.text);
}

/* Writes tag and length in front of what stands at *at; the file is filled from its end. */
static void wrap(uint8_t **at, const uint8_t *end, uint8_t tag)
{
    size_t inside = (size_t)(end - *at);
    uint8_t length[5];
    int n = 0;
    for (; inside >= 128; inside >>= 7)
        length[n++] = (uint8_t)(inside | 128);
    length[n++] = (uint8_t)inside;
    memcpy(*at -= n, length, (size_t)n);
    *--*at = tag;
}

/* A graph in an attribute in a node in a graph …: 60,000 levels would overflow the stack. */
static void test_nesting(void **state)
{
    (void)state;
    enum { LEVELS = 20000, MOST = LEVELS * 3 * 6 + 16 };
    uint8_t *data = nas_alloc(MOST), *end = data + MOST, *at = end;
    for (int i = 0; i < LEVELS; i++) {
        wrap(&at, end, 0x32); /* attribute.g */
        wrap(&at, end, 0x2a); /* node.attribute */
        wrap(&at, end, 0x0a); /* graph.node */
    }
    wrap(&at, end, 0x3a); /* model.graph */
    *--at = 8;
    *--at = 8; /* ir_version */
    refuse_bytes(at, (size_t)(end - at), "nest deeper");
    free(data);
}

static void test_truncated(void **state)
{
    (void)state;
    const nas_space *space = nas_space_find("nb201");
    nas_arch arch;
    nas_space_init(space, &arch);
    nas_bytes out = {0};
    nas_export(space, &arch, &space->tasks[0], (nas_export_how){.form = NAS_FORM_ONNX}, &out, NULL);
    for (size_t n = 0; n < out.size; n += n < 200 ? 1 : 97) {
        nas_graph *g;
        char *exact = nas_alloc(n); /* so that sanitizers see the end */
        memcpy(exact, out.data, n);
        nas_err err = {0};
        assert_int_equal(nas_onnx_read(exact, n, &g, &err), NAS_FAILED);
        assert_string_not_equal(err.text, "");
        free(exact);
    }
    nas_bytes_clear(&out);
}

/* One byte changed: refused or read, never a crash; what is read can be written. */
static void test_flipped(void **state)
{
    (void)state;
    const nas_space *space = nas_space_find("nb201");
    nas_rng rng = nas_rng_seed(5);
    int read = 0;
    for (int form = 0; form < 4; form++) {
        nas_arch arch;
        nas_bytes out = {0};
        nas_space_sample(space, &rng, &arch);
        if (form == NAS_FORM_PRINTABLE)
            continue;
        nas_export(space, &arch, &space->tasks[0], (nas_export_how){.form = (nas_form)form}, &out,
                   NULL);
        for (int i = 0; i < 1500; i++) {
            nas_graph *g;
            nas_bytes again = {0};
            size_t at = nas_rng_below(&rng, out.size);
            char old = out.data[at];
            out.data[at] ^= (char)(1 << nas_rng_below(&rng, 8));
            if (nas_onnx_read(out.data, out.size, &g, NULL) == NAS_OK) {
                read++;
                nas_export_graph(g, NULL, (nas_export_how){.form = NAS_FORM_COMPACT}, &again, NULL);
                nas_graph_free(g);
            }
            nas_bytes_clear(&again);
            out.data[at] = old;
        }
        nas_bytes_clear(&out);
    }
    assert_true(read > 50);
}

static void test_wire(void **state)
{
    (void)state;
    refuse_bytes("\x0b", 1, "kind of field");
    refuse_bytes("\x08", 1, "ends within a number");
    refuse_bytes("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "more than 10 bytes");
    refuse_bytes("\x3a\x7f\x01", 3, "leaves its message");
    refuse_bytes("\x08\x08\x08\x08", 4, "'ir_version' is given twice");
    refuse_bytes("\x3a\x00\x3a\x00", 4, "'graph' is given twice");
    refuse_bytes("\x00\x00", 2, "no field");
    refuse_bytes("\x08\x08", 2, "no graph");
    /* 40 MiB of empty nodes would unpack to gigabytes */
    size_t n = 40 << 20;
    char *many = nas_zalloc(n, 1);
    for (size_t i = 6; i < n; i += 2)
        many[i] = 0x0a;
    memcpy(many, "\x00\x3a\xfa\xff\xff\x13", 6); /* the first byte is not part of it */
    refuse_bytes(many + 1, n - 1, "1 GiB");
    free(many);
}

static void test_no_file(void **state)
{
    (void)state;
    nas_err err = {0};
    nas_graph *g;
    assert_int_equal(nas_onnx_read_file("/nonexistent/net.onnx", &g, &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "'/nonexistent/net.onnx'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_expander),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_models),
        cmocka_unit_test(test_explosion),
        cmocka_unit_test(test_costs_beyond_64_bits),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_flipped),
        cmocka_unit_test(test_wire),
        cmocka_unit_test(test_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
