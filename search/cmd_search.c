/* naslm search: settings from the command line, one run, one file. */
#include "search/command.h"
#include "search/progress.h"
#include "search/search.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static const nas_option OPTIONS[] = {
    NAS_OPTION_SPACE,
    NAS_OPTION_TASK,
    {"objectives", 0, "LIST", "as max:accuracy,min:latency:raspi4", NAS_OPTION_TEXT},
    {"from", 0, "SOURCE", "where numbers come from; several in order of preference",
     NAS_OPTION_LIST},
    {"searcher", 0, "NAME", "nsga2 (default), guided, evolution, local or random", NAS_OPTION_TEXT},
    {"option", 0, "K=V", "an option of the searcher, repeatable", NAS_OPTION_LIST},
    {"budget", 0, "N", "architectures to evaluate (default 500)", NAS_OPTION_U64},
    {"population", 0, "P", "members of a generation", NAS_OPTION_U64},
    {"batch", 0, "N", "rows that evolution and local are asked for at once (default 1)",
     NAS_OPTION_U64},
    {"workers", 0, "N", "processes of a command source (default 1)", NAS_OPTION_U64},
    {"timeout", 0, "SECONDS", "for one architecture of a command source (default 3600)",
     NAS_OPTION_REAL},
    {"retries", 0, "N", "of a command or measure source for one architecture (default 2)",
     NAS_OPTION_U64},
    {"constraint", 0, "C", "as 'latency:raspi4<=10', repeatable", NAS_OPTION_LIST},
    {"reference", 0, "R1,R2", "reference point of the hypervolume, own units", NAS_OPTION_TEXT},
    {"verify", 0, "SOURCE[,K=N]", "at the end, measure the front (or the N best by rank) too",
     NAS_OPTION_LIST},
    {"init", 0, "FILE", "architectures to start from, one a line", NAS_OPTION_TEXT},
    {"unique", 0, "BY", "class (default: no relabelings) or string", NAS_OPTION_TEXT},
    NAS_OPTION_SEED,
    NAS_OPTION_THREADS,
    {"output", 'o', "RUN.h5", "the run file (default run.h5)", NAS_OPTION_TEXT},
    NAS_OPTION_FORCE,
    {"resume", 0, NULL, "continue the run in the file", NAS_OPTION_FLAG},
    {"snapshot", 0, "SECONDS", "how often the whole file is written (default 30)", NAS_OPTION_REAL},
    {"sync", 0, NULL, "sync the journal at each commit", NAS_OPTION_FLAG},
    NAS_OPTION_PROGRESS,
    {0}};

/* Everything that the command line says, read and checked. */
typedef struct {
    nas_search search;
    nas_sources sources, verify;
    nas_metric objective[NAS_OBJECTIVE_MOST];
    nas_constraint constraint[NAS_OBJECTIVE_MOST];
    size_t constraint_column[NAS_OBJECTIVE_MOST];
    double options[NAS_SEARCHER_OPTIONS];
    double reference[NAS_OBJECTIVE_MOST];
    nas_arch *init;
    size_t init_cap;
    const char *path;
    bool resume;
} settings;

static volatile int stop_signal; /* the one thing that a handler may touch */

/* ---- reading the settings ---- */

static nas_status read_limits(nas_evaluator_limits *limits, const nas_options *o, nas_err *err)
{
    uint64_t workers = nas_options_u64(o, "workers", 1), retries = nas_options_u64(o, "retries", 2);
    double timeout = nas_options_real(o, "timeout", 3600);
    if (workers == 0 || workers > 1000)
        return nas_fail(err, NAS_USAGE, "--workers is 1 to 1000");
    if (retries > 1000)
        return nas_fail(err, NAS_USAGE, "--retries is 0 to 1000");
    if (timeout <= 0)
        return nas_fail(err, NAS_USAGE, "--timeout needs seconds above 0");
    *limits = (nas_evaluator_limits){workers, timeout, retries + 1, &stop_signal};
    return NAS_OK;
}

