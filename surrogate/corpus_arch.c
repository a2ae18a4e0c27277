/* Architectures as rows of a corpus: texts and free labels in parallel, then added in order. */
#include "onnx/export.h"
#include "surrogate/corpus.h"
#include "surrogate/structure.h"

#include <math.h>
#include <stdlib.h>

enum { AT_ONCE = 1024 };

/* Which columns of the schema are structure counts; -1: that count is not asked for. */
static bool structure_columns(const nas_schema *schema, int column[NAS_STRUCTURE_COUNT])
{
    bool any = false;
    for (int k = 0; k < NAS_STRUCTURE_COUNT; k++) {
        column[k] = nas_metric_find(schema->metric, schema->n, nas_structure_names[k]);
        any |= column[k] >= 0;
    }
    return any;
}

/* What stays the same for all rows of one call. */
typedef struct {
    const nas_space *space;
    const nas_task *task;
    size_t m;
    bool count;
    int column[NAS_STRUCTURE_COUNT];
} scribe;

/* The text of an architecture and its row of labels, filled up. */
static nas_status write_row(const scribe *s, const nas_arch *arch, const double *label,
                            nas_bytes *text, double *row, nas_err *err)
{
    double count[NAS_STRUCTURE_COUNT];
    nas_graph *graph = nas_space_build(s->space, arch, s->task);
    nas_bytes_reset(text);
    nas_status status = nas_export_prompt(graph, s->space->name, s->task->name, text, err);
    for (size_t k = 0; k < s->m; k++)
        row[k] = label ? label[k] : NAN;
    if (status == NAS_OK && s->count)
        status = nas_structure_of(graph, count, err);
    for (int k = 0; status == NAS_OK && s->count && k < NAS_STRUCTURE_COUNT; k++)
        if (s->column[k] >= 0 && isnan(row[s->column[k]]))
            row[s->column[k]] = count[k];
    nas_graph_free(graph);
    return status;
}

static nas_status name_arch(const nas_space *space, const nas_arch *arch, nas_err *err)
{
    nas_bytes text = {0};
    nas_space_print(space, arch, &text);
    nas_fail_in(err, "architecture '%.200s'", text.data);
    nas_bytes_clear(&text);
    return err->code;
}

static nas_status add_piece(nas_corpus *corpus, const scribe *s, size_t domain,
                            const nas_arch *arch, const double *label, size_t n, nas_bytes *text,
                            double *row, nas_err *each, nas_err *err)
{
    size_t m = s->m;
    memset(each, 0, n * sizeof *each);
#pragma omp parallel for schedule(dynamic, 8)
    for (size_t i = 0; i < n; i++)
        write_row(s, &arch[i], label ? label + i * m : NULL, &text[i], row + i * m, &each[i]);
    for (size_t i = 0; i < n; i++) {
        if (each[i].code)
            nas_fail(err, each[i].code, "%s", each[i].text);
        else
            nas_corpus_add(corpus, domain, &text[i], row + i * m, err);
        if (err->code)
            return name_arch(s->space, &arch[i], err);
    }
    return NAS_OK;
}

nas_status nas_corpus_add_archs(nas_corpus *corpus, const nas_space *space, const nas_task *task,
                                const nas_arch *arch, const double *label, size_t n, nas_err *err)
{
    nas_rlm *rlm = nas_corpus_rlm(corpus);
    size_t m = rlm->schema.n;
    size_t domain = (size_t)(nas_rlm_domain_of(rlm, space->name, task->name, true) - rlm->domain);
    scribe s = {.space = space, .task = task, .m = m};
    s.count = structure_columns(&rlm->schema, s.column) && nas_corpus_counts(corpus);
    nas_bytes *text = nas_zalloc(AT_ONCE, sizeof *text);
    double *row = nas_alloc(AT_ONCE * m * sizeof *row);
    nas_err *each = nas_alloc(AT_ONCE * sizeof *each);
    nas_status status = NAS_OK;
    for (size_t i = 0; i < n && status == NAS_OK; i += AT_ONCE)
        status = add_piece(corpus, &s, domain, arch + i, label ? label + i * m : NULL,
                           n - i < AT_ONCE ? n - i : AT_ONCE, text, row, each, err);
    for (size_t i = 0; i < AT_ONCE; i++)
        nas_bytes_clear(&text[i]);
    free(text);
    free(row);
    free(each);
    return status;
}

nas_status nas_corpus_add_table(nas_corpus *corpus, const nas_table *table, const nas_task *task,
                                const uint32_t *row, size_t n, nas_err *err)
{
    const nas_schema *schema = &nas_corpus_rlm(corpus)->schema;
    size_t m = schema->n;
    double *label = nas_alloc((n * m + 1) * sizeof *label);
    nas_arch *arch = nas_alloc((n + 1) * sizeof *arch);
    nas_bytes text = {0};
    nas_status status = NAS_OK;
    for (size_t i = 0; i < n * m; i++)
        label[i] = NAN;
    for (size_t k = 0; k < table->n_metric; k++) {
        int column = nas_metric_find(schema->metric, m, table->metric[k].name);
        for (size_t i = 0; column >= 0 && i < n; i++)
            label[i * m + (size_t)column] = nas_table_value(table, row[i], k);
    }
    for (size_t i = 0; i < n && status == NAS_OK; i++)
        status = nas_space_parse(table->space, nas_table_arch(table, row[i], &text), &arch[i], err);
    if (status == NAS_OK)
        status = nas_corpus_add_archs(corpus, table->space, task, arch, label, n, err);
    nas_bytes_clear(&text);
    free(label);
    free(arch);
    return status;
}

nas_status nas_corpus_add_random(nas_corpus *corpus, const nas_space *space, const nas_task *task,
                                 size_t n, uint64_t seed, nas_err *err)
{
    nas_rng root = nas_rng_seed(seed), all = nas_rng_child(&root, space->name, 0);
    nas_arch *arch = nas_alloc((n + 1) * sizeof *arch);
    for (size_t i = 0; i < n; i++) {
        nas_rng rng = nas_rng_child(&all, "random architecture", i);
        nas_space_sample(space, &rng, &arch[i]);
    }
    nas_status status = nas_corpus_add_archs(corpus, space, task, arch, NULL, n, err);
    free(arch);
    return status;
}
