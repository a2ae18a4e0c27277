/* What every space promises, on random members of each: one test for all rows of the list. */
#include "hw/cost.h"
#include "spaces/space.h"

#include "tests/check.h"

#include <stdio.h>
#include <string.h>

enum { ARCHS = 10000, NETS = 200 };

static nas_rng rng_of(const nas_space *s)
{
    nas_rng root = nas_rng_seed(11);
    return nas_rng_child(&root, s->name, 0);
}

static void print_arch(const nas_space *s, const nas_arch *a, nas_bytes *text)
{
    nas_bytes_reset(text);
    nas_space_print(s, a, text);
}

/* Genes in range, unused genes zero, header right, and a member. */
static void check_member(const nas_space *s, const nas_arch *a)
{
    assert_ptr_equal(nas_space_of(a), s);
    assert_int_equal(a->n, s->n_genes);
    for (int i = 0; i < NAS_ARCH_GENES; i++)
        if (i < s->n_genes)
            assert_true(a->gene[i] < s->arity[i]);
        else
            assert_int_equal(a->gene[i], 0);
    assert_true(nas_space_valid(s, a));
    nas_arch tidy = *a;
    if (s->tidy)
        s->tidy(s, &tidy);
    assert_memory_equal(a, &tidy, sizeof tidy);
}