static nas_status read_sources(settings *s, const nas_options *o, nas_err *err)
{
    const char *source;
    if (read_limits(&s->sources.limits, o, err) != NAS_OK)
        return err->code;
    for (size_t i = 0; (source = nas_options_nth(o, "from", i)); i++)
        if (nas_sources_add(&s->sources, s->search.space, s->search.task, source, err) != NAS_OK)
            return err->code;
    if (s->sources.n_source == 0)
        return nas_fail(err, NAS_USAGE, "option '--from' is missing");
    return NAS_OK;
}

static nas_status read_objectives(settings *s, const nas_options *o, nas_err *err)
{
    const char *text = nas_options_text(o, "objectives", NULL);
    if (!text)
        return nas_fail(err, NAS_USAGE, "option '--objectives' is missing");
    if (nas_objectives_parse(text, s->objective, &s->search.m, err) != NAS_OK ||
        nas_sources_need(&s->sources, s->objective, s->search.m, err) != NAS_OK)
        return err->code;
    for (size_t i = 0; i < s->search.m; i++) /* the user's direction beats the source's */
        s->sources.wanted[i].direction = s->objective[i].direction;
    return NAS_OK;
}

static nas_status read_constraints(settings *s, const nas_options *o, nas_err *err)
{
    const char *text;
    size_t n = 0;
    for (; (text = nas_options_nth(o, "constraint", n)); n++) {
        if (n == NAS_OBJECTIVE_MOST)
            return nas_fail(err, NAS_USAGE, "more than %d constraints", NAS_OBJECTIVE_MOST);
        nas_constraint *c = &s->constraint[n];
        if (nas_constraint_parse(text, c, err) != NAS_OK ||
            nas_sources_need(&s->sources, &c->metric, 1, err) != NAS_OK)
            return err->code;
        int column = nas_metric_find(s->sources.wanted, s->sources.n_wanted, c->metric.name);
        s->constraint_column[n] = (size_t)column;
        if (nas_constraint_adopt(c, &s->sources.wanted[column], err) != NAS_OK)
            return err->code;
    }
    for (size_t i = s->search.m; i < s->sources.n_wanted; i++)
        s->sources.wanted[i].direction = NAS_NO_DIRECTION;
    s->search.constraint = s->constraint;
    s->search.constraint_column = s->constraint_column;
    s->search.n_constraint = n;
    return NAS_OK;
}

/* "SOURCE" or "SOURCE,K=N". */
static nas_status add_verify(settings *s, const char *text, nas_err *err)
{
    char *source = nas_strdup(text), *comma = strrchr(source, ',');
    uint64_t best = 0;
    nas_status status = NAS_OK;
    if (comma && !strncmp(comma, ",K=", 3)) {
        *comma = '\0';
        if (!nas_read_u64(comma + 3, &best) || best == 0)
            status = nas_fail(err, NAS_USAGE, "'%s' in --verify is not a number of rows above 0",
                              comma + 3);
        s->search.verify_best = best;
    }
    if (status == NAS_OK)
        status = nas_sources_add(&s->verify, s->search.space, s->search.task, source, err);
    free(source);
    return status;
}

static nas_status read_verify(settings *s, const nas_options *o, nas_err *err)
{
    const char *text;
    nas_sources *v = &s->verify;
    v->limits = s->sources.limits;
    for (size_t i = 0; (text = nas_options_nth(o, "verify", i)); i++)
        if (add_verify(s, text, err) != NAS_OK)
            return err->code;
    if (v->n_source == 0)
        return NAS_OK;
    s->search.verify = v;
    for (size_t i = 0; i < s->sources.n_wanted; i++) {
        const nas_metric *metric = &s->sources.wanted[i];
        if (nas_sources_need(v, metric, 1, NULL) != NAS_OK)
            continue; /* not measured: the search's number stands */
        if (strcmp(v->wanted[v->n_wanted - 1].unit, metric->unit))
            return nas_fail(err, NAS_USAGE, "--verify measures %s in '%s', but the search in '%s'",
                            metric->name, v->wanted[v->n_wanted - 1].unit, metric->unit);
    }
    if (v->n_wanted == 0)
        return nas_fail(err, NAS_USAGE, "no --verify source knows a metric of this search");
    return NAS_OK;
}

