/* surrogate/vocab: identity on any bytes, a naive trainer and encoder as oracle, refusals. */
#include "onnx/export.h"
#include "spaces/base/rng.h"
#include "spaces/space.h"
#include "surrogate/vocab.h"

#include "tests/check.h"
#include "tests/sample.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static nas_bytes networks(int n, uint64_t seed)
{
    nas_bytes text = {0};
    nas_rng rng = nas_rng_seed(seed);
    for (int i = 0; i < n; i++)
        sample_network(&rng, &text);
    return text;
}

static nas_vocab *learn(const nas_bytes *text, int pieces)
{
    nas_err err = {0};
    nas_vocab *v = nas_vocab_train((const char *[]){text->data}, &text->size, 1, pieces, &err);
    assert_non_null(v);
    return v;
}

static void check_identity(const nas_vocab *v, const char *text, size_t size)
{
    int32_t *id = nas_alloc(size * sizeof *id);
    size_t n = nas_vocab_encode(v, text, size, id);
    nas_bytes back = {0};
    assert_true(n <= size);
    assert_true(nas_vocab_decode(v, id, n, &back));
    assert_int_equal(back.size, size);
    assert_memory_equal(nas_bytes_text(&back), size ? text : "", size);
    nas_bytes_clear(&back);
    free(id);
}

static void test_identity(void **state)
{
    (void)state;
    nas_bytes text = networks(50, 1), other = networks(50, 2);
    nas_vocab *v = learn(&text, 600);
    check_identity(v, text.data, text.size);
    check_identity(v, other.data, other.size);
    nas_rng rng = nas_rng_seed(3);
    for (int i = 0; i < 3000; i++) {
        char bytes[700];
        size_t n = nas_rng_below(&rng, sizeof bytes), kinds = i % 2 ? 256 : 4;
        for (size_t k = 0; k < n; k++)
            bytes[k] = (char)(nas_rng_below(&rng, kinds) + (i % 2 ? 0 : '\n' - 1));
        check_identity(v, bytes, n);
    }
    nas_vocab_free(v);
    nas_bytes_clear(&text);
    nas_bytes_clear(&other);
}

/* What is really read: prompts, and the flat forms, of random members of every space. */
static void test_exports(void **state)
{
    (void)state;
    nas_vocab_trainer *trainer = nas_vocab_trainer_new();
    nas_bytes all = {0};
    nas_rng rng = nas_rng_seed(12);
    for (int s = 0; s < nas_space_count(); s++) {
        const nas_space *space = nas_spaces[s];
        for (int k = 0; k < 4; k++) {
            nas_arch arch;
            nas_space_sample(space, &rng, &arch);
            nas_graph *graph = nas_space_build(space, &arch, &space->tasks[0]);
            size_t start = all.size;
            nas_export_prompt(graph, space->name, space->tasks[0].name, &all, NULL);
            nas_vocab_trainer_add(trainer, all.data + start, all.size - start);
            nas_export_how how = {.form = k % 2 ? NAS_FORM_TEXT : NAS_FORM_PRINTABLE};
            if (k >= 2)
                nas_export_graph(graph, NULL, how, &all, NULL);
            nas_graph_free(graph);
        }
    }
    nas_vocab *v = nas_vocab_trainer_learn(trainer, 2000, NULL);
    assert_true(nas_vocab_pieces(v) > 1000);
    check_identity(v, all.data, all.size);
    nas_vocab_free(v);
    nas_vocab_trainer_free(trainer);
    nas_bytes_clear(&all);
}

/* ---- the oracle: recount every pair before each merge ---- */

typedef struct {
    uint16_t *id;
    size_t *end; /* of stretch i, exclusive */
    size_t n_stretch;
} naive;

static naive naive_start(const char *text, size_t size)
{
    naive o = {nas_alloc(size * sizeof *o.id), nas_alloc(size * sizeof *o.end), 0};
    for (size_t at = 0; at < size;) {
        size_t n = nas_vocab_stretch(text + at, size - at);
        for (size_t i = 0; i < n; i++)
            o.id[at + i] = (uint16_t)((unsigned char)text[at + i] + 1);
        o.end[o.n_stretch++] = at += n;
    }
    return o;
}