/* parse(print) is the identity, with blanks around the string too. */
static void check_string(const nas_space *s, const nas_arch *a, nas_bytes *text)
{
    nas_arch back;
    nas_err err = {0};
    print_arch(s, a, text);
    if (nas_space_parse(s, text->data, &back, &err) != NAS_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(a, &back, sizeof back);
    nas_bytes_puts(text, " ");
    assert_int_equal(nas_space_parse(s, text->data, &back, &err), NAS_OK);
    assert_memory_equal(a, &back, sizeof back);
}

/* A member, a fixed point, no greater than a string of the same length, with the same hash. */
static void check_canonical(const nas_space *s, const nas_arch *a, nas_bytes *text,
                            nas_bytes *other)
{
    nas_arch c, again;
    char hash[33], same[33];
    nas_space_canonical(s, a, &c);
    check_member(s, &c);
    nas_space_canonical(s, &c, &again);
    assert_memory_equal(&c, &again, sizeof c);
    print_arch(s, a, text);
    print_arch(s, &c, other);
    if (text->size == other->size)
        assert_true(strcmp(other->data, text->data) <= 0);
    nas_space_hash(s, a, hash);
    nas_space_hash(s, &c, same);
    assert_string_equal(hash, same);
    assert_int_equal(strlen(hash), s->hash_kind == NAS_HASH_GRAPH ? 32 : 16);
    assert_int_equal(strspn(hash, "0123456789abcdef"), strlen(hash));
}

static void test_strings_and_classes(void **state)
{
    (void)state;
    nas_bytes text = {0}, other = {0};
    for (int k = 0; k < nas_space_count(); k++) {
        const nas_space *s = nas_spaces[k];
        nas_rng rng = rng_of(s);
        for (int i = 0; i < ARCHS; i++) {
            nas_arch a;
            nas_space_sample(s, &rng, &a);
            check_member(s, &a);
            check_string(s, &a, &text);
            check_canonical(s, &a, &text, &other);
        }
    }
    nas_bytes_clear(&text);
    nas_bytes_clear(&other);
}

/* A mutation changes the canonical form or returns its parent; children are members. */
static void test_operators(void **state)
{
    (void)state;
    for (int k = 0; k < nas_space_count(); k++) {
        const nas_space *s = nas_spaces[k];
        nas_rng rng = rng_of(s);
        int stuck = 0;
        for (int i = 0; i < ARCHS; i++) {
            nas_arch a, b, c, ca, cc;
            nas_space_sample(s, &rng, &a);
            nas_space_sample(s, &rng, &b);
            nas_space_mutate(s, &rng, &a, &c);
            check_member(s, &c);
            nas_space_canonical(s, &a, &ca);
            nas_space_canonical(s, &c, &cc);
            if (nas_arch_same(&ca, &cc)) {
                assert_memory_equal(&a, &c, sizeof a);
                stuck++;
            }
            nas_space_cross(s, &rng, &a, &b, &c);
            check_member(s, &c);
        }
        assert_true(stuck < ARCHS / 100);
    }
}

/* Samples, children and canonical forms are functions of the stream. */
static void test_same_stream_same_members(void **state)
{
    (void)state;
    for (int k = 0; k < nas_space_count(); k++) {
        const nas_space *s = nas_spaces[k];
        nas_rng one = rng_of(s), two = rng_of(s);
        nas_arch a[2], b[2];
        for (int i = 0; i < 100; i++) {
            nas_space_sample(s, &one, &a[0]);
            nas_space_sample(s, &two, &a[1]);
            assert_memory_equal(&a[0], &a[1], sizeof *a);
            nas_space_mutate(s, &one, &a[0], &b[0]);
            nas_space_mutate(s, &two, &a[1], &b[1]);
            assert_memory_equal(&b[0], &b[1], sizeof *b);
        }
    }
}

/* Networks are built for every task, shapes fit, and a class has one cost. */
static void test_networks(void **state)
{
    (void)state;
    for (int k = 0; k < nas_space_count(); k++) {
        const nas_space *s = nas_spaces[k];
        nas_rng rng = rng_of(s);
        for (int i = 0; i < NETS; i++) {
            nas_arch a, c;
            nas_space_sample(s, &rng, &a);
            nas_space_canonical(s, &a, &c);
            const nas_task *task = &s->tasks[i % s->n_tasks];
            nas_graph *ga = nas_space_build(s, &a, task), *gc = nas_space_build(s, &c, task);
            nas_cost ca, cc;
            nas_err err = {0};
            if (nas_cost_of(ga, &ca, &err) != NAS_OK || nas_cost_of(gc, &cc, &err) != NAS_OK)
                fail_msg("%s %s: %s", s->name, task->name, err.text);
            assert_memory_equal(&ca, &cc, sizeof ca);
            assert_true(ca.params > 0 && ca.macs > 0 && ca.convs > 0);
            nas_graph_free(ga);
            nas_graph_free(gc);
        }
    }
}

/* A string with one character changed, dropped or doubled is refused with its column or is another
 * spelling of a member; nothing else happens. */
static void test_damaged_strings(void **state)
{
    (void)state;
    nas_bytes text = {0};
    for (int k = 0; k < nas_space_count(); k++) {
        const nas_space *s = nas_spaces[k];
        nas_rng rng = rng_of(s);
        for (int i = 0; i < 2000; i++) {
            nas_arch a;
            nas_err err = {0};
            nas_space_sample(s, &rng, &a);
            print_arch(s, &a, &text);
            char *at = text.data + nas_rng_below(&rng, text.size);
            if (i % 3 == 0)
                *at = (char)(' ' + nas_rng_below(&rng, 95));
            else if (i % 3 == 1)
                memmove(at, at + 1, strlen(at));
            else
                *at = '\0';
            if (nas_space_parse(s, text.data, &a, &err) == NAS_OK) {
                check_member(s, &a);
            } else {
                assert_int_equal(err.code, NAS_USAGE);
                assert_non_null(strstr(err.text, s->name));
            }
        }
    }
    nas_bytes_clear(&text);
}

static void test_tables_are_sane(void **state)
{
    (void)state;
    for (int k = 0; k < nas_space_count(); k++) {
        const nas_space *s = nas_spaces[k];
        assert_true(s->n_genes > 0 && s->n_genes <= NAS_ARCH_GENES && s->n_tasks > 0);
        assert_non_null(s->title);
        assert_non_null(s->source);
        assert_non_null(s->syntax);
        assert_true(s->size >= 1 && s->size <= 1e60);
        assert_ptr_equal(nas_space_find(s->name), s);
        assert_int_equal(s->hash_kind == NAS_HASH_GRAPH, s->hash != NULL);
        for (int t = 0; t < s->n_tasks; t++)
            assert_ptr_equal(nas_space_task(s, s->tasks[t].name, NULL), &s->tasks[t]);
    }
}

/* The fast path to the output's shape against the shape of the inlined graph. */
static void test_output_shape_needs_no_inlining(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(11);
    for (int k = 0; k < nas_space_count(); k++)
        for (int i = 0; i < 100; i++) {
            const nas_space *s = nas_spaces[k];
            nas_arch a;
            nas_shape shape;
            nas_space_sample(s, &rng, &a);
            nas_graph *g = nas_space_build(s, &a, &s->tasks[i % s->n_tasks]);
            assert_int_equal(nas_graph_output(g, &shape, NULL), NAS_OK);
            const nas_graph *flat = nas_graph_flat(g, NULL);
            assert_true(nas_shape_same(&shape, &flat->fn[0].node[flat->fn[0].out].shape));
            nas_graph_free(g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_are_sane),
        cmocka_unit_test(test_strings_and_classes),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_same_stream_same_members),
        cmocka_unit_test(test_networks),
        cmocka_unit_test(test_damaged_strings),
        cmocka_unit_test(test_output_shape_needs_no_inlining),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
