/* spaces/base: errors, memory, random numbers, options. */
#include "spaces/base/err.h"
#include "spaces/base/mem.h"
#include "spaces/base/option.h"
#include "spaces/base/rng.h"

#include "tests/check.h"

#include <math.h>
#include <string.h>

static void test_err_first_wins(void **state)
{
    (void)state;
    nas_err err = {0};
    assert_int_equal(nas_fail(&err, NAS_USAGE, "no '%s'", "x"), NAS_USAGE);
    nas_fail(&err, NAS_FAILED, "later");
    assert_string_equal(err.text, "no 'x'");
    assert_int_equal(nas_fail_in(&err, "file:%d", 3), NAS_USAGE);
    assert_string_equal(err.text, "file:3: no 'x'");
    char big[3000];
    memset(big, 'a', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    nas_fail_in(&err, "%s", big); /* the reason stays */
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_memory_equal(err.text, "aaaa", 4);
    assert_string_equal(err.text + sizeof err.text - 1 - 15, ": file:3: no 'x'" + 1);
    for (size_t i = 0; i + 2 < sizeof big; i += 2)
        memcpy(big + i, "\xc3\xa9", 3);
    for (int shift = 0; shift < 2; shift++) { /* no character is cut in two */
        nas_err wide = {0};
        nas_fail(&wide, NAS_FAILED, "%s%s", shift ? "x" : "", big);
        for (size_t i = shift; wide.text[i] && wide.text[i] != ' '; i += 2)
            assert_memory_equal(wide.text + i, "\xc3\xa9", 2);
        assert_memory_equal(strrchr(wide.text, ' ') + 1, "\xc3\xa9", 2);
    }
    nas_err line = {0};
    nas_fail(&line, NAS_FAILED, "a\nb\x7f");
    assert_string_equal(line.text, "a?b?");
    assert_int_equal(nas_fail_in(NULL, "x"), NAS_FAILED);
}

static void test_plain(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ""},
        {"a \303\251 \342\206\222 \360\237\231\202", "a \303\251 \342\206\222 \360\237\231\202"},
        {"\303x\251\303", "?x??"},                                 /* cut characters */
        {"\300\257 \340\237\277 \360\217\277\277", "?? ??? ????"}, /* longer than need be */
        {"\355\240\200 \364\220\200\200 \377", "??? ???? ?"},      /* no characters of Unicode */
        {"\302\233m\033[m\177", "??m?[m?"},                        /* what terminals obey */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[40];
        strcpy(text, cases[i].text);
        nas_plain(text);
        assert_string_equal(text, cases[i].want);
    }
}

static void test_nearest(void **state)
{
    (void)state;
    const char *list[] = {"nb101", "nb201", "latency:raspi4", "toy"};
    assert_string_equal(nas_nearest("nb20l", list, 4), "nb201");
    assert_string_equal(nas_nearest("latency:raspi", list, 4), "latency:raspi4");
    assert_null(nas_nearest("zzzzzzzz", list, 4));
    assert_null(nas_nearest("", list, 4));
}

static void test_arena_and_bytes(void **state)
{
    (void)state;
    nas_arena *arena = nas_arena_new();
    for (int round = 0; round < 3; round++) {
        char *pieces[500];
        for (int i = 0; i < 500; i++) {
            pieces[i] = nas_arena_get(arena, (size_t)i * 7);
            assert_int_equal((uintptr_t)pieces[i] % 16, 0);
            memset(pieces[i], i, (size_t)i * 7);
        }
        for (int i = 1; i < 500; i++)
            assert_int_equal((unsigned char)pieces[i][i * 7 - 1], i & 255);
        size_t used = nas_arena_used(arena);
        assert_true(used >= 500 * 499 / 2 * 7);
        nas_arena_reset(arena);
        assert_int_equal(nas_arena_used(arena), 0);
    }
    nas_arena_free(arena);
    nas_bytes b = {0};
    assert_string_equal(nas_bytes_text(&b), "");
    nas_bytes_puts(&b, "a");
    nas_bytes_puti(&b, INT64_MIN);
    nas_bytes_putc(&b, ' ');
    nas_bytes_print(&b, "%5.2f", 3.14159);
    assert_string_equal(b.data, "a-9223372036854775808  3.14");
    nas_bytes_clear(&b);
}

/* Vectors of the reference implementation (pcg-random.org: pcg32-global-demo, check-pcg64). */
static void test_pcg_known_answers(void **state)
{
    (void)state;
    const uint32_t v32[] = {0xa15c02b7, 0x7b47f409, 0xba1d3330, 0x83d2f293, 0xbfa4784b, 0xcbed606e};
    nas_rng32 a = nas_rng32_init(42, 54);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(nas_rng32_next(&a), v32[i]);
    const uint64_t v64[] = {0x86b1da1d72062b68, 0x1304aa46c9853d39, 0xa3670e9e0dd50358,
                            0xf9090e529a7dae00, 0xc85b9fd837996f2c, 0x606121f8e3919196};
    nas_rng b = nas_rng_init(42, 54);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(nas_rng_next(&b), v64[i]);
}