static bool naive_best(const naive *o, uint32_t *count, nas_merge *best)
{
    memset(count, 0, 1024 * 1024 * sizeof *count);
    uint32_t most = 1;
    for (size_t s = 0, at = 0; s < o->n_stretch; at = o->end[s++])
        for (; at + 1 < o->end[s]; at++)
            count[o->id[at] * 1024 + o->id[at + 1]]++;
    for (uint32_t key = 0; key < 1024 * 1024; key++)
        if (count[key] > most) {
            most = count[key];
            *best = (nas_merge){(uint16_t)(key / 1024), (uint16_t)(key % 1024)};
        }
    return most > 1;
}

static void naive_merge(naive *o, nas_merge m, uint16_t id)
{
    size_t out = 0, at = 0;
    for (size_t s = 0; s < o->n_stretch; s++) {
        size_t end = o->end[s];
        for (; at < end; at++)
            if (at + 1 < end && o->id[at] == m.left && o->id[at + 1] == m.right) {
                o->id[out++] = id;
                at++;
            } else
                o->id[out++] = o->id[at];
        o->end[s] = out;
    }
}

/* The same merges in the same order, and encoding the corpus gives what the merges left. */
static void check_oracle(const nas_bytes *text, int pieces)
{
    nas_vocab *v = learn(text, pieces);
    naive o = naive_start(text->data, text->size);
    uint32_t *count = nas_alloc(1024 * 1024 * sizeof *count);
    nas_merge best;
    int n = 0;
    for (; n < pieces - 256 && naive_best(&o, count, &best); n++) {
        assert_true(n < nas_vocab_pieces(v) - 256);
        assert_int_equal(nas_vocab_merges(v)[n].left, best.left);
        assert_int_equal(nas_vocab_merges(v)[n].right, best.right);
        naive_merge(&o, best, (uint16_t)(257 + n));
    }
    assert_int_equal(nas_vocab_pieces(v), 256 + n);
    int32_t *id = nas_alloc(text->size * sizeof *id);
    size_t ids = nas_vocab_encode(v, text->data, text->size, id);
    assert_int_equal(ids, o.n_stretch ? o.end[o.n_stretch - 1] : 0);
    for (size_t i = 0; i < ids; i++)
        assert_int_equal(id[i], o.id[i]);
    free(id), free(count), free(o.id), free(o.end);
    nas_vocab_free(v);
}

static void test_oracle(void **state)
{
    (void)state;
    nas_bytes text = networks(12, 4);
    check_oracle(&text, 700);
    nas_rng rng = nas_rng_seed(5);
    for (int i = 0; i < 20; i++) { /* few letters: overlaps such as aaaa, ties, no pair left */
        nas_bytes_reset(&text);
        for (int k = 0; k < 40 * i; k++)
            nas_bytes_putc(&text, "aab\n7"[nas_rng_below(&rng, i % 2 ? 3 : 5)]);
        nas_bytes_putc(&text, 'a');
        check_oracle(&text, 256 + 5 * i);
    }
    nas_bytes_clear(&text);
}

/* Any list of merges, also one that no training gives: pieces that are never reached, two ways to
 * the same bytes. Encoding is what the merges do one after the other. */
