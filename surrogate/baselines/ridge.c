/* Kernel ridge regression: one-hot genes (linear), genes by Hamming distance, cells by their
 * Weisfeiler-Lehman colours, and networks by the labels that cost nothing (structure.h). Bandwidth
 * and ridge are those with the least squared error of the training rows when each is left out
 * (exact, from the inverse of the kernel matrix). krr-both multiplies the kernels of the last two,
 * and how much colours count is chosen likewise. What is learned: numbers {bandwidth, ridge, share
 * of the first and of the second distance, weight of each row}, and the rows. */
#include "surrogate/baselines/baseline.h"
#include "surrogate/baselines/colour.h"
#include "surrogate/baselines/dense.h"
#include "surrogate/encode.h"
#include "surrogate/structure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    bool linear;     /* kernel: places that agree; else exp(-distance / bandwidth) */
    bool colours;    /* distance of colours, else of genes */
    bool free;       /* squared distance of labels that cost nothing */
    double band[3];  /* candidates, as shares of the mean distance of training rows */
    double ridge[4]; /* candidates */
} ridge_kind;

enum {
    TRIAL_ROWS = 600, /* candidates are compared on that many rows at most */
    TRIAL_LEAST = 12, /* with fewer rows the middle candidates are taken */
    SHARES = 3,       /* of colours that krr-both tries */
    HEAD = 4,         /* numbers before the weights */
};

/* ---- what is compared ---- */

/* What is read of one architecture. */
typedef struct {
    double label[NAS_STRUCTURE_COUNT];
    size_t n;          /* colours */
    uint64_t colour[]; /* [n] sorted */
} reading;

enum { READING_MOST = sizeof(reading) + NAS_COLOURS_MOST * sizeof(uint64_t) };

typedef struct {
    size_t n;
    const nas_arch *arch;
    const reading **read; /* [n]; NULL: genes are compared */
    double *label;        /* (n, NAS_STRUCTURE_COUNT) in deviations of the training rows, or NULL */
} points;

/* Labels that count things grow with the network's size by factors. */
static void labels_of(const nas_problem *where, const nas_arch *arch, double *to)
{
    nas_err err = {0};
    nas_graph *graph = nas_space_build(where->space, arch, where->task);
    if (nas_structure_of(graph, to, &err))
        memset(to, 0, NAS_STRUCTURE_COUNT * sizeof *to);
    for (int k = 0; k <= NAS_STRUCTURE_CONVS; k++)
        to[k] = log2(1 + to[k]);
    nas_graph_free(graph);
}

/* Mean 0 and deviation 1 of column k over n rows: the factors that make it so. */
static void standard_of(const double *label, size_t n, int k, double *mean, double *unit)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++)
        sum += label[i * NAS_STRUCTURE_COUNT + k];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        double off = label[i * NAS_STRUCTURE_COUNT + k] - *mean;
        square += off * off;
    }
    double deviation = sqrt(square / (double)n);
    *unit = deviation > 1e-9 * (1 + fabs(*mean)) ? 1 / deviation : 0;
}

/* Labels of training rows, and behind them those of others if there are any, in the deviations of
 * the first. */
static void open_labels(points *rows, points *others)
{
    double mean, unit;
    points *both[] = {rows, others};
    for (int b = 0; b < 2 && both[b]; b++) {
        points *p = both[b];
        p->label = nas_alloc((p->n * NAS_STRUCTURE_COUNT + 1) * sizeof *p->label);
        for (size_t i = 0; i < p->n; i++)
            memcpy(p->label + i * NAS_STRUCTURE_COUNT, p->read[i]->label, sizeof p->read[i]->label);
    }
    for (int k = 0; k < NAS_STRUCTURE_COUNT; k++) {
        standard_of(rows->label, rows->n, k, &mean, &unit);
        for (int b = 0; b < 2 && both[b]; b++)
            for (size_t i = 0; i < both[b]->n; i++) {
                double *x = &both[b]->label[i * NAS_STRUCTURE_COUNT + (size_t)k];
                *x = (*x - mean) * unit;
            }
    }
}

/* How to read. */
typedef struct {
    const ridge_kind *kind;
    const nas_problem *where;
    const nas_encoder *encoder; /* of kinds with colours */
} reader;