static nas_status read_searcher(settings *s, const nas_options *o, nas_err *err)
{
    const char *name = nas_options_text(o, "searcher", "nsga2"), *text;
    nas_search *q = &s->search;
    q->searcher = nas_searcher_need(name, err);
    if (!q->searcher)
        return err->code;
    nas_searcher_defaults(q->searcher, s->options);
    q->options = s->options;
    for (size_t i = 0; (text = nas_options_nth(o, "option", i)); i++)
        if (nas_searcher_option_read(q->searcher, text, s->options, err) != NAS_OK)
            return err->code;
    q->budget = nas_options_u64(o, "budget", 500);
    q->population = nas_options_u64(o, "population", q->searcher->population);
    q->batch = nas_options_u64(o, "batch", 1);
    if (q->batch == 0 || q->batch > 1000000)
        return nas_fail(err, NAS_USAGE, "--batch is 1 to 1000000");
    if (q->budget == 0)
        return nas_fail(err, NAS_USAGE, "a budget of 0 evaluates nothing");
    if (q->population == 0 || q->population > 1000000)
        return nas_fail(err, NAS_USAGE, "a population of %zu is not 1 to 1000000", q->population);
    bool fixed =
        nas_options_has(o, "population") || q->searcher != nas_searcher_need("random", NULL);
    if (fixed && q->budget < q->population)
        return nas_fail(err, NAS_USAGE, "a budget of %llu is smaller than the population of %zu",
                        (unsigned long long)q->budget, q->population);
    return NAS_OK;
}

/* "R1,R2" in the order of the objectives. */
static nas_status read_reference(settings *s, const nas_options *o, nas_err *err)
{
    const char *text = nas_options_text(o, "reference", NULL);
    if (!text)
        return NAS_OK;
    s->search.reference = s->reference;
    return nas_command_numbers(text, s->reference, s->search.m, "reference point", err);
}

/* One architecture a line; lines that are empty or begin with '#' say nothing. */
static nas_status read_init(settings *s, const nas_options *o, nas_err *err)
{
    const char *path = nas_options_text(o, "init", NULL);
    nas_lines lines = {0};
    nas_status status = path ? nas_lines_open(&lines, path, err) : NAS_EMPTY;
    while (status == NAS_OK && (status = nas_lines_next(&lines, err)) == NAS_OK) {
        const char *text = lines.text.data;
        if (!*text || *text == '#')
            continue;
        s->init = nas_grow(s->init, &s->init_cap, s->search.n_init + 1, sizeof *s->init);
        if (nas_space_parse(s->search.space, text, &s->init[s->search.n_init++], err) != NAS_OK) {
            nas_fail_in(err, "%s, line %zu", lines.name, lines.number);
            status = err->code = NAS_FAILED;
        }
    }
    nas_lines_close(&lines);
    s->search.init = s->init;
    return status == NAS_EMPTY ? NAS_OK : status;
}

static nas_status read_settings(settings *s, const nas_options *o, nas_err *err)
{
    nas_search *q = &s->search;
    const char *unique = nas_options_text(o, "unique", "class");
    s->path = nas_options_text(o, "output", "run.h5");
    s->resume = nas_options_has(o, "resume");
    q->sources = &s->sources;
    q->space = nas_command_space(o, err);
    q->task = q->space ? nas_command_task(o, q->space, err) : NULL;
    if (!q->task || nas_command_operands(o, 0, 0, "nothing", err) != NAS_OK)
        return err->code;
    q->by_string = !strcmp(unique, "string");
    if (!q->by_string && strcmp(unique, "class"))
        return nas_fail(err, NAS_USAGE, "--unique is 'class' or 'string', not '%s'", unique);
    if (nas_options_real(o, "snapshot", 30) < 0)
        return nas_fail(err, NAS_USAGE, "--snapshot needs seconds, 0 or more");
    if (s->resume && nas_options_has(o, "force"))
        return nas_fail(err, NAS_USAGE, "--resume and --force exclude each other");
    if (nas_command_threads(o, err) != NAS_OK)
        return err->code;
    nas_status (*const steps[])(settings *, const nas_options *, nas_err *) = {
        read_searcher, read_sources,   read_objectives, read_constraints,
        read_verify,   read_reference, read_init};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i](s, o, err) != NAS_OK)
            return err->code;
    return NAS_OK;
}

/* ---- what the file says of the run ---- */

