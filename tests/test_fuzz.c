/* The fuzz targets on a corpus made here: exports and strings of every space, bytes changed, cut
 * out, doubled and spliced. The same targets run for longer under libFuzzer (tests/fuzz.sh). */
#include "check.h"
#include "onnx/export.h"

#include <stdlib.h>
#include <string.h>

#define LLVMFuzzerTestOneInput fuzz_binary
#include "fuzz_onnx_binary.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_text
#include "fuzz_onnx_text.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_arch
#include "fuzz_arch.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_vocab
#include "fuzz_vocab.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_safetensors
#define must                   must_too
#include "fuzz_safetensors.c"

enum { SEEDS_MOST = 256 };

typedef struct {
    nas_bytes seed[SEEDS_MOST];
    int n;
} corpus;

/* Changes up to 4 places of a copy in exactly as many bytes as it needs. */
static uint8_t *mutated(nas_rng *rng, const corpus *c, size_t *size)
{
    const nas_bytes *from = &c->seed[nas_rng_below(rng, (uint64_t)c->n)];
    const nas_bytes *other = &c->seed[nas_rng_below(rng, (uint64_t)c->n)];
    nas_bytes out = {0};
    nas_bytes_put(&out, from->data, from->size);
    for (int i = (int)nas_rng_below(rng, 4); i >= 0 && out.size > 1; i--) {
        size_t at = nas_rng_below(rng, out.size), n = nas_rng_below(rng, out.size - at) % 40;
        switch (nas_rng_below(rng, 5)) {
        case 0:
            out.data[at] ^= (char)(1 << nas_rng_below(rng, 8));
            break;
        case 1: /* cut out */
            memmove(out.data + at, out.data + at + n, out.size - at - n);
            out.size -= n;
            break;
        case 2: { /* double */
            nas_bytes twice = {0};
            nas_bytes_put(&twice, out.data, at + n);
            nas_bytes_put(&twice, out.data + at, out.size - at);
            nas_bytes_clear(&out);
            out = twice;
            break;
        }
        case 3: /* splice */
            out.size = at;
            at = nas_rng_below(rng, other->size);
            nas_bytes_put(&out, other->data + at, other->size - at);
            break;
        default:
            out.data[at] = (char)nas_rng_next(rng);
        }
    }
    *size = out.size;
    uint8_t *exact = nas_alloc(out.size);
    memcpy(exact, out.data, out.size);
    nas_bytes_clear(&out);
    return exact;
}

static void replay(corpus *c, int (*target)(const uint8_t *, size_t), int times)
{
    nas_rng rng = nas_rng_seed(9);
    for (int i = 0; i < c->n; i++)
        target((const uint8_t *)c->seed[i].data, c->seed[i].size);
    for (int i = 0; i < times; i++) {
        size_t size;
        uint8_t *data = mutated(&rng, c, &size);
        target(data, size);
        free(data);
    }
    for (int i = 0; i < c->n; i++)
        nas_bytes_clear(&c->seed[i]);
}

/* Exports of at most 40 kB, so that many can be tried. */
static void add_exports(corpus *c, nas_form form, nas_weights weights)
{
    nas_rng rng = nas_rng_seed(10);
    for (int s = 0; s < nas_space_count() && c->n < SEEDS_MOST; s++) {
        nas_arch arch;
        nas_bytes *out = &c->seed[c->n];
        nas_space_sample(nas_spaces[s], &rng, &arch);
        assert_int_equal(nas_export(nas_spaces[s], &arch, &nas_spaces[s]->tasks[0],
                                    (nas_export_how){form, weights, 0}, out, NULL),
                         NAS_OK);
        if (out->size > 40000)
            nas_bytes_clear(out);
        else
            c->n++;
    }
}

static void test_binary(void **state)
{
    (void)state;
    corpus c = {.n = 0};
    add_exports(&c, NAS_FORM_ONNX, NAS_WEIGHTS_NONE);
    assert_true(c.n > 1);
    replay(&c, fuzz_binary, 6000);
}

static void test_text(void **state)
{
    (void)state;
    corpus c = {.n = 0};
    add_exports(&c, NAS_FORM_TEXT, NAS_WEIGHTS_NONE);
    add_exports(&c, NAS_FORM_COMPACT, NAS_WEIGHTS_NONE);
    assert_true(c.n > 1);
    replay(&c, fuzz_text, 6000);
}

static void test_arch(void **state)
{
    (void)state;
    corpus c = {.n = 0};
    nas_rng rng = nas_rng_seed(11);
    for (int s = 0; s < nas_space_count() && c.n < SEEDS_MOST; s++) {
        nas_arch arch;
        nas_space_sample(nas_spaces[s], &rng, &arch);
        nas_bytes_putc(&c.seed[c.n], (char)s);
        nas_space_print(nas_spaces[s], &arch, &c.seed[c.n++]);
    }
    replay(&c, fuzz_arch, 20000);
}

static void test_safetensors(void **state)
{
    (void)state;
    static const char header[] =
        "{\"__metadata__\":{\"k\":\"v\"},"
        "\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[8,12]},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}";
    static const uint64_t length = sizeof header - 1;
    corpus c = {.n = 2};
    nas_bytes_put(&c.seed[0], &length, 8); /* as it stands */
    nas_bytes_puts(&c.seed[0], header);
    nas_bytes_putc(&c.seed[1], 'h'); /* with the length put in front */
    nas_bytes_put(&c.seed[1], header, sizeof header);
    for (int i = 0; i < 2; i++)
        nas_bytes_puts(&c.seed[i], "0123456789ab");
    nas_safetensors *good = nas_safetensors_parse(c.seed[0].data, c.seed[0].size, NULL);
    assert_non_null(good);
    nas_safetensors_free(good);
    replay(&c, fuzz_safetensors, 40000);
}

static void test_vocab(void **state)
{
    (void)state;
    static const char file[] =
        "{\"format\":\"naslm-vocab\",\"version\":1,\"merges\":[98,99,257,100]}";
    corpus c = {.n = 1};
    nas_bytes_put(&c.seed[0], file, sizeof file); /* with its NUL */
    nas_bytes_puts(&c.seed[0], "abcabc");
    nas_vocab *good = nas_vocab_parse(file, sizeof file - 1, NULL);
    assert_non_null(good);
    nas_vocab_free(good);
    replay(&c, fuzz_vocab, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binary), cmocka_unit_test(test_text),
        cmocka_unit_test(test_arch),   cmocka_unit_test(test_safetensors),
        cmocka_unit_test(test_vocab),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
