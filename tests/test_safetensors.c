/* surrogate/safetensors: what is written is read back; whatever else a file says is refused. */
#include "spaces/base/mem.h"
#include "spaces/base/rng.h"
#include "surrogate/safetensors.h"

#include "tests/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file in memory: length of the header, header, size data bytes. */
static nas_safetensors *parse(const char *header, size_t data, nas_bytes *bytes, nas_err *err)
{
    uint64_t length = strlen(header);
    nas_bytes_reset(bytes);
    nas_bytes_put(bytes, &length, 8);
    nas_bytes_puts(bytes, header);
    for (size_t i = 0; i < data; i++)
        nas_bytes_putc(bytes, (char)i);
    return nas_safetensors_parse(bytes->data, bytes->size, err);
}

#define T(name, dtype, shape, offsets)                                                             \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void test_reads(void **state)
{
    (void)state;
    nas_bytes bytes = {0};
    nas_err err = {0};
    nas_safetensors *f =
        parse("{\"__metadata__\":{\"k\":\"v\"}," T("b", "U8", "[4]", "[12,16]") "," T(
                  "a", "F32", "[1,3]", "[0,12]") "," T("z", "F16", "[0]", "[16,16]") "}   ",
              16, &bytes, &err);
    assert_non_null(f);
    assert_int_equal(nas_safetensors_count(f), 3);
    assert_string_equal(nas_safetensors_at(f, 0)->name, "a");
    assert_int_equal(nas_safetensors_find(f, "a")->count, 3);
    assert_int_equal(((const char *)nas_safetensors_find(f, "b")->data)[1], 13);
    assert_null(nas_safetensors_find(f, "c"));
    assert_string_equal(nas_safetensors_meta(f, "k"), "v");
    assert_null(nas_safetensors_meta(f, "x"));
    float x[3];
    assert_int_equal(nas_safetensor_floats(nas_safetensors_find(f, "a"), x, 2, &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "'a' has 3 values, not 2"));
    err = (nas_err){0};
    assert_int_equal(nas_safetensor_floats(nas_safetensors_find(f, "b"), x, 4, &err), NAS_FAILED);
    nas_safetensors_free(f);
    nas_bytes_clear(&bytes);
}

