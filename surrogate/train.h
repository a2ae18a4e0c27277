/* How does the model learn? Batches of similar length, one update after the other, resumable.
 *
 *     nas_trainer *trainer = nas_trainer_new(model, &data, &config);
 *     while (nas_trainer_step(trainer, &report))
 *         …;                                            // report: loss, tokens, norm
 *     status = nas_trainer_save(trainer, "run.safetensors", &err);
 *     nas_trainer_free(trainer);
 *
 * The data are one large nas_batch. Each epoch visits every example once, in an order that depends
 * on the seed and the epoch only, so a resumed run continues with the same bits. */
#ifndef NAS_SURROGATE_TRAIN_H
#define NAS_SURROGATE_TRAIN_H

#include "surrogate/model_tape.h"
#include "surrogate/optim.h"

typedef struct {
    nas_optim_config optim; /* steps 0: as many as the epochs have */
    size_t batch;           /* examples an update */
    size_t most_rows;       /* tokens at once: a larger batch is taken in parts; 0: no limit */
    uint64_t epochs, seed;
    double dropout; /* share of hidden values left out while learning */
    nas_ranking ranking;
} nas_train_config;

typedef struct {
    uint64_t step, steps, epoch;
    double loss;   /* mean over the examples of this update */
    double norm;   /* of the gradient */
    size_t tokens; /* read and written */
} nas_train_report;

typedef struct nas_trainer nas_trainer;

/* Keeps pointers to model and data. */
nas_trainer *nas_trainer_new(nas_model *model, const nas_batch *data,
                             const nas_train_config *config);
void nas_trainer_free(nas_trainer *trainer);

/* One update; false, and nothing done, when all epochs are over. */
bool nas_trainer_step(nas_trainer *trainer, nas_train_report *report);

/* Bytes of weights, those kept too, gradients, moments and the largest batch. */
size_t nas_trainer_bytes(const nas_trainer *trainer);

/* Writes the model with moments and step in one file; resume reads them into a trainer made with
 * the same data and config: what follows has the bits of a run that was never stopped. */
nas_status nas_trainer_save(const nas_trainer *trainer, const char *path, nas_err *err);
nas_status nas_trainer_resume(nas_trainer *trainer, const char *path, nas_err *err);

/* Exchanges the weights with their average: once before judging or saving, once to go on. */
void nas_trainer_swap(nas_trainer *trainer);

/* Remembers the model's weights as they are, instead of those that it kept before. */
void nas_trainer_keep(nas_trainer *trainer);
/* Gives the model the weights that were kept; nothing happens when none were. */
void nas_trainer_recall(nas_trainer *trainer);

/* Mean loss over the examples of data, without dropout. */
double nas_model_loss(const nas_model *model, const nas_batch *data, size_t most_rows);

/* ---- pieces ---- */

/* Copies the n chosen examples of data; {0} is empty and memory is reused. */
typedef struct {
    nas_batch batch;
    size_t *in_at, *out_at, at_cap[2];
    int32_t *tokens, *shifted, *target;
    size_t token_cap, out_cap[2];
} nas_chosen;

void nas_chosen_fill(nas_chosen *chosen, const nas_batch *data, const size_t *index, size_t n);
void nas_chosen_clear(nas_chosen *chosen);

/* An order of 0..n-1 for an epoch in which the examples of a batch have similar lengths. */
void nas_train_order(size_t *order, const nas_batch *data, size_t batch, uint64_t seed,
                     uint64_t epoch);

#endif
