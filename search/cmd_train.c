/* naslm train: learns from tables and from what costs nothing; naslm train vocab: the tokenizer. */
#include "results/disk.h"
#include "results/rank.h"
#include "search/command.h"
#include "search/train_data.h"
#include "search/train_log.h"
#include "search/train_progress.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const nas_option OPTIONS[] = {
    {"table", 0, "T.h5[@TASK][*N][+M]",
     "learn from a table, or from a CSV file of architectures of --space: each row N times (1), "
     "and "
     "M neighbours as of --taught; repeatable",
     NAS_OPTION_LIST},
    {"space", 's', "SPACE[@TASK]", "and from random architectures of a space; repeatable",
     NAS_OPTION_LIST},
    {"arch", 0, "COLS", "columns of the architectures in CSV files (arch)", NAS_OPTION_TEXT},
    {"text", 0, "FILE[@NAME][*N]", "and from any texts: rows of a CSV or JSON file; repeatable",
     NAS_OPTION_LIST},
    {"input", 0, "COL", "column of the texts", NAS_OPTION_TEXT},
    {"metric", 0, "SPEC",
     "column of a number in texts and CSV files: " NAS_CSV_METRIC ", repeatable", NAS_OPTION_LIST},
    {"random", 0, "N", "random architectures of each space (2000)", NAS_OPTION_U64},
    {"metrics", 0, "LIST", "metrics of the tables to learn; default all", NAS_OPTION_TEXT},
    {"free", 0, "LIST", "counts to learn beside: all (default), none or a list", NAS_OPTION_TEXT},
    {"rows", 0, "N", "learn from N rows of each table, judge by the others", NAS_OPTION_U64},
    {"hold-out", 0, "SHARE", "without --rows: rows kept for judging (0.05)", NAS_OPTION_REAL},
    {"table-rows", 0, "N", "learn from at most N of the others of a table or text", NAS_OPTION_U64},
    {"validate", 0, "SHARE",
     "of the rows to learn, watch the training with this share instead (0): the weights with the "
     "best tau-b there are taken, and spreads corrected",
     NAS_OPTION_REAL},
    {"patience", 0, "N",
     "then stop after N of 20 looks without a better one (8); 0, where '--from' knows those rows: "
     "go to the end and take the last weights",
     NAS_OPTION_U64},
    {"correct", 0, "METRIC", "correct the spreads of this metric only (default: all)",
     NAS_OPTION_TEXT},
    {"draw", 0, "K", "number of the split (0)", NAS_OPTION_U64},
    {"test", 0, "N", "rows of each table to judge by, at most (1000)", NAS_OPTION_U64},
    {"from", 0, "MODEL", "start from a trained model; shipped: the built-in one", NAS_OPTION_TEXT},
    {"vocab", 0, "FILE", "vocabulary of 'naslm train vocab'; default: learned here",
     NAS_OPTION_TEXT},
    {"pieces", 0, "N", "pieces of a vocabulary that is learned (8192)", NAS_OPTION_U64},
    {"split-digits", 0, NULL, "its pieces hold no digits beside other text", NAS_OPTION_FLAG},
    {"d", 0, "N", "width (128)", NAS_OPTION_U64},
    {"layers", 0, "N", "layers of the encoder (2)", NAS_OPTION_U64},
    {"decoder-layers", 0, "N", "layers of the decoder (1)", NAS_OPTION_U64},
    {"heads", 0, "N", "heads (4)", NAS_OPTION_U64},
    {"ffn", 0, "N", "hidden width (4 d)", NAS_OPTION_U64},
    {"window", 0, "N", "tokens read at most (2048)", NAS_OPTION_U64},
    {"number", 0, "LAYOUT", "tokens of a number (SCI(3,4))", NAS_OPTION_TEXT},
    {"scale", 0, "KIND", "how labels are seen: normal (default), affine, raw", NAS_OPTION_TEXT},
    {"jitter", 0, "SD", "noise on the scale that labels get (0.1; taught: 0.02)", NAS_OPTION_REAL},
    {"numbers", 0, "N", "labels of an example at most, 0: all (0)", NAS_OPTION_U64},
    {"fewest", 0, "N", "and at least, each count as often (as --numbers)", NAS_OPTION_U64},
    {"taught", 0, "N", "learn N neighbours of a table's rows, labelled by what the rows imply",
     NAS_OPTION_U64},
    {"epochs", 0, "N", "visits of each row (20; taught: 3)", NAS_OPTION_U64},
    {"batch", 0, "N", "rows an update (32; taught: 64)", NAS_OPTION_U64},
    {"rate", 0, "R", "highest learning rate (0.001; taught: 0.002)", NAS_OPTION_REAL},
    {"decay", 0, "R", "weight decay (0.05; taught: 0.02)", NAS_OPTION_REAL},
    {"dropout", 0, "SHARE", "hidden values left out (0)", NAS_OPTION_REAL},
    {"ranking", 0, "WEIGHT", "of the ranking loss beside that of tokens (0)", NAS_OPTION_REAL},
    {"average", 0, "M", "momentum of averaged weights, 0: none (0)", NAS_OPTION_REAL},
    {"memory", 0, "SIZE", "most memory, as 2G or 500M (4G)", NAS_OPTION_TEXT},
    {"checkpoint", 0, "SECONDS", "time between checkpoints (300)", NAS_OPTION_REAL},
    {"resume", 0, NULL, "go on from the checkpoint", NAS_OPTION_FLAG},
    {"log", 0, "FILE.h5", "write loss, gradient norm, rate and tau-b of the training",
     NAS_OPTION_TEXT},
    NAS_OPTION_PROGRESS,
    {"threads", 0, "N", "threads; the result is the same bits for one number", NAS_OPTION_U64},
    NAS_OPTION_SEED,
    NAS_OPTION_OUTPUT,
    NAS_OPTION_FORCE,
    NAS_OPTION_FORMAT,
    {0}};

