#include "results/rank.h"
#include "search/train_data.h"

#include <math.h>
#include <stdlib.h>

/* What one source is judged by: its rows that were kept, and those metrics of it that were learned.
 */
typedef struct {
    const char *space, *task;
    size_t n, m, *metric, *column; /* (m) in the schema and in the source */
    double *truth, *value;         /* (n, m) */
} trial;

static trial begin(const nas_rlm *rlm, const char *space, const char *task, size_t n,
                   const nas_metric *metric, size_t n_metric)
{
    trial t = {.space = space, .task = task, .n = n};
    t.metric = nas_alloc((n_metric + 1) * sizeof *t.metric);
    t.column = nas_alloc((n_metric + 1) * sizeof *t.column);
    for (size_t i = 0; i < rlm->schema.n; i++) {
        int k = nas_metric_find(metric, n_metric, rlm->schema.metric[i].name);
        if (k < 0 || !nas_rlm_knows(rlm, space, task, i))
            continue;
        t.metric[t.m] = i;
        t.column[t.m++] = (size_t)k;
    }
    t.truth = nas_alloc((n * t.m + 1) * sizeof *t.truth);
    t.value = nas_alloc((n * t.m + 1) * sizeof *t.value);
    return t;
}

static nas_status compare(const trial *t, const nas_rlm *rlm, size_t k, nas_report *report,
                          nas_err *err)
{
    double *truth = nas_alloc((t->n + 1) * sizeof *truth);
    double *score = nas_alloc((t->n + 1) * sizeof *score);
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (!isnan(t->truth[i * t->m + k])) {
            truth[n] = t->truth[i * t->m + k];
            score[n++] = t->value[i * t->m + k];
        }
    nas_rank rank = {.tau_b = NAN, .spearman = NAN, .low = NAN, .high = NAN};
    nas_status status = n ? nas_rank_compare(truth, score, n, &rank, err) : NAS_OK;
    nas_report_text(report, t->space);
    nas_report_text(report, t->task);
    nas_report_text(report, rlm->schema.metric[t->metric[k]].name);
    nas_report_int(report, (int64_t)n);
    nas_report_real(report, rank.tau_b);
    nas_report_real(report, rank.spearman);
    nas_report_real(report, rank.low);
    nas_report_real(report, rank.high);
    free(truth);
    free(score);
    return status;
}

/* Compares what was predicted and frees the trial. */
static nas_status end(trial *t, nas_status status, const nas_rlm *rlm, nas_report *report,
                      nas_err *err)
{
    for (size_t k = 0; k < t->m && status == NAS_OK && t->n; k++)
        status = compare(t, rlm, k, report, err);
    free(t->metric);
    free(t->column);
    free(t->truth);
    free(t->value);
    return status;
}

static nas_status read_table(const nas_train_table *from, trial *t, nas_arch *arch, nas_err *err)
{
    nas_bytes text = {0};
    nas_status status = NAS_OK;
    for (size_t i = 0; i < t->n && status == NAS_OK; i++) {
        size_t row = from->part.split.order[from->part.test_at + i];
        status = nas_space_parse(from->table->space, nas_table_arch(from->table, row, &text),
                                 &arch[i], err);
        for (size_t k = 0; k < t->m; k++)
            t->truth[i * t->m + k] = nas_table_value(from->table, row, t->column[k]);
    }
    nas_bytes_clear(&text);
    return status;
}

static nas_status judge_table(const nas_train_table *from, const nas_rlm *rlm, nas_report *report,
                              nas_err *err)
{
    const nas_table *table = from->table;
    trial t = begin(rlm, table->space->name, from->task->name, from->part.n_test, table->metric,
                    table->n_metric);
    const nas_rlm_ask ask = {.metric = t.metric, .m = t.m};
    nas_arch *arch = nas_alloc((t.n + 1) * sizeof *arch);
    nas_status status = read_table(from, &t, arch, err);
    if (status == NAS_OK && t.n && t.m)
        status =
            nas_rlm_predict(rlm, &ask, table->space, from->task, arch, t.n, t.value, NULL, err);
    free(arch);
    return end(&t, status, rlm, report, err);
}

static nas_status judge_text(const nas_train_text *from, const nas_rlm *rlm, nas_report *report,
                             nas_err *err)
{
    trial t =
        begin(rlm, NAS_TEXT_SPACE, from->task, from->part.n_test, from->metric, from->n_metric);
    const nas_rlm_ask ask = {.metric = t.metric, .m = t.m};
    nas_bytes *text = nas_alloc((t.n + 1) * sizeof *text);
    nas_scale *scale = nas_alloc((rlm->schema.n + 1) * sizeof *scale);
    nas_schema view;
    nas_status status = NAS_OK;
    for (size_t i = 0; i < t.n; i++) {
        size_t row = from->part.split.order[from->part.test_at + i];
        text[i] = nas_train_text_row(from, row);
        for (size_t k = 0; k < t.m; k++)
            t.truth[i * t.m + k] = from->value[row * from->n_metric + t.column[k]];
    }
    nas_rlm_view(rlm, t.space, t.task, scale, &view);
    if (t.n && t.m)
        status = nas_rlm_predict_texts(rlm, &ask, &view, text, t.n, t.value, NULL, err);
    free(text);
    free(scale);
    return end(&t, status, rlm, report, err);
}

nas_status nas_train_data_judge(const nas_train_data *d, const nas_rlm *rlm, nas_report *report,
                                nas_err *err)
{
    nas_status status = NAS_OK;
    for (size_t i = 0; i < d->n_table && status == NAS_OK; i++)
        status = judge_table(&d->table[i], rlm, report, err);
    for (size_t i = 0; i < d->n_text && status == NAS_OK; i++)
        status = judge_text(&d->text[i], rlm, report, err);
    return status;
}
