/* A baseline's file: metadata predictor, space, task and metrics; for the k-th metric the tensors
 * k.number, k.knot (n, 2) and k.spread in f64, k.gene (n, genes) in u8. */
#include "surrogate/baselines/baseline_part.h"

#include "surrogate/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS = 4 }; /* of one metric */

/* "accuracy|%|max" */
static void put_metric(json_t *meta, size_t k, const nas_metric *m)
{
    char key[32];
    snprintf(key, sizeof key, "metric%zu", k);
    json_object_set_new(
        meta, key, json_sprintf("%s|%s|%s", m->name, m->unit, nas_direction_name(m->direction)));
}

static nas_status get_metric(const nas_safetensors *file, size_t k, nas_metric *m, nas_err *err)
{
    char key[32], name[NAS_METRIC_NAME], direction[8], unit[NAS_METRIC_UNIT] = "";
    snprintf(key, sizeof key, "metric%zu", k);
    const char *text = nas_safetensors_meta(file, key);
    if (!text || (sscanf(text, "%63[^|]|%15[^|]|%7s", name, unit, direction) != 3 &&
                  sscanf(text, "%63[^|]||%7s", name, direction) != 2))
        return nas_fail(err, NAS_FAILED, "metadata %s is missing or damaged", key);
    if (nas_metric_make(m, name, err) != NAS_OK)
        return err->code;
    snprintf(m->unit, sizeof m->unit, "%s", unit);
    if (!nas_direction_read(direction, &m->direction))
        m->direction = NAS_NO_DIRECTION;
    return NAS_OK;
}

/* Fills the tensors of one metric; names (TENSORS) and genes are kept by the caller. */
static void list_tensors(const baseline_column *c, size_t k, size_t genes, uint8_t *gene,
                         char (*name)[32], nas_safetensor *t)
{
    static const char *const parts[TENSORS] = {"number", "knot", "spread", "gene"};
    const nas_safetensor shapes[TENSORS] = {
        {.dtype = NAS_F64, .n_dim = 1, .dim = {c->learned.n_number}, .data = c->learned.number},
        {.dtype = NAS_F64, .n_dim = 2, .dim = {c->n_knot, 2}, .data = c->knot},
        {.dtype = NAS_F64, .n_dim = 1, .dim = {1}, .data = &c->spread},
        {.dtype = NAS_U8, .n_dim = 2, .dim = {c->learned.n_arch, genes}, .data = gene}};
    for (size_t i = 0; i < TENSORS; i++) {
        t[i] = shapes[i];
        snprintf(name[i], sizeof name[i], "%zu.%s", k, parts[i]);
        t[i].name = name[i];
        t[i].count = 1;
        for (size_t d = 0; d < t[i].n_dim; d++)
            t[i].count *= t[i].dim[d];
    }
    for (size_t i = 0; i < c->learned.n_arch; i++)
        memcpy(gene + i * genes, c->learned.arch[i].gene, genes);
}

nas_status nas_baseline_save(const void *state, const char *path, nas_err *err)
{
    const baseline *b = state;
    size_t genes = (size_t)b->space->n_genes, rows = 0;
    for (size_t k = 0; k < b->m; k++)
        rows += b->column[k].learned.n_arch;
    uint8_t *gene = nas_alloc(rows * genes);
    char(*name)[32] = nas_alloc(b->m * TENSORS * sizeof *name);
    nas_safetensor *t = nas_alloc(b->m * TENSORS * sizeof *t);
    json_t *meta = json_object();
    json_object_set_new(meta, "predictor", json_string(b->type->name));
    json_object_set_new(meta, "space", json_string(b->space->name));
    json_object_set_new(meta, "task", json_string(b->task->name));
    rows = 0;
    for (size_t k = 0; k < b->m; k++) {
        put_metric(meta, k, &b->column[k].metric);
        list_tensors(&b->column[k], k, genes, gene + rows * genes, name + k * TENSORS,
                     t + k * TENSORS);
        rows += b->column[k].learned.n_arch;
    }
    nas_status status = nas_safetensors_save(path, t, b->m * TENSORS, meta, err);
    json_decref(meta);
    free(t);
    free(name);
    free(gene);
    return status;
}

/* ---- reading ---- */