static void test_rng_children(void **state)
{
    (void)state;
    nas_rng run = nas_rng_seed(0), other = nas_rng_seed(1);
    nas_rng a = nas_rng_child(&run, "mutate", 0), b = nas_rng_child(&run, "mutate", 0);
    assert_memory_equal(&a, &b, sizeof a);
    nas_rng c = nas_rng_child(&run, "mutate", 1), d = nas_rng_child(&run, "cross", 0);
    nas_rng e = nas_rng_child(&other, "mutate", 0);
    assert_true(a.state != c.state && a.inc != c.inc);
    assert_true(a.state != d.state && a.inc != d.inc);
    assert_true(a.state != e.state && a.inc != e.inc);
    /* neighbouring children do not correlate: the sample correlation of 4,000 pairs is 0 +- 4 sd */
    double sum = 0;
    for (uint64_t i = 0; i < 4000; i++) {
        nas_rng x = nas_rng_child(&run, "individual", i),
                y = nas_rng_child(&run, "individual", i + 1);
        sum += (nas_rng_unit(&x) - 0.5) * (nas_rng_unit(&y) - 0.5) * 12;
    }
    assert_true(fabs(sum / 4000) < 4 / sqrt(4000));
}

static void test_rng_distributions(void **state)
{
    (void)state;
    nas_rng r = nas_rng_seed(7);
    int count[5] = {0};
    double mean = 0, square = 0;
    for (int i = 0; i < 50000; i++) {
        count[nas_rng_below(&r, 5)]++;
        double n = nas_rng_normal(&r);
        mean += n / 50000;
        square += n * n / 50000;
        double u = nas_rng_unit(&r);
        assert_true(u >= 0 && u < 1);
    }
    for (int i = 0; i < 5; i++)
        assert_in_range(count[i], 9600, 10400); /* 10,000 +- 4.5 sd */
    assert_true(fabs(mean) < 0.02 && fabs(square - 1) < 0.03);
    int order[6] = {0, 1, 2, 3, 4, 5}, sum = 0;
    nas_rng_shuffle(&r, order, 6, sizeof *order);
    for (int i = 0; i < 6; i++)
        sum += 1 << order[i];
    assert_int_equal(sum, 63);
}

static const nas_option TABLE[] = {{"seed", 'S', "K", "the seed", NAS_OPTION_U64},
                                   {"force", 0, NULL, "overwrite", NAS_OPTION_FLAG},
                                   {"from", 0, "SOURCE", "a source", NAS_OPTION_LIST},
                                   {"rate", 'r', "X", "a rate", NAS_OPTION_REAL},
                                   {0}};

static void test_options(void **state)
{
    (void)state;
    char *good[] = {"x",      "a", "--seed", "0",       "--from=p", "-r0.5",
                    "--from", "q", "-",      "--force", "--",       "--seed"};
    nas_options o = {0};
    nas_err err = {0};
    assert_int_equal(nas_options_read(&o, TABLE, 12, good, &err), NAS_OK);
    assert_int_equal(nas_options_u64(&o, "seed", 9), 0);
    assert_true(nas_options_has(&o, "seed") && nas_options_has(&o, "force"));
    assert_string_equal(nas_options_nth(&o, "from", 1), "q");
    assert_null(nas_options_nth(&o, "from", 2));
    assert_true(nas_options_real(&o, "rate", 0) == 0.5);
    assert_int_equal(o.n_operand, 3);
    assert_string_equal(o.operand[2], "--seed");
    nas_options_clear(&o);
    const struct {
        char *word, *says;
    } bad[] = {{"--sed=1", "did you mean 'seed'"},
               {"--seed=-1", "whole number"},
               {"--seed", "needs a value"},
               {"--force=1", "takes no value"},
               {"-q", "unknown option '-q'"},
               {"--rate=nan", "needs a number"},
               {"--seed=99999999999999999999", "whole number"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *argv[] = {"x", bad[i].word};
        nas_err e = {0};
        assert_int_equal(nas_options_read(&o, TABLE, 2, argv, &e), NAS_USAGE);
        assert_non_null(strstr(e.text, bad[i].says));
        nas_options_clear(&o);
    }
    nas_bytes help = {0};
    nas_options_help(&help, TABLE);
    assert_non_null(strstr(help.data, "  -S, --seed K                the seed\n"));
    nas_bytes_clear(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_err_first_wins),    cmocka_unit_test(test_plain),
        cmocka_unit_test(test_nearest),           cmocka_unit_test(test_arena_and_bytes),
        cmocka_unit_test(test_pcg_known_answers), cmocka_unit_test(test_rng_children),
        cmocka_unit_test(test_rng_distributions), cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
