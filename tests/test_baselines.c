/* Graph baselines: gradients against differences, invariance, files, small linear algebra. */
#include "surrogate/baselines/baseline.h"
#include "surrogate/baselines/circuit_op.h"
#include "surrogate/baselines/dense.h"
#include "surrogate/baselines/net.h"
#include "surrogate/predictor.h"

#include "tests/check.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FEW = 6, ROOM = 10 };

static const nas_space *nb201(void)
{
    return nas_space_find("nb201");
}

static void sample(nas_rng rng, nas_arch *arch, size_t n)
{
    for (size_t i = 0; i < n; i++)
        nas_space_sample(nb201(), &rng, &arch[i]);
}

/* Two cells of different size and a side input, so that padding and merging are covered. */
static nas_encoding *two_cells(const nas_net *net, size_t n)
{
    nas_rng rng = nas_rng_seed(3);
    nas_cells *cells = calloc(n, sizeof *cells);
    for (size_t i = 0; i < n; i++) {
        nas_arch arch;
        for (int k = 0; k < 2; k++) {
            nas_cells one = {0};
            nas_space_sample(nb201(), &rng, &arch);
            nb201()->cell(nb201(), &arch, &one);
            cells[i].cell[k] = one.cell[0];
        }
        nas_cell_simplify(&cells[i].cell[1]);
        cells[i].n = 2;
        cells[i].side[0] = (float)nas_rng_unit(&rng);
        cells[i].side[1] = (float)nas_rng_unit(&rng);
        if (net->prepare)
            net->prepare(&cells[i], nb201()->cell_labels);
    }
    nas_encoding *e = nas_encode_cells(cells, n, nb201()->cell_labels + net->extra_labels);
    free(cells);
    return e;
}

/* The loss is a fixed random weighting of the results. */
static double loss(nas_work *w, const nas_rng *step, const float *weighting, size_t n)
{
    double sum = 0;
    nas_work_forward(w, step);
    for (size_t i = 0; i < n; i++)
        sum += (double)weighting[i] * (double)nas_work_result(w)[i];
    return sum;
}

/* Along a direction within each parameter tensor (half the gradient's, half random), the slope
 * agrees with the difference of the losses on both sides. Of three step sizes the best counts: a
 * kink of a relu spoils one, rounding the other. */
static void check_net(int id)
{
    const nas_net *net = &nas_nets[id];
    nas_encoding *e = two_cells(net, FEW);
    nas_circuit *c = nas_net_circuit(net, 2, e->nodes, e->labels, ROOM);
    nas_rng rng = nas_rng_seed(11), step = nas_rng_seed(12);
    size_t n = nas_circuit_weights(c), results = FEW * (size_t)nas_circuit_cols(c, c->y);
    float *w = calloc(n, sizeof *w), *g = calloc(n, sizeof *g), *v = calloc(n, sizeof *v);
    float weighting[FEW * 4], *keep = calloc(n, sizeof *keep);
    nas_circuit_init(c, &rng, w);
    for (size_t i = 0; i < n; i++) /* parameters that start at zero have gradients too */
        keep[i] = w[i] += 0.05f * (float)nas_rng_normal(&rng);
    for (size_t i = 0; i < results; i++)
        weighting[i] = (float)nas_rng_normal(&rng);
    nas_work *work = nas_work_new(c, w, FEW, true);
    nas_work_load(work, e, NULL, 0, FEW);
    nas_work_forward(work, &step);
    memcpy(nas_work_gradient(work), weighting, results * sizeof *weighting);
    nas_work_backward(work, g);
    nas_work_hold(work, true);
    size_t checked = 0;
    for (int k = 0; k < c->n_value; k++) {
        const circuit_value *p = &c->value[k];
        if (!p->weight || p->fixed)
            continue;
        size_t size = (size_t)p->rows * (size_t)p->cols;
        double slope = 0, best = INFINITY, norm = 0;
        for (size_t i = p->at; i < p->at + size; i++)
            norm += (double)g[i] * (double)g[i];
        norm = sqrt(norm) + 1e-12;
        for (size_t i = p->at; i < p->at + size; i++) {
            v[i] = (float)((double)g[i] / norm + 0.5 * nas_rng_normal(&rng) / sqrt((double)size));
            slope += (double)g[i] * (double)v[i];
        }
        for (double h = 4e-3; h > 2e-4; h /= 4) {
            double side[2];
            for (int s = 0; s < 2; s++) {
                for (size_t i = p->at; i < p->at + size; i++)
                    w[i] = keep[i] + (float)(s ? -h : h) * v[i];
                side[s] = loss(work, &step, weighting, results);
            }
            best = fmin(best, fabs((side[0] - side[1]) / (2 * h) - slope));
        }
        memcpy(w + p->at, keep + p->at, size * sizeof *w);
        if (best > 0.02 * norm + 1e-3)
            fail_msg("network %d, value %d: slope %g is off by %g", id, k, slope, best);
        checked++;
    }
    assert_true(checked > 5);
    nas_work_free(work);
    nas_circuit_free(c);
    nas_encoding_free(e);
    free(w), free(g), free(v), free(keep);
}

