#include "search/train_data.h"

#include "surrogate/structure.h"
#include "surrogate/teach.h"

#include <math.h>
#include <stdlib.h>

/* Tables with fewer rows to learn are taught from, when a trained model is adapted to them. */
enum { FEW = 2000 };

/* ---- names ---- */

/* "FILE@TASK": the part in front of the last '@', and the task's name or NULL behind it. */
static const char *before_at(nas_arena *arena, const char *text, const char **task)
{
    const char *at = strrchr(text, '@');
    *task = at ? at + 1 : NULL;
    return at ? nas_arena_print(arena, "%.*s", (int)(at - text), text) : text;
}

static void split_words(nas_arena *arena, const char *text, const char ***word, size_t *n,
                        size_t *cap)
{
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");
        *word = nas_grow(*word, cap, *n + 1, sizeof **word);
        (*word)[(*n)++] = nas_arena_print(arena, "%.*s", (int)length, at);
        at += length + (at[length] == ',');
    }
}

static nas_status read_free(nas_train_data *d, const char *text, nas_err *err)
{
    char hint[100];
    if (!strcmp(text, "none"))
        return NAS_OK;
    if (!strcmp(text, "all")) {
        for (int k = 0; k < NAS_STRUCTURE_COUNT; k++)
            split_words(d->arena, nas_structure_names[k], &d->free, &d->n_free, &d->free_cap);
        return NAS_OK;
    }
    split_words(d->arena, text, &d->free, &d->n_free, &d->free_cap);
    for (size_t i = 0; i < d->n_free; i++) {
        int k = 0;
        while (k < NAS_STRUCTURE_COUNT && strcmp(d->free[i], nas_structure_names[k]))
            k++;
        if (k == NAS_STRUCTURE_COUNT)
            return nas_fail(
                err, NAS_USAGE, "'%s' is not a count that costs nothing%s", d->free[i],
                nas_hint(hint, sizeof hint, d->free[i], nas_structure_names, NAS_STRUCTURE_COUNT));
    }
    return NAS_OK;
}

/* ---- sources ---- */

/* --rows N: the first N learn, the rest judges; else the last share judges, and of the others at
 * most --table-rows learn. Of those that would learn the last share watches instead. */
void nas_train_part_make(nas_train_part *part, const char *space, const char *const *key, size_t n,
                         const nas_options *o)
{
    size_t most = nas_options_u64(o, "test", 1000), learn = nas_options_u64(o, "table-rows", n);
    nas_split_order(&part->split, space, nas_options_u64(o, "draw", 0), key, n);
    if (nas_options_has(o, "rows")) {
        size_t rows = nas_options_u64(o, "rows", 0);
        part->n_train = rows < n ? rows : n;
    } else {
        part->n_train = n - (size_t)floor((double)n * nas_options_real(o, "hold-out", 0.05));
    }
    part->test_at = nas_split_test(&part->split, part->n_train);
    if (part->n_train > learn)
        part->n_train = learn;
    part->n_test = n - part->test_at < most ? n - part->test_at : most;
    size_t end = part->n_train;
    part->n_train -= (size_t)floor((double)end * nas_options_real(o, "validate", 0));
    part->watch_at = nas_split_test(&part->split, part->n_train);
    part->watch = part->watch_at < end && part->n_train < end ? end - part->watch_at : 0;
}

/* The split of protocol: by the digest of canonical strings. */
static nas_status split_table(nas_train_table *t, const nas_options *o, nas_err *err)
{
    const nas_space *space = t->table->space;
    nas_arena *arena = nas_arena_new();
    const char **key = nas_alloc((t->table->n + 1) * sizeof *key);
    nas_bytes text = {0};
    nas_arch arch, canonical;
    nas_status status = NAS_OK;
    for (size_t i = 0; i < t->table->n && status == NAS_OK; i++) {
        status = nas_space_parse(space, nas_table_arch(t->table, i, &text), &arch, err);
        if (status)
            break;
        nas_space_canonical(space, &arch, &canonical);
        nas_bytes_reset(&text);
        nas_space_print(space, &canonical, &text);
        key[i] = nas_arena_print(arena, "%s", text.data);
    }
    if (status == NAS_OK)
        nas_train_part_make(&t->part, space->name, key, t->table->n, o);
    nas_bytes_clear(&text);
    nas_arena_free(arena);
    free(key);
    return status;
}

