/* nats-sss, nbmacro and the two TransNAS-Bench-101 spaces: published and computed costs, counts,
 * and every row of the tables; the table of nb201 too. */
#include "tests/csv.h"
#include "tests/nauty.h"

#include <stdio.h>
#include <stdlib.h>

static const nas_space *space(const char *name)
{
    const nas_space *s = nas_space_find(name);
    assert_non_null(s);
    return s;
}

/* Whether the space refuses the text with a sentence that says so. */
static void check_refused(const nas_space *s, const char *text, const char *says)
{
    nas_arch a;
    nas_err err = {0};
    assert_int_equal(nas_space_parse(s, text, &a, &err), NAS_USAGE);
    if (!strstr(err.text, says))
        fail_msg("'%s' does not say '%s'", err.text, says);
}

/* Valid members and distinct canonical forms over all gene vectors. */
static void check_counts(const nas_space *s, size_t members, size_t classes)
{
    nas_arch_set all = {0}, canonical = {0};
    for (uint64_t i = 0; i < nas_space_points(s); i++) {
        nas_arch a, c;
        nas_space_at(s, i, &a);
        if (!nas_space_valid(s, &a))
            continue;
        nas_space_canonical(s, &a, &c);
        nas_arch_set_add(&all, &a, NULL);
        nas_arch_set_add(&canonical, &c, NULL);
    }
    assert_int_equal(all.n, members);
    assert_int_equal(canonical.n, classes);
    assert_true((double)members == s->size);
    nas_arch_set_clear(&all);
    nas_arch_set_clear(&canonical);
}

/* ---- nats-sss ---- */

static void test_sss_costs(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        int64_t params[3], flops[3]; /* 0: not known */
    } row[] = {
        {"8:8:8:8:8", {11714, 12524, 12704}, {4481114, 4481924, 1121336}},
        {"8:8:8:16:32", {49202, 52172, 52832}, {6840650, 6843620, 1714040}},
        {"8:8:40:32:40", {144834, 148524, 149344}, {21827994, 21831684, 5461816}},
        {" 64 : 64:64:64:64", {713674, 0, 0}, {274399882, 0, 0}},
    };
    const nas_space *s = space("nats-sss");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int t = 0; t < 3 && row[i].params[t]; t++) {
            nas_arch a = check_arch(s, row[i].arch);
            nas_cost cost = check_cost(s, &a, s->tasks[t].name);
            assert_int_equal(cost.params, row[i].params[t]);
            assert_int_equal(cost.macs + s->tasks[t].classes, row[i].flops[t]);
        }
    check_counts(s, 32768, 32768);
    check_refused(s, "8:8:9:8:8", "column 5: width 9 is not a multiple of 8");
    check_refused(s, "8:8:8:72:8", "column 7: 72 is not one of 8 to 64");
    check_refused(s, "8:8:8:8", "':' expected");
}

/* The index of the data set is the base-8 number of the widths. */
static void test_sss_index(void **state)
{
    (void)state;
    nas_arch a = check_arch(space("nats-sss"), "8:8:8:16:32");
    assert_int_equal(nas_space_index(space("nats-sss"), &a), 1 * 8 + 3);
}

/* ---- nbmacro ---- */

static void test_macro_costs(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        int64_t params, macs;
    } row[] = {
        {"00000000", 387882, 7713280},    {"11111111", 1588874, 53246464},
        {"22222222", 2932586, 105660928}, {"12121212", 2330186, 80617984},
        {"02012100", 890666, 47327744},   {"20201202", 1705962, 56312320},
    };
    const nas_space *s = space("nbmacro");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        nas_arch a = check_arch(s, row[i].arch);
        nas_cost cost = check_cost(s, &a, NULL);
        assert_int_equal(cost.params, row[i].params);
        assert_int_equal(cost.macs, row[i].macs);
    }
    check_counts(s, 6561, 3969);
    check_refused(s, "0000300", "column 5: 3 is not one of 0 to 2");
}