static const struct {
    const char *header;
    size_t data;
    const char *says;
} hostile[] = {
    {"[]", 0, "not a safetensors file"},
    {"{", 0, "not a safetensors file"},
    {"{]", 0, "not JSON"},
    {"{} x", 0, "not JSON"},
    {"{" T("a", "U8", "[1]", "[0,1]") "," T("a", "U8", "[1]", "[0,1]") "}", 1, "not JSON"},
    {"{}", 1, "behind the last tensor"},
    {"{\"a\":3}", 0, "unknown dtype"},
    {"{" T("a", "F31", "[1]", "[0,4]") "}", 4, "unknown dtype"},
    {"{" T("a", "F32", "[1]", "[0,3]") "}", 3, "another size"},
    {"{" T("a", "F32", "[2]", "[0,4]") "}", 4, "another size"},
    {"{" T("a", "F32", "[1]", "[0,4]") "}", 3, "outside the file"},
    {"{" T("a", "U8", "[1]", "[1,0]") "}", 1, "outside the file"},
    {"{" T("a", "U8", "[1]", "[-1,0]") "}", 1, "outside the file"},
    {"{" T("a", "U8", "[1]", "[0,1,1]") "}", 1, "outside the file"},
    {"{" T("a", "U8", "[1]", "[0.0,1.0]") "}", 1, "outside the file"},
    {"{" T("a", "U8", "[1]", "[0,99999999999999999999]") "}", 1, "not JSON"},
    {"{" T("a", "U8", "1", "[0,1]") "}", 1, "no shape"},
    {"{" T("a", "U8", "[-1]", "[0,1]") "}", 1, "bad shape"},
    {"{" T("a", "U8", "[4294967296,4294967296]", "[0,0]") "}", 0, "bad shape"},
    {"{" T("a", "F64", "[4611686018427387904]", "[0,0]") "}", 0, "another size"},
    {"{" T("a", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1, "9 dimensions"},
    {"{" T("a", "U8", "[2]", "[0,2]") "," T("b", "U8", "[2]", "[1,3]") "}", 3, "'b' overlaps"},
    {"{" T("a", "U8", "[2]", "[0,2]") "," T("b", "U8", "[2]", "[0,2]") "}", 2, "overlaps"},
    {"{" T("a", "U8", "[1]", "[0,1]") "," T("b", "U8", "[1]", "[2,3]") "}", 3,
     "'b' follows a hole"},
    {"{\"__metadata__\":[]}", 0, "metadata is not an object"},
    {"{\"__metadata__\":{\"k\":1}}", 0, "metadata 'k' is not a string"},
};

static void test_refuses(void **state)
{
    (void)state;
    nas_bytes bytes = {0};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        nas_err err = {0};
        nas_safetensors *f = parse(hostile[i].header, hostile[i].data, &bytes, &err);
        if (f || !strstr(err.text, hostile[i].says))
            fail_msg("%s: '%s', not '%s'", hostile[i].header, f ? "read" : err.text,
                     hostile[i].says);
        assert_int_equal(err.code, NAS_FAILED);
    }
    uint64_t sizes[] = {0, 1, 3, UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 63};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        nas_err err = {0};
        char file[10] = {0};
        memcpy(file, &sizes[i], 8);
        memcpy(file + 8, "{}", 2);
        assert_null(nas_safetensors_parse(file, sizeof file, &err));
        assert_null(nas_safetensors_parse(file, 7, &err));
        assert_int_equal(err.code, NAS_FAILED);
    }
    nas_bytes_clear(&bytes);
}

/* Changed bytes are read or refused, never more. */
static void test_changed_bytes(void **state)
{
    (void)state;
    nas_bytes bytes = {0};
    nas_safetensors *f =
        parse("{\"__metadata__\":{\"k\":\"v\"}," T("b", "U8", "[4]", "[12,16]") "," T(
                  "a", "F32", "[1,3]", "[0,12]") "}",
              16, &bytes, NULL);
    assert_non_null(f);
    nas_safetensors_free(f);
    nas_rng rng = nas_rng_seed(7);
    char *copy = nas_alloc(bytes.size);
    int read = 0, rounds = 20000;
    for (int i = 0; i < rounds; i++) {
        const char alphabet[] = "0123456789[]{},:\"-\\FU\377";
        memcpy(copy, bytes.data, bytes.size);
        for (uint64_t n = 1 + nas_rng_below(&rng, 3); n > 0; n--)
            copy[nas_rng_below(&rng, bytes.size)] = alphabet[nas_rng_below(&rng, sizeof alphabet)];
        nas_err err = {0};
        f = nas_safetensors_parse(copy, bytes.size - nas_rng_below(&rng, 2), &err);
        assert_true(f ? err.code == NAS_OK : err.code == NAS_FAILED && *err.text);
        for (size_t t = 0; f && t < nas_safetensors_count(f); t++) {
            float x[16];
            const nas_safetensor *s = nas_safetensors_at(f, t);
            nas_safetensor_floats(s, x, s->count <= 16 ? s->count : 0, NULL);
        }
        read += f != NULL;
        nas_safetensors_free(f);
    }
    assert_true(read > 0 && read < rounds);
    free(copy);
    nas_bytes_clear(&bytes);
}