static void test_gradients(void **state)
{
    (void)state;
    for (int id = 0; id < NAS_NET_COUNT; id++)
        check_net(id);
}

/* Results and gradients of a batch that runs in blocks, with equal sets summed once, are those of
 * architectures alone whose nodes have their own; so are results with reused memory. */
static void test_blocks(void **state)
{
    (void)state;
    enum { MANY = 40 };
    for (int id = 0; id < NAS_NET_COUNT; id++) {
        if (id == NAS_NET_MLP) /* its batches are normed together */
            continue;
        const nas_net *net = &nas_nets[id];
        nas_encoding *e = two_cells(net, MANY);
        nas_circuit *c = nas_net_circuit(net, 2, e->nodes, e->labels, ROOM);
        nas_rng rng = nas_rng_seed(51);
        size_t n = nas_circuit_weights(c), cols = (size_t)nas_circuit_cols(c, c->y);
        float *w = calloc(n, sizeof *w), *g = calloc(n, sizeof *g), *sum = calloc(n, sizeof *sum);
        float weighting[MANY * 4];
        nas_circuit_init(c, &rng, w);
        for (size_t i = 0; i < n; i++)
            w[i] += 0.05f * (float)nas_rng_normal(&rng);
        for (size_t i = 0; i < MANY * cols; i++)
            weighting[i] = (float)nas_rng_normal(&rng);
        nas_work *all = nas_work_new(c, w, MANY, true), *near = nas_work_new(c, w, MANY, false);
        nas_work *one = nas_work_new(c, w, 1, true);
        one->plain = true;
        nas_work_load(all, e, NULL, 0, MANY);
        nas_work_forward(all, NULL);
        memcpy(nas_work_gradient(all), weighting, MANY * cols * sizeof *weighting);
        nas_work_backward(all, g);
        nas_work_load(near, e, NULL, 0, MANY);
        nas_work_forward(near, NULL);
        assert_memory_equal(nas_work_result(near), nas_work_result(all), MANY * cols * sizeof *w);
        for (size_t i = 0; i < MANY; i++) {
            nas_work_load(one, e, NULL, i, 1);
            nas_work_forward(one, NULL);
            for (size_t k = 0; k < cols; k++)
                assert_true(fabsf(nas_work_result(one)[k] - nas_work_result(all)[i * cols + k]) <
                            1e-5f);
            memcpy(nas_work_gradient(one), weighting + i * cols, cols * sizeof *weighting);
            nas_work_backward(one, sum);
        }
        double norm = 0, off = 0;
        for (size_t i = 0; i < n; i++) {
            norm += (double)sum[i] * (double)sum[i];
            off += (double)(sum[i] - g[i]) * (double)(sum[i] - g[i]);
        }
        assert_true(norm > 0);
        if (sqrt(off) > 1e-5 * sqrt(norm))
            fail_msg("network %d: gradient off by %g of %g", id, sqrt(off), sqrt(norm));
        nas_work_free(all), nas_work_free(near), nas_work_free(one);
        nas_circuit_free(c);
        nas_encoding_free(e);
        free(w), free(g), free(sum);
    }
}

/* A random topological order of the cell with the input first and the output last. */
static void relabel(nas_cell *c, nas_rng *rng)
{
    int at[NAS_CELL_NODES], place[NAS_CELL_NODES] = {0};
    uint64_t done = 0;
    for (int k = 0; k < c->n; k++) {
        int ready[NAS_CELL_NODES], n = 0;
        for (int i = 0; i < c->n; i++)
            if (!(done >> i & 1) && !(c->from[i] & ~done) && (i < c->n - 1 || k == c->n - 1))
                ready[n++] = i;
        at[k] = k == 0 ? 0 : ready[nas_rng_below(rng, (uint64_t)n)];
        place[at[k]] = k;
        done |= UINT64_C(1) << at[k];
    }
    nas_cell old = *c;
    for (int k = 0; k < c->n; k++) {
        c->label[k] = old.label[at[k]];
        c->from[k] = 0;
        for (int j = 0; j < c->n; j++)
            c->from[k] |= (old.from[at[k]] >> j & 1) << place[j];
    }
}

