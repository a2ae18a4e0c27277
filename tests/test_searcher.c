/* search/searcher: constrained ranks against brute force, and searchers that are told the worst. */
#include "search/pick.h"
#include "search/searcher.h"

#include "results/front.h"
#include "search/archive.h"

#include "tests/check.h"

#include <math.h>
#include <stdlib.h>

/* Few distinct values, so that ties and duplicates abound; a third each infeasible and failed. */
static nas_member random_member(nas_rng *rng, int64_t id, size_t m, const nas_space *space)
{
    nas_member member = {.id = id, .parent = -1};
    nas_space_sample(space, rng, &member.arch);
    for (size_t k = 0; k < m; k++)
        member.f[k] = (double)nas_rng_below(rng, 5) - 2;
    if (nas_rng_below(rng, 20) == 0)
        member.f[0] = nas_rng_below(rng, 2) ? INFINITY : -INFINITY;
    uint64_t kind = nas_rng_below(rng, 6);
    member.failed = kind == 0;
    member.violation = kind == 1 ? (double)nas_rng_below(rng, 4) / 4 : 0;
    if (kind == 2)
        member.violation = INFINITY;
    if (member.failed) {
        member.violation = NAN;
        for (size_t k = 0; k < m; k++)
            member.f[k] = NAN;
    }
    return member;
}

/* The constrained rule in its plainest words. */
static bool plainly_dominates(const nas_member *a, const nas_member *b, size_t m)
{
    if (a->failed || b->failed)
        return !a->failed;
    if (a->violation != b->violation)
        return a->violation < b->violation;
    bool better = false;
    for (size_t k = 0; k < m; k++) {
        if (a->f[k] > b->f[k])
            return false;
        better |= a->f[k] < b->f[k];
    }
    return better && a->violation == 0;
}

static void peel(const nas_member *member, size_t n, size_t m, uint32_t *rank)
{
    size_t left = n;
    for (size_t i = 0; i < n; i++)
        rank[i] = UINT32_MAX;
    for (uint32_t r = 0; left; r++) {
        bool here[64] = {false};
        for (size_t i = 0; i < n; i++) {
            here[i] = rank[i] == UINT32_MAX;
            for (size_t j = 0; j < n && here[i]; j++)
                here[i] = rank[j] != UINT32_MAX || (member[i].failed && member[j].failed) ||
                          !plainly_dominates(&member[j], &member[i], m);
        }
        for (size_t i = 0; i < n; i++)
            if (here[i]) {
                rank[i] = r;
                left--;
            }
    }
}

static void test_ranks(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(1);
    const nas_space *toy = nas_space_find("toy");
    for (int round = 0; round < 3000; round++) {
        nas_member member[40];
        uint32_t rank[40], want[40];
        double distance[40];
        size_t n = nas_rng_below(&rng, 41), m = 1 + nas_rng_below(&rng, NAS_OBJECTIVE_MOST);
        for (size_t i = 0; i < n; i++)
            member[i] = random_member(&rng, (int64_t)i, m, toy);
        nas_member_ranks(member, n, m, rank);
        peel(member, n, m, want);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(rank[i], want[i]);
            for (size_t j = 0; j < n; j++)
                if (!member[i].failed || !member[j].failed)
                    assert_int_equal(nas_member_dominates(&member[i], &member[j], m),
                                     plainly_dominates(&member[i], &member[j], m));
        }
        nas_member_crowding(member, n, m, rank, distance);
        for (size_t i = 0; i < n; i++)
            assert_true(distance[i] >= 0); /* never NaN */
    }
}

/* What failed or is infeasible is never better than what is feasible, whatever its numbers. */
static void test_failed_is_worst(void **state)
{
    (void)state;
    nas_member good = {.f = {1e300, 1e300}};
    nas_member infeasible = {.f = {-INFINITY, -INFINITY}, .violation = 1e-300};
    nas_member unknown = {.f = {-1, -1}, .violation = NAN};
    nas_member failed = {.f = {-INFINITY, -INFINITY}, .failed = true, .violation = NAN};
    const nas_member *order[] = {&good, &infeasible, &failed};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            assert_int_equal(nas_member_dominates(order[i], order[j], 2), i < j);
    assert_true(nas_member_dominates(&good, &unknown, 2));
    assert_false(nas_member_dominates(&unknown, &good, 2));
}

