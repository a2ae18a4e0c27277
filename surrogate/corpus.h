/* What does the model learn from? Texts with labels, collected from tables and random
 * architectures, and the examples that the trainer reads.
 *
 *     nas_corpus *corpus = nas_corpus_new(rlm, false);
 *     status = nas_corpus_add(corpus, domain, &text, label, &err);     // nan: no label
 *     status = nas_corpus_fit(corpus, "normal", &err);                 // scales of the rlm
 *     nas_corpus_batch(corpus, &how, &batch);  …  nas_corpus_free(corpus);
 *
 * An example is the text's tokens and some of its labels as number tokens, in the schema's order.
 * All random numbers depend on the seed, the row and the copy only. */
#ifndef NAS_SURROGATE_CORPUS_H
#define NAS_SURROGATE_CORPUS_H

#include "results/table.h"
#include "surrogate/model_tape.h"
#include "surrogate/rlm.h"

typedef struct nas_corpus nas_corpus;

/* For examples of rlm, whose schema must not grow meanwhile. With counts, metrics of the schema
 * that structure.h knows get their value from the architecture where a table has none. */
nas_corpus *nas_corpus_new(nas_rlm *rlm, bool counts);
void nas_corpus_free(nas_corpus *corpus);
size_t nas_corpus_size(const nas_corpus *corpus); /* rows */
size_t nas_corpus_bytes(const nas_corpus *corpus);
nas_rlm *nas_corpus_rlm(const nas_corpus *corpus);
bool nas_corpus_counts(const nas_corpus *corpus);

/* Rows that are added from now on make so many examples where others make one; 1 at the start. */
void nas_corpus_repeat(nas_corpus *corpus, size_t times);
/* Examples that one copy of every row makes. */
size_t nas_corpus_examples(const nas_corpus *corpus);

/* domain: a row of rlm->domain. label: (schema.n). NAS_FAILED for a text beyond the window and for
 * an infinite label. A text without any label is left out. */
nas_status nas_corpus_add(nas_corpus *corpus, size_t domain, const nas_bytes *text,
                          const double *label, nas_err *err);

/* Adds architectures of a space for a task: label (n, schema.n) or NULL for none. The domain is
 * made when it is new. The error names the architecture. */
nas_status nas_corpus_add_archs(nas_corpus *corpus, const nas_space *space, const nas_task *task,
                                const nas_arch *arch, const double *label, size_t n, nas_err *err);
/* n rows of a table, by the names of its metrics. */
nas_status nas_corpus_add_table(nas_corpus *corpus, const nas_table *table, const nas_task *task,
                                const uint32_t *row, size_t n, nas_err *err);
/* n random architectures, stream K of the seed for architecture K. */
nas_status nas_corpus_add_random(nas_corpus *corpus, const nas_space *space, const nas_task *task,
                                 size_t n, uint64_t seed, nas_err *err);

/* Fits the scale of every metric that has labels, in each domain and over all: those already fitted
 * stay. NAS_FAILED for an empty corpus. */
nas_status nas_corpus_fit(nas_corpus *corpus, const char *kind, nas_err *err);

typedef struct {
    size_t copies;  /* examples made of each row, at least 1 */
    double jitter;  /* standard deviation of noise on the scale, another for each copy: digits that
                       are near in value become near in probability */
    size_t numbers; /* most labels of an example, chosen at random, those that cost nothing last;
                       0: all */
    size_t fewest;  /* each count from here to `numbers` is as likely: with few labels before it,
                       one is learned from the text and not from the others; 0: always the most */
    uint64_t seed;
} nas_corpus_how;

/* The batch belongs to the corpus and holds until the next call. */
const nas_batch *nas_corpus_batch(nas_corpus *corpus, const nas_corpus_how *how);

/* How the trainer compares numbers of this corpus; NAS_USAGE for a layout that does not begin with
 * sign and exponent, or with another base than ten. */
nas_status nas_corpus_ranking(const nas_corpus *corpus, double weight, nas_ranking *ranking,
                              nas_err *err);

#endif
