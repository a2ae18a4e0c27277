/* Training of the graph networks and their scores. */
#include "surrogate/baselines/net.h"
#include "surrogate/kernel.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint32_t a, b;
} pair;

typedef struct {
    const nas_net *net;
    const nas_encoding *encoding;
    const double *y; /* (n) */
    nas_work *work;
    float *weights, *gradient;
    nas_adam adam;
    double rate;    /* of this epoch */
    nas_rng step;   /* random numbers of this step */
    pair *pairs;    /* room for a batch's pairs, or an epoch's (pair loss) */
    uint32_t *rows; /* of the batch */
} training;

static double cosine_rate(const nas_net *net, int epoch)
{
    double share = (1 + cos(3.14159265358979323846 * epoch / net->epochs)) / 2;
    return net->last_rate + (net->rate - net->last_rate) * share;
}

/* ---- losses: from the results of a batch to the gradient of each ---- */

static void square_loss(const training *t, const float *f, size_t n, float *df)
{
    for (size_t i = 0; i < n; i++)
        df[i] = 2 * (f[i] - (float)t->y[t->rows[i]]) / (float)n;
}

/* Pairs of the batch with different targets, the better one first; at most 4 n of them. */
static size_t hinge_pairs(const training *t, size_t n)
{
    size_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < i; j++) {
            double d = t->y[t->rows[i]] - t->y[t->rows[j]];
            if (d != 0)
                t->pairs[count++] = d > 0 ? (pair){i, j} : (pair){j, i};
        }
    if (count <= 4 * n)
        return count;
    nas_rng rng = nas_rng_child(&t->step, "pairs", 0);
    for (size_t i = 0; i < 4 * n; i++) {
        size_t k = i + nas_rng_below(&rng, count - i);
        pair swap = t->pairs[i];
        t->pairs[i] = t->pairs[k];
        t->pairs[k] = swap;
    }
    return 4 * n;
}

static void hinge_loss(const training *t, const float *f, size_t n, float *df)
{
    size_t count = hinge_pairs(t, n);
    float share = 1 / (float)(count ? count : 1);
    for (size_t i = 0; i < count; i++) {
        pair p = t->pairs[i];
        if (f[p.a] - f[p.b] < 0.1f) {
            df[p.a] -= share;
            df[p.b] += share;
        }
    }
}

/* f (n, 4): logits of (a, b) are f[a][0..1] + f[b][2..3]; pairs index the batch. */
static void pair_loss(const training *t, const pair *pairs, size_t count, const float *f, float *df)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t a = pairs[i].a, b = pairs[i].b;
        double gap = t->y[t->rows[a]] - t->y[t->rows[b]];
        double logit =
            (double)f[4 * a] + (double)f[4 * b + 2] - (double)f[4 * a + 1] - (double)f[4 * b + 3];
        float d = (float)(1 / (1 + exp(-logit)) - 1 / (1 + exp(-gap)));
        df[4 * a] += d;
        df[4 * a + 1] -= d;
        df[4 * b + 2] += d;
        df[4 * b + 3] -= d;
    }
}

/* ---- steps ---- */

static void begin_step(training *t, size_t n)
{
    nas_work_load(t->work, t->encoding, t->rows, 0, n);
    nas_work_forward(t->work, &t->step);
}

static void end_step(training *t)
{
    const nas_net *net = t->net;
    nas_work_backward(t->work, t->gradient);
    nas_adam_update(&t->adam, (nas_adam_step){t->rate, net->decay, net->decoupled}, t->weights,
                    t->gradient);
    nas_work_statistics(t->work, t->weights);
}