static const nas_safetensor *need_tensor(const nas_safetensors *file, size_t k, const char *part,
                                         nas_dtype dtype, size_t columns, nas_err *err)
{
    char name[32];
    snprintf(name, sizeof name, "%zu.%s", k, part);
    const nas_safetensor *t = nas_safetensors_find(file, name);
    if (t && t->dtype == dtype && t->n_dim == (columns ? 2u : 1u) &&
        (!columns || t->dim[1] == columns))
        return t;
    nas_fail(err, NAS_FAILED, "tensor %s is missing or of another kind", name);
    return NULL;
}

static void *copy_tensor(const nas_safetensor *t)
{
    size_t bytes = t->count * nas_dtype_bytes(t->dtype);
    void *copy = nas_alloc(bytes);
    memcpy(copy, t->data, bytes);
    return copy;
}

static nas_status read_archs(const baseline *b, const nas_safetensor *t, nas_learned *learned,
                             nas_err *err)
{
    size_t genes = (size_t)b->space->n_genes;
    learned->arch = nas_alloc(t->dim[0] * sizeof *learned->arch);
    for (size_t i = 0; i < t->dim[0]; i++) {
        nas_arch *a = &learned->arch[learned->n_arch++];
        nas_space_init(b->space, a);
        memcpy(a->gene, (const uint8_t *)t->data + i * genes, genes);
        if (!nas_space_valid(b->space, a))
            return nas_fail(err, NAS_FAILED, "architecture %zu is not a member of %s", i,
                            b->space->name);
    }
    return NAS_OK;
}

static bool rising(const baseline_column *c)
{
    for (size_t i = 0; i < c->n_knot; i++)
        if (!isfinite(c->knot[i].value) || (i && !(c->knot[i].score > c->knot[i - 1].score)))
            return false;
    return c->n_knot > 0;
}

static nas_status read_column(const baseline *b, const nas_safetensors *file, size_t k,
                              baseline_column *c, nas_err *err)
{
    size_t genes = (size_t)b->space->n_genes;
    const nas_safetensor *number = need_tensor(file, k, "number", NAS_F64, 0, err);
    const nas_safetensor *knot = need_tensor(file, k, "knot", NAS_F64, 2, err);
    const nas_safetensor *spread = need_tensor(file, k, "spread", NAS_F64, 0, err);
    const nas_safetensor *gene = need_tensor(file, k, "gene", NAS_U8, genes, err);
    if (!number || !knot || !spread || !gene || get_metric(file, k, &c->metric, err) != NAS_OK)
        return err->code;
    c->learned.number = copy_tensor(number);
    c->learned.n_number = number->count;
    c->knot = copy_tensor(knot);
    c->n_knot = knot->dim[0];
    if (spread->count == 1)
        memcpy(&c->spread, spread->data, sizeof c->spread);
    if (!rising(c))
        return nas_fail(err, NAS_FAILED, "tensor %zu.knot does not rise", k);
    return read_archs(b, gene, &c->learned, err);
}

static nas_status read_all(baseline *b, const nas_safetensors *file, nas_err *err)
{
    const nas_learner *learner = b->type->data;
    const char *space = nas_safetensors_meta(file, "space");
    b->space = nas_space_need(space ? space : "", err);
    b->task = b->space ? nas_space_task(b->space, nas_safetensors_meta(file, "task"), err) : NULL;
    if (!b->task)
        return err->code;
    size_t count = nas_safetensors_count(file);
    b->column = nas_zalloc(count / TENSORS + 1, sizeof *b->column);
    nas_problem where = {.space = b->space, .task = b->task};
    while (b->m < count / TENSORS) {
        size_t k = b->m++; /* what was read so far is freed when this one fails */
        baseline_column *c = &b->column[k];
        if (read_column(b, file, k, c, err) != NAS_OK)
            return err->code;
        if (!learner->fits(learner, &where, &c->learned))
            return nas_fail(err, NAS_FAILED, "tensors %zu.number and %zu.gene do not fit %s", k, k,
                            b->type->name);
    }
    return b->m ? NAS_OK : nas_fail(err, NAS_FAILED, "it has no tensors");
}

void *nas_baseline_load(const nas_predictor_type *type, const char *path, nas_err *err)
{
    nas_safetensors *file = nas_safetensors_open(path, err);
    if (!file)
        return NULL;
    baseline *b = nas_zalloc(1, sizeof *b);
    b->type = type;
    nas_status status = read_all(b, file, err);
    nas_safetensors_free(file);
    if (status == NAS_OK)
        return b;
    nas_fail_in(err, "predictor '%s'", path);
    nas_baseline_free(b);
    return NULL;
}