static json_t *constraint_texts(const settings *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->search.n_constraint; i++) {
        const nas_constraint *c = &s->constraint[i];
        char number[32];
        json_array_append_new(list, json_sprintf("%s%s%s%s", c->metric.name, c->upper ? "<=" : ">=",
                                                 nas_real_text(c->bound, number), c->metric.unit));
    }
    return list;
}

/* null: the search finds one itself. */
static json_t *reference_json(const nas_search *q)
{
    json_t *list = q->reference ? json_array() : json_null();
    for (size_t i = 0; q->reference && i < q->m; i++)
        json_array_append_new(list, json_real(q->reference[i]));
    return list;
}

static json_t *option_json(const nas_search *q, size_t i)
{
    const nas_searcher_option *o = &q->searcher->options[i];
    return o->name_of ? json_string(o->name_of((size_t)q->options[i])) : json_real(q->options[i]);
}

/* The resolved settings that decide the numbers; no paths, threads or dates. */
static char *config_text(const settings *s)
{
    const nas_search *q = &s->search;
    json_t *config = json_object(), *objectives = json_array(), *from = json_array(),
           *options = json_object();
    for (size_t i = 0; i < q->m; i++)
        json_array_append_new(
            objectives, json_sprintf("%s:%s", nas_direction_name(s->sources.wanted[i].direction),
                                     s->sources.wanted[i].name));
    for (size_t i = 0; i < s->sources.n_source; i++)
        json_array_append_new(from, json_string(s->sources.source[i].type->name));
    for (size_t i = 0; q->searcher->options[i].name; i++)
        json_object_set_new(options, q->searcher->options[i].name, option_json(q, i));
    json_object_set_new(config, "space", json_string(q->space->name));
    json_object_set_new(config, "task", json_string(q->task->name));
    json_object_set_new(config, "objectives", objectives);
    json_object_set_new(config, "constraints", constraint_texts(s));
    json_object_set_new(config, "reference", reference_json(q));
    json_object_set_new(config, "from", from);
    json_object_set_new(config, "searcher", json_string(q->searcher->name));
    json_object_set_new(config, "options", options);
    json_object_set_new(config, "population", json_integer((json_int_t)q->population));
    if (q->searcher->steady)
        json_object_set_new(config, "batch", json_integer((json_int_t)q->batch));
    json_object_set_new(config, "budget", json_integer((json_int_t)q->budget));
    json_object_set_new(config, "seed", json_sprintf("%llu", (unsigned long long)q->seed));
    json_object_set_new(config, "unique", json_string(q->by_string ? "string" : "class"));
    json_t *verify = json_array();
    for (size_t i = 0; i < s->verify.n_source; i++)
        json_array_append_new(verify, json_string(s->verify.source[i].type->name));
    json_object_set_new(config, "verify", verify);
    json_object_set_new(config, "verify_best", json_integer((json_int_t)q->verify_best));
    json_object_set_new(config, "init", json_integer((json_int_t)q->n_init));
    char *text = json_dumps(config, JSON_INDENT(2));
    json_decref(config);
    return text;
}

/* The wanted metrics, then "M_predicted" for each that is verified. *n: how many. */
static nas_status list_metrics(const settings *s, nas_metric *list, size_t *n, nas_err *err)
{
    *n = s->sources.n_wanted;
    memcpy(list, s->sources.wanted, *n * sizeof *list);
    for (size_t j = 0; j < s->verify.n_wanted; j++) {
        char name[NAS_METRIC_NAME + 16];
        nas_metric *metric = &list[(*n)++];
        snprintf(name, sizeof name, "%s_predicted", s->verify.wanted[j].name);
        if (nas_metric_make(metric, name, err) != NAS_OK)
            return err->code;
        metric->direction = NAS_NO_DIRECTION;
        memcpy(metric->unit, s->verify.wanted[j].unit, sizeof metric->unit);
    }
    return NAS_OK;
}