static void test_relabeling_changes_nothing(void **state)
{
    (void)state;
    enum { N = 40 };
    nas_rng rng = nas_rng_seed(21);
    nas_arch arch[N];
    sample(nas_rng_seed(22), arch, N);
    for (int id = 0; id < NAS_NET_COUNT; id++) {
        if (id == NAS_NET_MLP) /* reads the matrix as it is written */
            continue;
        const nas_net *net = &nas_nets[id];
        nas_cells same[N], other[N];
        for (size_t i = 0; i < N; i++) {
            memset(&same[i], 0, sizeof same[i]);
            nb201()->cell(nb201(), &arch[i], &same[i]);
            other[i] = same[i];
            relabel(&other[i].cell[0], &rng);
            if (net->prepare)
                net->prepare(&same[i], nb201()->cell_labels),
                    net->prepare(&other[i], nb201()->cell_labels);
        }
        int labels = nb201()->cell_labels + net->extra_labels;
        nas_encoding *a = nas_encode_cells(same, N, labels),
                     *b = nas_encode_cells(other, N, labels);
        nas_circuit *c = nas_net_circuit(net, 1, 8, labels, a->nodes);
        float *w = calloc(nas_circuit_weights(c), sizeof *w);
        double one[N], two[N], differ = 0;
        nas_circuit_init(c, &rng, w);
        nas_net_score(net, c, w, a, one);
        nas_net_score(net, c, w, b, two);
        for (size_t i = 0; i < N; i++) {
            assert_true(fabs(one[i] - two[i]) < 1e-5);
            differ = fmax(differ, fabs(one[i] - one[0]));
        }
        assert_true(differ > 1e-4); /* but architectures differ */
        free(w);
        nas_circuit_free(c);
        nas_encoding_free(a);
        nas_encoding_free(b);
    }
}

static void test_simplify(void **state)
{
    (void)state;
    nas_arch arch;
    nas_cells cells = {0};
    /* conv3 -> skip -> out, one dead conv1 into node 2, which has no way on */
    assert_int_equal(nas_space_parse(nb201(),
                                     "|nor_conv_3x3~0|+|nor_conv_1x1~0|none~1|+|none~0|"
                                     "skip_connect~1|none~2|",
                                     &arch, NULL),
                     NAS_OK);
    nb201()->cell(nb201(), &arch, &cells);
    nas_cell *c = &cells.cell[0];
    nas_cell_simplify(c);
    assert_int_equal(c->n, 3);
    assert_int_equal(c->label[1], NAS_CELL_OPS + 1);
    assert_true(c->from[1] == 1 && c->from[2] == 2);
}

/* ---- predictors ---- */

static void labels_of(nas_arch *arch, double *value, nas_metric *metric, size_t n,
                      nas_labels *labels)
{
    sample(nas_rng_seed(31), arch, n);
    nas_metric_make(&metric[0], "accuracy", NULL);
    nas_metric_make(&metric[1], "latency:raspi4", NULL);
    for (size_t i = 0; i < n; i++) {
        value[2 * i] = value[2 * i + 1] = 0;
        for (uint32_t g = 0; g < arch[i].n; g++) {
            value[2 * i] += arch[i].gene[g] == 3 ? 2.5 + g : 0.1 * arch[i].gene[g];
            value[2 * i + 1] += 1 + 3 * (arch[i].gene[g] == 3) + (arch[i].gene[g] == 2);
        }
    }
    *labels = (nas_labels){nb201(), &nb201()->tasks[0], arch, n, metric, 2, value, NULL};
}

