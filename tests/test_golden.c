/* Parity with the public regress-lm library: every *.safetensors in the folder NASLM_GOLDEN
 * (default
 * ../shared/golden) holds a small model, inputs, and what the library answers; every tensor there
 * is compared. Values: 1e-4 relative; gradients: 1e-3 of the tensor's largest. */
#include "spaces/base/mem.h"
#include "surrogate/model_tape.h"
#include "surrogate/number.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX      "encoder_decoder."
#define GRAD_PREFIX "golden.grad."

static int cases, failures;

static void report(bool ok, const char *path, const char *what, double worst)
{
    cases++;
    failures += !ok;
    const char *name = strrchr(path, '/');
    printf("%sok %d - %s: %s (worst difference %.2g of what is allowed)\n", ok ? "" : "not ", cases,
           name ? name + 1 : path, what, worst);
}

/* One golden file, the model in it and the batch as ragged rows. */
typedef struct {
    const char *path;
    nas_safetensors *file;
    nas_model *model;
    nas_number number;
    size_t n, in_length, out_length; /* padded, as in the file */
    int32_t *tokens, *shifted, *target;
    size_t *in_at, *out_at;
    nas_batch batch;
    size_t compared;
} golden;

static const nas_safetensor *find(golden *g, const char *name, nas_dtype dtype)
{
    const nas_safetensor *t = nas_safetensors_find(g->file, name);
    if (!t || t->dtype != dtype) {
        report(false, g->path, name, INFINITY);
        return NULL;
    }
    g->compared++;
    return t;
}

static int32_t *ints(golden *g, const char *name, size_t *rows, size_t *columns)
{
    const nas_safetensor *t = find(g, name, NAS_I32);
    if (!t || t->n_dim != 2)
        return NULL;
    *rows = t->dim[0];
    *columns = t->dim[1];
    int32_t *copy = nas_alloc(t->count * sizeof *copy + 1);
    memcpy(copy, t->data, t->count * sizeof *copy);
    return copy;
}

/* Largest |a - b| / (share * max(|b|, floor)) over count values. */
static double worst_of(const float *a, const float *b, size_t count, double share, double floor)
{
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        double allowed = share * fmax(fabs(b[i]), floor), off = fabs((double)a[i] - b[i]);
        worst = isfinite(off) ? fmax(worst, off / allowed) : INFINITY;
    }
    return worst;
}