/* "…*N" (mark '*'): N and the text in front of it; usual without. */
static const char *before_count(nas_arena *arena, const char *text, char mark, size_t usual,
                                size_t *count)
{
    const char *at = strrchr(text, mark);
    uint64_t n = 0;
    bool is_count = at && nas_read_u64(at + 1, &n) && n > 0;
    *count = is_count ? (size_t)n : usual;
    return is_count ? nas_arena_print(arena, "%.*s", (int)(at - text), text) : text;
}

/* "FILE[@TASK][*N][+M]": FILE */
static const char *table_path(nas_arena *arena, const char *text, nas_train_table *t,
                              const char **task)
{
    const char *rest = before_count(arena, text, '+', 0, &t->taught);
    return before_at(arena, before_count(arena, rest, '*', 1, &t->part.times), task);
}

static bool has_csv(const nas_train_data *d, const nas_options *o)
{
    nas_train_table t;
    const char *text, *task;
    for (size_t i = 0; (text = nas_options_nth(o, "table", i)); i++)
        if (nas_train_is_csv(table_path(d->arena, text, &t, &task)))
            return true;
    return false;
}

static nas_status open_table(nas_train_data *d, const nas_options *o, const char *text,
                             nas_err *err)
{
    d->table = nas_grow(d->table, &d->table_cap, d->n_table + 1, sizeof *d->table);
    nas_train_table *t = &d->table[d->n_table];
    *t = (nas_train_table){0};
    const char *task, *path = table_path(d->arena, text, t, &task);
    if (nas_train_is_csv(path)) {
        t->table = nas_train_csv_open(path, o, err);
        if (!task)
            before_at(d->arena, nas_options_text(o, "space", ""), &task);
    } else {
        t->table = nas_table_open(path, err);
    }
    if (!t->table)
        return err->code;
    d->n_table++;
    t->task = nas_space_task(t->table->space, task, err);
    if (!t->task || split_table(t, o, err))
        return nas_fail_in(err, "'%s'", path);
    return NAS_OK;
}

static nas_status open_text(nas_train_data *d, const nas_options *o, const char *text, nas_err *err)
{
    nas_train_text t = {0};
    t.path = before_at(d->arena, before_count(d->arena, text, '*', 1, &t.part.times), &t.task);
    nas_status status = nas_train_text_open(&t, d->arena, o, err);
    d->text = nas_grow(d->text, &d->text_cap, d->n_text + 1, sizeof *d->text);
    d->text[d->n_text++] = t;
    return status;
}

static nas_status open_space(nas_train_data *d, const char *text, nas_err *err)
{
    const char *task, *name = before_at(d->arena, text, &task);
    d->space = nas_grow(d->space, &d->space_cap, d->n_space + 1, sizeof *d->space);
    nas_train_space *s = &d->space[d->n_space];
    s->space = nas_space_need(name, err);
    s->task = s->space ? nas_space_task(s->space, task, err) : NULL;
    d->n_space += s->task != NULL;
    return err->code;
}

static bool table_has(const nas_train_data *d, const char *name)
{
    for (size_t i = 0; i < d->n_table; i++)
        if (nas_metric_find(d->table[i].table->metric, d->table[i].table->n_metric, name) >= 0)
            return true;
    return false;
}

/* Options that say something about sources that are not there. */
static nas_status check_sources(const nas_train_data *d, const nas_options *o, nas_err *err)
{
    bool text = nas_options_has(o, "text");
    const char *of_text = nas_options_has(o, "input")    ? "input"
                          : nas_options_has(o, "metric") ? "metric"
                                                         : NULL;
    bool architectures = nas_options_has(o, "table") || nas_options_has(o, "space");
    if (!text && !architectures)
        return nas_fail(err, NAS_USAGE,
                        "nothing to learn from: give '--table', '--space' or '--text'");
    if (of_text && !text && !(d->csv && strcmp(of_text, "input")))
        return nas_fail(err, NAS_USAGE, "option '--%s' needs '--text'", of_text);
    if (nas_options_has(o, "arch") && !d->csv)
        return nas_fail(err, NAS_USAGE, "option '--arch' needs a CSV file as '--table'");
    if (nas_options_has(o, "taught") && !nas_options_has(o, "table"))
        return nas_fail(err, NAS_USAGE, "option '--taught' needs '--table'");
    if (nas_options_has(o, "free") && !architectures)
        return nas_fail(err, NAS_USAGE, "option '--free' needs '--table' or '--space'");
    return NAS_OK;
}

