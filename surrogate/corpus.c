#include "surrogate/corpus.h"

#include "surrogate/structure.h"

#include <math.h>
#include <stdlib.h>

struct nas_corpus {
    nas_rlm *rlm;
    bool counts;
    bool *free; /* (m) is it a label that costs nothing? */
    size_t n, m, cap, times_cap;
    size_t *times, now; /* (n) how often a row counts; of rows to come */
    size_t *at;         /* (n + 1) where a row's tokens begin */
    size_t *domain;
    double *label; /* (n, m) in the metrics' units */
    int32_t *token;
    size_t at_cap, label_cap, token_cap;
    /* examples */
    nas_batch batch;
    size_t *in_at, *out_at;
    int32_t *in, *shifted, *target;
};

nas_corpus *nas_corpus_new(nas_rlm *rlm, bool counts)
{
    nas_corpus *c = nas_zalloc(1, sizeof *c);
    c->rlm = rlm;
    c->counts = counts;
    c->now = 1;
    c->m = rlm->schema.n;
    c->free = nas_zalloc(c->m + 1, sizeof *c->free);
    for (int k = 0; k < NAS_STRUCTURE_COUNT; k++) {
        int at = nas_metric_find(rlm->schema.metric, c->m, nas_structure_names[k]);
        if (at >= 0)
            c->free[at] = true;
    }
    c->at = nas_grow(c->at, &c->at_cap, 1, sizeof *c->at);
    c->at[0] = 0;
    return c;
}

static void clear_examples(nas_corpus *c)
{
    void *all[] = {c->in_at, c->out_at, c->in, c->shifted, c->target};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

void nas_corpus_free(nas_corpus *c)
{
    if (!c)
        return;
    clear_examples(c);
    free(c->free);
    free(c->times);
    free(c->at);
    free(c->domain);
    free(c->label);
    free(c->token);
    free(c);
}

size_t nas_corpus_size(const nas_corpus *c)
{
    return c->n;
}

size_t nas_corpus_examples(const nas_corpus *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += c->times[i];
    return n;
}

void nas_corpus_repeat(nas_corpus *c, size_t times)
{
    c->now = times;
}

size_t nas_corpus_bytes(const nas_corpus *c)
{
    size_t examples = c->batch.input.n;
    size_t tokens = c->at[c->n] + (examples ? nas_spans_rows(c->batch.input) : 0) +
                    2 * (examples ? nas_spans_rows(c->batch.output) : 0);
    return tokens * sizeof(int32_t) + c->n * c->m * sizeof(double) +
           2 * (c->n + examples) * sizeof(size_t);
}

bool nas_corpus_counts(const nas_corpus *c)
{
    return c->counts;
}

nas_rlm *nas_corpus_rlm(const nas_corpus *c)
{
    return c->rlm;
}

nas_status nas_corpus_add(nas_corpus *c, size_t domain, const nas_bytes *text, const double *label,
                          nas_err *err)
{
    size_t known = 0, start = c->at[c->n], n;
    for (size_t k = 0; k < c->m; k++) {
        if (isinf(label[k]))
            return nas_fail(err, NAS_FAILED, "the label of '%s' is infinite",
                            c->rlm->schema.metric[k].name);
        known += !isnan(label[k]);
    }
    if (known == 0)
        return NAS_OK;
    int32_t *id = NULL;
    size_t id_cap = 0;
    nas_status status = nas_rlm_encode(c->rlm, text, &id, &id_cap, &n, err);
    if (status == NAS_OK) {
        c->token = nas_grow(c->token, &c->token_cap, start + n, sizeof *c->token);
        memcpy(c->token + start, id, n * sizeof *id);
        c->at = nas_grow(c->at, &c->at_cap, c->n + 2, sizeof *c->at);
        c->domain = nas_grow(c->domain, &c->cap, c->n + 1, sizeof *c->domain);
        c->label = nas_grow(c->label, &c->label_cap, (c->n + 1) * c->m, sizeof *c->label);
        memcpy(c->label + c->n * c->m, label, c->m * sizeof *label);
        c->times = nas_grow(c->times, &c->times_cap, c->n + 1, sizeof *c->times);
        c->domain[c->n] = domain;
        c->times[c->n] = c->now;
        c->at[++c->n] = start + n;
    }
    free(id);
    return status;
}

/* ---- scales ---- */

/* The labels of a metric in a domain (n_domain: everywhere) into value; returns how many. */
static size_t gather(const nas_corpus *c, size_t metric, size_t domain, double *value)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        if ((domain == c->rlm->n_domain || c->domain[i] == domain) &&
            !isnan(c->label[i * c->m + metric]))
            value[n++] = c->label[i * c->m + metric];
    return n;
}

