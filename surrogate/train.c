#include "surrogate/train.h"

#include "spaces/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nas_trainer {
    nas_model *model;
    const nas_batch *data;
    nas_train_config config;
    nas_optim *optim;
    nas_tape *tape;
    float *grad; /* block */
    float *kept; /* block, or NULL */
    size_t *order;
    uint64_t order_epoch;   /* of which epoch order is; UINT64_MAX: none */
    uint64_t epoch_batches; /* updates an epoch */
    nas_chosen chosen;
    float *loss; /* (batch) */
};

nas_trainer *nas_trainer_new(nas_model *model, const nas_batch *data,
                             const nas_train_config *config)
{
    nas_trainer *t = nas_zalloc(1, sizeof *t);
    t->model = model;
    t->data = data;
    t->config = *config;
    t->epoch_batches = (data->input.n + config->batch - 1) / config->batch;
    if (!t->config.optim.steps)
        t->config.optim.steps = config->epochs * t->epoch_batches;
    t->optim = nas_optim_new(&model->tensors, &t->config.optim);
    t->tape = nas_tape_new(model, true);
    nas_tape_rank(t->tape, &config->ranking);
    t->grad = nas_alloc(model->tensors.count * sizeof *t->grad);
    t->order = nas_alloc((data->input.n + 1) * sizeof *t->order);
    t->order_epoch = UINT64_MAX;
    t->loss = nas_alloc(config->batch * sizeof *t->loss);
    nas_model_pack(model, true);
    return t;
}

void nas_trainer_free(nas_trainer *t)
{
    if (!t)
        return;
    nas_optim_free(t->optim);
    nas_tape_free(t->tape);
    nas_chosen_clear(&t->chosen);
    free(t->grad);
    free(t->kept);
    free(t->order);
    free(t->loss);
    free(t);
}

/* How many of the n examples from index on fit into most_rows tokens; at least 1. */
static size_t part_of(const nas_batch *data, const size_t *index, size_t n, size_t most_rows)
{
    size_t rows = 0, i = 0;
    for (; i < n; i++) {
        rows += nas_spans_size(data->input, index[i]) + nas_spans_size(data->output, index[i]);
        if (i > 0 && most_rows && rows > most_rows)
            break;
    }
    return i;
}

/* The gradient of the mean loss of n examples, in parts; returns that loss. */
static double gradient(nas_trainer *t, const size_t *index, size_t n, uint64_t step, size_t *tokens)
{
    nas_rng root = nas_rng_seed(t->config.seed), rng = nas_rng_child(&root, "dropout", step);
    double sum = 0;
    memset(t->grad, 0, t->model->tensors.count * sizeof *t->grad);
    for (size_t i = 0; i < n;) {
        size_t part = part_of(t->data, index + i, n - i, t->config.most_rows);
        nas_chosen_fill(&t->chosen, t->data, index + i, part);
        nas_rng noise = nas_rng_child(&rng, "part", i);
        nas_tape_dropout(t->tape, t->config.dropout, &noise);
        nas_tape_forward(t->tape, &t->chosen.batch);
        nas_tape_loss(t->tape, &t->chosen.batch, t->loss, NULL);
        nas_tape_back(t->tape, &t->chosen.batch, 1 / (float)n, t->grad);
        for (size_t j = 0; j < part; j++)
            sum += t->loss[j];
        *tokens += nas_spans_rows(t->chosen.batch.input) + nas_spans_rows(t->chosen.batch.output);
        i += part;
    }
    return sum / (double)n;
}

bool nas_trainer_step(nas_trainer *t, nas_train_report *report)
{
    uint64_t step = t->optim->step, steps = t->config.epochs * t->epoch_batches;
    if (step >= steps)
        return false;
    uint64_t epoch = step / t->epoch_batches;
    size_t first = (size_t)(step % t->epoch_batches) * t->config.batch;
    size_t n = t->data->input.n - first;
    if (epoch != t->order_epoch)
        nas_train_order(t->order, t->data, t->config.batch, t->config.seed, epoch);
    t->order_epoch = epoch;
    *report = (nas_train_report){.step = step + 1, .steps = steps, .epoch = epoch};
    report->loss = gradient(t, t->order + first, n < t->config.batch ? n : t->config.batch, step,
                            &report->tokens);
    report->norm = nas_optim_step(t->optim, t->model->weights, t->grad);
    nas_model_pack(t->model, true);
    return true;
}

