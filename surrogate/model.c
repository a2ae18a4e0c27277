#include "surrogate/model.h"

#include "spaces/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "encoder_decoder."

static nas_status check_config(const nas_model_config *c, nas_err *err)
{
    if (!c->d || !c->encoder_layers || !c->decoder_layers || !c->heads || !c->ffn ||
        !c->encoder_vocab || !c->decoder_vocab || !c->max_input)
        return nas_fail(err, NAS_USAGE, "a size of the model is 0");
    if (c->d % (2 * c->heads))
        return nas_fail(err, NAS_USAGE, "width %zu is not an even multiple of %zu heads", c->d,
                        c->heads);
    if (c->max_input > 1 << 17)
        return nas_fail(err, NAS_USAGE, "a window of %zu tokens is too long", c->max_input);
    return NAS_OK;
}

/* ---- the table of tensors ---- */

static nas_norm add_norm(nas_tensors *t, size_t d, const char *prefix, const char *name)
{
    nas_norm n;
    n.weight = nas_tensors_add(t, d, 0, -1, false, "%s%s.weight", prefix, name);
    n.bias = nas_tensors_add(t, d, 0, 0, false, "%s%s.bias", prefix, name);
    return n;
}

/* gain scales the initial values: 1 keeps the variance of the input. */
static nas_dense add_dense(nas_tensors *t, size_t out, size_t in, float gain, const char *prefix,
                           const char *name)
{
    nas_dense l = {.out = out, .in = in};
    float init = gain / sqrtf((float)in);
    l.weight = nas_tensors_add(t, out, in, init, true, "%s%sweight", prefix, name);
    l.bias = nas_tensors_add(t, out, 0, 0, false, "%s%sbias", prefix, name);
    return l;
}

/* The encoder's three projections lie together and are used as one. */
static nas_dense add_encoder_qkv(nas_tensors *t, size_t d, const char *prefix)
{
    nas_dense l = {.weight = t->count, .bias = t->count + 3 * d * d, .out = 3 * d, .in = d};
    float init = 1 / sqrtf((float)d);
    for (const char *p = "qkv"; *p; p++)
        nas_tensors_add(t, d, d, init, true, "%s%c_proj.weight", prefix, *p);
    for (const char *p = "qkv"; *p; p++)
        nas_tensors_add(t, d, 0, 0, false, "%s%c_proj.bias", prefix, *p);
    return l;
}

/* Rows first to first + out of a dense layer. */
static nas_dense dense_rows(const nas_dense *l, size_t first, size_t out)
{
    return (nas_dense){l->weight + first * l->in, l->bias + first, out, l->in, {0}, {0}};
}

static void add_encoder_layer(nas_layer *l, nas_tensors *t, const nas_model_config *c, size_t i)
{
    char prefix[40];
    snprintf(prefix, sizeof prefix, "encoder.layers.%zu.", i);
    float gain = 1 / sqrtf(2 * (float)c->encoder_layers); /* what is added to the stream */
    l->qkv = add_encoder_qkv(t, c->d, prefix);
    l->out = add_dense(t, c->d, c->d, gain, prefix, "out_proj.");
    l->norm[0] = add_norm(t, c->d, prefix, "norm1");
    l->norm[2] = add_norm(t, c->d, prefix, "norm2");
    l->up = add_dense(t, c->ffn, c->d, 1, prefix, "linear1.");
    l->down = add_dense(t, c->d, c->ffn, gain, prefix, "linear2.");
}

static void add_decoder_layer(nas_layer *l, nas_tensors *t, const nas_model_config *c, size_t i)
{
    char prefix[40];
    snprintf(prefix, sizeof prefix, "decoder.layers.%zu.", i);
    float gain = 1 / sqrtf(3 * (float)c->decoder_layers);
    l->cross = true;
    l->qkv = add_dense(t, 3 * c->d, c->d, 1, prefix, "self_attn.in_proj_");
    l->out = add_dense(t, c->d, c->d, gain, prefix, "self_attn.out_proj.");
    nas_dense cross = add_dense(t, 3 * c->d, c->d, 1, prefix, "multihead_attn.in_proj_");
    l->cross_q = dense_rows(&cross, 0, c->d);
    l->cross_kv = dense_rows(&cross, c->d, 2 * c->d);
    l->cross_out = add_dense(t, c->d, c->d, gain, prefix, "multihead_attn.out_proj.");
    l->norm[0] = add_norm(t, c->d, prefix, "norm1");
    l->norm[1] = add_norm(t, c->d, prefix, "norm2");
    l->norm[2] = add_norm(t, c->d, prefix, "norm3");
    l->up = add_dense(t, c->ffn, c->d, 1, prefix, "linear1.");
    l->down = add_dense(t, c->d, c->ffn, gain, prefix, "linear2.");
}