static nas_status fit_domain(nas_corpus *c, nas_rlm_domain *d, size_t metric, const char *kind,
                             double *value, nas_err *err)
{
    const nas_metric *m = &c->rlm->schema.metric[metric];
    size_t n = gather(c, metric, (size_t)(d - c->rlm->domain), value);
    if (n == 0 || nas_metric_find(d->seen.metric, d->seen.n, m->name) >= 0)
        return NAS_OK;
    nas_status status = nas_schema_add(&d->seen, m, err);
    return status ? status : nas_scale_fit(&d->seen.scale[d->seen.n - 1], kind, value, n, err);
}

nas_status nas_corpus_fit(nas_corpus *c, const char *kind, nas_err *err)
{
    if (c->n == 0)
        return nas_fail(err, NAS_FAILED, "there is nothing to learn from: no row has a label");
    double *value = nas_alloc(c->n * sizeof *value);
    nas_status status = NAS_OK;
    for (size_t k = 0; k < c->m && status == NAS_OK; k++) {
        nas_scale *scale = &c->rlm->schema.scale[k];
        size_t n = gather(c, k, c->rlm->n_domain, value);
        if (n && scale->n == 0)
            status = nas_scale_fit(scale, kind, value, n, err);
        for (size_t d = 0; d < c->rlm->n_domain && status == NAS_OK; d++)
            status = fit_domain(c, &c->rlm->domain[d], k, kind, value, err);
    }
    free(value);
    return status;
}

/* ---- examples ---- */

/* The labels of a row as the model sees them: on the scale of the row's domain. */
static void scaled_labels(const nas_corpus *c, size_t row, double *z)
{
    const nas_rlm_domain *d = &c->rlm->domain[c->domain[row]];
    for (size_t k = 0; k < c->m; k++) {
        double x = c->label[row * c->m + k];
        int at = isnan(x)
                     ? -1
                     : nas_metric_find(d->seen.metric, d->seen.n, c->rlm->schema.metric[k].name);
        z[k] = at < 0 ? NAN : nas_scale_apply(&d->seen.scale[at], x);
    }
}

static size_t count_labels(const nas_corpus *c, const double *z, bool free)
{
    size_t n = 0;
    for (size_t k = 0; k < c->m; k++)
        n += c->free[k] == free && !isnan(z[k]);
    return n;
}

/* Drops labels of that kind by chance until `keep` are left. */
static void keep_some(const nas_corpus *c, double *z, bool free, size_t keep, nas_rng *rng)
{
    size_t left = count_labels(c, z, free);
    for (size_t k = 0; k < c->m; k++) {
        if (c->free[k] != free || isnan(z[k]))
            continue;
        if (nas_rng_below(rng, left--) < keep)
            keep--;
        else
            z[k] = NAN;
    }
}

/* Drops labels until at most `most` are left. Measured ones come first: there are many that cost
 * nothing, and those get a third of the places, or what is left of them. */
static void thin_out(const nas_corpus *c, double *z, size_t most, nas_rng *rng)
{
    size_t measured = count_labels(c, z, false), free = count_labels(c, z, true);
    if (!most || measured + free <= most)
        return;
    size_t share = free < most / 3 ? free : most / 3;
    if (measured > most - share)
        measured = most - share;
    keep_some(c, z, false, measured, rng);
    keep_some(c, z, true, most - measured < free ? most - measured : free, rng);
}

static void make_example(nas_corpus *c, const nas_schema *raw, size_t row, size_t copy,
                         const nas_corpus_how *how, const double *scaled, double *z,
                         int32_t *target, int32_t *shifted, uint8_t *loss, size_t *length)
{
    nas_rng root = nas_rng_seed(how->seed), of_row = nas_rng_child(&root, "row", row);
    nas_rng rng = nas_rng_child(&of_row, "copy", copy);
    for (size_t k = 0; k < c->m; k++)
        z[k] = scaled[k] + how->jitter * nas_rng_normal(&rng);
    size_t most = how->numbers;
    if (how->fewest && how->fewest < most)
        most = how->fewest + nas_rng_below(&rng, most - how->fewest + 1);
    thin_out(c, z, most, &rng);
    *length = nas_schema_encode(raw, z, shifted, target, loss);
    for (size_t i = 0; i < *length; i++)
        if (!loss[i])
            target[i] = 0; /* forced tokens count nowhere */
}

