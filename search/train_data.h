/* Which tables, texts and spaces does a training read, and how are they split?
 *
 *     nas_train_data data;
 *     status = nas_train_data_open(&data, options, &err);
 *     status = nas_train_data_schema(&data, &schema, &err);
 *     status = nas_train_data_fill(&data, corpus, seed, &err);   nas_train_data_close(&data);
 *
 * Part of the program: it reads the options of 'naslm train'. */
#ifndef NAS_TRAIN_DATA_H
#define NAS_TRAIN_DATA_H

#include "results/csv_metric.h"
#include "results/split.h"
#include "results/table.h"
#include "search/command.h"
#include "surrogate/corpus.h"

/* Which rows of a source are learned, and which judge. */
typedef struct {
    nas_split split;
    size_t n_train;         /* the first of the split */
    size_t watch_at, watch; /* those behind them that watch the training */
    size_t times;           /* each of them counts so often */
    size_t test_at, n_test; /* and those it is judged by */
} nas_train_part;

typedef struct {
    nas_table *table;
    const nas_task *task;
    nas_train_part part;
    size_t taught; /* architectures near its rows to learn too */
} nas_train_table;

/* A file of any texts with numbers beside them. */
typedef struct {
    const char *path, *input, *task; /* names of the column and the domain */
    size_t n, n_metric, cap, line_cap, value_cap;
    const char **text;  /* (n) */
    size_t *line;       /* (n) where in the file */
    nas_metric *metric; /* (n_metric) */
    double *value;      /* (n, n_metric) NaN: missing */
    const char *row;    /* what line counts */
    nas_train_part part;
} nas_train_text;

typedef struct {
    const nas_space *space;
    const nas_task *task;
} nas_train_space;

typedef struct {
    nas_train_table *table;
    nas_train_text *text;
    nas_train_space *space;
    size_t n_table, n_text, n_space, table_cap, text_cap, space_cap;
    bool csv;                    /* a table is a CSV file */
    size_t random;               /* architectures of each space */
    size_t taught;               /* of a table that does not say; 0: none */
    bool split_digits;           /* in a vocabulary that is learned */
    const char **metric, **free; /* names of the tables' metrics to learn, and of counts */
    size_t n_metric, n_free, metric_cap, free_cap;
    nas_arena *arena; /* of names and texts */
} nas_train_data;

nas_status nas_train_data_open(nas_train_data *data, const nas_options *options, nas_err *err);
void nas_train_data_close(nas_train_data *data);

/* Adds the metrics: accuracy first, those of the tables, then of texts, then the counts. */
nas_status nas_train_data_schema(const nas_train_data *data, nas_schema *schema, nas_err *err);
/* A vocabulary learned on texts of all sources. */
nas_vocab *nas_train_data_vocab(const nas_train_data *data, int pieces, uint64_t seed,
                                nas_err *err);
nas_status nas_train_data_fill(const nas_train_data *data, nas_corpus *corpus, uint64_t seed,
                               nas_err *err);
/* Adds architectures near the rows of each table that is taught from, with labels that the rows
 * imply (teach.h). */
nas_status nas_train_data_teach(const nas_train_data *data, nas_corpus *corpus, uint64_t seed,
                                nas_err *err);
/* Rows that are learned, of all tables and texts. */
size_t nas_train_data_rows(const nas_train_data *data);
/* Has some source rows that watch? */
bool nas_train_data_watched(const nas_train_data *data);
/* *tau: the mean tau-b over all metrics of the sources, on at most 200 of their rows that watch;
 * nan where none has a tau-b. */
nas_status nas_train_data_watch(const nas_train_data *data, const nas_rlm *rlm, double *tau,
                                nas_err *err);
/* Corrects the model's spreads (calibrate.h) of every metric that enough of those rows have, or
 * (NULL: all) of the one named only; what a training before this one found for the same spaces and
 * tasks is forgotten. */
nas_status nas_train_data_calibrate(const nas_train_data *data, nas_rlm *rlm, const char *only,
                                    nas_err *err);
/* Predicts the rows of each source kept for judging; one row of the report a metric: space, task,
 * metric, n, tau-b, Spearman, 95 % interval of tau-b. */
nas_status nas_train_data_judge(const nas_train_data *data, const nas_rlm *rlm, nas_report *report,
                                nas_err *err);

/* ---- parts of it ---- */

enum { NAS_TRAIN_VOCAB = 4000 }; /* texts of each source that a vocabulary is learned on */

/* Splits n rows by their keys as --draw, --rows, --hold-out, --validate and so on say. */
void nas_train_part_make(nas_train_part *part, const char *space, const char *const *key, size_t n,
                         const nas_options *options);
/* Adds a metric once; NAS_USAGE when it is there in another unit. */
nas_status nas_train_metric(nas_schema *schema, const nas_metric *metric, nas_err *err);

/* Is a table a CSV file by its name? Then --space says whose architectures it holds, --arch where
 * they stand, --metric where the numbers do (default: in every other column, which names its
 * metric). NULL: err says why. */
bool nas_train_is_csv(const char *path);
nas_table *nas_train_csv_open(const char *path, const nas_options *options, nas_err *err);

/* Reads the columns --input and --metric of a file; names and texts go into the arena. */
nas_status nas_train_text_open(nas_train_text *text, nas_arena *arena, const nas_options *options,
                               nas_err *err);
void nas_train_text_close(nas_train_text *text);
nas_bytes nas_train_text_row(const nas_train_text *text, size_t row); /* not to be freed */
void nas_train_text_vocab(const nas_train_text *text, nas_vocab_trainer *trainer);
/* Adds what is learned; what will judge must fit the model too. */
nas_status nas_train_text_fill(const nas_train_text *text, nas_corpus *corpus, nas_err *err);

#endif
