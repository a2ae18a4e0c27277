/* Any texts as a source of 'naslm train': the rows of a CSV or JSON file. */
#include "search/train_data.h"

#include <math.h>
#include <stdlib.h>

/* The columns of --input and --metric. */
static nas_status find_columns(nas_train_text *t, const nas_csv *csv, size_t *input,
                               nas_csv_metric **where, const nas_options *o, nas_err *err)
{
    const char *spec;
    size_t metric_cap = 0, where_cap = 0;
    nas_status status = nas_csv_need(csv, t->input, input, err);
    while (status == NAS_OK && (spec = nas_options_nth(o, "metric", t->n_metric))) {
        size_t k = t->n_metric;
        t->metric = nas_grow(t->metric, &metric_cap, k + 1, sizeof *t->metric);
        *where = nas_grow(*where, &where_cap, k + 1, sizeof **where);
        status = nas_csv_metric_find(csv, spec, &t->metric[k], &(*where)[k], err);
        if (status == NAS_OK && nas_metric_find(t->metric, k, t->metric[k].name) >= 0)
            status = nas_fail(err, NAS_USAGE, "metric '%s': '%s' is there already", spec,
                              t->metric[k].name);
        t->n_metric++;
    }
    return status;
}

static nas_status read_row(nas_train_text *t, const nas_csv *csv, size_t input,
                           const nas_csv_metric *where, nas_arena *arena, nas_err *err)
{
    size_t m = t->n_metric;
    if (!*csv->field[input])
        return nas_csv_fail(csv, input, err, "the text is empty");
    t->text = nas_grow(t->text, &t->cap, t->n + 1, sizeof *t->text);
    t->line = nas_grow(t->line, &t->line_cap, t->n + 1, sizeof *t->line);
    t->value = nas_grow(t->value, &t->value_cap, (t->n + 1) * m, sizeof *t->value);
    for (size_t k = 0; k < m; k++) {
        double *value = &t->value[t->n * m + k];
        if (nas_csv_metric_read(csv, &where[k], value, err))
            return err->code;
        if (isinf(*value))
            return nas_csv_fail(csv, where[k].column, err, "'%s' is infinite",
                                csv->field[where[k].column]);
    }
    const char *text = csv->field[input];
    t->text[t->n] = nas_arena_copy(arena, text, strlen(text) + 1);
    t->line[t->n++] = csv->line;
    return NAS_OK;
}

static nas_status read_rows(nas_train_text *t, nas_csv *csv, nas_arena *arena, const nas_options *o,
                            nas_err *err)
{
    size_t input;
    nas_csv_metric *where = NULL;
    int more = 0;
    nas_status status = find_columns(t, csv, &input, &where, o, err);
    while (status == NAS_OK && (more = nas_csv_next(csv, err)) > 0)
        status = read_row(t, csv, input, where, arena, err);
    t->row = csv->row;
    free(where);
    if (status == NAS_OK && more == 0 && t->n == 0)
        status = nas_fail(err, NAS_FAILED, "%s has no rows", csv->path);
    return status ? status : more < 0 ? err->code : NAS_OK;
}

nas_status nas_train_text_open(nas_train_text *t, nas_arena *arena, const nas_options *o,
                               nas_err *err)
{
    t->input = nas_options_text(o, "input", NULL);
    t->task = t->task ? t->task : NAS_TEXT_TASK;
    if (!t->input)
        return nas_fail(err, NAS_USAGE, "option '--input' is missing: the column of the texts");
    if (!*t->task || strlen(t->task) >= sizeof((nas_rlm_domain *)NULL)->task)
        return nas_fail(err, NAS_USAGE, "the name '%s' behind '@' is empty or too long", t->task);
    nas_csv *csv = nas_csv_open(t->path, err);
    nas_status status = csv ? read_rows(t, csv, arena, o, err) : err->code;
    nas_csv_close(csv);
    if (status == NAS_OK)
        nas_train_part_make(&t->part, NAS_TEXT_SPACE, t->text, t->n, o);
    return status;
}

void nas_train_text_close(nas_train_text *t)
{
    nas_split_clear(&t->part.split);
    free(t->text);
    free(t->line);
    free(t->metric);
    free(t->value);
}

nas_bytes nas_train_text_row(const nas_train_text *t, size_t row)
{
    return (nas_bytes){.data = (char *)t->text[row], .size = strlen(t->text[row])};
}

void nas_train_text_vocab(const nas_train_text *t, nas_vocab_trainer *trainer)
{
    for (size_t i = 0; i < t->part.n_train && i < NAS_TRAIN_VOCAB; i++) {
        nas_bytes text = nas_train_text_row(t, t->part.split.order[i]);
        nas_vocab_trainer_add(trainer, text.data, text.size);
    }
}

/* The labels of a row in the order of the schema. */
static void put_labels(const nas_train_text *t, size_t row, const size_t *at, double *label)
{
    for (size_t k = 0; k < t->n_metric; k++)
        label[at[k]] = t->value[row * t->n_metric + k];
}

/* Those that judge are read too: a text that is too long shall be said before the training. */
static nas_status add_rows(const nas_train_text *t, nas_corpus *corpus, size_t domain,
                           const size_t *at, double *label, nas_err *err)
{
    const nas_train_part *part = &t->part;
    int32_t *id = NULL;
    size_t cap = 0, n;
    nas_status status = NAS_OK;
    for (size_t i = 0; i < part->test_at + part->n_test && status == NAS_OK; i++) {
        size_t row = part->split.order[i];
        nas_bytes text = nas_train_text_row(t, row);
        if (i < part->n_train) {
            put_labels(t, row, at, label);
            status = nas_corpus_add(corpus, domain, &text, label, err);
        } else if (i >= part->test_at || i - part->watch_at < part->watch) {
            status = nas_rlm_encode(nas_corpus_rlm(corpus), &text, &id, &cap, &n, err);
        }
        if (status)
            nas_fail_in(err, "%s, %s %zu", t->path, t->row, t->line[row]);
    }
    free(id);
    return status;
}

nas_status nas_train_text_fill(const nas_train_text *t, nas_corpus *corpus, nas_err *err)
{
    nas_rlm *rlm = nas_corpus_rlm(corpus);
    const nas_rlm_domain *domain = nas_rlm_domain_of(rlm, NAS_TEXT_SPACE, t->task, true);
    size_t *at = nas_alloc((t->n_metric + 1) * sizeof *at);
    double *label = nas_alloc((rlm->schema.n + 1) * sizeof *label);
    for (size_t k = 0; k < rlm->schema.n; k++)
        label[k] = NAN;
    for (size_t k = 0; k < t->n_metric; k++)
        at[k] = (size_t)nas_metric_find(rlm->schema.metric, rlm->schema.n, t->metric[k].name);
    nas_corpus_repeat(corpus, t->part.times);
    nas_status status = add_rows(t, corpus, (size_t)(domain - rlm->domain), at, label, err);
    free(at);
    free(label);
    return status;
}
