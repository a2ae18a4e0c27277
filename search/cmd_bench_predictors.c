/* naslm bench predictors: options, the file that is continued, and the report. */
#include "search/bench_predictors.h"
#include "search/cmd_bench.h"
#include "search/progress.h"
#include "surrogate/committee.h"
#include "surrogate/known.h"
#include "surrogate/rlm_predictor.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { METHODS_MOST = 64, SIZES_MOST = 32, SAVE_SECONDS = 5 };

typedef struct {
    nas_table *table, *proxies;
    nas_foreign *foreign;
    char (*foreign_name)[64];
    size_t n_foreign;
    nas_bench_method method[METHODS_MOST];
    nas_rlm_recipe recipe[METHODS_MOST]; /* of language models with --start */
    nas_predictor_type type[METHODS_MOST];
    size_t at[SIZES_MOST];
    nas_bench_plan plan;
    nas_bench_about about;
    nas_bench_run run;
    const char *path;  /* of the file or NULL */
    const char *start; /* of the model that language models start from, or NULL */
    nas_rlm *rlm;      /* that model, for what it knows itself */
    bool plain;        /* progress */
    time_t saved;
} command;

/* ---- options ---- */

/* The next word of a comma-separated list, "" at its end. */
static const char *next_word(const char **list, char word[64])
{
    size_t length = strcspn(*list, ",");
    snprintf(word, 64, "%.*s", (int)(length < 63 ? length : 63), *list);
    *list += length + ((*list)[length] == ',');
    return word;
}

static nas_status add_method(command *c, nas_bench_method m, const char *name, nas_err *err)
{
    if (c->plan.n_method == METHODS_MOST)
        return nas_fail(err, NAS_USAGE, "more than %d methods", METHODS_MOST);
    for (size_t i = 0; i < c->plan.n_method; i++)
        if (!strcmp(c->method[i].name, name))
            return nas_fail(err, NAS_USAGE, "method '%s' is there twice", name);
    snprintf(m.name, sizeof m.name, "%s", name);
    c->method[c->plan.n_method++] = m;
    return NAS_OK;
}

/* Of the methods that begin with --start, which alone can transfer. */
static bool starts(const command *c, const nas_predictor_type *type)
{
    for (size_t k = 0; k < METHODS_MOST; k++)
        if (type == &c->type[k])
            return true;
    return false;
}

static nas_status add_known(command *c, nas_err *err)
{
    size_t k = c->plan.n_method;
    if (!c->start)
        return nas_fail(err, NAS_USAGE, "method 'known' needs option '--start'");
    if (!c->rlm && !(c->rlm = nas_rlm_load(c->start, err)))
        return err->code;
    c->type[k] = nas_predictor_known(c->rlm);
    return add_method(c, (nas_bench_method){.type = &c->type[k]}, c->type[k].name, err);
}

static nas_status add_named(command *c, const char *name, nas_err *err)
{
    nas_bench_method m = {0};
    if (!strcmp(name, "known") && c->plan.n_method < METHODS_MOST)
        return add_known(c, err);
    if (!strncmp(name, "table:", 6)) {
        if (!c->proxies)
            return nas_fail(err, NAS_USAGE, "method '%s' needs option '--proxies'", name);
        m.proxies = c->proxies;
        if (nas_metric_need(c->proxies->metric, c->proxies->n_metric, name + 6,
                            "the table of proxies", &m.column, err) != NAS_OK)
            return err->code;
    } else if (!(m.type = nas_predictor_need(name, err))) {
        return err->code;
    }
    if (c->start && m.type->fit == nas_predictor_rlm.fit) {
        size_t k = c->plan.n_method;
        c->recipe[k] = *(const nas_rlm_recipe *)m.type->data;
        c->recipe[k].start = c->start;
        c->type[k] = nas_predictor_rlm_with(&c->recipe[k]);
        m.type = &c->type[k];
    }
    return add_method(c, m, name, err);
}

