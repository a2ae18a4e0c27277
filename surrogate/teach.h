/* Which labels do a few measured rows imply for architectures near them? Knowledge distillation
 * (Hinton et al., 2015): predictors fitted on the rows, the teachers, label neighbours of the rows,
 * and the language model learns from those too.
 *
 *     nas_corpus_repeat(corpus, nas_teach_times(labels.n, n));
 *     … add the rows themselves, nas_corpus_fit: the scale is that of the labels, not of guesses …
 *     nas_corpus_repeat(corpus, 1);
 *     status = nas_teach(corpus, &labels, nas_teachers, n, seed, &err);
 *
 * What the model then says still comes from its own reading of a text alone. */
#ifndef NAS_SURROGATE_TEACH_H
#define NAS_SURROGATE_TEACH_H

#include "surrogate/corpus.h"
#include "surrogate/predictor.h"

extern const char *const nas_teachers[]; /* names of the usual predictors; NULL ends */
enum { NAS_TAUGHT = 40000 };             /* and how many architectures they usually label */

/* How often each of rows measured rows counts: together as much as an eighth of n taught ones. */
size_t nas_teach_times(size_t rows, size_t n);

/* Adds n architectures with labels of each metric's best teacher, the one with the least error on
 * rows left out: one of those names, or what the corpus' model knows of other metrics there
 * (known.h). For krr-both the committee that it heads (committee.h) labels what is better large, as
 * accuracy is, from 50 rows on; its networks are not good at latencies. The metrics are in the
 * model's schema. Errors as of fitting. */
nas_status nas_teach(nas_corpus *corpus, const nas_labels *labels, const char *const *teacher,
                     size_t n, uint64_t seed, nas_err *err);

/* Adds measured rows, value (n, labels->m) of arch (n). */
nas_status nas_teach_rows(nas_corpus *corpus, const nas_labels *labels, const nas_arch *arch,
                          const double *value, size_t n, nas_err *err);

#endif