nas_status nas_train_data_open(nas_train_data *d, const nas_options *o, nas_err *err)
{
    const char *text, *free_counts;
    *d = (nas_train_data){.random = nas_options_u64(o, "random", 2000)};
    d->arena = nas_arena_new();
    d->split_digits = nas_options_has(o, "split-digits");
    split_words(d->arena, nas_options_text(o, "metrics", ""), &d->metric, &d->n_metric,
                &d->metric_cap);
    d->csv = has_csv(d, o);
    nas_status status = check_sources(d, o, err);
    free_counts = nas_options_has(o, "table") || nas_options_has(o, "space") ? "all" : "none";
    if (status == NAS_OK)
        status = read_free(d, nas_options_text(o, "free", free_counts), err);
    for (size_t i = 0; status == NAS_OK && (text = nas_options_nth(o, "table", i)); i++)
        status = open_table(d, o, text, err);
    for (size_t i = 0; status == NAS_OK && (text = nas_options_nth(o, "text", i)); i++)
        status = open_text(d, o, text, err);
    /* beside a CSV file a space only names what that holds, unless random ones are asked for */
    bool random = !d->csv || nas_options_has(o, "random");
    for (size_t i = 0; status == NAS_OK && random && (text = nas_options_nth(o, "space", i)); i++)
        status = open_space(d, text, err);
    for (size_t i = 0; i < d->n_metric && status == NAS_OK; i++)
        if (!table_has(d, d->metric[i]))
            status = nas_fail(err, NAS_USAGE, "no table has the metric '%s'", d->metric[i]);
    bool few = nas_options_has(o, "from") && d->n_table && !d->n_text && !d->n_space &&
               nas_train_data_rows(d) < FEW;
    d->taught = nas_options_u64(o, "taught", few ? NAS_TAUGHT : 0);
    for (size_t i = 0; i < d->n_table; i++)
        if (!d->table[i].taught)
            d->table[i].taught = d->taught;
    return status;
}

void nas_train_data_close(nas_train_data *d)
{
    for (size_t i = 0; i < d->n_table; i++) {
        nas_table_close(d->table[i].table);
        nas_split_clear(&d->table[i].part.split);
    }
    for (size_t i = 0; i < d->n_text; i++)
        nas_train_text_close(&d->text[i]);
    free(d->table);
    free(d->text);
    free(d->space);
    free(d->metric);
    free(d->free);
    if (d->arena)
        nas_arena_free(d->arena);
    *d = (nas_train_data){0};
}

/* ---- the schema ---- */

static bool wanted(const nas_train_data *d, const char *name)
{
    for (size_t i = 0; i < d->n_metric; i++)
        if (!strcmp(d->metric[i], name))
            return true;
    return d->n_metric == 0;
}

nas_status nas_train_metric(nas_schema *schema, const nas_metric *metric, nas_err *err)
{
    int at = nas_metric_find(schema->metric, schema->n, metric->name);
    if (at < 0)
        return nas_schema_add(schema, metric, err);
    if (strcmp(schema->metric[at].unit, metric->unit))
        return nas_fail(err, NAS_USAGE, "the metric '%s' is in '%s' here, in '%s' there",
                        metric->name, schema->metric[at].unit, metric->unit);
    return NAS_OK;
}

static nas_status add_tables(const nas_train_data *d, nas_schema *schema, bool accuracy,
                             nas_err *err)
{
    for (size_t i = 0; i < d->n_table; i++)
        for (size_t k = 0; k < d->table[i].table->n_metric; k++) {
            const nas_metric *m = &d->table[i].table->metric[k];
            if (wanted(d, m->name) && !strcmp(m->name, "accuracy") == accuracy &&
                nas_train_metric(schema, m, err))
                return err->code;
        }
    return NAS_OK;
}