static nas_status open_run(settings *s, const nas_options *o, nas_run **run, nas_err *err)
{
    double lower[NAS_SEARCH_METRICS], upper[NAS_SEARCH_METRICS];
    nas_metric metrics[NAS_SEARCH_METRICS];
    size_t n_metric;
    if (list_metrics(s, metrics, &n_metric, err) != NAS_OK)
        return err->code;
    for (size_t i = 0; i < n_metric; i++) {
        lower[i] = -INFINITY;
        upper[i] = INFINITY;
    }
    for (size_t i = 0; i < s->search.n_constraint; i++) {
        const nas_constraint *c = &s->constraint[i];
        double *bound = &(c->upper ? upper : lower)[s->constraint_column[i]];
        *bound = c->upper ? fmin(*bound, c->bound) : fmax(*bound, c->bound);
    }
    char *config = config_text(s), *provenance = nas_command_provenance();
    const nas_run_info info = {.space = s->search.space->name,
                               .task = s->search.task->name,
                               .seed = s->search.seed,
                               .config = config,
                               .provenance = provenance,
                               .metric = metrics,
                               .n_metric = n_metric,
                               .n_objective = s->search.m,
                               .lower = lower,
                               .upper = upper};
    const nas_run_how how = {&nas_disk_real, nas_options_real(o, "snapshot", 30),
                             nas_options_has(o, "sync")};
    nas_run_mode mode = s->resume                     ? NAS_RUN_RESUME
                        : nas_options_has(o, "force") ? NAS_RUN_FORCE
                                                      : NAS_RUN_NEW;
    nas_status status = nas_run_open(run, s->path, &info, mode, &how, err);
    free(config);
    free(provenance);
    return status;
}

/* --seed, the seed of the run that is continued, or a new one. */
static uint64_t choose_seed(const settings *s, const nas_options *o)
{
    nas_run *run;
    if (s->resume && !nas_options_has(o, "seed") && nas_run_read(&run, s->path, NULL) == NAS_OK) {
        uint64_t seed = nas_run_get_info(run)->seed;
        nas_run_close(run);
        return seed;
    }
    return nas_command_seed(o);
}

/* ---- signals ---- */

static void on_signal(int number)
{
    stop_signal = number;
}

static void watch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal}, hangup;
    stop_signal = 0;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* nobody reads the progress any more: no reason to stop */
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) /* not under nohup */
        sigaction(SIGHUP, &action, NULL);
}

/* ---- the end ---- */

/* Exit code 3 with the row that violates least. */
static nas_status tell_infeasible(const nas_run *run, nas_err *err)
{
    const char *arch = NULL;
    double least = INFINITY;
    for (size_t i = 0; i < nas_run_rows(run); i++) {
        nas_run_row row = nas_run_get_row(run, i);
        if (row.state == NAS_ROW_OK && (!arch || row.violation < least)) {
            least = row.violation;
            arch = row.arch;
        }
    }
    if (!arch)
        return nas_fail(err, NAS_EMPTY, "no architecture has numbers for all objectives");
    return nas_fail(err, NAS_EMPTY,
                    "no feasible architecture; the smallest violation is %.4g (a share of the "
                    "bound), of '%s'",
                    least, arch);
}

/* What was measured, and how far off the search's own numbers were. */
static nas_status tell_verified(const settings *s, const nas_run *run, nas_err *err)
{
    const nas_search *q = &s->search;
    bool *on_front = nas_zalloc(nas_run_rows(run) + 1, sizeof *on_front);
    size_t front = nas_run_front(run, on_front);
    free(on_front);
    fprintf(stderr, "%zu verified, front %zu", q->verified, front);
    for (size_t j = 0; j < s->verify.n_wanted; j++) {
        size_t own = nas_search_verified_metric(q, j), n = 0;
        double sum = 0;
        for (size_t i = 0; i < nas_run_rows(run); i++) {
            const double *value = nas_run_get_row(run, i).value;
            double off = fabs(value[own] - value[s->sources.n_wanted + j]);
            sum += isnan(off) ? 0 : off;
            n += !isnan(off);
        }
        if (n > 0)
            fprintf(stderr, ", %s off by %.4g %s on average", s->verify.wanted[j].name,
                    sum / (double)n, s->verify.wanted[j].unit);
    }
    fputc('\n', stderr);
    return front         ? NAS_OK
           : q->verified ? nas_fail(err, NAS_EMPTY,
                                    "of %zu verified architectures none is feasible", q->verified)
                         : nas_fail(err, NAS_EMPTY, "no architecture could be verified");
}

