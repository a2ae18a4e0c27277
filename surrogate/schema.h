/* Which numbers does a model write, in which order, as which tokens? The target side of the RLM.
 *
 *     nas_schema schema;
 *     status = nas_schema_init(&schema, "SCI(4,12)", &err);
 *     status = nas_schema_add(&schema, &accuracy, &err);   // then latency:raspi4, …
 *     n = nas_schema_encode(&schema, label, input, target, loss);   // nan: no label
 *
 * A target is, for each labelled metric in order, the metric's token and the number's tokens. The
 * metric's token is forced and costs no loss; the number's tokens are masked by position. A metric
 * without a label is simply not there, so any subset in order can be learned and asked for. Ids:
 * those of the number layout, then one for each metric: a metric that is added later gets the next
 * id and changes no other. A plain schema has no metric tokens and so no gaps: the numbers follow
 * each other, as in regress-lm. */
#ifndef NAS_SURROGATE_SCHEMA_H
#define NAS_SURROGATE_SCHEMA_H

#include "results/metric.h"
#include "spaces/base/mem.h"
#include "surrogate/number.h"
#include "surrogate/scale.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    nas_number number;
    bool plain;
    size_t n, metric_cap, scale_cap;
    nas_metric *metric; /* (n) */
    nas_scale *scale;   /* (n) raw until fitted */
} nas_schema;

/* A schema without metrics; set plain before the first is added. NAS_USAGE for an unknown layout
 * (see nas_number_parse). */
nas_status nas_schema_init(nas_schema *schema, const char *layout, nas_err *err);
void nas_schema_clear(nas_schema *schema);

/* Appends a metric with the raw scale. NAS_USAGE when there is one of that name. */
nas_status nas_schema_add(nas_schema *schema, const nas_metric *metric, nas_err *err);

/* The indices, in order and each once, of the metrics that must be decoded to know the named ones;
 * all for n = 0. chosen has room for schema.n. NAS_USAGE for a metric the model does not know. */
nas_status nas_schema_choose(const nas_schema *schema, const char *const *name, size_t n,
                             size_t *chosen, size_t *n_chosen, nas_err *err);

/* ---- tokens ---- */

int32_t nas_schema_size(const nas_schema *schema);  /* decoder ids 0..size-1, pad included */
size_t nas_schema_block(const nas_schema *schema);  /* tokens of one metric */
size_t nas_schema_length(const nas_schema *schema); /* tokens of all */
int32_t nas_schema_token(const nas_schema *schema, size_t metric); /* not of a plain schema */

/* The tokens of one example, padded to length: input (length) starts with the pad, target (length)
 * is one ahead, loss (length) is 1 where target counts. label (schema.n) is in the metrics' units;
 * nan is missing (with a plain schema all later ones are missing too). Returns tokens before
 * padding. */
size_t nas_schema_encode(const nas_schema *schema, const double *label, int32_t *input,
                         int32_t *target, uint8_t *loss);

/* The ids that may stand at position of a target of the chosen metrics, whose earlier ids are id.
 */
nas_token_set nas_schema_legal(const nas_schema *schema, const size_t *chosen, const int32_t *id,
                               size_t position);

/* The number tokens (number.length) of a value of a metric, by its scale; false for nan. */
bool nas_schema_write(const nas_schema *schema, size_t metric, double value, int32_t *id);
/* The value of number tokens; false when they are none. */
bool nas_schema_read(const nas_schema *schema, size_t metric, const int32_t *id, double *value);

/* ---- metadata: one JSON object ---- */

void nas_schema_print(const nas_schema *schema, nas_bytes *out);
/* Fills *schema, or leaves it clear. NAS_FAILED with the reason when text is no schema. */
nas_status nas_schema_parse(nas_schema *schema, const char *text, size_t size, nas_err *err);

#endif