nas_status nas_train_data_schema(const nas_train_data *d, nas_schema *schema, nas_err *err)
{
    nas_status status = add_tables(d, schema, true, err);
    if (status == NAS_OK)
        status = add_tables(d, schema, false, err);
    for (size_t i = 0; i < d->n_text && status == NAS_OK; i++)
        for (size_t k = 0; k < d->text[i].n_metric && status == NAS_OK; k++)
            status = nas_train_metric(schema, &d->text[i].metric[k], err);
    if (status == NAS_OK && d->n_text && d->text[0].n_metric == 0)
        status = nas_fail(err, NAS_USAGE, "option '--metric' is missing: " NAS_CSV_METRIC);
    for (size_t i = 0; i < d->n_free && status == NAS_OK; i++) {
        nas_metric metric;
        status = nas_metric_make(&metric, d->free[i], err);
        if (status == NAS_OK && nas_metric_find(schema->metric, schema->n, metric.name) < 0)
            status = nas_schema_add(schema, &metric, err);
    }
    return status;
}

/* ---- texts ---- */

static nas_status add_text(nas_vocab_trainer *trainer, const nas_space *space, const nas_task *task,
                           const nas_arch *arch, nas_err *err)
{
    nas_bytes text = {0};
    nas_status status = nas_rlm_prompt(space, task, arch, &text, err);
    if (status == NAS_OK)
        nas_vocab_trainer_add(trainer, text.data, text.size);
    nas_bytes_clear(&text);
    return status;
}

static nas_status add_table_texts(nas_vocab_trainer *trainer, const nas_train_table *t,
                                  nas_err *err)
{
    nas_bytes text = {0};
    nas_arch arch;
    size_t n = t->part.n_train < NAS_TRAIN_VOCAB ? t->part.n_train : NAS_TRAIN_VOCAB;
    nas_status status = NAS_OK;
    for (size_t i = 0; i < n && status == NAS_OK; i++) {
        const char *name = nas_table_arch(t->table, t->part.split.order[i], &text);
        status = nas_space_parse(t->table->space, name, &arch, err);
        if (status == NAS_OK)
            status = add_text(trainer, t->table->space, t->task, &arch, err);
    }
    nas_bytes_clear(&text);
    return status;
}

nas_vocab *nas_train_data_vocab(const nas_train_data *d, int pieces, uint64_t seed, nas_err *err)
{
    nas_vocab_trainer *trainer =
        d->split_digits ? nas_vocab_trainer_new() : nas_vocab_trainer_new_whole();
    nas_rng root = nas_rng_seed(seed), texts = nas_rng_child(&root, "vocabulary", 0);
    nas_status status = NAS_OK;
    for (size_t i = 0; i < d->n_table && status == NAS_OK; i++)
        status = add_table_texts(trainer, &d->table[i], err);
    for (size_t i = 0; i < d->n_text; i++)
        nas_train_text_vocab(&d->text[i], trainer);
    for (size_t i = 0; i < d->n_space && status == NAS_OK; i++) {
        const nas_train_space *s = &d->space[i];
        nas_rng all = nas_rng_child(&texts, s->space->name, 0);
        for (size_t k = 0; k < NAS_TRAIN_VOCAB && k < d->random && status == NAS_OK; k++) {
            nas_rng rng = nas_rng_child(&all, "text", k);
            nas_arch arch;
            nas_space_sample(s->space, &rng, &arch);
            status = add_text(trainer, s->space, s->task, &arch, err);
        }
    }
    nas_vocab *vocab = status ? NULL : nas_vocab_trainer_learn(trainer, pieces, err);
    nas_vocab_trainer_free(trainer);
    return vocab;
}

nas_status nas_train_data_fill(const nas_train_data *d, nas_corpus *corpus, uint64_t seed,
                               nas_err *err)
{
    nas_status status = NAS_OK;
    for (size_t i = 0; i < d->n_table && status == NAS_OK; i++) {
        const nas_train_table *t = &d->table[i];
        nas_corpus_repeat(corpus, t->part.times * nas_teach_times(t->part.n_train, t->taught));
        status = nas_corpus_add_table(corpus, t->table, t->task, t->part.split.order,
                                      t->part.n_train, err);
    }
    for (size_t i = 0; i < d->n_text && status == NAS_OK; i++)
        status = nas_train_text_fill(&d->text[i], corpus, err);
    nas_corpus_repeat(corpus, 1);
    for (size_t i = 0; i < d->n_space && status == NAS_OK; i++)
        status = nas_corpus_add_random(corpus, d->space[i].space, d->space[i].task, d->random, seed,
                                       err);
    return status;
}
