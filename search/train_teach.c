/* Teaching from the tables of 'naslm train': their rows as labels for the teachers. */
#include "search/train_data.h"
#include "surrogate/teach.h"

#include <math.h>
#include <stdlib.h>

static bool has_value(const nas_train_table *from, size_t column)
{
    for (size_t i = 0; i < from->part.n_train; i++)
        if (isfinite(nas_table_value(from->table, from->part.split.order[i], column)))
            return true;
    return false;
}

/* Columns of the table that are learned and have a value, as metrics of the labels. */
static size_t choose(const nas_train_table *from, const nas_schema *schema, nas_metric *metric,
                     size_t *column)
{
    size_t m = 0;
    for (size_t k = 0; k < from->table->n_metric; k++)
        if (nas_metric_find(schema->metric, schema->n, from->table->metric[k].name) >= 0 &&
            has_value(from, k)) {
            metric[m] = from->table->metric[k];
            column[m++] = k;
        }
    return m;
}

static nas_status teach_table(const nas_train_table *from, nas_corpus *corpus, uint64_t seed,
                              nas_err *err)
{
    const nas_table *table = from->table;
    size_t rows = from->part.n_train, *column = nas_alloc((table->n_metric + 1) * sizeof *column);
    nas_metric *metric = nas_alloc((table->n_metric + 1) * sizeof *metric);
    size_t m = choose(from, &nas_corpus_rlm(corpus)->schema, metric, column);
    nas_arch *arch = nas_alloc((rows + 1) * sizeof *arch);
    double *value = nas_alloc((rows * m + 1) * sizeof *value);
    for (size_t i = 0; i < rows; i++) {
        uint32_t row = from->part.split.order[i];
        nas_table_row(table, row, &arch[i]); /* it is in the corpus already, so it is one */
        for (size_t k = 0; k < m; k++)
            value[i * m + k] = nas_table_value(table, row, column[k]);
    }
    const nas_labels labels = {.space = table->space,
                               .task = from->task,
                               .arch = arch,
                               .n = rows,
                               .metric = metric,
                               .m = m,
                               .value = value};
    nas_status status =
        m ? nas_teach(corpus, &labels, nas_teachers, from->taught, seed, err) : NAS_OK;
    free(column);
    free(metric);
    free(arch);
    free(value);
    return status;
}

nas_status nas_train_data_teach(const nas_train_data *d, nas_corpus *corpus, uint64_t seed,
                                nas_err *err)
{
    nas_status status = NAS_OK;
    for (size_t i = 0; i < d->n_table && status == NAS_OK; i++)
        if (d->table[i].taught)
            status = teach_table(&d->table[i], corpus, seed, err);
    return status;
}

size_t nas_train_data_rows(const nas_train_data *d)
{
    size_t rows = 0;
    for (size_t i = 0; i < d->n_table; i++)
        rows += d->table[i].part.n_train;
    for (size_t i = 0; i < d->n_text; i++)
        rows += d->text[i].part.n_train;
    return rows;
}
