/* nb101: published costs, hashes and channels, the canonical form against brute force and nauty,
 * the number of classes, every row of the table. NASLM_LONG=1 takes nauty and the hash to all
 * classes, not only those of up to 6 vertices. */
#include "spaces/nb101.h"

#include "tests/csv.h"
#include "tests/nauty.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = NAS_NB101_VERTICES, BIT = 1, OP = 22 };

static const nas_space *nb101(void)
{
    return nas_space_find("nb101");
}

static bool long_run(void)
{
    return getenv("NASLM_LONG") != NULL;
}

static void test_reference_cells(void **state)
{
    (void)state;
    static const struct {
        const char *arch, *md5;
        int64_t params, macs, convs; /* 0: not known */
    } row[] = {
        {"1 0 0 1 1 0 1 0 0 0 0 1 0 0 1 0 1 0 1 0 1 / 0 2 0 0 1",
         "00005c142e6f48ac74fdcf73e3439874", 8555530, 1261835264, 64},
        {"111010000010001100011 / 10002", "28cfc7874f6d200472e1a9dcd8650aa0", 2694282, 402002944,
         73},
        {"111100100001000100101/00000", "99e297f5fada30d669294070ed1df4a9", 49979274, 7335187456,
         0},
        {"100001111001011/2222", "7f2863c47ff14c903849cf2057842782", 227274, 37098496, 0},
        {"1", "043721b9c7fe8c5fad811d47d83132ec", 882570, 137761792, 0},
        {"101/0", "b49ac8c578b4561d79ac7087988f1c61", 10177674, 1496716288, 0},
        {"101/1", "d1269d9156ddc027c40473008192958a", 1920138, 288756736, 0},
        {"101/2", "53cee42601ad14d661bb6878031d6acb", 882570, 0, 0},
        {"101101/00", "b5fb4f6193360330b6ff6a52cbf0cad7", 20346506, 2989888512, 0},
        {"101000101001000100111/01121", "009099d04db19f40abf0cca2f34514e7", 3989898, 590746624, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        nas_arch a = check_arch(nb101(), row[i].arch);
        char hash[33];
        nas_space_hash(nb101(), &a, hash);
        assert_string_equal(hash, row[i].md5);
        nas_cost cost = check_cost(nb101(), &a, NULL);
        assert_int_equal(cost.params, row[i].params);
        if (row[i].macs)
            assert_int_equal(cost.macs, row[i].macs);
        if (row[i].convs)
            assert_int_equal(cost.convs, row[i].convs);
    }
}

/* The unit tests of the rule's own source. */
static void test_channels(void **state)
{
    (void)state;
    static const struct {
        int n, in, out;
        uint8_t edges[N];
        int64_t channels[N];
    } row[] = {
        {4, 8, 16, {2, 4, 8}, {8, 16, 16, 16}},        {4, 8, 15, {6, 8, 8}, {8, 8, 7, 15}},
        {5, 8, 8, {14, 16, 16, 16}, {8, 3, 3, 2, 8}},  {5, 8, 9, {2, 12, 16, 16}, {8, 5, 5, 4, 9}},
        {5, 8, 15, {10, 20, 8, 16}, {8, 8, 7, 7, 15}}, {2, 8, 16, {2}, {8, 16}},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int64_t channels[N] = {0};
        nas_nb101_channels(row[i].n, row[i].edges, row[i].in, row[i].out, channels);
        assert_memory_equal(channels, row[i].channels, sizeof channels);
    }
}

static void test_refusals_name_the_column(void **state)
{
    (void)state;
    const struct {
        const char *text, *says;
    } bad[] = {
        {"", "0 bits are not"},
        {"10/", "2 bits are not"},
        {"1021", "column 3: 2 is not one of 0 to 1"},
        {"101/3", "column 5: 3 is not one of 0 to 2"},
        {"101", "'/' expected"},
        {"101/", "3 vertices have 1 interior operators, not 0"},
        {"101/01", "column 6: more than 1 digits"},
        {"010/0", ""},
        {"100/0", "no path from input to output"},
        {"111111111111111111111/00000", "more than 9 edges"},
        {"1001101000010010101010/02001", "more than 21 digits"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        nas_arch a;
        nas_err err = {0};
        nas_status status = nas_space_parse(nb101(), bad[i].text, &a, &err);
        assert_int_equal(status, *bad[i].says ? NAS_USAGE : NAS_OK);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].says);
    }
}

