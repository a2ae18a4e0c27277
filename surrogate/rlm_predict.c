/* What a trained model says: trees or samples over a piece of inputs, metric after metric. */
#include "surrogate/decode.h"
#include "surrogate/estimate.h"
#include "surrogate/rlm.h"

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    INPUTS = 64,     /* inputs at once, at most */
    LEAST = 8,       /* and at least, if there are so many: products of fewer rows are slow */
    SEQUENCES = 512, /* samples at once, over all inputs */
    WIDTH = 24,      /* prefixes a tree follows at most on a level */
};
#define THRESHOLD 1e-3 /* and the probability that one needs */

/* Memory for one piece. A sequence is what grows: an input's point estimates, or one sample. */
typedef struct {
    const nas_rlm *rlm;
    const nas_schema *view;
    const nas_rlm_ask *ask;
    nas_decoder *decoder;
    size_t n;        /* inputs */
    size_t each;     /* sequences an input */
    int32_t *prefix; /* (n * each) */
    int32_t *stem;   /* (n) those behind the first number */
    size_t stem_at;  /* and the decoder's count there */
    bool star;       /* numbers are written behind the first one only */
    nas_tree **tree; /* (n) without samples */
    nas_rng *rng;    /* (n * each) with samples */
    nas_atom *atom;  /* (n * each) */
    /* a step of the decoder */
    int32_t *from, *token;
    size_t from_cap, token_cap;
    size_t stride; /* floats of a row of logits */
} speaker;

static void room(speaker *s, size_t rows)
{
    s->from = nas_grow(s->from, &s->from_cap, rows, sizeof *s->from);
    s->token = nas_grow(s->token, &s->token_cap, rows, sizeof *s->token);
}

/* Lengthens every sequence by the same number of tokens, token (sequences, length); returns the
 * logits behind the last of each: row i at i * *stride. */
static const float *lengthen(speaker *s, const int32_t *token, size_t length, size_t *stride)
{
    size_t n = s->n * s->each, width = s->stride;
    int32_t next = (int32_t)nas_decoder_count(s->decoder);
    room(s, n * length);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < length; k++, next++) {
            s->from[i * length + k] = k ? next - 1 : s->prefix[i];
            s->token[i * length + k] = token[i * length + k];
            if (k == length - 1)
                s->prefix[i] = next;
        }
    const float *logit = nas_decoder_step(s->decoder, n * length, s->from, s->token);
    *stride = length * width;
    return logit + (length - 1) * width;
}

/* ---- exact distributions ---- */

/* One level of all trees; false when all are done. first is the decoder's id of the first prefix of
 * the level before (-1: the sequences themselves), at[i] where those of tree i begin in it; at is
 * set for this level. */
static bool grow_trees(speaker *s, int32_t first, size_t *at)
{
    size_t rows = 0, n = 0;
    size_t start[INPUTS + 1];
    for (size_t i = 0; i < s->n; i++) {
        const int32_t *parent, *token;
        size_t m = (size_t)nas_tree_frontier(s->tree[i], &parent, &token);
        room(s, rows + m);
        for (size_t k = 0; k < m; k++) {
            s->from[rows + k] = first < 0 ? s->prefix[i] : first + (int32_t)at[i] + parent[k];
            s->token[rows + k] = token[k];
        }
        start[i] = rows;
        rows += m;
        n += m > 0;
    }
    start[s->n] = rows;
    const float *logit = n ? nas_decoder_step(s->decoder, rows, s->from, s->token) : NULL;
    for (size_t i = 0; i < s->n; i++)
        if (start[i + 1] > start[i])
            nas_tree_expand(s->tree[i], logit + start[i] * s->stride, s->stride);
    memcpy(at, start, (s->n + 1) * sizeof *at);
    return n > 0;
}

/* The distribution of every input's number; logit row i * stride is what its first token is drawn
 * from. Prefixes of the trees are forgotten again. */
static void run_trees(speaker *s, const float *logit, size_t stride)
{
    const int32_t *parent, *token;
    size_t mark = nas_decoder_count(s->decoder), at[INPUTS + 1];
    for (size_t i = 0; i < s->n; i++) {
        nas_tree_start(s->tree[i], THRESHOLD);
        nas_tree_frontier(s->tree[i], &parent, &token);
        nas_tree_expand(s->tree[i], logit + i * stride, s->stride);
    }
    int32_t first = -1, before = (int32_t)mark;
    for (; grow_trees(s, first, at); first = before)
        before = (int32_t)nas_decoder_count(s->decoder) - (int32_t)at[s->n];
    nas_decoder_forget(s->decoder, mark);
}