size_t nas_trainer_bytes(const nas_trainer *t)
{
    size_t blocks = t->optim->average ? 6 : 5, rows = t->config.most_rows;
    size_t longest = nas_spans_longest(t->data->input), out = nas_spans_longest(t->data->output);
    if (!rows || rows > t->config.batch * (longest + out))
        rows = t->config.batch * (longest + out);
    size_t share = rows / (longest + out) + 1;
    return blocks * t->model->tensors.count * sizeof(float) +
           nas_tape_bytes(t->model, true, share * longest, share * out);
}

/* ---- checkpoint ---- */

static const char KEPT[] = "kept.";

nas_status nas_trainer_save(const nas_trainer *t, const char *path, nas_err *err)
{
    nas_tensor_block blocks[4];
    char text[24];
    size_t n = nas_optim_blocks(t->optim, blocks);
    if (t->kept)
        blocks[n++] = (nas_tensor_block){KEPT, t->kept};
    snprintf(text, sizeof text, "%llu", (unsigned long long)t->optim->step);
    nas_model_set_meta(t->model, "train_step", text);
    return nas_model_save_with(t->model, path, blocks, n, err);
}

/* The weights that were kept, if there are any. */
static nas_status read_kept(nas_trainer *t, const nas_safetensors *file, nas_err *err)
{
    char name[100];
    snprintf(name, sizeof name, "%s%s", KEPT, t->model->tensors.tensor[0].name);
    if (!nas_safetensors_find(file, name))
        return NAS_OK;
    if (nas_tensors_check(&t->model->tensors, file, KEPT, err))
        return err->code;
    nas_trainer_keep(t);
    return nas_tensors_read(&t->model->tensors, file, KEPT, t->kept, err);
}

nas_status nas_trainer_resume(nas_trainer *t, const char *path, nas_err *err)
{
    nas_safetensors *file = nas_safetensors_open(path, err);
    if (!file)
        return NAS_FAILED;
    const char *text = nas_safetensors_meta(file, "train_step");
    char *end = NULL;
    unsigned long long step = text ? strtoull(text, &end, 10) : 0;
    nas_status status = NAS_OK;
    if (!text || end == text || *end)
        status = nas_fail(err, NAS_FAILED, "holds no training to resume");
    if (!status)
        status = nas_model_read(t->model, file, err);
    if (!status)
        status = nas_optim_read(t->optim, file, err);
    if (!status)
        status = read_kept(t, file, err);
    if (status)
        nas_fail_in(err, "'%s'", path);
    else
        t->optim->step = step;
    nas_model_pack(t->model, true);
    nas_safetensors_free(file);
    return status;
}

void nas_trainer_swap(nas_trainer *t)
{
    for (size_t i = 0; t->optim->average && i < t->model->tensors.count; i++) {
        float kept = t->model->weights[i];
        t->model->weights[i] = t->optim->average[i];
        t->optim->average[i] = kept;
    }
    nas_model_pack(t->model, true);
}

void nas_trainer_keep(nas_trainer *t)
{
    size_t size = t->model->tensors.count * sizeof *t->kept;
    if (!t->kept)
        t->kept = nas_alloc(size);
    memcpy(t->kept, t->model->weights, size);
}

void nas_trainer_recall(nas_trainer *t)
{
    if (t->kept)
        memcpy(t->model->weights, t->kept, t->model->tensors.count * sizeof *t->kept);
    nas_model_pack(t->model, true);
}

double nas_model_loss(const nas_model *model, const nas_batch *data, size_t most_rows)
{
    size_t n = data->input.n, *index = nas_alloc((n + 1) * sizeof *index);
    float *loss = nas_alloc((n + 1) * sizeof *loss);
    nas_tape *tape = nas_tape_new(model, false);
    nas_chosen chosen = {0};
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        index[i] = i;
    for (size_t i = 0, part; i < n; i += part) {
        part = part_of(data, index + i, n - i, most_rows);
        nas_chosen_fill(&chosen, data, index + i, part);
        nas_tape_forward(tape, &chosen.batch);
        nas_tape_loss(tape, &chosen.batch, loss, NULL);
        for (size_t j = 0; j < part; j++)
            sum += loss[j];
    }
    nas_chosen_clear(&chosen);
    nas_tape_free(tape);
    free(index);
    free(loss);
    return n ? sum / (double)n : 0;
}