/* Members of every kind in any proportion: what is asked for stays in the space, and ask changes
 * nothing: the same numbers give the same proposal. */
static void drive(const nas_searcher_type *type, const nas_space *space, int kind)
{
    double options[NAS_SEARCHER_OPTIONS];
    nas_metric metric[2];
    assert_int_equal(nas_metric_make(&metric[0], "accuracy", NULL), NAS_OK);
    assert_int_equal(nas_metric_make(&metric[1], "params", NULL), NAS_OK);
    nas_search_setup setup = {.space = space,
                              .task = space->tasks,
                              .m = 2,
                              .population = 12,
                              .metric = metric,
                              .metrics = 2,
                              .rng = nas_rng_seed(1)};
    nas_searcher_defaults(type, options);
    static const char *const quick[] = {"pool=20", "whole=0", "predictor=krr-hamming"};
    for (size_t i = 0; i < 3 && !strcmp(type->name, "guided"); i++) /* some networks are large */
        assert_int_equal(nas_searcher_option_read(type, quick[i], options, NULL), NAS_OK);
    void *state = type->open(&setup, options);
    nas_rng rng = nas_rng_seed((uint64_t)kind);
    int64_t id = 0;
    for (int generation = 0; generation < 15; generation++) {
        nas_member member[12];
        size_t n = type->steady ? 1 : 12;
        for (size_t i = 0; i < n; i++) {
            nas_proposal first, again;
            nas_rng same = rng;
            type->ask(state, &rng, &first);
            if (strcmp(type->name, "guided")) { /* goes through a list */
                type->ask(state, &same, &again);
                assert_true(nas_arch_same(&first.arch, &again.arch));
            }
            assert_true(nas_space_valid(space, &first.arch));
            assert_true(first.parent[0] < id && first.parent[1] < id);
            member[i] = random_member(&rng, id++, 2, space);
            member[i].arch = first.arch;
            member[i].parent = first.parent[0];
            member[i].value = member[i].f;
            if (kind == 1) /* all failed */
                member[i].failed = true;
            if (kind == 2) { /* all infeasible, with numbers */
                member[i].failed = false;
                member[i].f[0] = member[i].f[1] = 1;
                member[i].violation = 1 + (double)nas_rng_below(&rng, 3);
            }
        }
        type->tell(state, member, n);
    }
    type->close(state);
}

static void test_any_news(void **state)
{
    (void)state;
    for (int i = 0; i < nas_searcher_count(); i++)
        for (int k = 0; k < nas_space_count(); k++)
            for (int kind = 0; kind < 3; kind++)
                drive(nas_searcher_types[i], nas_spaces[k], kind);
}

/* Of parents and children together NSGA-II keeps the best by rank, crowding distance and age: only
 * those become parents, and each of them does. */
static void test_survivors(void **state)
{
    (void)state;
    enum { P = 6 };
    const nas_searcher_type *type = nas_searcher_need("nsga2", NULL);
    const nas_space *toy = nas_space_find("toy");
    nas_rng rng = nas_rng_seed(9);
    double options[NAS_SEARCHER_OPTIONS];
    nas_searcher_defaults(type, options);
    for (int round = 0; round < 100; round++) {
        nas_member member[2 * P];
        uint32_t rank[2 * P];
        double distance[2 * P];
        bool lives[2 * P] = {false}, seen[2 * P] = {false};
        for (int64_t i = 0; i < 2 * P; i++)
            member[i] = random_member(&rng, i, 2, toy);
        nas_member_ranks(member, 2 * P, 2, rank);
        nas_member_crowding(member, 2 * P, 2, rank, distance);
        for (size_t i = 0; i < 2 * P; i++) {
            size_t better = 0;
            for (size_t j = 0; j < 2 * P; j++)
                better += rank[j] < rank[i] ||
                          (rank[j] == rank[i] &&
                           (distance[j] > distance[i] || (distance[j] == distance[i] && j < i)));
            lives[i] = better < P;
        }
        const nas_search_setup setup = {
            .space = toy, .task = toy->tasks, .m = 2, .population = P, .rng = nas_rng_seed(1)};
        void *searcher = type->open(&setup, options);
        type->tell(searcher, member, P);
        type->tell(searcher, member + P, P);
        for (int i = 0; i < 1500; i++) {
            nas_proposal child;
            type->ask(searcher, &rng, &child);
            for (int k = 0; k < 2; k++)
                if (child.parent[k] >= 0)
                    seen[child.parent[k]] = true;
        }
        type->close(searcher);
        assert_memory_equal(seen, lives, sizeof seen);
    }
}