static nas_status read_methods(command *c, const nas_options *o, nas_err *err)
{
    const char *list = nas_options_text(o, "methods", NULL);
    char word[64];
    c->start = nas_options_text(o, "start", NULL);
    while (list && *list && err->code == NAS_OK)
        add_named(c, next_word(&list, word), err);
    bool all = !nas_options_has(o, "methods") && c->n_foreign == 0;
    for (size_t i = 0; all && nas_predictors[i] && err->code == NAS_OK; i++) {
        const nas_predictor_type *type = nas_predictors[i];
        bool slow = type->fit == nas_predictor_rlm.fit;              /* it learns to read first */
        if (c->start || !(slow || type == &nas_predictor_committee)) /* its teacher */
            add_named(c, type->name, err);
    }
    for (size_t i = 0; i < c->n_foreign && err->code == NAS_OK; i++)
        add_method(c, (nas_bench_method){.foreign = &c->foreign[i]}, c->foreign_name[i], err);
    return err->code;
}

static nas_status read_sizes(command *c, const nas_options *o, nas_err *err)
{
    const char *list = nas_options_text(o, "n", "78,156,469");
    char word[64];
    uint64_t value;
    while (*list && c->plan.n_at < SIZES_MOST) {
        if (!nas_read_u64(next_word(&list, word), &value) || value == 0 || value > UINT32_MAX)
            return nas_fail(err, NAS_USAGE, "--n: '%s' is not a number of rows", word);
        c->at[c->plan.n_at++] = value;
    }
    return *list ? nas_fail(err, NAS_USAGE, "--n: more than %d sizes", SIZES_MOST) : NAS_OK;
}

static nas_status read_setting(command *c, const nas_options *o, nas_err *err)
{
    static const char *const settings[] = {"scratch", "transfer", "all"};
    const char *setting = nas_options_text(o, "setting", "scratch");
    char hint[100];
    size_t k = 0;
    while (k < 3 && strcmp(settings[k], setting))
        k++;
    if (k == 3)
        return nas_fail(err, NAS_USAGE, "unknown setting '%s'%s", setting,
                        nas_hint(hint, sizeof hint, setting, settings, 3));
    for (size_t i = 0; k == 1 && i < c->plan.n_method; i++)
        if (c->method[i].type && !starts(c, c->method[i].type))
            return nas_fail(err, NAS_USAGE,
                            "method %s learns from the rows of %s alone: it has no transfer",
                            c->method[i].name, c->table->space->name);
    c->plan.hold_out = k == 2;
    if (c->plan.hold_out)
        c->plan.n_at = 0;
    snprintf(c->about.setting, sizeof c->about.setting, "%s", setting);
    return NAS_OK;
}

static nas_status open_inputs(command *c, const nas_options *o, nas_err *err)
{
    const char *table = nas_options_text(o, "table", NULL);
    const char *metric = nas_options_text(o, "metric", NULL);
    const char *space = nas_options_text(o, "space", NULL);
    const char *proxies = nas_options_text(o, "proxies", NULL);
    const char *foreign = nas_options_text(o, "predictions", NULL);
    if (!table || !metric)
        return nas_fail(err, NAS_USAGE, "option '--%s' is missing", table ? "metric" : "table");
    if (!(c->table = nas_table_open(table, err)))
        return err->code;
    if (space && strcmp(space, c->table->space->name))
        return nas_fail(err, NAS_USAGE, "table '%s' is of space %s, not of %s", table,
                        c->table->space->name, space);
    if (nas_metric_need(c->table->metric, c->table->n_metric, metric, table, &c->plan.metric, err))
        return err->code;
    if (proxies && !(c->proxies = nas_table_open(proxies, err)))
        return err->code;
    if (proxies && c->proxies->space != c->table->space)
        return nas_fail(err, NAS_USAGE, "table '%s' is of space %s, not of %s", proxies,
                        c->proxies->space->name, c->table->space->name);
    if (foreign)
        nas_foreign_read(foreign, c->table->space, &c->foreign, &c->foreign_name, &c->n_foreign,
                         err);
    return err->code;
}

