/* Which tables and spaces does a training read, and how are they split?
 *
 *     nas_train_data data;
 *     status = nas_train_data_open(&data, options, &err);
 *     status = nas_train_data_schema(&data, &schema, &err);
 *     status = nas_train_data_fill(&data, corpus, seed, &err);   nas_train_data_close(&data);
 *
 * Part of the program: it reads the options of 'naslm train'. */
#ifndef NAS_TRAIN_DATA_H
#define NAS_TRAIN_DATA_H

#include "results/split.h"
#include "results/table.h"
#include "search/command.h"
#include "surrogate/corpus.h"

typedef struct {
    nas_table *table;
    const nas_task *task;
    nas_split split;
    size_t n_train;         /* the first of the split */
    size_t times;           /* each of them counts so often */
    size_t test_at, n_test; /* and those it is judged by */
} nas_train_table;

typedef struct {
    const nas_space *space;
    const nas_task *task;
} nas_train_space;

typedef struct {
    nas_train_table *table;
    nas_train_space *space;
    size_t n_table, n_space, table_cap, space_cap;
    size_t random;               /* architectures of each space */
    bool split_digits;           /* in a vocabulary that is learned */
    const char **metric, **free; /* names of the tables' metrics to learn, and of counts */
    size_t n_metric, n_free, metric_cap, free_cap;
    nas_arena *arena; /* of the names */
} nas_train_data;

nas_status nas_train_data_open(nas_train_data *data, const nas_options *options, nas_err *err);
void nas_train_data_close(nas_train_data *data);

/* Adds the metrics: accuracy first, those of the tables, then the counts. */
nas_status nas_train_data_schema(const nas_train_data *data, nas_schema *schema, nas_err *err);
/* A vocabulary learned on texts of all tables and spaces. */
nas_vocab *nas_train_data_vocab(const nas_train_data *data, int pieces, uint64_t seed,
                                nas_err *err);
nas_status nas_train_data_fill(const nas_train_data *data, nas_corpus *corpus, uint64_t seed,
                               nas_err *err);
/* Predicts the rows kept for judging; one row of the report a metric: space, task, metric, n,
 * tau-b, Spearman, 95 % interval of tau-b. */
nas_status nas_train_data_judge(const nas_train_table *table, const nas_rlm *rlm,
                                nas_report *report, nas_err *err);

#endif
