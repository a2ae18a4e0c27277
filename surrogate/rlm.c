#include "surrogate/rlm.h"

#include "onnx/export.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static nas_rlm *put_together(nas_model *model, nas_vocab *vocab, nas_schema *schema)
{
    nas_rlm *rlm = nas_zalloc(1, sizeof *rlm);
    *rlm = (nas_rlm){.model = model, .vocab = vocab, .schema = *schema};
    *schema = (nas_schema){0};
    return rlm;
}

nas_rlm *nas_rlm_new(const nas_model_config *sizes, nas_vocab *vocab, nas_schema *schema,
                     const nas_rng *rng, nas_err *err)
{
    nas_model_config config = *sizes;
    config.encoder_vocab = (size_t)nas_vocab_pieces(vocab) + 1;
    config.decoder_vocab = (size_t)nas_schema_size(schema);
    nas_model *model = nas_model_new(&config, rng, err);
    if (model)
        return put_together(model, vocab, schema);
    nas_vocab_free(vocab);
    nas_schema_clear(schema);
    return NULL;
}

void nas_rlm_free(nas_rlm *rlm)
{
    if (!rlm)
        return;
    nas_model_free(rlm->model);
    nas_vocab_free(rlm->vocab);
    nas_schema_clear(&rlm->schema);
    for (size_t i = 0; i < rlm->n_domain; i++)
        nas_schema_clear(&rlm->domain[i].seen);
    free(rlm->domain);
    free(rlm);
}

/* ---- domains ---- */

static nas_rlm_domain *find_domain(const nas_rlm *rlm, const char *space, const char *task)
{
    for (size_t i = 0; i < rlm->n_domain; i++)
        if (!strcmp(rlm->domain[i].space, space) && !strcmp(rlm->domain[i].task, task))
            return &rlm->domain[i];
    return NULL;
}

nas_rlm_domain *nas_rlm_domain_of(nas_rlm *rlm, const char *space, const char *task, bool make)
{
    nas_rlm_domain *domain = find_domain(rlm, space, task);
    if (domain || !make)
        return domain;
    rlm->domain = nas_grow(rlm->domain, &rlm->domain_cap, rlm->n_domain + 1, sizeof *rlm->domain);
    domain = &rlm->domain[rlm->n_domain++];
    *domain = (nas_rlm_domain){.seen = {.number = rlm->schema.number}};
    snprintf(domain->space, sizeof domain->space, "%s", space);
    snprintf(domain->task, sizeof domain->task, "%s", task);
    return domain;
}

bool nas_rlm_knows(const nas_rlm *rlm, const char *space, const char *task, size_t metric)
{
    const nas_rlm_domain *d = find_domain(rlm, space, task);
    return d && nas_metric_find(d->seen.metric, d->seen.n, rlm->schema.metric[metric].name) >= 0;
}

void nas_rlm_view(const nas_rlm *rlm, const char *space, const char *task, nas_scale *scale,
                  nas_schema *view)
{
    const nas_rlm_domain *d = find_domain(rlm, space, task);
    *view = rlm->schema;
    view->scale = scale;
    for (size_t i = 0; i < view->n; i++) {
        int k = d ? nas_metric_find(d->seen.metric, d->seen.n, view->metric[i].name) : -1;
        scale[i] = k >= 0 ? d->seen.scale[k] : rlm->schema.scale[i];
    }
}

/* ---- more metrics ---- */

/* Copies every tensor into the one of the same name, which has at least as many rows. */
static void copy_weights(nas_model *to, const nas_model *from)
{
    for (size_t i = 0; i < from->tensors.n; i++) {
        const nas_tensor *t = &from->tensors.tensor[i];
        const nas_tensor *place = nas_tensors_find(&to->tensors, t->name);
        assert(place && place->count >= t->count && place->cols == t->cols);
        memcpy(to->weights + place->at, from->weights + t->at, t->count * sizeof *to->weights);
    }
}