static nas_status read_plan(command *c, const nas_options *o, nas_err *err)
{
    nas_progress how;
    if (nas_progress_open(&how, o, 0, err) != NAS_OK || nas_command_threads(o, err) != NAS_OK ||
        open_inputs(c, o, err) != NAS_OK || read_methods(c, o, err) != NAS_OK ||
        read_sizes(c, o, err) != NAS_OK || read_setting(c, o, err) != NAS_OK)
        return err->code;
    const nas_space *space = c->table->space;
    c->plan.table = c->table;
    c->plan.task = nas_command_task(o, space, err);
    c->plan.method = c->method;
    c->plan.at = c->at;
    c->plan.draws = nas_options_u64(o, "draws", 0);
    c->plan.tests = nas_options_u64(o, "tests", strcmp(space->name, "nb101") ? 0 : 10000);
    c->run.plan = &c->plan;
    c->path = nas_options_text(o, "output", NULL);
    c->plain = how.bar || how.plain;
    if (!c->plan.task)
        return err->code;
    snprintf(c->about.space, sizeof c->about.space, "%s", space->name);
    snprintf(c->about.task, sizeof c->about.task, "%s", c->plan.task->name);
    snprintf(c->about.metric, sizeof c->about.metric, "%s", c->table->metric[c->plan.metric].name);
    return NAS_OK;
}

/* ---- the file ---- */

/* What an existing file holds is kept, if it is of the same question. */
static nas_status continue_file(command *c, bool force, nas_err *err)
{
    nas_bench_about about;
    FILE *there = c->path && !force ? fopen(c->path, "rb") : NULL;
    if (!there)
        return NAS_OK;
    fclose(there);
    if (nas_bench_load(c->path, &about, &c->run.draw, &c->run.n, err) != NAS_OK)
        return err->code;
    c->run.cap = c->run.n;
    if (!strcmp(about.space, c->about.space) && !strcmp(about.task, c->about.task) &&
        !strcmp(about.metric, c->about.metric) && !strcmp(about.setting, c->about.setting))
        return NAS_OK;
    return nas_fail(err, NAS_USAGE,
                    "'%s' is about %s of %s, setting %s: use another file or --force", c->path,
                    about.metric, about.space, about.setting);
}

static nas_status save(command *c, nas_err *err)
{
    c->saved = time(NULL);
    return c->path ? nas_bench_save(c->path, &c->about, c->run.draw, c->run.n, &nas_disk_real, err)
                   : NAS_OK;
}

static nas_status after_draw(void *context, const nas_bench_draw *d, size_t left, nas_err *err)
{
    command *c = context;
    if (c->plain)
        fprintf(stderr, "%s, n %lld, draw %lld: tau-b %.4f, %.1f s of CPU; %zu left\n", d->method,
                (long long)d->n, (long long)d->draw, d->tau_b, d->fit_seconds + d->predict_seconds,
                left);
    return time(NULL) - c->saved >= SAVE_SECONDS ? save(c, err) : NAS_OK;
}

/* ---- the report ---- */

typedef struct {
    const char *name;
    size_t offset;
    bool deviation, cost_only;
} column;

static const column COLUMNS[] = {
    {"tau_b", offsetof(nas_bench_draw, tau_b), true, false},
    {"tau_a", offsetof(nas_bench_draw, tau_a), false, false},
    {"ties", offsetof(nas_bench_draw, ties), false, false},
    {"spearman", offsetof(nas_bench_draw, spearman), false, false},
    {"precision_1", offsetof(nas_bench_draw, top1), false, false},
    {"precision_5", offsetof(nas_bench_draw, top5), false, false},
    {"best_of_10", offsetof(nas_bench_draw, best10), false, false},
    {"within_5", offsetof(nas_bench_draw, within5), false, true},
    {"within_10", offsetof(nas_bench_draw, within10), false, true},
    {"parameters", offsetof(nas_bench_draw, parameters), false, false},
    {"fit_seconds", offsetof(nas_bench_draw, fit_seconds), false, false},
    {"predict_seconds", offsetof(nas_bench_draw, predict_seconds), false, false},
};
enum { N_COLUMNS = sizeof COLUMNS / sizeof *COLUMNS, REPORT_MOST = N_COLUMNS + 6 };