/* ---- plain matrices, independent of the space's own code ---- */

typedef struct {
    int n;
    bool edge[N][N];
    int op[N];
} cell;

static cell cell_of(const nas_arch *a)
{
    cell c = {.n = a->gene[0] + 2};
    int bit = BIT;
    for (int v = 0; v < c.n; v++)
        for (int w = v + 1; w < c.n; w++)
            c.edge[v][w] = a->gene[bit++];
    for (int v = 1; v < c.n - 1; v++)
        c.op[v] = a->gene[OP + v - 1];
    return c;
}

static nas_arch arch_of(const cell *c)
{
    nas_arch a;
    int bit = BIT;
    nas_space_init(nb101(), &a);
    a.gene[0] = (uint8_t)(c->n - 2);
    for (int v = 0; v < c->n; v++)
        for (int w = v + 1; w < c->n; w++)
            a.gene[bit++] = c->edge[v][w];
    for (int v = 1; v < c->n - 1; v++)
        a.gene[OP + v - 1] = (uint8_t)c->op[v];
    return a;
}

/* order[k] becomes vertex k; false when an edge would point backward. */
static bool permute(const cell *c, const int *order, cell *out)
{
    *out = (cell){.n = c->n};
    for (int v = 0; v < c->n; v++) {
        out->op[v] = c->op[order[v]];
        for (int w = 0; w < c->n; w++)
            if (c->edge[order[v]][order[w]]) {
                if (v >= w)
                    return false;
                out->edge[v][w] = true;
            }
    }
    return true;
}

/* The next permutation of order[1 .. n-2] in lexicographic order. */
static bool next_order(int *order, int n)
{
    int i = n - 3;
    while (i >= 1 && order[i] > order[i + 1])
        i--;
    if (i < 1)
        return false;
    int j = n - 2;
    while (order[j] < order[i])
        j--;
    int keep = order[i];
    order[i] = order[j];
    order[j] = keep;
    for (int a = i + 1, b = n - 2; a < b; a++, b--) {
        keep = order[a];
        order[a] = order[b];
        order[b] = keep;
    }
    return true;
}

static void print_cell(const cell *c, char text[32])
{
    nas_arch a = arch_of(c);
    nas_bytes out = {0};
    nas_space_print(nb101(), &a, &out);
    strcpy(text, out.data);
    nas_bytes_clear(&out);
}

/* The canonical string is the smallest of all relabelings of what it is the string of, and all of
 * them have this canonical string, hash and network. */
static void test_canonical_is_the_smallest_relabeling(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(3);
    for (int i = 0; i < 1000; i++) {
        nas_arch a, canonical, other;
        nas_space_sample(nb101(), &rng, &a);
        nas_space_canonical(nb101(), &a, &canonical);
        const cell c = cell_of(&canonical);
        char best[32] = "~", text[32], hash[33], same[33];
        nas_space_hash(nb101(), &a, hash);
        nas_cost cost = check_cost(nb101(), &a, NULL);
        int order[N] = {0, 1, 2, 3, 4, 5, 6};
        do {
            cell p;
            if (!permute(&c, order, &p))
                continue;
            print_cell(&p, text);
            if (strcmp(text, best) < 0)
                strcpy(best, text);
            nas_arch relabelled = arch_of(&p);
            nas_space_canonical(nb101(), &relabelled, &other);
            assert_memory_equal(&canonical, &other, sizeof other);
            nas_space_hash(nb101(), &relabelled, same);
            assert_string_equal(hash, same);
            if (nas_rng_below(&rng, 10) == 0) {
                nas_cost again = check_cost(nb101(), &relabelled, NULL);
                assert_memory_equal(&cost, &again, sizeof cost);
            }
        } while (next_order(order, c.n));
        print_cell(&c, text);
        assert_string_equal(text, best);
    }
}