static void test_round_trip(void **state)
{
    (void)state;
    char path[] = "/tmp/naslm-safetensors-XXXXXX";
    close(mkstemp(path));
    const float f32[6] = {1, -2.5f, 3e-30f, INFINITY, 0, -0.0f};
    const uint16_t bf16[3] = {0x3f80, 0xc020, 0x7f80}, f16[4] = {0x3c00, 0xc100, 0x0001, 0xfc00};
    const nas_safetensor all[] = {
        {"w", NAS_F32, 2, {2, 3}, 6, f32},
        {"b", NAS_BF16, 1, {3}, 3, bf16},
        {"h", NAS_F16, 1, {4}, 4, f16},
        {"scalar", NAS_F32, 0, {0}, 1, f32},
    };
    json_t *meta = json_pack("{s:s}", "name", "\xc3\xa9\"\\");
    nas_err err = {0};
    assert_int_equal(nas_safetensors_save(path, all, 4, meta, &err), NAS_OK);
    nas_safetensors *f = nas_safetensors_open(path, &err);
    assert_non_null(f);
    assert_int_equal(nas_safetensors_count(f), 4);
    assert_string_equal(nas_safetensors_meta(f, "name"), "\xc3\xa9\"\\");
    float x[6];
    const nas_safetensor *w = nas_safetensors_find(f, "w");
    assert_int_equal(nas_safetensor_floats(w, x, 6, &err), NAS_OK);
    assert_memory_equal(x, f32, sizeof f32);
    assert_true(w->n_dim == 2 && w->dim[0] == 2 && w->dim[1] == 3);
    assert_int_equal(nas_safetensor_floats(nas_safetensors_find(f, "b"), x, 3, &err), NAS_OK);
    assert_true(x[0] == 1 && x[1] == -2.5f && x[2] == INFINITY);
    assert_int_equal(nas_safetensor_floats(nas_safetensors_find(f, "h"), x, 4, &err), NAS_OK);
    assert_true(x[0] == 1 && x[1] == -2.5f && x[2] == 0x1p-24f && x[3] == -INFINITY);
    assert_int_equal(nas_safetensor_floats(nas_safetensors_find(f, "scalar"), x, 1, &err), NAS_OK);
    nas_safetensors_free(f);
    json_decref(meta);
    /* every shorter file is refused */
    FILE *in = fopen(path, "rb");
    char whole[1000];
    size_t size = fread(whole, 1, sizeof whole, in);
    fclose(in);
    for (size_t cut = 0; cut < size; cut++)
        assert_null(nas_safetensors_parse(whole, cut, NULL));
    unlink(path);
    assert_null(nas_safetensors_open(path, &err));
    assert_non_null(strstr(err.text, path));
    err = (nas_err){0};
    assert_int_equal(nas_safetensors_save("/nowhere/x", all, 4, NULL, &err), NAS_FAILED);
}

static void test_bf16_rounding(void **state)
{
    (void)state;
    /* nearest, ties to even, over every bf16 and its middle to the next */
    for (uint32_t bits = 0; bits < 0x7f80; bits++) {
        float low = nas_bf16_to_float((uint16_t)bits),
              high = nas_bf16_to_float((uint16_t)(bits + 1));
        uint32_t middle_bits = bits << 16 | 0x8000;
        float middle;
        memcpy(&middle, &middle_bits, 4);
        assert_int_equal(nas_bf16_from_float(low), bits);
        assert_int_equal(nas_bf16_from_float(-low), bits | 0x8000);
        assert_int_equal(nas_bf16_from_float(middle), bits + (bits & 1));
        assert_int_equal(nas_bf16_from_float(nextafterf(middle, low)), bits);
        assert_int_equal(nas_bf16_from_float(nextafterf(middle, high)), bits + 1);
    }
    assert_true(isnan(nas_bf16_to_float(nas_bf16_from_float(NAN))));
    const uint32_t payload = 0x7f800001; /* a NaN whose payload is cut off */
    float nan;
    memcpy(&nan, &payload, 4);
    assert_true(isnan(nas_bf16_to_float(nas_bf16_from_float(nan))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),         cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_changed_bytes), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_bf16_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