static void room_for(nas_corpus *c, size_t n, size_t copies, size_t longest)
{
    size_t tokens = 0;
    for (size_t i = 0; i < c->n; i++)
        tokens += copies * c->times[i] * (c->at[i + 1] - c->at[i]);
    clear_examples(c);
    c->in_at = nas_alloc((n + 1) * sizeof *c->in_at);
    c->out_at = nas_alloc((n + 1) * sizeof *c->out_at);
    c->in = nas_alloc((tokens + 1) * sizeof *c->in);
    c->shifted = nas_alloc((n * longest + 1) * sizeof *c->shifted);
    c->target = nas_alloc((n * longest + 1) * sizeof *c->target);
    c->in_at[0] = c->out_at[0] = 0;
}

/* The most labels a row has. */
static size_t most_labels(const nas_corpus *c)
{
    size_t most = 0;
    for (size_t i = 0; i < c->n; i++) {
        size_t n = 0;
        for (size_t k = 0; k < c->m; k++)
            n += !isnan(c->label[i * c->m + k]);
        most = n > most ? n : most;
    }
    return most;
}

const nas_batch *nas_corpus_batch(nas_corpus *c, const nas_corpus_how *how)
{
    nas_schema raw = c->rlm->schema;
    size_t length = nas_schema_length(&raw), numbers = most_labels(c), at = 0;
    if (how->numbers && how->numbers < numbers)
        numbers = how->numbers;
    room_for(c, nas_corpus_examples(c) * how->copies, how->copies,
             numbers * nas_schema_block(&raw));
    raw.scale = nas_zalloc(c->m + 1, sizeof *raw.scale);
    double *scaled = nas_alloc(2 * c->m * sizeof *scaled);
    int32_t *target = nas_alloc(2 * length * sizeof *target);
    uint8_t *loss = nas_alloc(length);
    for (size_t i = 0; i < c->n; i++) {
        size_t in = c->at[i + 1] - c->at[i], out;
        scaled_labels(c, i, scaled);
        for (size_t copy = 0; copy < how->copies * c->times[i]; copy++, at++) {
            make_example(c, &raw, i, copy, how, scaled, scaled + c->m, target, target + length,
                         loss, &out);
            memcpy(c->in + c->in_at[at], c->token + c->at[i], in * sizeof *c->in);
            memcpy(c->target + c->out_at[at], target, out * sizeof *target);
            memcpy(c->shifted + c->out_at[at], target + length, out * sizeof *target);
            c->in_at[at + 1] = c->in_at[at] + in;
            c->out_at[at + 1] = c->out_at[at] + out;
        }
    }
    free(raw.scale);
    free(scaled);
    free(target);
    free(loss);
    c->batch = (nas_batch){.input = {at, c->in_at},
                           .output = {at, c->out_at},
                           .tokens = c->in,
                           .shifted = c->shifted,
                           .target = c->target};
    return &c->batch;
}

nas_status nas_corpus_ranking(const nas_corpus *c, double weight, nas_ranking *ranking,
                              nas_err *err)
{
    const nas_number *number = &c->rlm->schema.number;
    int32_t one[NAS_NUMBER_MAX];
    char layout[32];
    *ranking = (nas_ranking){0};
    if (weight == 0)
        return NAS_OK;
    if (number->role[1] != NAS_ROLE_EXPONENT || number->base != NAS_RANK_BASE)
        return nas_fail(err, NAS_USAGE, "numbers written as %s cannot be ranked: use SCI",
                        nas_number_print(number, layout, sizeof layout));
    nas_number_encode(number, 1, one);
    *ranking = (nas_ranking){.weight = (float)weight,
                             .temperature = 0.3f,
                             .plus = one[0],
                             .one = one[1],
                             .digit = one[2] - 1,
                             .digits = number->digits};
    return NAS_OK;
}