/* ---- samples ---- */

/* Draws one number behind every sequence into id (sequences, length), which follow. */
static const float *run_samples(speaker *s, const float *logit, size_t *stride, int32_t *id)
{
    const nas_number *number = &s->view->number;
    size_t n = s->n * s->each, length = (size_t)number->length;
    int32_t *next = nas_alloc(n * sizeof *next);
    for (size_t k = 0; k < length; k++) {
        for (size_t i = 0; i < n; i++) {
            nas_token_set legal = nas_number_legal(number, id + i * length, (int)k);
            next[i] = id[i * length + k] =
                nas_token_draw(logit + i * *stride, legal, 1, 1, &s->rng[i]);
        }
        logit = lengthen(s, next, 1, stride);
    }
    free(next);
    return logit;
}

/* ---- one metric ---- */

/* The median, which is the same on any scale and does not follow a few rows that were measured
 * badly, and the spread. */
static void settle(const nas_scale *scale, nas_atom *atom, size_t n, double *value, double *spread)
{
    nas_estimate estimate = nas_estimate_of(atom, n);
    *value = nas_estimate_middle(atom, n);
    if (spread)
        *spread = nas_calibration_apply(&scale->spread, estimate.spread);
}

/* Metric k of the piece into value and spread (n, m); *logit are the rows behind the sequences. */
static void speak(speaker *s, size_t k, const float **logit, size_t *stride, double *value,
                  double *spread)
{
    size_t metric = s->ask->metric[k], m = s->ask->m, n = s->n * s->each;
    size_t length = (size_t)s->view->number.length;
    const nas_scale *scale = &s->view->scale[metric];
    int32_t *id = nas_zalloc(n * length, sizeof *id);
    if (!s->view->plain) {
        for (size_t i = 0; i < n; i++)
            id[i] = nas_schema_token(s->view, metric);
        *logit = lengthen(s, id, 1, stride);
    }
    if (s->ask->samples)
        *logit = run_samples(s, *logit, stride, id);
    else
        run_trees(s, *logit, *stride);
    for (size_t i = 0; i < s->n; i++) {
        size_t count = s->each;
        nas_atom *atom = s->atom + i * s->each;
        if (!s->ask->samples)
            atom = nas_tree_atoms(s->tree[i], scale, &count);
        for (size_t j = 0; s->ask->samples && j < count; j++) {
            double x = NAN;
            nas_schema_read(s->view, metric, id + (i * s->each + j) * length, &x);
            atom[j] = (nas_atom){x, 1, x, x};
        }
        settle(scale, atom, count, &value[i * m + k], spread ? &spread[i * m + k] : NULL);
        if (!s->ask->samples &&
            !nas_schema_write(s->view, metric, value[i * m + k], id + i * length))
            memset(id + i * length, 0, length * sizeof *id);
    }
    if (!s->ask->samples && k + 1 < m && !(s->star && k))
        *logit = lengthen(s, id, length, stride);
    free(id);
}

/* ---- pieces ---- */

static speaker *speaker_new(const nas_rlm *rlm, const nas_rlm_ask *ask, const nas_schema *view)
{
    speaker *s = nas_zalloc(1, sizeof *s);
    size_t each = ask->samples ? ask->samples : 1;
    size_t most = ask->samples > SEQUENCES / INPUTS ? SEQUENCES + each : INPUTS * each;
    *s = (speaker){.rlm = rlm, .view = view, .ask = ask, .each = each};
    s->decoder = nas_decoder_new(rlm->model);
    s->stride = rlm->model->config.decoder_vocab;
    s->star = !ask->samples && !view->plain;
    s->prefix = nas_alloc(most * sizeof *s->prefix);
    s->stem = nas_alloc(INPUTS * sizeof *s->stem);
    s->rng = nas_alloc(most * sizeof *s->rng);
    s->atom = nas_alloc(most * sizeof *s->atom);
    s->tree = nas_zalloc(INPUTS, sizeof *s->tree);
    for (size_t i = 0; i < INPUTS && !ask->samples; i++)
        s->tree[i] = nas_tree_new(&view->number, WIDTH);
    return s;
}