/* A memo changes nothing, and keeps each architecture once. */
static void test_memo(void **state)
{
    (void)state;
    enum { N = 40, ASKED = 300 };
    nas_arch arch[N], asked[ASKED];
    double value[2 * N], plain[2 * ASKED], kept[2 * ASKED];
    nas_metric metric[2];
    nas_labels labels;
    labels_of(arch, value, metric, N, &labels);
    sample(nas_rng_seed(33), asked, ASKED);
    memcpy(asked, arch, sizeof arch / 2);
    const nas_predictor_type *const types[] = {&nas_predictor_krr_wl, &nas_predictor_krr_free,
                                               &nas_predictor_krr_both, &nas_predictor_krr_hamming};
    for (size_t t = 0; t < 4; t++) {
        nas_predictor p;
        nas_memo memo = {0};
        labels.memo = NULL;
        assert_int_equal(nas_predictor_fit(&p, types[t], &labels, 1, NULL), NAS_OK);
        assert_int_equal(nas_predictor_predict(&p, asked, ASKED, plain, NULL, NULL), NAS_OK);
        nas_predictor_clear(&p);
        labels.memo = &memo;
        for (int round = 0; round < 2; round++) {
            assert_int_equal(nas_predictor_fit(&p, types[t], &labels, 1, NULL), NAS_OK);
            assert_int_equal(nas_predictor_predict(&p, asked, ASKED, kept, NULL, NULL), NAS_OK);
            assert_memory_equal(plain, kept, sizeof plain);
            nas_predictor_clear(&p);
        }
        assert_true(memo.known.n <= N / 2 + ASKED && (memo.known.n > N || t == 3));
        nas_memo_clear(&memo);
    }
}

static void test_save_load(void **state)
{
    (void)state;
    enum { N = 3, ASK = 50 };
    nas_arch arch[N], ask[ASK];
    double value[2 * N], a[2 * ASK], b[2 * ASK], sa[2 * ASK], sb[2 * ASK];
    nas_metric metric[2];
    nas_labels labels;
    char path[] = "/tmp/test_baselines_XXXXXX";
    close(mkstemp(path));
    labels_of(arch, value, metric, N, &labels);
    value[3] = NAN;
    sample(nas_rng_seed(32), ask, ASK);
    for (size_t k = 0; nas_predictors[k]; k++) {
        nas_predictor p, q;
        nas_err err = {0};
        bool slow = !strcmp(nas_predictors[k]->name, "brp-gcn");
        if (!strncmp(nas_predictors[k]->name, "rlm", 3)) /* test_rlm has them, smaller */
            continue; /* minutes: test_rlm does the same with a small one */
        labels.m = slow ? 1 : 2;
        double first[N];
        for (size_t i = 0; i < N; i++)
            first[i] = value[2 * i];
        labels.value = slow ? first : value;
        assert_int_equal(nas_predictor_fit(&p, nas_predictors[k], &labels, 7, &err), NAS_OK);
        assert_int_equal(nas_predictor_predict(&p, ask, ASK, a, sa, &err), NAS_OK);
        bool saved = nas_predictors[k]->save; /* else it is at least the same in two calls */
        assert_int_equal(nas_predictor_save(&p, path, &err), saved ? NAS_OK : NAS_USAGE);
        if (saved && nas_predictor_load(&q, path, &err) != NAS_OK)
            fail_msg("%s", err.text);
        if (!saved) {
            assert_non_null(strstr(err.text, "cannot be saved"));
            err = (nas_err){0};
            q = p;
        }
        assert_ptr_equal(p.type, q.type);
        assert_int_equal(nas_predictor_parameters(&p), nas_predictor_parameters(&q));
        /* in two calls and with another number of threads */
        int threads = omp_get_max_threads();
        omp_set_num_threads(3);
        nas_predictor_predict(&q, ask, 17, b, sb, &err);
        nas_predictor_predict(&q, ask + 17, ASK - 17, b + 17 * labels.m, sb + 17 * labels.m, &err);
        omp_set_num_threads(threads);
        assert_memory_equal(a, b, ASK * labels.m * sizeof *a);
        assert_memory_equal(sa, sb, ASK * labels.m * sizeof *sa);
        for (size_t i = 0; i < ASK * labels.m; i++)
            assert_true(isfinite(a[i]) && isfinite(sa[i]) && sa[i] >= 0);
        nas_predictor_clear(&p);
        if (saved)
            nas_predictor_clear(&q);
    }
    remove(path);
}