static void train_rows(training *t, const uint32_t *rows, size_t n)
{
    memcpy(t->rows, rows, n * sizeof *rows);
    begin_step(t, n);
    const float *f = nas_work_result(t->work);
    float *df = nas_work_gradient(t->work);
    if (t->net->loss == NAS_LOSS_SQUARE)
        square_loss(t, f, n, df);
    else
        hinge_loss(t, f, n, df);
    end_step(t);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void epoch_of_rows(training *t, uint32_t *order, const nas_rng *epoch)
{
    size_t n = t->encoding->n, batch = (size_t)t->net->batch;
    nas_rng rng = nas_rng_child(epoch, "order", 0);
    nas_rng_shuffle(&rng, order, n, sizeof *order);
    for (size_t i = 0; i < n; i += batch) {
        size_t size = least(batch, n - i);
        if (i && (size == 1 || (t->net->drop_last && size < batch)))
            break;
        t->step = nas_rng_child(epoch, "step", i);
        train_rows(t, order + i, size);
    }
}

/* The distinct rows of some pairs become the batch; the pairs then index it. slot: one a row. */
static size_t gather_rows(training *t, pair *pairs, size_t count, uint32_t *slot)
{
    size_t n = 0;
    for (size_t i = 0; i < 2 * count; i++) {
        uint32_t *row = i % 2 ? &pairs[i / 2].b : &pairs[i / 2].a;
        if (slot[*row] >= n || t->rows[slot[*row]] != *row) {
            t->rows[n] = *row;
            slot[*row] = (uint32_t)n++;
        }
        *row = slot[*row];
    }
    return n;
}

/* All ordered pairs, or 50 n random ones when there are more. */
static size_t epoch_pairs(training *t, nas_rng rng)
{
    size_t n = t->encoding->n, all = n * (n - 1), count = least(all, 50 * n);
    for (size_t i = 0; i < count; i++) {
        size_t k = all == count ? i : nas_rng_below(&rng, all);
        uint32_t a = (uint32_t)(k / (n - 1)), b = (uint32_t)(k % (n - 1));
        t->pairs[i] = (pair){a, b + (b >= a)};
    }
    nas_rng_shuffle(&rng, t->pairs, count, sizeof *t->pairs);
    return count;
}

static void epoch_of_pairs(training *t, uint32_t *slot, const nas_rng *epoch)
{
    size_t count = epoch_pairs(t, nas_rng_child(epoch, "order", 0)), batch = (size_t)t->net->batch;
    for (size_t i = 0; i < count; i += batch) {
        size_t size = least(batch, count - i), n = gather_rows(t, t->pairs + i, size, slot);
        t->step = nas_rng_child(epoch, "step", i);
        begin_step(t, n);
        const float *f = nas_work_result(t->work);
        pair_loss(t, t->pairs + i, size, f, nas_work_gradient(t->work));
        end_step(t);
    }
}

float *nas_net_train(const nas_net *net, const nas_circuit *circuit, const nas_encoding *encoding,
                     const double *y, const nas_rng *rng)
{
    size_t n = encoding->n, count = nas_circuit_weights(circuit);
    bool pairs = net->loss == NAS_LOSS_PAIR;
    size_t batch = least((size_t)net->batch * (pairs ? 2 : 1), n);
    training t = {.net = net, .encoding = encoding, .y = y};
    t.weights = nas_alloc_lines(count * sizeof *t.weights);
    t.gradient = nas_zalloc_lines(count * sizeof *t.gradient);
    t.rows = nas_zalloc(batch, sizeof *t.rows);
    t.pairs = nas_alloc((pairs ? least(n * n, 50 * n) : batch * batch) * sizeof *t.pairs);
    nas_rng init = nas_rng_child(rng, "init", 0);
    nas_circuit_init(circuit, &init, t.weights);
    t.work = nas_work_new(circuit, t.weights, batch, true);
    nas_adam_init(&t.adam, count);
    uint32_t *order = nas_alloc(n * sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    unsigned tiny = nas_tiny_flush();
    for (int e = 0; e < net->epochs && n > 1; e++) {
        nas_rng epoch = nas_rng_child(rng, "epoch", (uint64_t)e);
        t.rate = cosine_rate(net, e);
        if (pairs)
            epoch_of_pairs(&t, order, &epoch);
        else
            epoch_of_rows(&t, order, &epoch);
    }
    nas_tiny_keep(tiny);
    nas_work_free(t.work);
    nas_adam_clear(&t.adam);
    free(order);
    free(t.pairs);
    free(t.rows);
    free(t.gradient);
    return t.weights;
}

/* ---- scores ---- */

enum { CHUNK = 16 };

/* Antisymmetrised preference: how much more often first than second (order of BRP-NAS's sort when
 * each pair is asked both ways). */
static double result_score(const nas_net *net, const float *f)
{
    if (net->loss != NAS_LOSS_PAIR)
        return (double)f[0];
    return (double)f[0] - (double)f[1] - (double)f[2] + (double)f[3];
}

void nas_net_score(const nas_net *net, const nas_circuit *circuit, const float *weights,
                   const nas_encoding *encoding, double *score)
{
    size_t cols = net->loss == NAS_LOSS_PAIR ? 4 : 1;
#pragma omp parallel
    {
        unsigned tiny = nas_tiny_flush();
        nas_work *work = nas_work_new(circuit, weights, least(CHUNK, encoding->n), false);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < encoding->n; i += CHUNK) {
            size_t n = least(CHUNK, encoding->n - i);
            nas_work_load(work, encoding, NULL, i, n);
            nas_work_forward(work, NULL);
            for (size_t k = 0; k < n; k++)
                score[i + k] = result_score(net, nas_work_result(work) + k * cols);
        }
        nas_work_free(work);
        nas_tiny_keep(tiny);
    }
}