static void speaker_free(speaker *s)
{
    for (size_t i = 0; i < INPUTS; i++)
        nas_tree_free(s->tree[i]);
    nas_decoder_free(s->decoder);
    void *all[] = {s->prefix, s->stem, s->rng, s->atom, s->tree, s->from, s->token, s};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* Inputs of a piece: every thread gets one if they are enough. */
static size_t piece_size(const nas_rlm_ask *ask, size_t n)
{
    size_t most = ask->samples ? SEQUENCES / ask->samples : INPUTS;
    size_t threads = (size_t)omp_get_max_threads(), fair = (n + threads - 1) / threads;
    most = most < 1 ? 1 : most > INPUTS ? INPUTS : most;
    fair = fair < LEAST ? LEAST : fair;
    return fair < most ? fair : most;
}

/* Samples of an input depend on its text and the seed only. */
static void seed_samples(speaker *s, const nas_bytes *text)
{
    nas_rng root = nas_rng_seed(s->ask->seed);
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->each; j++)
            s->rng[i * s->each + j] = nas_rng_child(&root, text[i].data, j);
}

/* Every sequence is empty again. */
static void begin(speaker *s)
{
    nas_decoder_forget(s->decoder, s->n);
    for (size_t i = 0; i < s->n * s->each; i++)
        s->prefix[i] = (int32_t)(i / s->each);
}

/* What every sequence is behind the first number, and back to it. */
static void keep_stem(speaker *s)
{
    s->stem_at = nas_decoder_count(s->decoder);
    memcpy(s->stem, s->prefix, s->n * sizeof *s->stem);
}

static void return_to_stem(speaker *s)
{
    nas_decoder_forget(s->decoder, s->stem_at);
    memcpy(s->prefix, s->stem, s->n * sizeof *s->stem);
}

static void speak_piece(speaker *s, nas_spans spans, const int32_t *token, const nas_bytes *text,
                        double *value, double *spread)
{
    size_t stride = s->stride;
    s->n = spans.n;
    nas_decoder_start(s->decoder, spans, token);
    begin(s);
    if (s->ask->samples)
        seed_samples(s, text);
    const float *logit = nas_decoder_first(s->decoder);
    size_t together = s->ask->alone ? 1 : s->rlm->numbers;
    for (size_t k = 0; k < s->ask->m; k++) {
        if (k && s->star && together != 1)
            return_to_stem(s);
        else if (k && together && !s->view->plain && k % together == 0)
            begin(s);
        speak(s, k, &logit, &stride, value, spread);
        if (!k && s->star)
            keep_stem(s);
    }
}

/* The tokens of n texts one behind the other; *done counts them up to one that fails. */
static nas_status encode_piece(const nas_rlm *rlm, const nas_bytes *text, size_t n, size_t *at,
                               int32_t **token, size_t *cap, size_t *done, nas_err *err)
{
    int32_t *id = NULL;
    size_t id_cap = 0, count;
    nas_status status = NAS_OK;
    at[0] = 0;
    for (size_t i = 0; i < n; i++, ++*done) {
        status = nas_rlm_encode(rlm, &text[i], &id, &id_cap, &count, err);
        if (status)
            break;
        *token = nas_grow(*token, cap, at[i] + count, sizeof **token);
        memcpy(*token + at[i], id, count * sizeof *id);
        at[i + 1] = at[i] + count;
    }
    free(id);
    return status;
}

/* Texts that threads share, a piece at a time. */
typedef struct {
    const nas_rlm *rlm;
    const nas_rlm_ask *ask;
    const nas_schema *view;
    const nas_bytes *text;
    size_t n, piece, next;
    double *value, *spread; /* (n, m); spread may be NULL */
    size_t failed;          /* the first text that could not be read, SIZE_MAX: none */
    nas_err err;            /* and why */
} job;

/* What one thread does: pieces until none is left or a text fails; pieces before that one are its
 * own or another thread's, those behind it are not needed. */