static void test_macro_classes(void **state)
{
    (void)state;
    const nas_space *s = space("nbmacro");
    const char *same[] = {"10210012", "10201012", "10021102"}; /* the last is another class */
    nas_arch a[3];
    for (int i = 0; i < 3; i++) {
        a[i] = check_arch(s, same[i]);
        nas_space_canonical(s, &a[i], &a[i]);
    }
    nas_bytes text = {0};
    nas_space_print(s, &a[0], &text);
    assert_string_equal(text.data, "10201012");
    assert_memory_equal(&a[0], &a[1], sizeof *a);
    assert_memory_not_equal(&a[0], &a[2], sizeof *a);
    nas_bytes_clear(&text);
}

/* ---- tables: params (and MACs) of every row ---- */

static void check_table(const char *file, const char *name, int arch, int params, int macs,
                        int least)
{
    check_csv t;
    check_csv_open(&t, file);
    int rows = 0, wrong = 0;
    while (check_csv_next(&t)) {
        nas_arch a = check_arch(space(name), t.field[arch]);
        nas_cost cost = check_cost(space(name), &a, NULL);
        wrong += cost.params != atoll(t.field[params]);
        wrong += macs >= 0 && cost.macs != atoll(t.field[macs]);
        rows++;
    }
    check_csv_close(&t);
    print_message("# %s: %d rows, %d numbers differ\n", file, rows, wrong);
    assert_int_equal(wrong, 0);
    assert_true(rows >= least);
}

static void test_table_of_nbmacro(void **state)
{
    (void)state;
    check_table("nbmacro.csv.gz", "nbmacro", 0, 1, 2, 6000);
}

static void test_table_of_nb201(void **state)
{
    (void)state;
    check_table("nb201_accuracy.csv.gz", "nb201", 1, 2, -1, 14000);
}

/* Their rows have no costs: they are strings that come back as they are. */
static void check_strings(const char *file, const char *name, int least)
{
    check_csv t;
    check_csv_open(&t, file);
    int rows = 0;
    nas_bytes text = {0};
    for (; check_csv_next(&t); rows++) {
        nas_arch a = check_arch(space(name), t.field[0]);
        nas_bytes_reset(&text);
        nas_space_print(space(name), &a, &text);
        assert_string_equal(text.data, t.field[0]);
    }
    check_csv_close(&t);
    nas_bytes_clear(&text);
    assert_true(rows >= least);
}

static void test_tables_of_tnb101(void **state)
{
    (void)state;
    check_strings("tnb101_micro.csv.gz", "tnb101-micro", 3700);
    check_strings("tnb101_macro.csv.gz", "tnb101-macro", 3000);
}

/* ---- TransNAS-Bench-101 ---- */

static void test_transnas_costs(void **state)
{
    (void)state;
    static const struct {
        const char *space, *arch;
        int64_t encoder, width; /* parameters without the head, channels that the head reads */
    } row[] = {
        {"tnb101-micro", "64-41414-3_33_333", 41411616, 512},
        {"tnb101-micro", "64-41414-1_11_111", 540960, 512},
        {"tnb101-micro", "64-41414-2_22_222", 4645920, 512},
        {"tnb101-micro", "64-41414-0_00_000", 19488, 512},
        {"tnb101-micro", "64 - 41414 - 1_02_333", 22520608, 512},
        {"tnb101-macro", "64-1234-basic", 3400224, 256},
        {"tnb101-macro", "64-2311-basic", 2334240, 128},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const nas_space *s = space(row[i].space);
        nas_arch a = check_arch(s, row[i].arch);
        for (int t = 0; t < s->n_tasks; t++) {
            int classes = s->tasks[t].classes; /* 0: the encoder alone */
            nas_cost cost = check_cost(s, &a, s->tasks[t].name);
            assert_int_equal(classes > 0, t < 3);
            assert_int_equal(cost.params - (row[i].width + 1) * classes, row[i].encoder);
        }
    }
    const nas_space *micro = space("tnb101-micro");
    nas_arch a = check_arch(micro, "64-41414-3_33_333");
    assert_int_equal(check_cost(micro, &a, "class_scene").params, 41443935);
}