nas_status nas_rlm_extend(nas_rlm *rlm, const nas_schema *more, const nas_rng *rng, nas_err *err)
{
    size_t known = rlm->schema.n;
    for (size_t i = 0; i < more->n; i++) {
        if (nas_metric_find(rlm->schema.metric, rlm->schema.n, more->metric[i].name) >= 0)
            continue;
        nas_status status = nas_schema_add(&rlm->schema, &more->metric[i], err);
        if (status)
            return status;
        rlm->schema.scale[rlm->schema.n - 1] = more->scale[i];
    }
    if (known == rlm->schema.n)
        return NAS_OK;
    nas_model_config config = rlm->model->config;
    config.decoder_vocab = (size_t)nas_schema_size(&rlm->schema);
    nas_model *model = nas_model_new(&config, rng, err);
    if (!model)
        return err->code;
    copy_weights(model, rlm->model);
    nas_model_pack(model, false);
    json_object_update(model->meta, rlm->model->meta);
    nas_model_free(rlm->model);
    rlm->model = model;
    return NAS_OK;
}

/* ---- files ---- */

static void describe_domains(const nas_rlm *rlm)
{
    json_t *all = json_array();
    nas_bytes text = {0};
    for (size_t i = 0; i < rlm->n_domain; i++) {
        const nas_rlm_domain *d = &rlm->domain[i];
        nas_bytes_reset(&text);
        nas_schema_print(&d->seen, &text);
        json_array_append_new(all, json_pack("{s:s, s:s, s:s}", "space", d->space, "task", d->task,
                                             "seen", text.data));
    }
    char *dumped = json_dumps(all, JSON_COMPACT);
    nas_model_set_meta(rlm->model, "domains", dumped);
    free(dumped);
    json_decref(all);
    nas_bytes_clear(&text);
}

void nas_rlm_describe(const nas_rlm *rlm)
{
    nas_bytes text = {0};
    nas_vocab_print(rlm->vocab, &text);
    nas_model_set_meta(rlm->model, "vocabulary", text.data);
    nas_bytes_reset(&text);
    nas_schema_print(&rlm->schema, &text);
    nas_model_set_meta(rlm->model, "schema", text.data);
    nas_bytes_reset(&text);
    nas_bytes_print(&text, "%zu", rlm->numbers);
    nas_model_set_meta(rlm->model, "numbers", text.data);
    nas_bytes_clear(&text);
    describe_domains(rlm);
}

nas_status nas_rlm_save(const nas_rlm *rlm, const char *path, nas_err *err)
{
    nas_rlm_describe(rlm);
    return nas_model_save(rlm->model, path, err);
}

static nas_status read_domain(nas_rlm *rlm, json_t *item, nas_err *err)
{
    const char *space, *task, *seen;
    if (json_unpack(item, "{s:s, s:s, s:s !}", "space", &space, "task", &task, "seen", &seen) ||
        strlen(space) >= sizeof rlm->domain->space || strlen(task) >= sizeof rlm->domain->task)
        return nas_fail(err, NAS_FAILED, "domain %zu is not complete", rlm->n_domain);
    if (find_domain(rlm, space, task))
        return nas_fail(err, NAS_FAILED, "domain %s/%s is there twice", space, task);
    nas_rlm_domain *d = nas_rlm_domain_of(rlm, space, task, true);
    if (nas_schema_parse(&d->seen, seen, strlen(seen), err))
        return nas_fail_in(err, "domain %s/%s", space, task);
    for (size_t i = 0; i < d->seen.n; i++)
        if (nas_metric_find(rlm->schema.metric, rlm->schema.n, d->seen.metric[i].name) < 0)
            return nas_fail(err, NAS_FAILED, "domain %s/%s has the metric '%s', the model has not",
                            space, task, d->seen.metric[i].name);
    return NAS_OK;
}