static void add_tensors(nas_model *m)
{
    const nas_model_config *c = &m->config;
    nas_tensors *t = &m->tensors;
    m->encoder = nas_zalloc(c->encoder_layers, sizeof *m->encoder);
    m->decoder = nas_zalloc(c->decoder_layers, sizeof *m->decoder);
    m->embedding =
        nas_tensors_add(t, c->encoder_vocab, c->d, 0.3f, false, "encoder.embedding.weight");
    for (size_t i = 0; i < c->encoder_layers; i++)
        add_encoder_layer(&m->encoder[i], t, c, i);
    m->memory_norm = add_norm(t, c->d, "encoder.", "norm");
    m->target_embedding =
        nas_tensors_add(t, c->decoder_vocab, c->d, 0.3f, false, "tgt_tok_emb.weight");
    for (size_t i = 0; i < c->decoder_layers; i++)
        add_decoder_layer(&m->decoder[i], t, c, i);
    m->head = add_dense(t, c->decoder_vocab, c->d, 0.3f, "", "generator.");
}

/* Angles are rounded to float as in the library whose checkpoints are read here. */
static float *rotary_table(const nas_model_config *c)
{
    size_t half = c->d / c->heads / 2;
    float *table = nas_alloc(c->max_input * half * 2 * sizeof *table);
    for (size_t i = 0; i < half; i++) {
        float speed = (float)pow(10000, -(double)i / (double)half);
        for (size_t t = 0; t < c->max_input; t++) {
            double angle = (float)t * speed;
            table[(t * half + i) * 2] = (float)cos(angle);
            table[(t * half + i) * 2 + 1] = (float)sin(angle);
        }
    }
    return table;
}

/* ---- life ---- */

/* Everything but the weights. */
static nas_model *plan(const nas_model_config *config, nas_err *err)
{
    const nas_kernels *kernels = nas_kernels_choose(err);
    if (!kernels || check_config(config, err))
        return NULL;
    nas_model *m = nas_zalloc(1, sizeof *m);
    m->config = *config;
    m->kernels = kernels;
    m->meta = json_object();
    add_tensors(m);
    return m;
}

static void finish(nas_model *m)
{
    m->rotary = rotary_table(&m->config);
    nas_model_pack(m, false);
}

nas_model *nas_model_new(const nas_model_config *config, const nas_rng *rng, nas_err *err)
{
    nas_model *m = plan(config, err);
    if (!m)
        return NULL;
    m->weights = nas_alloc(m->tensors.count * sizeof *m->weights);
    nas_tensors_init(&m->tensors, m->weights, rng);
    finish(m);
    return m;
}

static size_t dim(const nas_safetensors *file, const char *name, size_t i)
{
    const nas_safetensor *t = nas_safetensors_find(file, name);
    return t && i < t->n_dim ? t->dim[i] : 0;
}

static size_t count_layers(const nas_safetensors *file, const char *stack)
{
    size_t n = 0;
    char name[100];
    do
        snprintf(name, sizeof name, PREFIX "%s.layers.%zu.linear1.weight", stack, n);
    while (nas_safetensors_find(file, name) && ++n);
    return n;
}

static nas_status read_count(const nas_safetensors *file, const char *key, size_t *value,
                             nas_err *err)
{
    const char *text = nas_safetensors_meta(file, key);
    char *end = NULL;
    if (!text)
        return NAS_OK;
    long n = strtol(text, &end, 10);
    if (end == text || *end || n < 1 || n > 1 << 20)
        return nas_fail(err, NAS_FAILED, "metadata %s='%.40s' is not a count", key, text);
    *value = (size_t)n;
    return NAS_OK;
}

static nas_status read_config(nas_model_config *c, const nas_safetensors *file, nas_err *err)
{
    *c = (nas_model_config){
        .d = dim(file, PREFIX "encoder.embedding.weight", 1),
        .encoder_vocab = dim(file, PREFIX "encoder.embedding.weight", 0),
        .decoder_vocab = dim(file, PREFIX "tgt_tok_emb.weight", 0),
        .encoder_layers = count_layers(file, "encoder"),
        .decoder_layers = count_layers(file, "decoder"),
        .ffn = dim(file, PREFIX "encoder.layers.0.linear1.weight", 0),
        .heads = 8,
        .max_input = 2048,
    };
    nas_status status = read_count(file, "heads", &c->heads, err);
    if (!status)
        status = read_count(file, "max_input_len", &c->max_input, err);
    if (!status && (!c->d || !c->encoder_layers || !c->decoder_layers || !c->decoder_vocab))
        status = nas_fail(err, NAS_FAILED, "holds no regression language model (no '%s' tensors)",
                          PREFIX);
    return status;
}

