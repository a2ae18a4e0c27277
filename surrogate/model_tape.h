/* What does the model answer for a batch, and how does the loss depend on each weight?
 *
 *     nas_tape *tape = nas_tape_new(model, true);
 *     nas_tape_forward(tape, &batch);                     // tape: memory, logits
 *     nas_tape_loss(tape, &batch, loss, log_prob);        // one value an example
 *     nas_tape_back(tape, &batch, 1.0f / batch.input.n, grad);
 *
 * A tape remembers what the backward pass needs; its memory grows to the largest batch and stays.
 * The results for an example have the same bits in any batch and with any number of threads. */
#ifndef NAS_SURROGATE_MODEL_TAPE_H
#define NAS_SURROGATE_MODEL_TAPE_H

#include "surrogate/model_ops.h"

/* Token ids of several examples, one behind the other. Each has at least one token in and out. */
typedef struct {
    nas_spans input, output;
    const int32_t *tokens;  /* encoder ids, at most max_input an example */
    const int32_t *shifted; /* decoder input: 0, then the target without its last token */
    const int32_t *target;  /* decoder ids; 0 counts nowhere in the loss */
} nas_batch;

typedef struct nas_tape nas_tape;

nas_tape *nas_tape_new(const nas_model *model, bool train);
void nas_tape_free(nas_tape *tape);

/* From now on each hidden value of the feed-forward parts is left out with this probability, by
 * numbers from rng; 0 (as at the start): none is. */
void nas_tape_dropout(nas_tape *tape, double share, const nas_rng *rng);

/* Numbers of one metric that a batch holds shall also be expected in their order. The first digit
 * is what is compared, of numbers written as plus, one (the exponent of 1..9.99), digits: as fitted
 * scales write them. The loss of a pair is log(1 + exp(-difference / temperature)) of the expected
 * first digits (RankNet: Burges et al., 2005), and its mean over all pairs counts weight times. */
enum { NAS_RANK_BASE = 10 };
typedef struct {
    float weight, temperature; /* weight 0, as at the start: none of this */
    int32_t plus, one, digit;  /* decoder ids; digit is that of 0 */
    int digits;
} nas_ranking;
void nas_tape_rank(nas_tape *tape, const nas_ranking *ranking);

/* Bytes that a tape takes for a batch of these numbers of rows. */
size_t nas_tape_bytes(const nas_model *model, bool train, size_t input_rows, size_t output_rows);

void nas_tape_encode(nas_tape *tape, const nas_batch *batch);  /* only the memory */
void nas_tape_forward(nas_tape *tape, const nas_batch *batch); /* memory and logits */

const float *nas_tape_memory(const nas_tape *tape); /* (input rows, d) */
const float *nas_tape_logits(const nas_tape *tape); /* (output rows, decoder_vocab) */

/* For each example: loss = mean of -log p over targets other than 0, log_prob = sum of log p. */
void nas_tape_loss(const nas_tape *tape, const nas_batch *batch, float *loss, float *log_prob);

/* The mean ranking loss over the pairs of a batch after its forward pass, without the weight. */
double nas_tape_rank_loss(nas_tape *tape, const nas_batch *batch);

/* Adds to grad (a block of the model's tensors) the gradient of scale * (sum of the losses + number
 * of examples * weight * ranking loss). After
 * nas_tape_forward of the same batch on a tape made with train, and nas_model_pack with back. */
void nas_tape_back(nas_tape *tape, const nas_batch *batch, float scale, float *grad);

#endif