static void test_transnas_counts(void **state)
{
    (void)state;
    /* The 4^5 strings without operator between nodes 1 and 2 pair up with their mirror images, but
     * for the 4^3 that are their own. */
    check_counts(space("tnb101-micro"), 4096, 3616);
    check_counts(space("tnb101-macro"), 3256, 3256);
}

static void test_transnas_strings(void **state)
{
    (void)state;
    const nas_space *micro = space("tnb101-micro"), *macro = space("tnb101-macro");
    nas_arch a = check_arch(micro, "64-41414-3_10_123"), b = check_arch(micro, "64-41414-1_30_132");
    nas_arch c;
    nas_space_canonical(micro, &a, &c);
    assert_memory_equal(&b, &c, sizeof c);
    check_refused(micro, "64-41414-3_10_124", "column 17: 4 is not one of 0 to 3");
    check_refused(micro, "64-41413-3_10_123", "column 8: '4' expected");
    check_refused(macro, "64-1111-basic", "column 4: one to four modules");
    check_refused(macro, "64-333334-basic", "column 4: one to four modules");
    check_refused(macro, "64-124-basic", "column 7: a number expected");
    check_refused(macro, "64-1234-basics", "column 14: 's' is too much");
    check_refused(macro, "64-1235-basic", "column 7: 5 is not one of 1 to 4");
}

/* ---- cells of four nodes with operators on edges ---- */

/* The labelled graph of a cell: nodes, and a vertex in the middle of every edge that has an
 * operator (0 is none in both spaces), coloured by it. */
static nas_arch cell_key(const nas_arch *a)
{
    check_digraph d = {.n = 4, .colour = {0, 1, 1, 2}};
    for (int t = 1, i = 0; t < 4; t++)
        for (int s = 0; s < t; s++, i++)
            if (a->gene[i]) {
                d.edge[s][d.n] = d.edge[d.n][t] = true;
                d.colour[d.n++] = 3 + a->gene[i];
            }
    return check_nauty_key(&d);
}

/* Canonical forms are the same exactly where nauty finds the graphs isomorphic: as many pairs
 * (nauty's form, ours) as forms of each. */
static void check_classes(const char *name, size_t classes)
{
    const nas_space *s = space(name);
    nas_arch_set nauty = {0}, ours = {0}, pairs = {0};
    for (uint64_t i = 0; i < nas_space_points(s); i++) {
        nas_arch a, c;
        nas_space_at(s, i, &a);
        nas_space_canonical(s, &a, &c);
        nas_arch key = cell_key(&a), pair = {.n = NAS_ARCH_GENES};
        int64_t one = nas_arch_set_add(&nauty, &key, NULL), two = nas_arch_set_add(&ours, &c, NULL);
        memcpy(pair.gene, &one, sizeof one);
        memcpy(pair.gene + sizeof one, &two, sizeof two);
        nas_arch_set_add(&pairs, &pair, NULL);
    }
    assert_int_equal(nauty.n, classes);
    assert_int_equal(ours.n, classes);
    assert_int_equal(pairs.n, classes);
    nas_arch_set_clear(&nauty);
    nas_arch_set_clear(&ours);
    nas_arch_set_clear(&pairs);
}

static void test_nauty_agrees(void **state)
{
    (void)state;
    check_classes("nb201", 14125);
    check_classes("tnb101-micro", 3616);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sss_costs),        cmocka_unit_test(test_sss_index),
        cmocka_unit_test(test_macro_costs),      cmocka_unit_test(test_macro_classes),
        cmocka_unit_test(test_table_of_nbmacro), cmocka_unit_test(test_table_of_nb201),
        cmocka_unit_test(test_transnas_costs),   cmocka_unit_test(test_transnas_counts),
        cmocka_unit_test(test_nauty_agrees),     cmocka_unit_test(test_transnas_strings),
        cmocka_unit_test(test_tables_of_tnb101),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