static void tell_failures(const nas_sources *sources)
{
    for (size_t i = 0; i < sources->n_source; i++) {
        char why[sizeof sources->source[i].why];
        memcpy(why, sources->source[i].why, sizeof why);
        nas_plain(why); /* a worker wrote it */
        if (*why)
            fprintf(stderr, "The last failure: %s.\n", why);
    }
}

static nas_status tell_end(const settings *s, const nas_run *run, nas_err *err)
{
    const nas_search *q = &s->search;
    size_t generations = nas_run_generations(run);
    const nas_run_step *last = generations ? &nas_run_history(run)[generations - 1] : NULL;
    fprintf(stderr, "%zu evaluated (%zu failed), front %lld, hypervolume %.6g; ", nas_run_rows(run),
            q->failed, last ? (long long)last->front_size : 0, last ? last->hypervolume : 0);
    fprintf(stderr, "%zu proposals were known already, %zu unknown to the sources\n", q->duplicates,
            q->unknown);
    tell_failures(&s->sources);
    tell_failures(&s->verify);
    if (q->end == NAS_SEARCH_EXHAUSTED)
        fprintf(stderr, "The space is exhausted: all that the sources know of %s was evaluated.\n",
                q->space->name);
    if (q->end == NAS_SEARCH_TIRED)
        fprintf(stderr, "Stopped early: no new architecture of %s in thousands of draws.\n",
                q->space->name);
    if (q->end == NAS_SEARCH_STOPPED)
        return (nas_status)(128 + stop_signal);
    if (nas_run_rows(run) == 0)
        return nas_fail(err, NAS_EMPTY, "the sources know no architecture of %s", q->space->name);
    if (!last || last->front_size == 0)
        return tell_infeasible(run, err);
    return q->verify ? tell_verified(s, run, err) : NAS_OK;
}

static nas_status run(nas_options *o, nas_err *err)
{
    settings s = {0};
    nas_progress p;
    nas_run *file = NULL;
    nas_status status = read_settings(&s, o, err);
    if (status == NAS_OK)
        status = nas_progress_open(&p, o, s.search.budget, err);
    if (status == NAS_OK && !s.resume && !nas_options_has(o, "force"))
        status = nas_disk_vacant(s.path, false, err);
    if (status != NAS_OK)
        goto out;
    s.search.seed = choose_seed(&s, o);
    s.search.stop = &stop_signal;
    s.search.progress = nas_progress_show;
    s.search.progress_context = &p;
    watch_signals(); /* before there is anything to lose */
    status = open_run(&s, o, &file, err);
    if (status != NAS_OK)
        goto out;
    status = nas_search_run(&s.search, file, err);
    nas_progress_close(&p);
    if (status == NAS_OK && s.search.verify && s.search.end != NAS_SEARCH_STOPPED)
        status = nas_search_verify(&s.search, file, err);
    if (status == NAS_OK)
        status = s.search.end == NAS_SEARCH_STOPPED ? nas_run_snapshot(file, err)
                                                    : nas_run_finish(file, err);
    if (status == NAS_OK)
        status = tell_end(&s, file, err);
out:
    nas_run_close(file);
    nas_sources_close(&s.sources);
    nas_sources_close(&s.verify);
    free(s.init);
    return status;
}

const nas_command nas_command_search = {
    "search",
    "-s SPACE --objectives LIST --from SOURCE... [-o RUN.h5]",
    "search, and keep every evaluated architecture in one HDF5 file",
    "Sources: table:T.h5 (naslm table import), model:FILE (naslm train), cost (params, macs,\n"
    "activation_bytes, convs), measure (latency:cpu, by ONNX Runtime on one thread here;\n"
    "NASLM_ONNXRUNTIME or measure:FILE.so names the library), formula (made spaces),\n"
    "command:'CMD' (any metric, so give it last). Each metric comes from\n"
    "the first source that knows it. An architecture that a source has no number for costs\n"
    "nothing and is passed over. CMD reads lines as {\"space\": …, \"task\": …, \"arch\": …,\n"
    "\"metrics\": [\"accuracy\"]} and answers each with a line as {\"accuracy\": 93.1}.\n"
    "The same seed gives the same file for any number of threads; a run that was stopped\n"
    "goes on with --resume, also with a larger --budget. With --verify a metric M holds what was\n"
    "measured and M_predicted what the search was told; only measured rows make the front.",
    OPTIONS,
    run};