nas_status nas_model_read(nas_model *m, const nas_safetensors *file, nas_err *err)
{
    nas_status status = nas_tensors_check(&m->tensors, file, PREFIX, err);
    if (status)
        return status;
    if (!m->weights)
        m->weights = nas_alloc(m->tensors.count * sizeof *m->weights);
    return nas_tensors_read(&m->tensors, file, PREFIX, m->weights, err);
}

nas_model *nas_model_load(const char *path, nas_err *err)
{
    nas_safetensors *file = nas_safetensors_open(path, err);
    nas_model_config config;
    nas_model *m = NULL;
    nas_status status = file ? NAS_OK : NAS_FAILED;
    if (file && !(status = read_config(&config, file, err)) && !(m = plan(&config, err)))
        status = NAS_FAILED;
    if (!status)
        status = nas_model_read(m, file, err);
    if (!status) {
        json_object_update(m->meta, (json_t *)nas_safetensors_metadata(file));
        finish(m);
    } else {
        if (file)
            nas_fail_in(err, "'%s'", path);
        nas_model_free(m);
        m = NULL;
    }
    nas_safetensors_free(file);
    return m;
}

static void clear_dense(nas_dense *l)
{
    nas_packed_clear(&l->forward);
    nas_packed_clear(&l->back);
}

static void clear_layers(nas_layer *layers, size_t n)
{
    for (nas_layer *l = layers; l && l < layers + n; l++) {
        nas_dense *all[] = {&l->qkv,       &l->out, &l->cross_q, &l->cross_kv,
                            &l->cross_out, &l->up,  &l->down};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            clear_dense(all[i]);
    }
    free(layers);
}

void nas_model_free(nas_model *m)
{
    if (!m)
        return;
    clear_layers(m->encoder, m->config.encoder_layers);
    clear_layers(m->decoder, m->config.decoder_layers);
    clear_dense(&m->head);
    nas_tensors_clear(&m->tensors);
    free(m->weights);
    free(m->rotary);
    json_decref(m->meta);
    free(m);
}

/* ---- packing ---- */

static void pack_dense(const nas_model *m, nas_dense *l, const nas_product *product, bool back)
{
    const float *w = m->weights + l->weight;
    nas_packed_fill(&l->forward, product, l->in, l->out, (nas_view){w, 1, l->in});
    if (back)
        nas_packed_fill(&l->back, product, l->out, l->in, (nas_view){w, l->in, 1});
}

static void pack_layer(const nas_model *m, nas_layer *l, bool back)
{
    nas_dense *all[] = {&l->qkv,     &l->out,      &l->up,       &l->down,
                        &l->cross_q, &l->cross_kv, &l->cross_out};
    for (size_t i = 0; i < (l->cross ? 7 : 4); i++)
        pack_dense(m, all[i], m->kernels->linear, back);
}

void nas_model_pack(nas_model *m, bool back)
{
    for (size_t i = 0; i < m->config.encoder_layers; i++)
        pack_layer(m, &m->encoder[i], back);
    for (size_t i = 0; i < m->config.decoder_layers; i++)
        pack_layer(m, &m->decoder[i], back);
    pack_dense(m, &m->head, m->kernels->exact, back);
}

/* ---- files ---- */

static void set_count(json_t *meta, const char *key, size_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", value);
    json_object_set_new(meta, key, json_string(text));
}

nas_status nas_model_save_with(const nas_model *m, const char *path, const nas_tensor_block *blocks,
                               size_t n, nas_err *err)
{
    const nas_model_config *c = &m->config;
    json_t *meta = json_copy(m->meta);
    set_count(meta, "d_model", c->d);
    set_count(meta, "encoder_layers", c->encoder_layers);
    set_count(meta, "decoder_layers", c->decoder_layers);
    set_count(meta, "heads", c->heads);
    set_count(meta, "ffn", c->ffn);
    set_count(meta, "encoder_vocab", c->encoder_vocab);
    set_count(meta, "decoder_vocab", c->decoder_vocab);
    set_count(meta, "max_input_len", c->max_input);
    nas_tensor_block *all = nas_alloc((n + 1) * sizeof *all);
    all[0] = (nas_tensor_block){PREFIX, m->weights};
    for (size_t i = 0; i < n; i++)
        all[i + 1] = blocks[i];
    nas_status status = nas_tensors_save(&m->tensors, path, all, n + 1, meta, err);
    free(all);
    json_decref(meta);
    return status;
}

nas_status nas_model_save(const nas_model *m, const char *path, nas_err *err)
{
    return nas_model_save_with(m, path, NULL, 0, err);
}

const char *nas_model_meta(const nas_model *m, const char *key)
{
    return json_string_value(json_object_get(m->meta, key));
}

void nas_model_set_meta(nas_model *m, const char *key, const char *text)
{
    if (text)
        json_object_set_new(m->meta, key, json_string(text));
    else
        json_object_del(m->meta, key);
}