static size_t read_one(const void *context, const nas_arch *arch, void *out)
{
    const reader *r = context;
    reading *to = out;
    nas_cells cells;
    to->n = 0;
    if (r->kind->free)
        labels_of(r->where, arch, to->label);
    if (r->kind->colours) {
        nas_encoder_cells(r->encoder, arch, &cells);
        to->n = nas_colours_of(&cells, to->colour);
    }
    return sizeof *to + to->n * sizeof *to->colour;
}

static void drop_encoder(void *encoder)
{
    nas_encoder_free(encoder);
}

static points open_points(const ridge_kind *kind, const nas_problem *where, nas_memo *memo,
                          const nas_arch *arch, size_t n)
{
    points p = {.n = n, .arch = arch};
    if (!kind->colours && !kind->free)
        return p;
    if (kind->colours && !memo->tool) {
        memo->tool = nas_encoder_new(where->space, where->task);
        memo->drop_tool = drop_encoder;
    }
    p.read = nas_alloc((n + 1) * sizeof *p.read);
    nas_memo_read(memo, arch, n, read_one, &(reader){kind, where, memo->tool}, READING_MOST,
                  (const void **)p.read);
    return p;
}

static void close_points(points p)
{
    free(p.read);
    free(p.label);
}

/* Colours that only one of them has, counted as often as they occur. */
static double colour_distance(const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
    size_t i = 0, j = 0, both = 0;
    while (i < na && j < nb) {
        bool same = a[i] == b[j], first = a[i] <= b[j], second = b[j] <= a[i];
        both += same;
        i += first;
        j += second;
    }
    return (double)(na + nb - 2 * both);
}

static double label_distance(const double *x, const double *y)
{
    double sum = 0;
    for (int k = 0; k < NAS_STRUCTURE_COUNT; k++)
        sum += (x[k] - y[k]) * (x[k] - y[k]);
    return sum;
}

/* share: of the distance by free labels, and of that by colours or genes. */
static double distance(const points *p, size_t i, const points *q, size_t j, const double *share)
{
    double sum = 0;
    if (share[0] > 0)
        sum += share[0] * label_distance(p->label + i * NAS_STRUCTURE_COUNT,
                                         q->label + j * NAS_STRUCTURE_COUNT);
    if (share[1] > 0 && p->read)
        sum += share[1] * colour_distance(p->read[i]->colour, p->read[i]->n, q->read[j]->colour,
                                          q->read[j]->n);
    for (uint32_t g = 0; share[1] > 0 && !p->read && g < p->arch[i].n; g++)
        sum += share[1] * (p->arch[i].gene[g] != q->arch[j].gene[g]);
    return sum;
}

static void fill_distances(const points *rows, const double *share, double *d)
{
    for (size_t i = 0; i < rows->n; i++)
        for (size_t j = 0; j <= i; j++)
            d[i * rows->n + j] = distance(rows, i, rows, j, share);
}

static double kernel(const ridge_kind *kind, double d, double band, uint32_t genes)
{
    return kind->linear ? (double)genes - d : exp(-d / band);
}

/* ---- fitting ---- */

/* The factor of K + ridge I over the first n rows, from their distances (stride all). */
static void factor(const ridge_kind *kind, const double *d, size_t all, size_t n, uint32_t genes,
                   const double *choice, double *l)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++)
            l[i * n + j] = kernel(kind, d[i * all + j], choice[0], genes);
        l[i * n + i] += choice[1];
    }
    nas_cholesky(l, n);
}

/* own (n): the prediction of each row by the others: y_i - w_i / (A^-1)_ii. Returns the mean
 * squared error. */
static double leave_out(const double *l, const double *y, size_t n, double *own)
{
    double *w = nas_alloc(2 * n * sizeof *w), *diagonal = w + n, sum = 0;
    memcpy(w, y, n * sizeof *w);
    nas_cholesky_solve(l, n, w);
    nas_cholesky_inverse_diagonal(l, n, diagonal);
    for (size_t i = 0; i < n; i++) {
        double miss = w[i] / diagonal[i];
        own[i] = y[i] - miss;
        sum += miss * miss;
    }
    free(w);
    return sum / (double)n;
}

