/* What a model says of rows that it did not learn: those that judge it in the end, and those that
 * watch its training. */
#include "results/rank.h"
#include "search/train_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WATCHED = 200 }; /* rows of a source that are looked at while it trains, at most */

/* Some rows of one source, and those metrics of it that were learned. */
typedef struct {
    const char *space, *task;
    const uint32_t *row;           /* (n) */
    size_t n, m, *metric, *column; /* (m) in the schema and in the source */
    double *truth, *value;         /* (n, m) */
    double *spread;                /* (n, m) or NULL */
} trial;

typedef enum { JUDGING, WATCHING, CALIBRATING } purpose;

static trial begin(const nas_rlm *rlm, const char *space, const char *task,
                   const nas_train_part *part, purpose why, const nas_metric *metric,
                   size_t n_metric)
{
    trial t = {.space = space, .task = task};
    t.row = part->split.order + (why == JUDGING ? part->test_at : part->watch_at);
    t.n = why == JUDGING ? part->n_test : part->watch;
    if (why == WATCHING && t.n > WATCHED)
        t.n = WATCHED;
    t.metric = nas_alloc((n_metric + 1) * sizeof *t.metric);
    t.column = nas_alloc((n_metric + 1) * sizeof *t.column);
    for (size_t i = 0; i < rlm->schema.n; i++) {
        int k = nas_metric_find(metric, n_metric, rlm->schema.metric[i].name);
        if (k < 0 || !nas_rlm_knows(rlm, space, task, i))
            continue;
        t.metric[t.m] = i;
        t.column[t.m++] = (size_t)k;
    }
    t.truth = nas_alloc((t.n * t.m + 1) * sizeof *t.truth);
    t.value = nas_alloc((t.n * t.m + 1) * sizeof *t.value);
    t.spread = why == CALIBRATING ? nas_alloc((t.n * t.m + 1) * sizeof *t.spread) : NULL;
    return t;
}

static void end(trial *t)
{
    free(t->metric);
    free(t->column);
    free(t->truth);
    free(t->value);
    free(t->spread);
}

static nas_status read_table(const nas_train_table *from, trial *t, nas_arch *arch, nas_err *err)
{
    nas_bytes text = {0};
    nas_status status = NAS_OK;
    for (size_t i = 0; i < t->n && status == NAS_OK; i++) {
        status = nas_space_parse(from->table->space, nas_table_arch(from->table, t->row[i], &text),
                                 &arch[i], err);
        for (size_t k = 0; k < t->m; k++)
            t->truth[i * t->m + k] = nas_table_value(from->table, t->row[i], t->column[k]);
    }
    nas_bytes_clear(&text);
    return status;
}

static nas_status try_table(const nas_train_table *from, const nas_rlm *rlm, trial *t, nas_err *err)
{
    const nas_rlm_ask ask = {.metric = t->metric, .m = t->m};
    nas_arch *arch = nas_alloc((t->n + 1) * sizeof *arch);
    nas_status status = read_table(from, t, arch, err);
    if (status == NAS_OK && t->n && t->m)
        status = nas_rlm_predict(rlm, &ask, from->table->space, from->task, arch, t->n, t->value,
                                 t->spread, err);
    free(arch);
    return status;
}

static nas_status try_text(const nas_train_text *from, const nas_rlm *rlm, trial *t, nas_err *err)
{
    const nas_rlm_ask ask = {.metric = t->metric, .m = t->m};
    nas_bytes *text = nas_alloc((t->n + 1) * sizeof *text);
    nas_scale *scale = nas_alloc((rlm->schema.n + 1) * sizeof *scale);
    nas_schema view;
    nas_status status = NAS_OK;
    for (size_t i = 0; i < t->n; i++) {
        text[i] = nas_train_text_row(from, t->row[i]);
        for (size_t k = 0; k < t->m; k++)
            t->truth[i * t->m + k] = from->value[t->row[i] * from->n_metric + t->column[k]];
    }
    nas_rlm_view(rlm, t->space, t->task, scale, &view);
    if (t->n && t->m)
        status = nas_rlm_predict_texts(rlm, &ask, &view, text, t->n, t->value, t->spread, err);
    free(text);
    free(scale);
    return status;
}

/* Source i, tables before texts, of those that have rows for the purpose; *t is to be ended. */
static nas_status try_source(const nas_train_data *d, size_t i, const nas_rlm *rlm, purpose why,
                             trial *t, nas_err *err)
{
    if (i < d->n_table) {
        const nas_train_table *from = &d->table[i];
        *t = begin(rlm, from->table->space->name, from->task->name, &from->part, why,
                   from->table->metric, from->table->n_metric);
        return try_table(from, rlm, t, err);
    }
    const nas_train_text *from = &d->text[i - d->n_table];
    *t = begin(rlm, NAS_TEXT_SPACE, from->task, &from->part, why, from->metric, from->n_metric);
    return try_text(from, rlm, t, err);
}