static nas_status read_domains(nas_rlm *rlm, const char *text, nas_err *err)
{
    json_t *all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    nas_status status = NAS_OK;
    if (!json_is_array(all))
        status = nas_fail(err, NAS_FAILED, "metadata 'domains' is no JSON array");
    for (size_t i = 0; status == NAS_OK && i < json_array_size(all); i++)
        status = read_domain(rlm, json_array_get(all, i), err);
    json_decref(all);
    return status;
}

static nas_status check_sizes(const nas_rlm *rlm, nas_err *err)
{
    size_t pieces = (size_t)nas_vocab_pieces(rlm->vocab) + 1;
    size_t ids = (size_t)nas_schema_size(&rlm->schema);
    const nas_model_config *c = &rlm->model->config;
    if (c->encoder_vocab != pieces)
        return nas_fail(err, NAS_FAILED,
                        "the vocabulary has %zu ids, the model's embedding has %zu rows", pieces,
                        c->encoder_vocab);
    if (c->decoder_vocab != ids)
        return nas_fail(err, NAS_FAILED, "the metrics take %zu ids, the model's head has %zu rows",
                        ids, c->decoder_vocab);
    return NAS_OK;
}

/* The parts that metadata holds, put together with model; NULL leaves model alone. */
static nas_rlm *read_parts(nas_model *model, nas_err *err)
{
    const char *vocabulary = nas_model_meta(model, "vocabulary");
    const char *metrics = nas_model_meta(model, "schema");
    const char *domains = nas_model_meta(model, "domains");
    const char *missing = !vocabulary ? "vocabulary" : !metrics ? "schema" : "domains";
    if (!vocabulary || !metrics || !domains) {
        nas_fail(err, NAS_FAILED, "the metadata has no '%s': not made by naslm train", missing);
        return NULL;
    }
    nas_schema schema;
    nas_vocab *vocab = nas_vocab_parse(vocabulary, strlen(vocabulary), err);
    if (!vocab || nas_schema_parse(&schema, metrics, strlen(metrics), err)) {
        nas_vocab_free(vocab);
        return NULL;
    }
    nas_rlm *rlm = put_together(model, vocab, &schema);
    const char *numbers = nas_model_meta(model, "numbers");
    rlm->numbers = numbers ? strtoul(numbers, NULL, 10) : 0;
    if (!read_domains(rlm, domains, err) && !check_sizes(rlm, err))
        return rlm;
    rlm->model = NULL;
    nas_rlm_free(rlm);
    return NULL;
}

nas_rlm *nas_rlm_load(const char *path, nas_err *err)
{
    nas_model *model = nas_model_load(path, err);
    nas_rlm *rlm = model ? read_parts(model, err) : NULL;
    if (rlm || !model)
        return rlm;
    nas_model_free(model);
    err->code = NAS_FAILED;
    nas_fail_in(err, "'%s'", path);
    return NULL;
}

/* ---- reading ---- */

nas_status nas_rlm_prompt(const nas_space *space, const nas_task *task, const nas_arch *arch,
                          nas_bytes *text, nas_err *err)
{
    nas_graph *graph = nas_space_build(space, arch, task);
    nas_status status = nas_export_prompt(graph, space->name, task->name, text, err);
    nas_graph_free(graph);
    return status;
}

nas_status nas_rlm_encode(const nas_rlm *rlm, const nas_bytes *text, int32_t **id, size_t *cap,
                          size_t *n, nas_err *err)
{
    size_t window = rlm->model->config.max_input;
    if (text->size == 0)
        return nas_fail(err, NAS_FAILED, "the text is empty");
    *id = nas_grow(*id, cap, text->size, sizeof **id);
    *n = nas_vocab_encode(rlm->vocab, text->data, text->size, *id);
    if (*n > window)
        return nas_fail(err, NAS_FAILED, "the text has %zu tokens, the model reads at most %zu", *n,
                        window);
    return NAS_OK;
}
