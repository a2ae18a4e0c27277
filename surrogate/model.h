/* What does the regression language model consist of? Sizes, weights and metadata.
 *
 *     nas_model *model = nas_model_load("model.safetensors", &err);   // or nas_model_new
 *     nas_tape *tape = nas_tape_new(model, false);                     // surrogate/model_tape.h
 *     nas_tape_forward(tape, &batch);
 *     nas_model_free(model);
 *
 * The network is the encoder-decoder of the public regress-lm library ("Regression Language Models
 * for Code", arXiv:2509.26476): a pre-norm encoder with rotary positions and a final norm, a
 * pre-norm decoder with sinusoidal positions, cross-attention and no final norm, ReLU between.
 * Tensors carry that library's names. Everything else a file needs (vocabulary, metrics,
 * provenance) is text in the metadata, which the model carries along unread. */
#ifndef NAS_SURROGATE_MODEL_H
#define NAS_SURROGATE_MODEL_H

#include "surrogate/kernel.h"
#include "surrogate/tensor.h"

typedef struct {
    size_t d;                              /* width, a multiple of heads */
    size_t encoder_layers, decoder_layers; /* at least 1 each */
    size_t heads;                          /* width / heads is even */
    size_t ffn;                            /* hidden width of the feed-forward part */
    size_t encoder_vocab, decoder_vocab;   /* ids below; decoder id 0 is pad and start */
    size_t max_input;                      /* tokens the encoder takes */
} nas_model_config;

/* y = x W^T + b with W (out, in); the packed forms are filled by nas_model_pack. */
typedef struct {
    size_t weight, bias; /* places in a block */
    size_t out, in;
    nas_packed forward, back;
} nas_dense;

typedef struct {
    size_t weight, bias;
} nas_norm;

/* x += attention(norm[0] x); decoder: x += cross(norm[1] x, memory); x += down relu up norm[2] x */
typedef struct {
    bool cross;
    nas_norm norm[3]; /* norm[1] only with cross */
    nas_dense qkv, out;
    nas_dense cross_q, cross_kv, cross_out;
    nas_dense up, down;
} nas_layer;

/* Read by everybody, written by the functions below and, weights only, by training. */
typedef struct {
    nas_model_config config;
    const nas_kernels *kernels;
    nas_tensors tensors;
    float *weights; /* one block; call nas_model_pack after a change */
    size_t embedding, target_embedding;
    nas_layer *encoder, *decoder;
    nas_norm memory_norm;
    nas_dense head;
    float *rotary; /* (max_input, width / heads / 2) pairs {cos, sin} */
    json_t *meta;  /* object of strings: what the file says beside the sizes */
} nas_model;

/* Initial weights from rng. NAS_USAGE for sizes that do not fit together. */
nas_model *nas_model_new(const nas_model_config *config, const nas_rng *rng, nas_err *err);
/* Sizes come from the tensors' shapes; heads (8) and max_input_len (2048) from the metadata. */
nas_model *nas_model_load(const char *path, nas_err *err);
void nas_model_free(nas_model *model);

nas_status nas_model_save(const nas_model *model, const char *path, nas_err *err);
/* The same with more blocks of the model's tensors (moments of an optimizer) in the file. */
nas_status nas_model_save_with(const nas_model *model, const char *path,
                               const nas_tensor_block *blocks, size_t n, nas_err *err);

/* Replaces the weights by those in file, which must have the same sizes; pack afterwards. */
nas_status nas_model_read(nas_model *model, const nas_safetensors *file, nas_err *err);

/* Packs the weights for products; with back also for the backward pass. */
void nas_model_pack(nas_model *model, bool back);

/* Metadata: NULL when absent; set copies both, and removes what it is set to NULL. */
const char *nas_model_meta(const nas_model *model, const char *key);
void nas_model_set_meta(nas_model *model, const char *key, const char *text);

#endif
