/* What does the model say next? A decoder that remembers keys and values of all prefixes.
 *
 *     nas_decoder_start(decoder, inputs, tokens);       // prefix i < n: input i, no token yet
 *     logits = nas_decoder_step(decoder, n, prefix, token);   // n longer prefixes, one row each
 *     first = nas_decoder_count(decoder) - n;           // their ids: first to first + n - 1
 *     nas_decoder_forget(decoder, mark);                // drops the prefixes from mark on
 *
 * A prefix is an input and the tokens after the start token. Any prefix can be continued any number
 * of times, so samples and the branches of a digit tree share all they have in common; the keys and
 * values of an input are computed once. The logits of a prefix have the same bits in whatever
 * company, order or batch it is asked for. */
#ifndef NAS_SURROGATE_DECODE_H
#define NAS_SURROGATE_DECODE_H

#include "spaces/base/rng.h"
#include "surrogate/model_tape.h"
#include "surrogate/number.h"

typedef struct nas_decoder nas_decoder;

nas_decoder *nas_decoder_new(const nas_model *model);
void nas_decoder_free(nas_decoder *decoder);

/* Encodes the inputs (each 1 to max_input tokens) and forgets all earlier prefixes. */
void nas_decoder_start(nas_decoder *decoder, nas_spans inputs, const int32_t *tokens);
/* The logits (inputs, decoder_vocab) of the first token of each input; valid until the next step.
 */
const float *nas_decoder_first(const nas_decoder *decoder);

/* Appends token[i] to prefix[i] for i < n and returns the logits (n, decoder_vocab) of what
 * follows, valid until the next call. prefix[i] may be one that this call makes for a smaller i:
 * known tokens are best given in one call. */
const float *nas_decoder_step(nas_decoder *decoder, size_t n, const int32_t *prefix,
                              const int32_t *token);

size_t nas_decoder_count(const nas_decoder *decoder);
void nas_decoder_forget(nas_decoder *decoder, size_t count); /* keeps the first count >= inputs */

/* ---- one token from a row of logits, among legal ids only ---- */

int32_t nas_token_best(const float *logit, nas_token_set legal); /* the smallest id of equals */
/* Draws from softmax(logit / temperature), cut to the most probable ids that together have at least
 * top_p (1: all). temperature > 0. */
int32_t nas_token_draw(const float *logit, nas_token_set legal, double temperature, double top_p,
                       nas_rng *rng);

#endif