enum { LOOKS = 20, PATIENCE = 8 };     /* at the rows that watch: so often, and so many in vain */
static const char LOG[] = "train_log"; /* in the metadata of a checkpoint */

static volatile int stop_signal; /* the one thing that a handler may touch */

static void on_signal(int number)
{
    stop_signal = number;
}

/* ---- the plan ---- */

typedef struct {
    const nas_options *o;
    const char *path;
    nas_bytes checkpoint; /* its path */
    uint64_t seed, rows_seen;
    nas_train_data data;
    nas_rlm *rlm;
    nas_corpus *corpus;
    const nas_batch *batch;
    nas_train_config config;
    nas_trainer *trainer;
    nas_train_log log;
} plan;

/* What an option is when it is not given: usually, and where rows are few and taught from. */
static double usual(const plan *p, double many, double few)
{
    return p->data.taught ? few : many;
}

static uint64_t u64(const plan *p, const char *name, uint64_t fallback)
{
    return nas_options_u64(p->o, name, fallback);
}

static double real(const plan *p, const char *name, double fallback)
{
    return nas_options_real(p->o, name, fallback);
}

/* A vocabulary from --vocab, or learned on what will be read. */
static nas_vocab *find_vocab(plan *p, nas_err *err)
{
    const char *path = nas_options_text(p->o, "vocab", NULL);
    if (path)
        return nas_vocab_load(path, err);
    return nas_train_data_vocab(&p->data, (int)u64(p, "pieces", NAS_VOCAB_PIECES), p->seed, err);
}

