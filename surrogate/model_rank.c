/* The ranking loss: numbers that a batch holds of one metric shall be expected in their order. */
#include "surrogate/model_tape_parts.h"

#include "spaces/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number in the batch whose first digit tells it from others. */
struct nas_rank_mark {
    size_t row; /* of the logits that decide on its first digit */
    int32_t metric;
    float value, expected;      /* as its tokens say; as the model says */
    float force;                /* the loss by expected */
    float share[NAS_RANK_BASE]; /* probability of each first digit */
};

void nas_tape_rank(nas_tape *t, const nas_ranking *ranking)
{
    t->ranking = *ranking;
}

/* Does a number that is compared have its first digit at row i, and which value? */
static bool is_mark(const nas_ranking *r, const nas_batch *b, size_t begin, size_t end, size_t i,
                    float *value)
{
    if (i < begin + 3 || b->target[i] < r->digit || b->target[i] >= r->digit + NAS_RANK_BASE ||
        b->shifted[i] != r->one || b->shifted[i - 1] != r->plus)
        return false;
    float unit = 1;
    *value = 0;
    for (int k = 0; k < r->digits && i + (size_t)k < end; k++, unit /= NAS_RANK_BASE)
        *value += unit * (float)(b->target[i + (size_t)k] - r->digit);
    return true;
}

static void expect(const nas_tape *t, nas_rank_mark *m)
{
    const float *z = t->logits + m->row * t->model->config.decoder_vocab + t->ranking.digit;
    float sum = nas_log_sum_exp(z, NAS_RANK_BASE);
    m->expected = 0;
    for (int k = 0; k < NAS_RANK_BASE; k++) {
        m->share[k] = expf(z[k] - sum);
        m->expected += m->share[k] * (float)k;
    }
}

static void find_marks(nas_tape *t, const nas_batch *b)
{
    t->n_mark = 0;
    for (size_t e = 0; e < b->output.n; e++)
        for (size_t i = b->output.at[e]; i < b->output.at[e + 1]; i++) {
            nas_rank_mark m = {.row = i};
            if (!is_mark(&t->ranking, b, b->output.at[e], b->output.at[e + 1], i, &m.value))
                continue;
            m.metric = b->shifted[i - 2];
            expect(t, &m);
            t->mark = nas_grow(t->mark, &t->mark_cap, t->n_mark + 1, sizeof *t->mark);
            t->mark[t->n_mark++] = m;
        }
}

/* The logistic loss of one pair, lower below higher; adds to their forces. */
static double pair(nas_rank_mark *lower, nas_rank_mark *higher, float temperature)
{
    float x = (higher->expected - lower->expected) / temperature;
    float miss = 1 / (1 + expf(x));
    lower->force += miss / temperature;
    higher->force -= miss / temperature;
    return x > 0 ? log1pf(expf(-x)) : -x + log1pf(expf(x));
}

double nas_tape_rank_loss(nas_tape *t, const nas_batch *b)
{
    double sum = 0, pairs = 0;
    find_marks(t, b);
    for (size_t i = 0; i < t->n_mark; i++)
        for (size_t j = 0; j < i; j++) {
            nas_rank_mark *x = &t->mark[i], *y = &t->mark[j];
            if (x->metric != y->metric || x->value == y->value)
                continue;
            sum += x->value < y->value ? pair(x, y, t->ranking.temperature)
                                       : pair(y, x, t->ranking.temperature);
            pairs++;
        }
    for (size_t i = 0; i < t->n_mark && pairs > 0; i++)
        t->mark[i].force /= (float)pairs;
    return pairs > 0 ? sum / pairs : 0;
}

void nas_tape_rank_back(nas_tape *t, float scale)
{
    for (size_t i = 0; i < t->n_mark; i++) {
        const nas_rank_mark *m = &t->mark[i];
        float *dz = t->logits + m->row * t->model->config.decoder_vocab + t->ranking.digit;
        for (int k = 0; k < NAS_RANK_BASE; k++)
            dz[k] += scale * m->force * m->share[k] * ((float)k - m->expected);
    }
}