static void test_any_merges(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(11);
    for (int round = 0; round < 400; round++) {
        nas_merge merge[60];
        size_t n = 0, most = nas_rng_below(&rng, 60);
        nas_vocab *v = nas_vocab_new(merge, 0, NULL);
        for (int tries = 0; tries < 300 && n < most; tries++) {
            uint64_t ids = 3 + n;
            uint16_t id[2];
            for (int k = 0; k < 2; k++) {
                uint64_t r = nas_rng_below(&rng, ids);
                id[k] = (uint16_t)(r < 3 ? 'a' + 1 + r : 257 + r - 3);
            }
            merge[n] = (nas_merge){id[0], id[1]};
            nas_vocab *more = nas_vocab_new(merge, n + 1, NULL);
            if (more) {
                nas_vocab_free(v);
                v = more;
                n++;
            }
        }
        char text[800];
        size_t size = 1 + nas_rng_below(&rng, sizeof text - 1);
        for (size_t i = 0; i < size; i++)
            text[i] = "abc\n"[nas_rng_below(&rng, round % 2 ? 3 : 4)];
        naive o = naive_start(text, size);
        for (size_t i = 0; i < n; i++)
            naive_merge(&o, merge[i], (uint16_t)(257 + i));
        int32_t id[800];
        size_t ids = nas_vocab_encode(v, text, size, id);
        assert_int_equal(ids, o.end[o.n_stretch - 1]);
        for (size_t i = 0; i < ids; i++)
            assert_int_equal(id[i], o.id[i]);
        free(o.id), free(o.end);
        nas_vocab_free(v);
    }
}

static void test_rules(void **state)
{
    (void)state;
    nas_bytes text = networks(60, 6);
    nas_rng rng = nas_rng_seed(6);
    sample_prose(&rng, &text, 50000);
    nas_vocab *v = learn(&text, 900);
    bool blank_inside = false;
    assert_int_equal(nas_vocab_pieces(v), 900);
    for (int32_t id = 257; id <= 900; id++) {
        size_t n;
        const char *piece = nas_vocab_piece(v, id, &n);
        assert_true(n >= 2 && n <= NAS_VOCAB_PIECE_MAX);
        for (size_t i = 0; i < n; i++) {
            assert_false(isdigit((unsigned char)piece[i]));
            assert_true(piece[i] != '\n' || i + 1 == n);
            blank_inside |= piece[i] == ' ' && i > 0 && i + 1 < n;
        }
    }
    assert_true(blank_inside);
    int32_t id[4];
    assert_int_equal(nas_vocab_encode(v, "2048", 4, id), 4);
    assert_int_equal(id[0], '2' + 1);
    size_t n;
    nas_vocab_piece(v, NAS_VOCAB_PAD, &n);
    assert_int_equal(n, 0);
    nas_bytes out = {0};
    assert_false(nas_vocab_decode(v, (int32_t[]){901}, 1, &out));
    assert_false(nas_vocab_decode(v, (int32_t[]){-1}, 1, &out));
    nas_vocab_free(v);
    nas_bytes_clear(&text);
}

/* The order and the division of the texts make no difference, and a trainer can be asked again. */
static void test_deterministic(void **state)
{
    (void)state;
    nas_bytes a = networks(20, 7), b = networks(20, 8), first = {0}, second = {0};
    nas_err err = {0};
    nas_vocab *v =
        nas_vocab_train((const char *[]){a.data, b.data}, (size_t[]){a.size, b.size}, 2, 500, &err);
    nas_vocab_trainer *t = nas_vocab_trainer_new();
    nas_vocab_trainer_add(t, b.data, b.size);
    nas_vocab_free(nas_vocab_trainer_learn(t, 300, &err));
    for (const char *p = a.data, *end; *p; p = end + 1) {
        end = strchr(p, '\n');
        nas_vocab_trainer_add(t, p, (size_t)(end + 1 - p));
    }
    nas_vocab *w = nas_vocab_trainer_learn(t, 500, &err);
    nas_vocab_print(v, &first);
    nas_vocab_print(w, &second);
    assert_string_equal(first.data, second.data);
    nas_vocab_trainer_free(t);
    nas_vocab_free(v), nas_vocab_free(w);
    nas_bytes_clear(&a), nas_bytes_clear(&b), nas_bytes_clear(&first), nas_bytes_clear(&second);
}