static nas_status new_model(plan *p, const nas_rng *rng, nas_err *err)
{
    const nas_model_config sizes = {
        .d = u64(p, "d", 128),
        .encoder_layers = u64(p, "layers", 2),
        .decoder_layers = u64(p, "decoder-layers", 1),
        .heads = u64(p, "heads", 4),
        .ffn = u64(p, "ffn", 4 * u64(p, "d", 128)),
        .max_input = u64(p, "window", 2048),
    };
    nas_schema schema;
    if (nas_schema_init(&schema, nas_options_text(p->o, "number", "SCI(3,4)"), err) ||
        nas_train_data_schema(&p->data, &schema, err)) {
        nas_schema_clear(&schema);
        return err->code;
    }
    nas_vocab *vocab = find_vocab(p, err);
    if (vocab)
        p->rlm = nas_rlm_new(&sizes, vocab, &schema, rng, err);
    else
        nas_schema_clear(&schema);
    return p->rlm ? NAS_OK : err->code;
}

/* The model of --from with the metrics that are new. */
static nas_status old_model(plan *p, const char *path, const nas_rng *rng, nas_err *err)
{
    static const char *const fixed[] = {"vocab",  "pieces",         "split-digits", "d",
                                        "layers", "decoder-layers", "heads",        "ffn",
                                        "window", "number"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (nas_options_has(p->o, fixed[i]))
            return nas_fail(err, NAS_USAGE, "option '--%s' does not go with '--from'", fixed[i]);
    nas_schema more = {0};
    nas_bytes found = {0};
    if (nas_command_model(strcmp(path, "shipped") ? path : NULL, &found, err) == NAS_OK)
        p->rlm = nas_rlm_load(found.data, err);
    nas_bytes_clear(&found);
    if (p->rlm && nas_train_data_schema(&p->data, &more, err) == NAS_OK)
        nas_rlm_extend(p->rlm, &more, rng, err);
    nas_schema_clear(&more);
    return err->code;
}

static nas_status make_model(plan *p, nas_err *err)
{
    nas_rng root = nas_rng_seed(p->seed), rng = nas_rng_child(&root, "weights", 0);
    const char *from = nas_options_text(p->o, "from", NULL);
    return from ? old_model(p, from, &rng, err) : new_model(p, &rng, err);
}

/* ---- memory ---- */

static nas_status read_size(const char *text, double *bytes, nas_err *err)
{
    char number[32];
    size_t length = strlen(text);
    double unit = 1;
    const char *units = "KMG", *found = length ? strchr(units, text[length - 1]) : NULL;
    if (found && *found)
        unit = (double)((size_t)1 << (10 * (found - units + 1)));
    snprintf(number, sizeof number, "%.*s", (int)(length - (unit > 1)), text);
    if (length >= sizeof number || !nas_read_real(number, bytes) || *bytes <= 0)
        return nas_fail(err, NAS_USAGE, "'%s' is not a size (as 500M or 2G)", text);
    *bytes *= unit;
    return NAS_OK;
}

static nas_status check_memory(const plan *p, nas_err *err)
{
    double limit, need = (double)(nas_trainer_bytes(p->trainer) + nas_corpus_bytes(p->corpus));
    nas_status status = read_size(nas_options_text(p->o, "memory", "4G"), &limit, err);
    if (status)
        return status;
    fprintf(stderr, "memory: %.0f MB\n", need / (1 << 20));
    if (need > limit)
        return nas_fail(err, NAS_FAILED, "training takes %.0f MB, '--memory' allows %.0f MB",
                        need / (1 << 20), limit / (1 << 20));
    return NAS_OK;
}

/* ---- the training ---- */

static nas_status check_shares(const plan *p, nas_err *err)
{
    static const char *const shares[] = {"hold-out", "validate", "dropout", "average"};
    static const char *const counts[] = {"batch", "epochs"};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        if (real(p, shares[i], 0) < 0 || real(p, shares[i], 0) >= 1)
            return nas_fail(err, NAS_USAGE, "option '--%s' takes a share below 1", shares[i]);
    for (size_t i = 0; i < 2; i++)
        if (u64(p, counts[i], 1) < 1 || u64(p, counts[i], 1) > 1 << 20)
            return nas_fail(err, NAS_USAGE, "option '--%s' is out of range", counts[i]);
    if (real(p, "rate", 1) <= 0 || real(p, "jitter", 0) < 0 || real(p, "decay", 0) < 0 ||
        real(p, "ranking", 0) < 0)
        return nas_fail(err, NAS_USAGE, "rate, jitter, decay or ranking is negative");
    static const char *const watched[] = {"patience", "correct"};
    for (size_t i = 0; i < 2; i++)
        if (nas_options_has(p->o, watched[i]) && real(p, "validate", 0) == 0)
            return nas_fail(err, NAS_USAGE, "option '--%s' needs '--validate'", watched[i]);
    return NAS_OK;
}

static nas_status check_corrected(const plan *p, nas_err *err)
{
    const char *only = nas_options_text(p->o, "correct", NULL);
    if (only && nas_metric_find(p->rlm->schema.metric, p->rlm->schema.n, only) < 0)
        return nas_fail(err, NAS_USAGE, "'--correct': the model does not learn '%s'", only);
    return NAS_OK;
}

/* Several copies of each row get noise of their own; all examples together stay below a million. */
static size_t copies_of(const plan *p, size_t rows, uint64_t epochs)
{
    size_t most = 1000000 / (rows + 1);
    most = most > 16 ? 16 : most < 1 ? 1 : most;
    return real(p, "jitter", 0.1) == 0 && u64(p, "numbers", 0) == 0 ? 1
           : epochs < most                                          ? (size_t)epochs
                                                                    : most;
}

static nas_status make_trainer(plan *p, nas_err *err)
{
    uint64_t epochs = u64(p, "epochs", (uint64_t)usual(p, 20, 3));
    double jitter = real(p, "jitter", usual(p, 0.1, 0.02));
    size_t rows = nas_corpus_examples(p->corpus), copies = copies_of(p, rows, epochs);
    const nas_corpus_how how = {.copies = copies,
                                .jitter = jitter,
                                .numbers = u64(p, "numbers", 0),
                                .fewest = u64(p, "fewest", 0),
                                .seed = p->seed};
    p->batch = nas_corpus_batch(p->corpus, &how);
    p->rlm->numbers = how.numbers;
    p->config = (nas_train_config){
        .optim = {.rate = real(p, "rate", usual(p, 1e-3, 2e-3)),
                  .floor = 0.02,
                  .beta1 = 0.9,
                  .beta2 = 0.95,
                  .epsilon = 1e-8,
                  .decay = real(p, "decay", usual(p, 0.05, 0.02)),
                  .clip = 1,
                  .average = real(p, "average", 0)},
        .batch = u64(p, "batch", (uint64_t)usual(p, 32, 64)),
        .most_rows = 16384,
        .epochs = (epochs + copies - 1) / copies,
        .seed = p->seed,
        .dropout = real(p, "dropout", 0),
    };
    uint64_t steps = p->config.epochs * ((rows * copies + p->config.batch - 1) / p->config.batch);
    p->config.optim.warm = steps / 20 + 1;
    nas_status status =
        nas_corpus_ranking(p->corpus, real(p, "ranking", 0), &p->config.ranking, err);
    if (status)
        return status;
    p->trainer = nas_trainer_new(p->rlm->model, p->batch, &p->config);
    return NAS_OK;
}

/* What must be the same for a checkpoint to be continued. */
static void describe_training(const plan *p)
{
    const nas_optim_config *c = &p->config.optim;
    nas_bytes text = {0};
    nas_bytes_print(&text, "{\"naslm\": \"%s\", \"seed\": %llu, \"rows\": %zu, \"examples\": %zu, ",
                    NAS_VERSION, (unsigned long long)p->seed, nas_corpus_size(p->corpus),
                    p->batch->input.n);
    nas_bytes_print(&text, "\"tokens\": %zu, \"epochs\": %llu, \"batch\": %zu, \"rate\": %.17g, ",
                    nas_spans_rows(p->batch->input), (unsigned long long)p->config.epochs,
                    p->config.batch, c->rate);
    nas_bytes_print(&text, "\"decay\": %.17g, \"dropout\": %.17g, \"average\": %.17g, ", c->decay,
                    p->config.dropout, c->average);
    nas_bytes_print(&text, "\"jitter\": %.17g, \"numbers\": %llu, \"fewest\": %llu, ",
                    real(p, "jitter", usual(p, 0.1, 0.02)),
                    (unsigned long long)u64(p, "numbers", 0),
                    (unsigned long long)u64(p, "fewest", 0));
    nas_bytes_print(&text, "\"taught\": %zu, \"validate\": %.17g, \"patience\": %llu, ",
                    p->data.taught, real(p, "validate", 0),
                    (unsigned long long)u64(p, "patience", PATIENCE));
    nas_bytes_print(&text, "\"correct\": \"%s\", ", nas_options_text(p->o, "correct", "all"));
    nas_bytes_print(&text, "\"ranking\": %.17g, \"from\": ", real(p, "ranking", 0));
    const char *before = nas_model_meta(p->rlm->model, "provenance");
    nas_bytes_print(&text, "%s}", before ? before : "null");
    nas_model_set_meta(p->rlm->model, "provenance", text.data);
    nas_bytes_clear(&text);
    nas_rlm_describe(p->rlm);
}

static nas_status resume(plan *p, nas_err *err)
{
    const char *path = p->checkpoint.data;
    if (access(path, F_OK))
        return NAS_OK;
    nas_safetensors *file = nas_safetensors_open(path, err);
    const char *was = file ? nas_safetensors_meta(file, "provenance") : NULL;
    const char *is = nas_model_meta(p->rlm->model, "provenance");
    if (file && (!was || strcmp(was, is)))
        nas_fail(err, NAS_USAGE, "'%s' is of a training with other options or data", path);
    const char *log = file ? nas_safetensors_meta(file, LOG) : NULL;
    if (err->code == NAS_OK && log && nas_train_log_parse(&p->log, log, err))
        nas_fail_in(err, "'%s'", path);
    nas_safetensors_free(file);
    return err->code ? err->code : nas_trainer_resume(p->trainer, path, err);
}

/* Everything that goes on from here: weights, moments, and the log, which knows the best tau. */
static nas_status save_checkpoint(plan *p, nas_err *err)
{
    nas_bytes text = {0};
    nas_train_log_print(&p->log, &text);
    nas_model_set_meta(p->rlm->model, LOG, text.data);
    nas_bytes_clear(&text);
    nas_status status = nas_trainer_save(p->trainer, p->checkpoint.data, err);
    nas_model_set_meta(p->rlm->model, LOG, NULL);
    return status;
}

/* Closes a point of the log where one is due, after looking at the rows that watch where that is
 * due; *enough when their tau-b has not become better for long. */
static nas_status watch(plan *p, const nas_train_report *r, bool *enough, nas_err *err)
{
    uint64_t point = r->steps / 200 + 1, look = r->steps / LOOKS + 1;
    bool watched = nas_train_data_watched(&p->data) && (r->step % look == 0 || r->step == r->steps);
    double tau = NAN, best;
    size_t since, patience = u64(p, "patience", PATIENCE);
    if (watched) {
        nas_trainer_swap(p->trainer);
        nas_status status = nas_train_data_watch(&p->data, p->rlm, &tau, err);
        if (status)
            return status;
        best = nas_train_log_best(&p->log, &since);
        if (patience && (isnan(best) || tau > best))
            nas_trainer_keep(p->trainer);
        nas_trainer_swap(p->trainer);
    }
    if (watched || r->step % point == 0 || r->step == r->steps)
        nas_train_log_point(&p->log, tau);
    nas_train_log_best(&p->log, &since);
    *enough = watched && patience && since >= patience;
    return NAS_OK;
}

static nas_status train(plan *p, nas_err *err)
{
    nas_train_progress g = {0};
    double saved = 0;
    bool enough = false;
    nas_train_report r;
    if (nas_progress_open(&g.line, p->o, 0, err))
        return err->code;
    while (!stop_signal && !enough && nas_trainer_step(p->trainer, &r)) {
        size_t since;
        nas_train_log_step(&p->log, &r, nas_optim_rate(&p->config.optim, r.step - 1));
        if (watch(p, &r, &enough, err))
            return err->code;
        nas_train_progress_step(&g, &r, nas_train_log_best(&p->log, &since),
                                enough || r.step == r.steps);
        if (nas_progress_seconds(&g.line) > saved + real(p, "checkpoint", 300)) {
            if (save_checkpoint(p, err))
                return err->code;
            saved = nas_progress_seconds(&g.line);
        }
    }
    nas_progress_close(&g.line);
    if (enough)
        fprintf(stderr, "stopped early: tau-b has not become better\n");
    return NAS_OK;
}

/* Saves the end, or a checkpoint when a signal came. */
static nas_status finish(plan *p, nas_err *err)
{
    const char *log = nas_options_text(p->o, "log", NULL);
    if (stop_signal) {
        if (save_checkpoint(p, err))
            return err->code;
        fprintf(stderr, "stopped; '--resume' goes on from '%s'\n", p->checkpoint.data);
        return (nas_status)(128 + stop_signal);
    }
    nas_trainer_swap(p->trainer);
    nas_trainer_recall(p->trainer);
    nas_status status =
        nas_train_data_calibrate(&p->data, p->rlm, nas_options_text(p->o, "correct", NULL), err);
    if (status == NAS_OK)
        status = nas_rlm_save(p->rlm, p->path, err);
    if (status == NAS_OK && log)
        status = nas_train_log_save(&p->log, log, err);
    if (status == NAS_OK)
        unlink(p->checkpoint.data);
    return status;
}

/* ---- judging ---- */

static nas_status judge(plan *p, nas_err *err)
{
    static const char *const columns[] = {"space", "task",     "metric", "n",
                                          "tau_b", "spearman", "low_95", "high_95"};
    nas_report report;
    nas_status status = nas_report_open(&report, p->o, columns, 8, err);
    if (status == NAS_OK)
        status = nas_train_data_judge(&p->data, p->rlm, &report, err);
    return status == NAS_OK ? nas_report_close(&report, err) : status;
}

static nas_status prepare(plan *p, nas_err *err)
{
    nas_status status = nas_train_data_open(&p->data, p->o, err);
    if (status == NAS_OK)
        status = make_model(p, err);
    if (status == NAS_OK)
        status = check_corrected(p, err);
    if (status)
        return status;
    p->corpus = nas_corpus_new(p->rlm, p->data.n_free > 0 &&
                                           (!p->data.taught || nas_options_has(p->o, "free")));
    status = nas_train_data_fill(&p->data, p->corpus, p->seed, err);
    if (status == NAS_OK)
        status = nas_corpus_fit(p->corpus, nas_options_text(p->o, "scale", "normal"), err);
    if (status == NAS_OK)
        status = nas_train_data_teach(&p->data, p->corpus, p->seed, err);
    if (status)
        return status;
    if (make_trainer(p, err))
        return err->code;
    describe_training(p);
    fprintf(stderr, "%zu rows of %zu spaces and tasks, %zu parameters\n",
            nas_corpus_size(p->corpus), p->rlm->n_domain, p->rlm->model->tensors.count);
    return check_memory(p, err);
}

static void clear_plan(plan *p)
{
    nas_trainer_free(p->trainer);
    nas_corpus_free(p->corpus);
    nas_rlm_free(p->rlm);
    nas_train_data_close(&p->data);
    nas_train_log_clear(&p->log);
    nas_bytes_clear(&p->checkpoint);
}

static nas_status run_training(nas_options *o, nas_err *err)
{
    plan p = {.o = o, .path = nas_options_text(o, "output", NULL)};
    nas_progress how;
    if (!p.path)
        return nas_fail(err, NAS_USAGE, "option '--output' is missing");
    nas_status status = nas_progress_open(&how, o, 0, err);
    if (status == NAS_OK)
        status = check_shares(&p, err);
    if (status == NAS_OK)
        status = nas_command_threads(o, err);
    if (status == NAS_OK)
        status = nas_disk_vacant(p.path, nas_options_has(o, "force"), err);
    if (status == NAS_OK && nas_options_has(o, "log"))
        status =
            nas_disk_vacant(nas_options_text(o, "log", NULL), nas_options_has(o, "force"), err);
    if (status)
        return status;
    struct sigaction action = {.sa_handler = on_signal};
    nas_bytes_print(&p.checkpoint, "%s.checkpoint", p.path);
    p.seed = nas_command_seed(o);
    status = prepare(&p, err);
    if (status == NAS_OK && nas_options_has(o, "resume"))
        status = resume(&p, err);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (status == NAS_OK)
        status = train(&p, err);
    if (status == NAS_OK)
        status = finish(&p, err);
    if (status == NAS_OK)
        status = judge(&p, err);
    clear_plan(&p);
    return status;
}

/* ---- naslm train vocab ---- */

static nas_status run_vocab(nas_options *o, nas_err *err)
{
    const char *path = nas_options_text(o, "output", NULL);
    if (!path)
        return nas_fail(err, NAS_USAGE, "option '--output' is missing");
    nas_status status = nas_disk_vacant(path, nas_options_has(o, "force"), err);
    nas_train_data data = {0};
    nas_vocab *vocab = NULL;
    if (status == NAS_OK)
        status = nas_train_data_open(&data, o, err);
    if (status == NAS_OK)
        vocab = nas_train_data_vocab(&data, (int)nas_options_u64(o, "pieces", NAS_VOCAB_PIECES),
                                     nas_command_seed(o), err);
    status = vocab ? nas_vocab_save(vocab, path, err) : err->code;
    if (status == NAS_OK)
        fprintf(stderr, "%d pieces\n", nas_vocab_pieces(vocab));
    nas_vocab_free(vocab);
    nas_train_data_close(&data);
    return status;
}

static nas_status run(nas_options *o, nas_err *err)
{
    static const char *const verbs[] = {"vocab"};
    char hint[100];
    if (o->n_operand == 0)
        return run_training(o, err);
    if (o->n_operand == 1 && !strcmp(o->operand[0], "vocab"))
        return run_vocab(o, err);
    return nas_fail(err, NAS_USAGE, "'%s' is one operand too many%s", o->operand[o->n_operand - 1],
                    nas_hint(hint, sizeof hint, o->operand[0], verbs, 1));
}

const nas_command nas_command_train = {
    "train",
    "[--table T.h5[@TASK]]... [-s SPACE[@TASK]]... [--from MODEL] -o MODEL\n"
    "       naslm train --text FILE --input COL --metric NAME=COL... -o MODEL\n"
    "       naslm train vocab -s SPACE... [--pieces N] -o FILE",
    "train a surrogate on tables and on counts that cost nothing",
    "The model learns the tables' metrics, and from random architectures what follows from an\n"
    "architecture alone: params, macs, activation_bytes, convs, depth, depth_least, depth_mean,\n"
    "paths, active_convs. Rows are split by the digest of their canonical string: see --rows,\n"
    "--hold-out and --draw. In the end the rows that were kept are predicted, and rank\n"
    "correlations printed. A training that was stopped goes on with --resume.\n"
    "Few rows, fewer than 2,000 in all with --from, are taught from unless '--taught 0' is given:\n"
    "kernel ridge on the rows (for accuracies with two graph networks beside it), or a mixture of\n"
    "metrics that the model knows and of counts, whichever misses rows left out by less, labels\n"
    "their neighbours, and the model learns those too.\n"
    "Any text will do, source code and its memory say: --text reads FILE.csv[.gz], FILE.json or\n"
    "FILE.jsonl (columns: the keys of the first object), and rows are split by the digest of\n"
    "their text. NAME tells apart files whose numbers lie on scales of their own.",
    OPTIONS,
    run};