/* Dead vertices and edges do not matter: unpruned relabelings share the canonical form. */
static void test_unpruned_relabelings(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(4);
    for (int i = 0; i < 20000; i++) {
        nas_arch a, b, ca, cb;
        nas_space_sample(nb101(), &rng, &a);
        const cell c = cell_of(&a);
        int order[N] = {0, 1, 2, 3, 4, 5, 6};
        cell p;
        do
            nas_rng_shuffle(&rng, order + 1, N - 2, sizeof *order);
        while (!permute(&c, order, &p));
        b = arch_of(&p);
        nas_space_canonical(nb101(), &a, &ca);
        nas_space_canonical(nb101(), &b, &cb);
        assert_memory_equal(&ca, &cb, sizeof ca);
    }
}

/* ---- counting ---- */

/* Input and output are told apart by colour like operators. */
static nas_arch nauty_key(const cell *c)
{
    check_digraph d = {.n = c->n};
    for (int v = 0; v < c->n; v++) {
        d.colour[v] = v == 0 ? 3 : v == c->n - 1 ? 4 : c->op[v];
        for (int w = 0; w < c->n; w++)
            d.edge[v][w] = c->edge[v][w];
    }
    return check_nauty_key(&d);
}

typedef struct {
    uint64_t matrices, labelled, classes; /* valid matrices; full cells; their classes */
    nas_arch_set nauty, hashes;
} counts;

/* All labellings of a full cell: every class has one fixed point of the canonical form. */
static void count_labellings(cell *c, counts *count, bool oracle, bool hashed)
{
    int labellings = 1;
    for (int v = 1; v < c->n - 1; v++)
        labellings *= 3;
    for (int l = 0; l < labellings; l++) {
        for (int v = 1, rest = l; v < c->n - 1; v++, rest /= 3)
            c->op[v] = rest % 3;
        nas_arch a = arch_of(c), canonical;
        nas_space_canonical(nb101(), &a, &canonical);
        count->labelled++;
        if (oracle) {
            nas_arch key = nauty_key(c);
            nas_arch_set_add(&count->nauty, &key, NULL);
        }
        if (!nas_arch_same(&a, &canonical))
            continue;
        count->classes++;
        if (hashed) {
            nas_arch key = {.n = NAS_ARCH_GENES};
            char text[33];
            nas_space_hash(nb101(), &a, text);
            memcpy(key.gene, text, 32);
            nas_arch_set_add(&count->hashes, &key, NULL);
        }
    }
}

static void count_cells(int n, counts *count, bool oracle, bool hashed)
{
    for (uint32_t bits = 0; bits < 1u << n * (n - 1) / 2; bits++) {
        cell c = {.n = n};
        uint32_t rest = bits;
        for (int v = 0; v < n; v++)
            for (int w = v + 1; w < n; w++, rest >>= 1)
                c.edge[v][w] = rest & 1;
        nas_arch a = arch_of(&c), canonical;
        if (!nas_space_valid(nb101(), &a))
            continue;
        count->matrices++;
        nas_space_canonical(nb101(), &a, &canonical);
        if (canonical.gene[0] == n - 2)
            count_labellings(&c, count, oracle, hashed);
    }
}

/* The published numbers of cells with up to n vertices; nauty agrees on the classes up to 6, and
 * the hash tells all of them apart. */
static void test_number_of_classes(void **state)
{
    (void)state;
    static const uint64_t labelled[] = {0, 0, 1, 7, 97, 3364, 128509, 1293208};
    static const uint64_t classes[] = {0, 0, 1, 7, 91, 2532, 64542, 423624};
    counts count = {0};
    double strings = 0, power = 1;
    for (int n = 2; n <= N; n++, power *= 3) {
        uint64_t before = count.matrices, nauty_before = count.nauty.n;
        bool oracle = n < N || long_run();
        count_cells(n, &count, oracle, oracle);
        assert_int_equal(count.labelled, labelled[n]);
        assert_int_equal(count.classes, classes[n]);
        if (oracle) {
            assert_int_equal(count.nauty.n - nauty_before, classes[n] - classes[n - 1]);
            assert_int_equal(count.hashes.n, classes[n]);
        }
        strings += (double)(count.matrices - before) * power;
    }
    if (strings != nb101()->size)
        fail_msg("%.0f strings", strings);
    nas_arch_set_clear(&count.nauty);
    nas_arch_set_clear(&count.hashes);
}

