/* What does one trained surrogate consist of, and what does it say? Model, vocabulary, metrics.
 *
 *     nas_rlm *rlm = nas_rlm_load("model.safetensors", &err);
 *     nas_rlm_ask ask = {.metric = chosen, .m = 2};           // rows of rlm->schema.metric
 *     status = nas_rlm_predict(rlm, &ask, space, task, arch, n, value, spread, &err);   // (n, 2)
 *     nas_rlm_free(rlm);
 *
 * One safetensors file holds everything: sizes and weights as in model.h, and as metadata
 * "vocabulary", "schema", "domains" and "provenance". A domain is a space and task whose labels the
 * model has seen, with the scale each metric had there; elsewhere a metric has the scale of all
 * labels together, and what the model says is an extrapolation. */
#ifndef NAS_SURROGATE_RLM_H
#define NAS_SURROGATE_RLM_H

#include "spaces/space.h"
#include "surrogate/model.h"
#include "surrogate/schema.h"
#include "surrogate/vocab.h"

/* Texts that are no architectures are of this space, and of a task that has any name. */
#define NAS_TEXT_SPACE "text"
#define NAS_TEXT_TASK  "any" /* the usual one */

typedef struct {
    char space[32], task[32];
    nas_schema seen; /* the metrics with labels, and their scales */
} nas_rlm_domain;

typedef struct {
    nas_model *model;
    nas_vocab *vocab;
    nas_schema schema; /* scales of all labels together */
    nas_rlm_domain *domain;
    size_t n_domain, domain_cap;
    size_t numbers; /* most numbers of an example it learned from, 0: all; more that are asked for
                       begin anew behind so many */
} nas_rlm;

/* Takes vocab and schema over (also when it fails); sizes.encoder_vocab and decoder_vocab follow
 * from them. NAS_USAGE for sizes that do not fit together. */
nas_rlm *nas_rlm_new(const nas_model_config *sizes, nas_vocab *vocab, nas_schema *schema,
                     const nas_rng *rng, nas_err *err);
/* NAS_FAILED: not such a file, or its parts do not fit together. */
nas_rlm *nas_rlm_load(const char *path, nas_err *err);
nas_status nas_rlm_save(const nas_rlm *rlm, const char *path, nas_err *err);
/* Writes vocabulary, schema and domains into the model's metadata, for whoever saves the model. */
void nas_rlm_describe(const nas_rlm *rlm);
void nas_rlm_free(nas_rlm *rlm);

/* Appends metrics with their scales, weights of their tokens from rng; those known are skipped. */
nas_status nas_rlm_extend(nas_rlm *rlm, const nas_schema *more, const nas_rng *rng, nas_err *err);

/* ---- domains ---- */

/* The domain of that space and task, made when it is not there and make is true; else NULL. */
nas_rlm_domain *nas_rlm_domain_of(nas_rlm *rlm, const char *space, const char *task, bool make);
/* Were there labels of the metric for that space and task? */
bool nas_rlm_knows(const nas_rlm *rlm, const char *space, const char *task, size_t metric);
/* The schema as that space and task see it: *view shares all but the scales, which are written to
 * scale (schema.n). */
void nas_rlm_view(const nas_rlm *rlm, const char *space, const char *task, nas_scale *scale,
                  nas_schema *view);

/* ---- reading ---- */

/* Appends what the model reads of an architecture. */
nas_status nas_rlm_prompt(const nas_space *space, const nas_task *task, const nas_arch *arch,
                          nas_bytes *text, nas_err *err);
/* Writes the ids of a text into *id, which grows (*cap), and their number into *n. NAS_FAILED, with
 * both numbers, for a text that is empty or longer than the model's window. */
nas_status nas_rlm_encode(const nas_rlm *rlm, const nas_bytes *text, int32_t **id, size_t *cap,
                          size_t *n, nas_err *err);

/* ---- predicting ---- */

typedef struct {
    const size_t *metric; /* (m) rows of the schema, ascending */
    size_t m;
    size_t samples; /* 0: exact distribution over the digit tree */
    uint64_t seed;  /* of the samples */
    bool alone;     /* each metric as if no other was asked for */
} nas_rlm_ask;

/* Metrics are written in order. From exact distributions, all others are conditioned on the
 * estimate of the first: estimates of more would only add their errors. A sample is conditioned on
 * all that it wrote before; so is a plain schema, and nothing where each metric is asked alone.
 * value (n,m) is the median, spread (n,m, may be NULL) the standard deviation, corrected where the
 * scale knows how (calibrate.h), both in the metric's unit. The numbers of an architecture do not
 * depend on the others of the call, nor on threads. */
nas_status nas_rlm_predict(const nas_rlm *rlm, const nas_rlm_ask *ask, const nas_space *space,
                           const nas_task *task, const nas_arch *arch, size_t n, double *value,
                           double *spread, nas_err *err);
/* The same for any texts, as they are; view gives the scales. */
nas_status nas_rlm_predict_texts(const nas_rlm *rlm, const nas_rlm_ask *ask, const nas_schema *view,
                                 const nas_bytes *text, size_t n, double *value, double *spread,
                                 nas_err *err);

#endif