static void speak_pieces(job *j)
{
    speaker *s = speaker_new(j->rlm, j->ask, j->view);
    size_t at[INPUTS + 1], cap = 0, m = j->ask->m, i;
    int32_t *token = NULL;
    nas_err err = {0};
    while (err.code == NAS_OK) {
#pragma omp atomic capture
        {
            i = j->next;
            j->next += j->piece;
        }
        if (i >= j->n)
            break;
        size_t count = j->n - i < j->piece ? j->n - i : j->piece, done = i;
        if (encode_piece(j->rlm, j->text + i, count, at, &token, &cap, &done, &err) == NAS_OK) {
            speak_piece(s, (nas_spans){count, at}, token, j->text + i, j->value + i * m,
                        j->spread ? j->spread + i * m : NULL);
            continue;
        }
#pragma omp critical(nas_speak)
        if (done < j->failed) {
            j->failed = done;
            j->err = err;
        }
    }
    free(token);
    speaker_free(s);
}

/* Threads take whole pieces, so that they need not wait for each other. */
static nas_status predict_texts(const nas_rlm *rlm, const nas_rlm_ask *ask, const nas_schema *view,
                                const nas_bytes *text, size_t n, double *value, double *spread,
                                size_t *done, nas_err *err)
{
    job j = {.rlm = rlm,
             .ask = ask,
             .view = view,
             .text = text,
             .n = n,
             .piece = piece_size(ask, n),
             .value = value,
             .spread = spread,
             .failed = SIZE_MAX};
#pragma omp parallel if (n > j.piece)
    speak_pieces(&j);
    if (j.failed == SIZE_MAX)
        return NAS_OK;
    *done = j.failed;
    return nas_fail(err, j.err.code, "%s", j.err.text);
}

nas_status nas_rlm_predict_texts(const nas_rlm *rlm, const nas_rlm_ask *ask, const nas_schema *view,
                                 const nas_bytes *text, size_t n, double *value, double *spread,
                                 nas_err *err)
{
    size_t done = 0;
    nas_status status = predict_texts(rlm, ask, view, text, n, value, spread, &done, err);
    return status && n > 1 ? nas_fail_in(err, "text %zu", done + 1) : status;
}

/* The texts of n architectures, written in parallel; the error is that of the first that fails. */
static nas_status write_prompts(const nas_space *space, const nas_task *task, const nas_arch *arch,
                                size_t n, nas_bytes *text, size_t *failed, nas_err *err)
{
    nas_err *each = nas_zalloc(n + 1, sizeof *each);
    nas_status status = NAS_OK;
#pragma omp parallel for schedule(dynamic, 4) if (n > 8)
    for (size_t i = 0; i < n; i++) {
        nas_bytes_reset(&text[i]);
        nas_rlm_prompt(space, task, &arch[i], &text[i], &each[i]);
    }
    while (*failed < n && each[*failed].code == NAS_OK)
        ++*failed;
    if (*failed < n)
        status = nas_fail(err, each[*failed].code, "%s", each[*failed].text);
    else
        *failed = 0;
    free(each);
    return status;
}

static nas_status name_arch(const nas_space *space, const nas_arch *arch, nas_err *err)
{
    nas_bytes text = {0};
    nas_space_print(space, arch, &text);
    nas_fail_in(err, "architecture '%.200s'", text.data);
    nas_bytes_clear(&text);
    return err->code;
}

nas_status nas_rlm_predict(const nas_rlm *rlm, const nas_rlm_ask *ask, const nas_space *space,
                           const nas_task *task, const nas_arch *arch, size_t n, double *value,
                           double *spread, nas_err *err)
{
    enum { AT_ONCE = 16 * INPUTS };
    nas_bytes *text = nas_zalloc(AT_ONCE, sizeof *text);
    nas_scale *scale = nas_alloc((rlm->schema.n + 1) * sizeof *scale);
    nas_schema view;
    nas_status status = NAS_OK;
    nas_rlm_view(rlm, space->name, task->name, scale, &view);
    for (size_t i = 0; i < n && status == NAS_OK; i += AT_ONCE) {
        size_t count = n - i < AT_ONCE ? n - i : AT_ONCE, done = 0;
        status = write_prompts(space, task, arch + i, count, text, &done, err);
        if (status == NAS_OK)
            status = predict_texts(rlm, ask, &view, text, count, value + i * ask->m,
                                   spread ? spread + i * ask->m : NULL, &done, err);
        if (status)
            name_arch(space, &arch[i + done], err);
    }
    for (size_t i = 0; i < AT_ONCE; i++)
        nas_bytes_clear(&text[i]);
    free(text);
    free(scale);
    return status;
}