/* ---- drawing ---- */

/* Edges of samples have the frequencies of all valid matrices (5 standard deviations). */
static void test_samples_are_uniform(void **state)
{
    (void)state;
    enum { DRAWS = 100000, PAIRS = 21 };
    double valid = 0, bit[PAIRS] = {0}, seen[PAIRS] = {0}, op[3] = {0};
    nas_arch a;
    for (uint32_t bits = 0; bits < 1u << PAIRS; bits++) {
        nas_space_init(nb101(), &a);
        a.gene[0] = N - 2;
        for (int i = 0; i < PAIRS; i++)
            a.gene[BIT + i] = bits >> i & 1;
        if (!nas_space_valid(nb101(), &a))
            continue;
        valid++;
        for (int i = 0; i < PAIRS; i++)
            bit[i] += a.gene[BIT + i];
    }
    nas_rng rng = nas_rng_seed(8);
    for (int k = 0; k < DRAWS; k++) {
        nas_space_sample(nb101(), &rng, &a);
        assert_int_equal(a.gene[0], N - 2);
        for (int i = 0; i < PAIRS; i++)
            seen[i] += a.gene[BIT + i];
        op[a.gene[OP + k % 5]]++;
    }
    for (int i = 0; i < PAIRS; i++)
        assert_true(seen[i] / DRAWS - bit[i] / valid < 5 * 0.5 / 316 &&
                    bit[i] / valid - seen[i] / DRAWS < 5 * 0.5 / 316);
    for (int i = 0; i < 3; i++)
        assert_true(op[i] > DRAWS / 3 - 750 && op[i] < DRAWS / 3 + 750);
}

/* Smaller cells mutate and cross on seven vertices. */
static void test_operators_on_small_cells(void **state)
{
    (void)state;
    nas_rng rng = nas_rng_seed(9);
    nas_arch a = check_arch(nb101(), "1/"), b = check_arch(nb101(), "101101/01"), c;
    nas_arch_set seen = {0};
    for (int i = 0; i < 500; i++) {
        nas_space_mutate(nb101(), &rng, &a, &c);
        assert_true(nas_space_valid(nb101(), &c) && c.gene[0] == N - 2);
        nas_space_canonical(nb101(), &c, &c);
        nas_arch_set_add(&seen, &c, NULL);
        nas_space_cross(nb101(), &rng, &a, &b, &c);
        assert_true(nas_space_valid(nb101(), &c));
    }
    assert_true(seen.n > 5);
    nas_arch_set_clear(&seen);
}

/* ---- the table ---- */

static void test_every_row_of_the_table(void **state)
{
    (void)state;
    check_csv t;
    check_csv_open(&t, "nb101.csv.gz");
    int rows = 0, wrong = 0;
    while (check_csv_next(&t)) {
        char text[64];
        snprintf(text, sizeof text, "%s/%s", t.field[2], t.field[3]);
        nas_arch a = check_arch(nb101(), text);
        assert_int_equal(a.gene[0] + 2, atoi(t.field[1]));
        nas_cost cost = check_cost(nb101(), &a, NULL);
        wrong += cost.params != atoll(t.field[4]);
        rows++;
    }
    check_csv_close(&t);
    print_message("# params of %d rows: %d differ\n", rows, wrong);
    assert_int_equal(wrong, 0);
    assert_true(rows > 400000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_cells),
        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_refusals_name_the_column),
        cmocka_unit_test(test_canonical_is_the_smallest_relabeling),
        cmocka_unit_test(test_unpruned_relabelings),
        cmocka_unit_test(test_number_of_classes),
        cmocka_unit_test(test_samples_are_uniform),
        cmocka_unit_test(test_operators_on_small_cells),
        cmocka_unit_test(test_every_row_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
