/* naslm bench: methods side by side on the same numbers, many seeds each. */
#include "search/cmd_bench.h"
#include "results/disk.h"
#include "search/bench_search.h"
#include "search/command.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static const nas_option OPTIONS[] = {
    NAS_OPTION_SPACE,
    NAS_OPTION_TASK,
    {"objectives", 0, "LIST", "as max:accuracy,min:latency:raspi4; repeatable", NAS_OPTION_LIST},
    {"from", 0, "SOURCE", "table:T.h5 or formula; repeatable", NAS_OPTION_LIST},
    {"searcher", 0, "NAME", "repeatable; default: all", NAS_OPTION_LIST},
    {"population", 0, "P", "default: each searcher's own", NAS_OPTION_U64},
    {"option", 0, "K=V", "an option of the searchers, repeatable", NAS_OPTION_LIST},
    {"seeds", 0, "N", "runs of each searcher, with seeds K to K+N-1 (default 100)", NAS_OPTION_U64},
    {"seed", 0, "K", "the first seed of search (default 0)", NAS_OPTION_U64},
    {"at", 0, "N1,N2",
     "queries after which to measure; default 50,100,150,200,300,600 for one\n"
     "objective, 50,100,200,500 for several",
     NAS_OPTION_TEXT},
    {"unique", 0, "BY", "string (default: the whole table) or class", NAS_OPTION_TEXT},
    NAS_BENCH_PREDICTORS_OPTIONS,
    NAS_OPTION_THREADS,
    NAS_OPTION_FORMAT,
    {"output", 'o', "FILE.h5", "write the scores to an HDF5 file too", NAS_OPTION_TEXT},
    NAS_OPTION_FORCE,
    {0}};

/* ---- search ---- */

static nas_status read_searchers(const nas_options *o, const nas_searcher_type **list, size_t *n,
                                 nas_err *err)
{
    const char *name;
    for (; (name = nas_options_nth(o, "searcher", *n)); ++*n) {
        if (*n == (size_t)nas_searcher_count())
            return nas_fail(err, NAS_USAGE, "more searchers than there are ('%s')", name);
        list[*n] = nas_searcher_need(name, err);
        if (!list[*n])
            return err->code;
    }
    for (; *n < (size_t)nas_searcher_count() && !nas_options_has(o, "searcher"); ++*n)
        list[*n] = nas_searcher_types[*n];
    return NAS_OK;
}

/* "N1,N2,…", ascending. */
static nas_status read_checkpoints(nas_bench_search *b, const char *text, nas_err *err)
{
    uint64_t last = 0, value;
    b->n_at = 0;
    for (const char *at = text; *at; at += *at == ',') {
        char word[24];
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < 23 ? length : 23), at);
        if (!nas_read_u64(word, &value) || value <= last || value > 10000000 ||
            b->n_at == NAS_BENCH_CHECKPOINTS)
            return nas_fail(err, NAS_USAGE,
                            "--at needs up to %d ascending numbers of queries, not '%s'",
                            NAS_BENCH_CHECKPOINTS, text);
        b->at[b->n_at++] = last = value;
        at += length;
    }
    return b->n_at ? NAS_OK : nas_fail(err, NAS_USAGE, "--at is empty");
}

static nas_status read_bench(nas_bench_search *b, const nas_options *o, nas_err *err)
{
    const char *source, *unique = nas_options_text(o, "unique", "string");
    b->space = nas_command_space(o, err);
    b->task = b->space ? nas_command_task(o, b->space, err) : NULL;
    if (!b->task || nas_command_threads(o, err) != NAS_OK)
        return err->code;
    for (size_t i = 0; (source = nas_options_nth(o, "from", i)); i++)
        if (nas_sources_add(b->sources, b->space, b->task, source, err) != NAS_OK)
            return err->code;
    b->by_string = !strcmp(unique, "string");
    if (!b->by_string && strcmp(unique, "class"))
        return nas_fail(err, NAS_USAGE, "--unique is 'class' or 'string', not '%s'", unique);
    b->population = nas_options_u64(o, "population", 0);
    b->seeds = nas_options_u64(o, "seeds", 100);
    b->first_seed = nas_options_u64(o, "seed", 0);
    if (b->seeds == 0 || b->seeds > 100000)
        return nas_fail(err, NAS_USAGE, "--seeds is 1 to 100000");
    if (!nas_options_has(o, "objectives"))
        return nas_fail(err, NAS_USAGE, "option '--objectives' is missing");
    return NAS_OK;
}