static void test_files(void **state)
{
    (void)state;
    nas_bytes text = networks(20, 9), printed = {0}, again = {0};
    nas_vocab *v = learn(&text, 400);
    nas_err err = {0};
    char path[] = "/tmp/test_vocab_XXXXXX";
    close(mkstemp(path));
    assert_int_equal(nas_vocab_save(v, path, &err), NAS_OK);
    nas_vocab *w = nas_vocab_load(path, &err);
    assert_non_null(w);
    nas_vocab_print(v, &printed);
    nas_vocab_print(w, &again);
    assert_string_equal(printed.data, again.data);
    for (size_t i = 0; i < printed.size; i++)
        assert_true(printed.data[i] >= ' ' && printed.data[i] < 127);
    nas_vocab_free(w);
    for (size_t n = 0; n < printed.size; n += 1 + n / 20) { /* every truncation is refused */
        err = (nas_err){0};
        assert_null(nas_vocab_parse(printed.data, n, &err));
        assert_int_equal(err.code, NAS_FAILED);
    }
    unlink(path);
    assert_null(nas_vocab_load(path, &(nas_err){0}));
    assert_int_equal(nas_vocab_save(v, "/nonexistent/x", &(nas_err){0}), NAS_FAILED);
    nas_vocab_free(v);
    nas_bytes_clear(&text), nas_bytes_clear(&printed), nas_bytes_clear(&again);
}

static void refuse(const char *text, const char *why)
{
    nas_err err = {0};
    assert_null(nas_vocab_parse(text, strlen(text), &err));
    assert_int_equal(err.code, NAS_FAILED);
    if (!strstr(err.text, why))
        fail_msg("'%s' does not say '%s'", err.text, why);
}

#define MERGES(list) "{\"format\":\"naslm-vocab\",\"version\":1,\"merges\":[" list "]}"

static void test_refusals(void **state)
{
    (void)state;
    refuse("", "not JSON");
    refuse("{\"format\":\"other\",\"version\":1,\"merges\":[]}", "no vocabulary");
    refuse("[1]", "no vocabulary");
    refuse("{\"format\":\"naslm-vocab\",\"version\":2,\"merges\":[]}", "version 2");
    refuse("{\"format\":\"naslm-vocab\",\"version\":1}", "alone");
    refuse("{\"format\":\"naslm-vocab\",\"version\":1,\"merges\":[],\"x\":1}", "alone");
    refuse("{\"format\":\"naslm-vocab\",\"version\":1,\"version\":1,\"merges\":[]}", "not JSON");
    refuse(MERGES("98"), "pairs of ids");
    refuse(MERGES("98,\"x\""), "pairs of ids");
    refuse(MERGES("98,1.5"), "pairs of ids");
    refuse(MERGES("0,98"), "pairs of ids");
    refuse(MERGES("98,65634"), "pairs of ids");
    refuse(MERGES("98,-5"), "pairs of ids");
    refuse(MERGES("98,257"), "do not exist yet");
    refuse(MERGES("98,98,98,98"), "made twice");
    refuse(MERGES("98,49"), "of a digit");
    refuse(MERGES("58,98"), "of a digit");
    refuse(MERGES("11,98"), "across a newline");
    refuse(MERGES("98,11,257,98"), "across a newline");
    refuse(MERGES("98,98,257,257,258,258,259,259,260,260,261,261,262,262,263,263,264,264"),
           "longer than 256 bytes");
    nas_err err = {0};
    assert_null(nas_vocab_train(NULL, NULL, 0, 255, &err));
    assert_int_equal(err.code, NAS_USAGE);
    assert_null(nas_vocab_train(NULL, NULL, 0, 65536, &err));
    nas_vocab *v = nas_vocab_train(NULL, NULL, 0, 8192, &err);
    assert_int_equal(nas_vocab_pieces(v), 256);
    nas_vocab_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),   cmocka_unit_test(test_exports),
        cmocka_unit_test(test_oracle),     cmocka_unit_test(test_rules),
        cmocka_unit_test(test_any_merges), cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_files),      cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("vocab", tests, NULL, NULL);
}