/* The mean distance of different rows; 1 when there is none. */
static double mean_distance(const double *d, size_t all, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            sum += d[i * all + j];
    return sum > 0 ? 2 * sum / ((double)n * (double)(n - 1)) : 1;
}

/* choice: {bandwidth, ridge} of the least error, where that is below *best; own: predictions of the
 * first rows then. Returns how many. */
static size_t choose(const ridge_kind *kind, const nas_problem *p, const double *d, double *best,
                     double *choice, double *own)
{
    size_t n = p->n < TRIAL_ROWS ? p->n : TRIAL_ROWS, tries = n < TRIAL_LEAST ? 0 : 12;
    uint32_t genes = p->arch[0].n;
    double *l = nas_alloc(n * n * sizeof *l), *trial = nas_alloc(n * sizeof *trial);
    double scale = mean_distance(d, p->n, n);
    const double middle[2] = {scale * kind->band[1], kind->ridge[1]};
    for (size_t k = 0; k < tries; k++) {
        double next[2] = {scale * kind->band[k / 4], kind->ridge[k % 4]};
        if (kind->linear && k >= 4) /* has no bandwidth */
            break;
        factor(kind, d, p->n, n, genes, next, l);
        double error = leave_out(l, p->y, n, trial);
        if (error < *best) {
            *best = error;
            memcpy(choice, next, sizeof next);
            memcpy(own, trial, n * sizeof *own);
        }
    }
    if (tries == 0) {
        memcpy(choice, middle, sizeof middle);
        factor(kind, d, p->n, n, genes, choice, l);
        *best = leave_out(l, p->y, n, own);
    }
    free(trial);
    free(l);
    return n;
}

/* The same over shares of colours, for a kind that has them; choice: HEAD numbers. d (n, n) becomes
 * the distances chosen. */
static size_t choose_all(const ridge_kind *kind, const nas_problem *p, const points *rows,
                         double *d, double *choice, double *own)
{
    static const double shares[SHARES] = {0.25, 1, 0};
    double best = INFINITY, unit[2] = {1, 1}, *trial = nas_alloc(p->n * sizeof *trial);
    bool both = kind->free && kind->colours;
    size_t left_out = 0;
    for (int k = 0; both && k < 2; k++) {
        fill_distances(rows, (double[]){k == 0, k == 1}, d);
        unit[k] = 1 / mean_distance(d, p->n, p->n);
    }
    for (int k = 0; k < (both && p->n >= TRIAL_LEAST ? SHARES : 1); k++) {
        double share[2] = {kind->free ? unit[0] : 0, both ? shares[k] * unit[1] : !kind->free};
        double next[2], before = best;
        fill_distances(rows, share, d);
        left_out = choose(kind, p, d, &best, next, trial);
        if (best < before) {
            memcpy(choice, next, sizeof next);
            memcpy(choice + 2, share, sizeof share);
            memcpy(own, trial, left_out * sizeof *own);
        }
    }
    free(trial);
    fill_distances(rows, choice + 2, d);
    return left_out;
}

static size_t fit(const nas_learner *learner, const nas_problem *p, nas_learned *learned,
                  double *own)
{
    const ridge_kind *kind = learner->data;
    size_t n = p->n;
    nas_memo own_memo = {0}, *memo = p->memo ? p->memo : &own_memo;
    points rows = open_points(kind, p, memo, p->arch, n);
    if (kind->free)
        open_labels(&rows, NULL);
    double *d = nas_alloc(n * n * sizeof *d);
    learned->n_number = HEAD + n;
    learned->number = nas_alloc(learned->n_number * sizeof *learned->number);
    learned->n_arch = n;
    learned->arch = nas_alloc(n * sizeof *learned->arch);
    memcpy(learned->arch, p->arch, n * sizeof *learned->arch);
    size_t left_out = choose_all(kind, p, &rows, d, learned->number, own);
    factor(kind, d, n, n, p->arch[0].n, learned->number,
           d); /* in place: row by row from the left */
    memcpy(learned->number + HEAD, p->y, n * sizeof *learned->number);
    nas_cholesky_solve(d, n, learned->number + HEAD);
    free(d);
    close_points(rows);
    nas_memo_clear(&own_memo);
    return left_out;
}