/* Compares metric k where there is a truth; *n is how many rows that are. */
static nas_status rank_metric(const trial *t, size_t k, nas_rank *rank, size_t *n, nas_err *err)
{
    double *truth = nas_alloc((t->n + 1) * sizeof *truth);
    double *score = nas_alloc((t->n + 1) * sizeof *score);
    *n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (!isnan(t->truth[i * t->m + k])) {
            truth[*n] = t->truth[i * t->m + k];
            score[(*n)++] = t->value[i * t->m + k];
        }
    *rank = (nas_rank){.tau_b = NAN, .spearman = NAN, .low = NAN, .high = NAN};
    nas_status status = *n ? nas_rank_compare(truth, score, *n, rank, err) : NAS_OK;
    free(truth);
    free(score);
    return status;
}

/* ---- purposes ---- */

static nas_status report_metric(const trial *t, const nas_rlm *rlm, size_t k, nas_report *report,
                                nas_err *err)
{
    nas_rank rank;
    size_t n;
    nas_status status = rank_metric(t, k, &rank, &n, err);
    nas_report_text(report, t->space);
    nas_report_text(report, t->task);
    nas_report_text(report, rlm->schema.metric[t->metric[k]].name);
    nas_report_int(report, (int64_t)n);
    nas_report_real(report, rank.tau_b);
    nas_report_real(report, rank.spearman);
    nas_report_real(report, rank.low);
    nas_report_real(report, rank.high);
    return status;
}

nas_status nas_train_data_judge(const nas_train_data *d, const nas_rlm *rlm, nas_report *report,
                                nas_err *err)
{
    nas_status status = NAS_OK;
    for (size_t i = 0; i < d->n_table + d->n_text && status == NAS_OK; i++) {
        trial t;
        status = try_source(d, i, rlm, JUDGING, &t, err);
        for (size_t k = 0; k < t.m && status == NAS_OK && t.n; k++)
            status = report_metric(&t, rlm, k, report, err);
        end(&t);
    }
    return status;
}

bool nas_train_data_watched(const nas_train_data *d)
{
    for (size_t i = 0; i < d->n_table; i++)
        if (d->table[i].part.watch)
            return true;
    for (size_t i = 0; i < d->n_text; i++)
        if (d->text[i].part.watch)
            return true;
    return false;
}

nas_status nas_train_data_watch(const nas_train_data *d, const nas_rlm *rlm, double *tau,
                                nas_err *err)
{
    double sum = 0;
    size_t count = 0;
    nas_status status = NAS_OK;
    for (size_t i = 0; i < d->n_table + d->n_text && status == NAS_OK; i++) {
        trial t;
        status = try_source(d, i, rlm, WATCHING, &t, err);
        for (size_t k = 0; k < t.m && status == NAS_OK && t.n; k++) {
            nas_rank rank;
            size_t n;
            status = rank_metric(&t, k, &rank, &n, err);
            if (!isnan(rank.tau_b)) {
                sum += rank.tau_b;
                count++;
            }
        }
        end(&t);
    }
    *tau = count ? sum / (double)count : NAN;
    return status;
}

/* Spreads of metric k as they are, against the errors. */
static void calibrate_metric(const trial *t, nas_rlm *rlm, size_t k)
{
    nas_rlm_domain *domain = nas_rlm_domain_of(rlm, t->space, t->task, false);
    const char *name = rlm->schema.metric[t->metric[k]].name;
    int at = nas_metric_find(domain->seen.metric, domain->seen.n, name);
    double *error = nas_alloc((2 * t->n + 1) * sizeof *error), *spread = error + t->n;
    for (size_t i = 0; i < t->n; i++) {
        error[i] = t->value[i * t->m + k] - t->truth[i * t->m + k];
        spread[i] = t->spread[i * t->m + k];
    }
    domain->seen.scale[at].spread = nas_calibration_fit(error, spread, t->n);
    free(error);
}

/* Forgets what a training before this one found. */
static void uncalibrate(const nas_train_data *d, nas_rlm *rlm)
{
    for (size_t i = 0; i < d->n_table + d->n_text; i++) {
        bool table = i < d->n_table;
        nas_rlm_domain *domain =
            nas_rlm_domain_of(rlm, table ? d->table[i].table->space->name : NAS_TEXT_SPACE,
                              table ? d->table[i].task->name : d->text[i - d->n_table].task, false);
        for (size_t k = 0; domain && k < domain->seen.n; k++)
            domain->seen.scale[k].spread = (nas_calibration){0};
    }
}

nas_status nas_train_data_calibrate(const nas_train_data *d, nas_rlm *rlm, const char *only,
                                    nas_err *err)
{
    nas_status status = NAS_OK;
    uncalibrate(d, rlm);
    for (size_t i = 0; i < d->n_table + d->n_text && status == NAS_OK; i++) {
        trial t;
        status = try_source(d, i, rlm, CALIBRATING, &t, err);
        for (size_t k = 0; k < t.m && status == NAS_OK && t.n; k++)
            if (!only || !strcmp(only, rlm->schema.metric[t.metric[k]].name))
                calibrate_metric(&t, rlm, k);
        end(&t);
    }
    return status;
}