/* Full digits for programs, four for people. */
static void put_real(nas_report *r, double value)
{
    char text[32];
    if (r->format != NAS_FORMAT_TABLE && r->format != NAS_FORMAT_MARKDOWN) {
        nas_report_real(r, value);
        return;
    }
    snprintf(text, sizeof text, value >= 1000 ? "%.0f" : "%.4g", value);
    nas_report_text(r, text);
}

static size_t list_columns(const char **name, bool cost, bool against)
{
    size_t n = 0;
    name[n++] = "method";
    name[n++] = "n";
    name[n++] = "draws";
    for (size_t i = 0; i < N_COLUMNS; i++) {
        if (COLUMNS[i].cost_only && !cost)
            continue;
        name[n++] = COLUMNS[i].name;
        if (COLUMNS[i].deviation)
            name[n++] = "tau_b_std";
    }
    if (against) {
        name[n++] = "low_90";
        name[n++] = "high_90";
    }
    return n;
}

static void put_row(nas_report *r, const command *c, const char *method, int64_t rows, bool cost,
                    const char *against)
{
    double mean, deviation, low, high;
    size_t draws =
        nas_bench_mean(c->run.draw, c->run.n, method, rows, COLUMNS[0].offset, &mean, &deviation);
    nas_report_text(r, method);
    nas_report_int(r, rows);
    nas_report_int(r, (int64_t)draws);
    for (size_t i = 0; i < N_COLUMNS; i++) {
        if (COLUMNS[i].cost_only && !cost)
            continue;
        nas_bench_mean(c->run.draw, c->run.n, method, rows, COLUMNS[i].offset, &mean, &deviation);
        put_real(r, mean);
        if (COLUMNS[i].deviation)
            put_real(r, deviation);
    }
    if (against) {
        nas_bench_compare(c->run.draw, c->run.n, method, against, rows, &low, &high);
        put_real(r, low);
        put_real(r, high);
    }
}

static nas_status report(const command *c, const nas_options *o, nas_err *err)
{
    const char *against = nas_options_text(o, "against", NULL), *name[REPORT_MOST];
    bool cost = c->table->metric[c->plan.metric].direction == NAS_MIN;
    size_t n = list_columns(name, cost, against != NULL);
    nas_report r;
    if (nas_report_open(&r, o, name, n, err) != NAS_OK)
        return err->code;
    for (size_t i = 0; i < c->run.n; i++) { /* the draws are sorted: one row where a group begins */
        const nas_bench_draw *d = &c->run.draw[i];
        if (i == 0 || d->n != d[-1].n || strcmp(d->method, d[-1].method))
            put_row(&r, c, d->method, d->n, cost, against);
    }
    return nas_report_close(&r, err);
}

static void clear(command *c)
{
    nas_bench_run_clear(&c->run);
    nas_foreign_free(c->foreign, c->n_foreign);
    free(c->foreign_name);
    nas_table_close(c->proxies);
    nas_rlm_free(c->rlm);
    nas_table_close(c->table);
    free(c);
}

nas_status nas_bench_predictors_run(const nas_options *o, nas_err *err)
{
    command *c = nas_zalloc(1, sizeof *c);
    nas_status status = read_plan(c, o, err);
    if (status == NAS_OK)
        status = continue_file(c, nas_options_has(o, "force"), err);
    if (status == NAS_OK) {
        c->saved = time(NULL);
        c->run.done = after_draw;
        c->run.context = c;
        status = nas_bench_predictors(&c->run, err);
        nas_err kept = {0};
        if (save(c, &kept) != NAS_OK && status == NAS_OK)
            status = nas_fail(err, kept.code, "%s", kept.text);
    }
    if (status == NAS_OK)
        status = report(c, o, err);
    clear(c);
    return status;
}