/* The linear kernel counts genes that are the same, so a score is the sum of what the value of each
 * gene has over all rows. */
static void score_genes(const nas_learned *learned, const nas_arch *arch, size_t n, double *to)
{
    const nas_arch *row = learned->arch;
    size_t genes = row[0].n, most = 0;
    for (size_t k = 0; k < learned->n_arch; k++)
        for (size_t g = 0; g < genes; g++)
            most = row[k].gene[g] > most ? row[k].gene[g] : most;
    double *weight = nas_zalloc((most + 1) * genes + 1, sizeof *weight);
    for (size_t k = 0; k < learned->n_arch; k++)
        for (size_t g = 0; g < genes; g++)
            weight[row[k].gene[g] * genes + g] += learned->number[HEAD + k];
    for (size_t i = 0; i < n; i++) {
        to[i] = 0;
        for (size_t g = 0; g < genes; g++)
            to[i] += arch[i].gene[g] <= most ? weight[arch[i].gene[g] * genes + g] : 0;
    }
    free(weight);
}

static void score(const nas_learner *learner, const nas_problem *where, const nas_learned *learned,
                  const nas_arch *arch, size_t n, double *to)
{
    const ridge_kind *kind = learner->data;
    if (kind->linear) {
        score_genes(learned, arch, n, to);
        return;
    }
    nas_memo own = {0}, *memo = where->memo ? where->memo : &own;
    points rows = open_points(kind, where, memo, learned->arch, learned->n_arch);
    points asked = open_points(kind, where, memo, arch, n);
    if (kind->free)
        open_labels(&rows, &asked);
#pragma omp parallel for schedule(dynamic, 64)
    for (size_t i = 0; i < n; i++) {
        to[i] = 0;
        for (size_t k = 0; k < rows.n; k++)
            to[i] += learned->number[HEAD + k] *
                     kernel(kind, distance(&asked, i, &rows, k, learned->number + 2),
                            learned->number[0], arch[i].n);
    }
    close_points(asked);
    close_points(rows);
    nas_memo_clear(&own);
}

static size_t parameters(const nas_learner *learner, const nas_problem *where,
                         const nas_learned *learned)
{
    const ridge_kind *kind = learner->data;
    return kind->linear ? nas_onehot_width(where->space) : learned->n_arch;
}

static bool fits(const nas_learner *learner, const nas_problem *where, const nas_learned *learned)
{
    (void)learner, (void)where;
    return learned->n_number == HEAD + learned->n_arch;
}

#define RIDGE(...)                                                                                 \
    NAS_BASELINE_VERBS, .data = &(const nas_learner)                                               \
    {                                                                                              \
        .target = NAS_TARGET_NORMAL, .fit = fit, .score = score, .parameters = parameters,         \
        .fits = fits, .data = &(const ridge_kind)                                                  \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

const nas_predictor_type nas_predictor_ridge = {
    "ridge", "ridge regression on one-hot genes",
    RIDGE(.linear = true, .band = {1, 1, 1}, .ridge = {0.1, 1, 3, 10})};
const nas_predictor_type nas_predictor_krr_hamming = {
    "krr-hamming", "kernel ridge, Hamming distance of genes",
    RIDGE(.band = {0.31, 0.52, 0.83}, .ridge = {0.01, 0.05, 0.2, 0.5})};
const nas_predictor_type nas_predictor_krr_wl = {
    "krr-wl", "kernel ridge, Weisfeiler-Lehman colours of cells",
    RIDGE(.colours = true, .band = {0.31, 0.52, 0.83}, .ridge = {0.01, 0.05, 0.2, 0.5})};
const nas_predictor_type nas_predictor_krr_free = {
    "krr-free", "kernel ridge, labels that cost nothing",
    RIDGE(.free = true, .band = {0.7, 1.5, 4}, .ridge = {0.01, 0.05, 0.1, 0.3})};
const nas_predictor_type nas_predictor_krr_both = {
    "krr-both", "kernel ridge, labels that cost nothing and colours of cells",
    RIDGE(.free = true, .colours = true, .band = {0.7, 1.5, 4}, .ridge = {0.01, 0.05, 0.1, 0.3})};