static nas_status print_scores(const nas_score *score, size_t n, const nas_options *o, nas_err *err)
{
    static const char *const column[] = {"space", "target", "method", "measure", "at", "n",
                                         "mean",  "std",    "median", "p10",     "p90"};
    nas_report r;
    if (nas_report_open(&r, o, column, sizeof column / sizeof *column, err) != NAS_OK)
        return err->code;
    for (const nas_score *s = score; s < score + n; s++) {
        nas_report_text(&r, s->space);
        nas_report_text(&r, s->target);
        nas_report_text(&r, s->method);
        nas_report_text(&r, s->measure);
        nas_report_int(&r, s->at);
        nas_report_int(&r, s->n);
        const double value[] = {s->mean, s->std, s->median, s->p10, s->p90};
        for (size_t i = 0; i < sizeof value / sizeof *value; i++)
            if (r.format == NAS_FORMAT_TABLE || r.format == NAS_FORMAT_MARKDOWN) {
                char text[32];
                snprintf(text, sizeof text, "%.4g", value[i]);
                nas_report_text(&r, text);
            } else {
                nas_report_real(&r, value[i]);
            }
    }
    return nas_report_close(&r, err);
}

static nas_status save_scores(const nas_bench_search *b, const nas_options *o, nas_err *err)
{
    const char *path = nas_options_text(o, "output", NULL);
    if (!path)
        return NAS_OK;
    json_t *settings =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "bench", "search", "space", b->space->name,
                  "task", b->task->name, "seeds", (json_int_t)b->seeds, "population",
                  (json_int_t)b->population, "unique", b->by_string ? "string" : "class");
    char *text = json_dumps(settings, JSON_INDENT(2));
    nas_status status =
        nas_scores_save(path, b->score, b->n_score, text, nas_options_has(o, "force"), err);
    json_decref(settings);
    free(text);
    return status;
}

static nas_status bench_search(const nas_options *o, nas_err *err)
{
    nas_sources sources = {0};
    const nas_searcher_type **searcher =
        nas_alloc((size_t)nas_searcher_count() * sizeof(nas_searcher_type *));
    const char *path = nas_options_text(o, "output", NULL), *objectives, *setting;
    const char **setting_list = NULL;
    size_t cap = 0;
    nas_bench_search b = {.sources = &sources, .searcher = searcher};
    for (; (setting = nas_options_nth(o, "option", b.n_option)); b.n_option++) {
        setting_list = nas_grow(setting_list, &cap, b.n_option + 1, sizeof *setting_list);
        setting_list[b.n_option] = setting;
    }
    b.option = setting_list;
    nas_status status = read_bench(&b, o, err);
    if (status == NAS_OK)
        status = read_searchers(o, searcher, &b.n_searcher, err);
    if (status == NAS_OK && path)
        status = nas_disk_vacant(path, nas_options_has(o, "force"), err);
    for (size_t i = 0; status == NAS_OK && (objectives = nas_options_nth(o, "objectives", i));
         i++) {
        const char *at = strchr(objectives, ',') ? "50,100,200,500" : "50,100,150,200,300,600";
        status = read_checkpoints(&b, nas_options_text(o, "at", at), err);
        if (status == NAS_OK)
            status = nas_bench_search_run(&b, objectives, err);
    }
    if (status == NAS_OK)
        status = save_scores(&b, o, err);
    if (status == NAS_OK)
        status = print_scores(b.score, b.n_score, o, err);
    nas_bench_search_clear(&b);
    nas_sources_close(&sources);
    free(setting_list);
    free(searcher);
    return status;
}

static nas_status run(nas_options *o, nas_err *err)
{
    static const char *const kinds[] = {"search", "predictors"};
    char hint[100];
    if (nas_command_operands(o, 1, 1, "what to bench: search or predictors", err) != NAS_OK)
        return err->code;
    if (!strcmp(o->operand[0], "search"))
        return bench_search(o, err);
    if (!strcmp(o->operand[0], "predictors"))
        return nas_bench_predictors_run(o, err);
    return nas_fail(err, NAS_USAGE, "'%s' is not a bench; there are: search, predictors%s",
                    o->operand[0], nas_hint(hint, sizeof hint, o->operand[0], kinds, 2));
}

const nas_command nas_command_bench = {
    "bench",
    "search -s SPACE --objectives LIST... --from SOURCE... [--seeds N] [-o FILE.h5]\n"
    "       naslm bench predictors --table T.h5 --metric M [--methods LIST] [--n LIST] [-o "
    "FILE.h5]",
    "compare searchers, or predictors, over many seeds on numbers that are all known",
    "search: one objective: best value after so many queries, and queries to the optimum. Several: "
    "share\n"
    "of the true front's hypervolume, IGD+ and additive epsilon, scaled by the true front's ideal\n"
    "and nadir point; networks at chance accuracy do not count. Columns: mean, standard "
    "deviation,\n"
    "median, 10 % and 90 % quantile over the seeds.\n\n" NAS_BENCH_PREDICTORS_DETAILS,
    OPTIONS,
    run};