static double largest(const float *x, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

/* Compares to 1e-4 of each value, or of the tensor's typical size where a value is near zero. */
static void compare(golden *g, const char *name, const float *mine, size_t count)
{
    const nas_safetensor *t = find(g, name, NAS_F32);
    float *theirs = nas_alloc(count * sizeof *theirs);
    nas_err err = {0};
    if (t && nas_safetensor_floats(t, theirs, count, &err) == NAS_OK) {
        double norm = 0;
        for (size_t i = 0; i < count; i++)
            norm += (double)theirs[i] * theirs[i] / (double)count;
        double worst = worst_of(mine, theirs, count, 1e-4, sqrt(norm));
        report(worst <= 1, g->path, name, worst);
    } else {
        report(false, g->path, name, INFINITY);
    }
    free(theirs);
}

static void read_number(golden *g)
{
    const char *name = nas_safetensors_meta(g->file, "number_tokens");
    nas_err err = {0};
    const char *text = name && strcmp(name, "p10") == 0 ? "P10(4,10)" : "IEEE(10,2,5)";
    if (nas_number_parse(&g->number, text, &err))
        report(false, g->path, err.text, INFINITY);
}

/* Lengths without the pads, and the rows one behind the other. Every target row is kept: the
 * library computes logits behind the end too. */
static bool read_batch(golden *g)
{
    size_t n;
    g->tokens = ints(g, "golden.encoder_input", &g->n, &g->in_length);
    g->shifted = ints(g, "golden.decoder_input", &n, &g->out_length);
    g->target = ints(g, "golden.decoder_target", &n, &g->out_length);
    if (!g->tokens || !g->shifted || !g->target || n != g->n)
        return false;
    g->in_at = nas_zalloc(g->n + 1, sizeof *g->in_at);
    g->out_at = nas_zalloc(g->n + 1, sizeof *g->out_at);
    for (size_t i = 0; i < g->n; i++) {
        size_t length = g->in_length;
        while (length > 1 && g->tokens[i * g->in_length + length - 1] == 0)
            length--;
        memmove(g->tokens + g->in_at[i], g->tokens + i * g->in_length, length * sizeof *g->tokens);
        g->in_at[i + 1] = g->in_at[i] + length;
        g->out_at[i + 1] = g->out_at[i] + g->out_length;
    }
    g->batch = (nas_batch){.input = {g->n, g->in_at},
                           .output = {g->n, g->out_at},
                           .tokens = g->tokens,
                           .shifted = g->shifted,
                           .target = g->target};
    return true;
}

static void check_memory(golden *g, const nas_tape *tape)
{
    size_t d = g->model->config.d;
    float *padded = nas_zalloc(g->n * g->in_length * d, sizeof *padded);
    for (size_t i = 0; i < g->n; i++)
        memcpy(padded + i * g->in_length * d, nas_tape_memory(tape) + g->in_at[i] * d,
               (g->in_at[i + 1] - g->in_at[i]) * d * sizeof *padded);
    compare(g, "golden.memory", padded, g->n * g->in_length * d);
    free(padded);
}

static void check_grads(golden *g, const float *grad)
{
    for (size_t i = 0; i < g->model->tensors.n; i++) {
        const nas_tensor *t = &g->model->tensors.tensor[i];
        char name[200];
        snprintf(name, sizeof name, GRAD_PREFIX PREFIX "%s", t->name);
        const nas_safetensor *s = nas_safetensors_find(g->file, name);
        if (!s)
            snprintf(name, sizeof name, GRAD_PREFIX "%s", t->name);
        s = find(g, name, NAS_F32);
        float *theirs = nas_alloc(t->count * sizeof *theirs);
        nas_err err = {0};
        double worst = INFINITY;
        if (s && nas_safetensor_floats(s, theirs, t->count, &err) == NAS_OK) {
            double most = largest(theirs, t->count), allowed = most > 0 ? 1e-3 * most : 1e-6;
            worst = 0;
            for (size_t j = 0; j < t->count; j++) {
                double off = fabs((double)grad[t->at + j] - theirs[j]);
                worst = isfinite(off) ? fmax(worst, off / allowed) : INFINITY;
            }
        }
        report(worst <= 1, g->path, name, worst);
        free(theirs);
    }
}

/* The masked best token at every position, the prefix run again each time. */
static void greedy(golden *g, nas_tape *tape, int32_t *ids)
{
    size_t length = g->out_length - 1, vocab = g->model->config.decoder_vocab;
    int32_t *shifted = nas_zalloc(g->n * g->out_length, sizeof *shifted);
    nas_batch batch = g->batch;
    batch.shifted = shifted;
    for (size_t t = 0; t < length; t++) {
        nas_tape_forward(tape, &batch);
        for (size_t e = 0; e < g->n; e++) {
            const float *z = nas_tape_logits(tape) + (e * g->out_length + t) * vocab;
            size_t at = t % (size_t)g->number.length;
            nas_token_set legal = nas_number_legal(&g->number, ids + e * length + t - at, (int)at);
            int32_t best = -1;
            for (int32_t v = 0; v < (int32_t)vocab; v++)
                if (nas_token_set_has(legal, v) && (best < 0 || z[v] > z[best]))
                    best = v;
            ids[e * length + t] = shifted[e * g->out_length + t + 1] = best;
        }
    }
    free(shifted);
}

static void check_greedy(golden *g, nas_tape *tape)
{
    size_t length = g->out_length - 1, n, columns, objects = length / (size_t)g->number.length;
    int32_t *ids = nas_zalloc(g->n * length, sizeof *ids);
    greedy(g, tape, ids);
    int32_t *theirs = ints(g, "golden.greedy_ids", &n, &columns);
    bool same = theirs && n == g->n && columns == length &&
                memcmp(ids, theirs, n * length * sizeof *ids) == 0;
    report(same, g->path, "golden.greedy_ids", !same);
    const nas_safetensor *values = find(g, "golden.greedy_values", NAS_F64);
    same = values && values->count == g->n * objects;
    for (size_t i = 0; same && i < values->count; i++) {
        double want, got = NAN;
        memcpy(&want, (const char *)values->data + 8 * i, 8);
        nas_number_decode(&g->number, ids + i * (size_t)g->number.length, &got);
        same = got == want;
    }
    report(same, g->path, "golden.greedy_values", !same);
    free(ids);
    free(theirs);
}

static void check_model(golden *g)
{
    nas_tape *tape = nas_tape_new(g->model, true);
    float *grad = nas_zalloc(g->model->tensors.count, sizeof *grad);
    float *loss = nas_alloc(2 * g->n * sizeof *loss), *log_prob = loss + g->n;
    nas_model_pack(g->model, true);
    nas_tape_forward(tape, &g->batch);
    check_memory(g, tape);
    compare(g, "golden.logits", nas_tape_logits(tape),
            g->n * g->out_length * g->model->config.decoder_vocab);
    nas_tape_loss(tape, &g->batch, loss, log_prob);
    compare(g, "golden.loss_per_example", loss, g->n);
    compare(g, "golden.log_prob", log_prob, g->n);
    nas_tape_back(tape, &g->batch, 1 / (float)g->n, grad);
    check_grads(g, grad);
    check_greedy(g, tape);
    free(grad);
    free(loss);
    nas_tape_free(tape);
}

static void check_all_compared(golden *g)
{
    size_t there = 0;
    for (size_t i = 0; i < nas_safetensors_count(g->file); i++)
        there += strncmp(nas_safetensors_at(g->file, i)->name, "golden.", 7) == 0;
    report(there == g->compared, g->path, "every golden tensor was compared",
           (double)there - (double)g->compared);
}

static void check_file(const char *path)
{
    nas_err err = {0};
    golden g = {.path = path};
    g.file = nas_safetensors_open(path, &err);
    g.model = g.file ? nas_model_load(path, &err) : NULL;
    if (!g.model) {
        report(false, path, err.text, INFINITY);
    } else {
        read_number(&g);
        if (read_batch(&g)) {
            check_model(&g);
            check_all_compared(&g);
        }
    }
    free(g.tokens);
    free(g.shifted);
    free(g.target);
    free(g.in_at);
    free(g.out_at);
    nas_model_free(g.model);
    nas_safetensors_free(g.file);
}

/* Parity is a matter of f32: take the best such path unless one is asked for. */
static void choose_path(void)
{
    size_t i = 0;
    while (nas_kernels_list[i]->linear != nas_kernels_list[i]->exact ||
           !nas_kernels_list[i]->available())
        i++;
    setenv("NASLM_CPU", nas_kernels_list[i]->name, 0);
}

int main(void)
{
    choose_path();
    const char *folder = getenv("NASLM_GOLDEN");
    char pattern[1000];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.safetensors", folder ? folder : "../shared/golden");
    if (glob(pattern, 0, NULL, &found) != 0) {
        printf("ok 1 - golden # SKIP no %s\n1..1\n", pattern);
        return folder != NULL; /* a folder that was asked for must hold something */
    }
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_file(found.gl_pathv[i]);
    globfree(&found);
    printf("1..%d\n", cases);
    return failures != 0;
}