/* The archive against brute force over everything that was added, duplicates kept once each id. */
static void test_archive(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(3);
    for (int round = 0; round < 500; round++) {
        enum { N = 60 };
        double f[N][4];
        size_t m = 1 + nas_rng_below(&rng, 4), n = 0;
        nas_archive archive = {.m = m};
        for (size_t i = 0; i < N; i++) {
            for (size_t k = 0; k < m; k++)
                f[i][k] = (double)nas_rng_below(&rng, 6);
            nas_archive_add(&archive, (int64_t)i, f[i]);
        }
        for (size_t i = 0; i < N; i++) {
            bool best = true;
            for (size_t j = 0; j < N; j++)
                best &= !nas_front_dominates(f[j], f[i], m);
            if (best) {
                assert_true(n < archive.n && archive.id[n] == (int64_t)i);
                assert_memory_equal(archive.f + n++ * m, f[i], m * sizeof(double));
            }
        }
        assert_int_equal(n, archive.n);
        nas_archive_clear(&archive);
    }
}

/* All that count are picked in the end and nothing else; none comes before one that is better in
 * every objective. */
static void test_pick_by_direction(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(4);
    const nas_space *toy = nas_space_find("toy");
    for (int round = 0; round < 300; round++) {
        enum { N = 15 };
        nas_member candidate[N];
        size_t m = 1 + nas_rng_below(&rng, 4), order[N], counting = 0;
        bool taken[N] = {false};
        for (size_t i = 0; i < N; i++) {
            candidate[i] = random_member(&rng, (int64_t)i, m, toy);
            counting += !candidate[i].failed && candidate[i].violation == 0;
        }
        size_t picks = nas_pick_by_direction(candidate, N, m, N, &rng, order);
        assert_true(picks == counting || picks == 0); /* 0: no number is finite */
        for (size_t p = 0; p < picks; p++) {
            const nas_member *pick = &candidate[order[p]];
            assert_true(!taken[order[p]] && !pick->failed && pick->violation == 0);
            taken[order[p]] = true;
            for (size_t i = 0; i < N; i++) {
                bool better = !taken[i] && !candidate[i].failed && candidate[i].violation == 0;
                for (size_t k = 0; k < m; k++)
                    better &= candidate[i].f[k] < pick->f[k];
                assert_false(better);
            }
        }
    }
}

/* Each of four candidates comes first in the directions in which it reaches furthest, whatever the
 * units: they span 0 to 1, the reference point is at 1.1, and between the middle ones the tangent
 * of the angle is .5 / .7. */
static void test_directions_are_uniform(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    nas_rng rng = nas_rng_seed(5);
    const nas_member candidate[] = {
        {.f = {0, 1e6}}, {.f = {0.2, 6e5}}, {.f = {0.4, 4e5}}, {.f = {1, 0}}};
    const double tangent[] = {.1 / .9, .5 / .7, .7 / .1, INFINITY};
    double share[4] = {0}, from = 0;
    for (int i = 0; i < DRAWS; i++) {
        size_t order[1];
        assert_int_equal(nas_pick_by_direction(candidate, 4, 2, 1, &rng, order), 1);
        share[order[0]] += 1 / (double)DRAWS;
    }
    for (int i = 0; i < 4; i++) {
        double to = atan(tangent[i]) / atan(INFINITY);
        assert_true(fabs(share[i] - (to - from)) < 0.01);
        from = to;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_failed_is_worst),
        cmocka_unit_test(test_any_news),
        cmocka_unit_test(test_archive),
        cmocka_unit_test(test_survivors),
        cmocka_unit_test(test_pick_by_direction),
        cmocka_unit_test(test_directions_are_uniform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