/* A committee says what krr-both says, half, and in its unit what the networks say. */
static void test_committee(void **state)
{
    (void)state;
    enum { N = 60, ASK = 100 };
    nas_arch arch[N + ASK];
    double value[2 * (N + ASK)], mean[2 * ASK], spread[2 * ASK], head[2 * ASK],
        head_spread[2 * ASK];
    nas_metric metric[2];
    nas_labels labels;
    nas_predictor p, krr;
    labels_of(arch, value, metric, N + ASK, &labels);
    labels.n = N;
    assert_int_equal(nas_predictor_fit(&p, nas_predictor_find("committee"), &labels, 1, NULL),
                     NAS_OK);
    assert_int_equal(nas_predictor_fit(&krr, nas_predictor_find("krr-both"), &labels, 1, NULL),
                     NAS_OK);
    nas_predictor_predict(&p, arch + N, ASK, mean, spread, NULL);
    nas_predictor_predict(&krr, arch + N, ASK, head, head_spread, NULL);
    assert_memory_equal(spread, head_spread, sizeof spread);
    assert_memory_not_equal(mean, head, sizeof mean);
    for (size_t k = 0; k < 2; k++) {
        double level = 0, head_level = 0, square = 0, off = 0;
        for (size_t i = 0; i < ASK; i++) {
            level += mean[2 * i + k] / ASK;
            head_level += head[2 * i + k] / ASK;
        }
        for (size_t i = 0; i < ASK; i++) {
            square += pow(head[2 * i + k] - head_level, 2);
            off += pow(mean[2 * i + k] - head[2 * i + k], 2);
        }
        assert_true(fabs(level - head_level) < 0.2 * sqrt(square / ASK));
        assert_true(off < square);
    }
    nas_predictor_clear(&p);
    nas_predictor_clear(&krr);
}

static void test_ridge_learns_sums(void **state)
{
    (void)state;
    enum { N = 120, ASK = 200 };
    nas_arch arch[N + ASK];
    double value[2 * (N + ASK)], mean[2 * ASK];
    nas_metric metric[2];
    nas_labels labels;
    nas_predictor p;
    labels_of(arch, value, metric, N + ASK, &labels);
    labels.n = N;
    assert_int_equal(nas_predictor_fit(&p, nas_predictor_find("ridge"), &labels, 1, NULL), NAS_OK);
    nas_predictor_predict(&p, arch + N, ASK, mean, NULL, NULL);
    for (size_t i = 0; i < ASK; i++)
        assert_true(fabs(mean[2 * i + 1] - value[2 * (N + i) + 1]) < 0.1);
    nas_predictor_clear(&p);
}

static void test_refusals(void **state)
{
    (void)state;
    nas_err err = {0};
    nas_arch arch[2];
    nas_metric metric[2];
    nas_labels labels;
    nas_predictor p;
    double value[4];
    assert_null(nas_predictor_need("krr-haming", &err));
    assert_non_null(strstr(err.text, "did you mean 'krr-hamming'"));
    labels_of(arch, value, metric, 2, &labels);
    value[1] = value[3] = NAN;
    err = (nas_err){0};
    assert_int_equal(nas_predictor_fit(&p, nas_predictor_find("ridge"), &labels, 1, &err),
                     NAS_FAILED);
    assert_non_null(strstr(err.text, "latency:raspi4"));
    err = (nas_err){0};
    assert_int_equal(nas_predictor_load(&p, "/nonexistent", &err), NAS_FAILED);
}

/* ---- linear algebra ---- */

static void test_cholesky(void **state)
{
    (void)state;
    enum { N = 37 };
    nas_rng rng = nas_rng_seed(41);
    double x[N][N], a[N * N], l[N * N], b[N], rhs[N], d[N];
    for (int i = 0; i < N * N; i++)
        x[i / N][i % N] = nas_rng_normal(&rng);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i * N + j] = i == j;
            for (int k = 0; k < N; k++)
                a[i * N + j] += x[i][k] * x[j][k];
        }
    memcpy(l, a, sizeof l);
    nas_cholesky(l, N);
    nas_cholesky_inverse_diagonal(l, N, d);
    for (int c = 0; c < N; c++) { /* column c of the inverse */
        for (int i = 0; i < N; i++)
            b[i] = rhs[i] = i == c;
        nas_cholesky_solve(l, N, b);
        assert_true(fabs(b[c] - d[c]) < 1e-9);
        for (int i = 0; i < N; i++) {
            double sum = -rhs[i];
            for (int k = 0; k < N; k++)
                sum += a[i * N + k] * b[k];
            assert_true(fabs(sum) < 1e-9);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_relabeling_changes_nothing),
        cmocka_unit_test(test_simplify),
        cmocka_unit_test(test_memo),
        cmocka_unit_test(test_save_load),
        cmocka_unit_test(test_committee),
        cmocka_unit_test(test_ridge_learns_sums),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_cholesky),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
