/* Where do the values of a circuit lie in memory? Once a value was read for the last time, others
 * take its place, so that a block of architectures stays in the cache. */
#include "surrogate/baselines/circuit_op.h"

#include <assert.h>
#include <stdlib.h>

/* A value's memory is taken from operation first to last. */
typedef struct {
    int root, first, last;
    size_t size, at;
} span;

static int reads(const circuit_op *op, const nas_circuit *t, int root)
{
    const int read[] = {op->a, op->b, op->c, op->d};
    int count = 0;
    for (int i = 0; i < 4; i++)
        count += read[i] >= 0 && t->value[read[i]].root == root;
    return count;
}

/* What an operation overwrites is read by it alone. */
static bool read_once(const nas_circuit *t, int x)
{
    int count = 0;
    for (int i = 0; i < t->n_op; i++)
        count += (t->op[i].a == x) + (t->op[i].b == x) + (t->op[i].c == x) + (t->op[i].d == x);
    return count == 1 && x != t->y;
}

static void check_overwriting(const nas_circuit *t)
{
    for (int i = 0; i < t->n_op; i++) {
        const circuit_op *op = &t->op[i];
        if (t->value[op->out].root == op->out)
            continue;
        bool b_taken = op->b >= 0 && t->value[op->b].root == t->value[op->out].root;
        assert(read_once(t, b_taken ? op->b : op->a));
        (void)b_taken;
    }
}

/* The roots with the operations that make and last read them, in the order of their making. */
static size_t list_spans(nas_circuit *t, span *spans)
{
    size_t n = 0;
    for (int i = 0; i < t->n_op; i++) {
        int root = t->op[i].out;
        const circuit_value *v = &t->value[root];
        if (v->root != root)
            continue;
        int last = i;
        for (int k = i + 1; k < t->n_op; k++)
            if (reads(&t->op[k], t, root))
                last = k;
        if (t->value[t->y].root == root)
            last = t->n_op;
        t->reader[root] = last;
        if (v->per)
            spans[n++] = (span){root, i, last, circuit_lines((size_t)(v->per * v->cols)), 0};
    }
    return n;
}

/* The lowest place that no earlier span of the same time holds; returns the end of all. */
static size_t place_spans(span *spans, size_t n)
{
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        span *s = &spans[i];
        for (bool moved = true; moved;) {
            moved = false;
            for (size_t k = 0; k < i; k++) {
                const span *o = &spans[k];
                if (o->first <= s->last && s->first <= o->last && o->at < s->at + s->size &&
                    s->at < o->at + o->size) {
                    s->at = o->at + o->size;
                    moved = true;
                }
            }
        }
        most = s->at + s->size > most ? s->at + s->size : most;
    }
    return most;
}

/* Gradients begin with the last reader: the latest comes first. */
static int compare_last(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return x->last != y->last ? y->last - x->last : y->root - x->root;
}

void circuit_place(nas_circuit *t)
{
    span *spans = nas_alloc((size_t)t->n_op * sizeof *spans);
    check_overwriting(t);
    size_t n = list_spans(t, spans);
    t->near_x = place_spans(spans, n);
    for (size_t i = 0; i < n; i++) {
        t->value[spans[i].root].near_x = spans[i].at;
        spans[i].at = 0;
    }
    qsort(spans, n, sizeof *spans, compare_last);
    t->near_dx = place_spans(spans, n);
    for (size_t i = 0; i < n; i++) {
        t->value[spans[i].root].near_dx = spans[i].at;
        t->opened[t->n_opened++] = spans[i].root;
    }
    for (int v = 0; v < t->n_value; v++) {
        const circuit_value *root = &t->value[t->value[v].root];
        t->value[v].near_x = root->near_x;
        t->value[v].near_dx = root->near_dx;
    }
    free(spans);
}
