/* Learning merges. Stretches of text are kept once with their number of occurrences; each pair of
 * neighbouring ids knows its weight and the stretches that ever held it, so that a merge touches
 * only these. A heap gives the heaviest pair; of equals the one with the least ids. */
#include "surrogate/vocab.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    size_t at;       /* of its bytes, and later of its ids */
    uint64_t weight; /* occurrences */
    uint32_t size;
} stretch;

struct nas_vocab_trainer {
    bool whole;
    nas_bytes text; /* of the different stretches one after the other */
    stretch *s;
    size_t n, cap;
    uint32_t *slot; /* open addressing: index + 1 of a stretch, or 0 */
    size_t slots;   /* a power of two */
};

/* ---- collecting ---- */

nas_vocab_trainer *nas_vocab_trainer_new(void)
{
    nas_vocab_trainer *trainer = nas_zalloc(1, sizeof *trainer);
    trainer->slots = 1 << 12;
    trainer->slot = nas_zalloc(trainer->slots, sizeof *trainer->slot);
    return trainer;
}

nas_vocab_trainer *nas_vocab_trainer_new_whole(void)
{
    nas_vocab_trainer *trainer = nas_vocab_trainer_new();
    trainer->whole = true;
    return trainer;
}

void nas_vocab_trainer_free(nas_vocab_trainer *trainer)
{
    if (!trainer)
        return;
    nas_bytes_clear(&trainer->text);
    free(trainer->s);
    free(trainer->slot);
    free(trainer);
}

static size_t hash(const char *text, size_t size)
{
    uint64_t h = 0xCBF29CE484222325u; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001B3u;
    return (size_t)(h ^ h >> 29);
}

static uint32_t *slot_of(const nas_vocab_trainer *trainer, const char *text, size_t size)
{
    size_t at = hash(text, size) & (trainer->slots - 1);
    for (; trainer->slot[at]; at = (at + 1) & (trainer->slots - 1)) {
        const stretch *s = &trainer->s[trainer->slot[at] - 1];
        if (s->size == size && !memcmp(trainer->text.data + s->at, text, size))
            break;
    }
    return &trainer->slot[at];
}

static void double_slots(nas_vocab_trainer *trainer)
{
    free(trainer->slot);
    trainer->slots *= 2;
    trainer->slot = nas_zalloc(trainer->slots, sizeof *trainer->slot);
    for (size_t i = 0; i < trainer->n; i++)
        *slot_of(trainer, trainer->text.data + trainer->s[i].at, trainer->s[i].size) =
            (uint32_t)i + 1;
}

static void add_stretch(nas_vocab_trainer *trainer, const char *text, size_t size)
{
    uint32_t *slot = slot_of(trainer, text, size);
    if (*slot) {
        trainer->s[*slot - 1].weight++;
        return;
    }
    trainer->s = nas_grow(trainer->s, &trainer->cap, trainer->n + 1, sizeof *trainer->s);
    trainer->s[trainer->n++] = (stretch){trainer->text.size, 1, (uint32_t)size};
    *slot = (uint32_t)trainer->n;
    nas_bytes_put(&trainer->text, text, size);
    if (trainer->n * 2 > trainer->slots)
        double_slots(trainer);
}

void nas_vocab_trainer_add(nas_vocab_trainer *trainer, const char *text, size_t size)
{
    while (size > 0) {
        size_t n = (trainer->whole ? nas_vocab_stretch_whole : nas_vocab_stretch)(text, size);
        if (n > 1)
            add_stretch(trainer, text, n);
        text += n;
        size -= n;
    }
}

/* ---- pairs ---- */

typedef struct {
    uint32_t key;    /* left << 16 | right */
    uint32_t places; /* index + 1 of the first place, or 0 */
    uint64_t weight; /* over all stretches */
} pair;

typedef struct {
    uint32_t stretch, next;
} place;

typedef struct {
    uint64_t weight; /* of the pair when it was put here: at least what it is now */
    uint32_t key, pair;
} candidate;

typedef struct {
    stretch *s; /* (n) at and size count ids */
    uint16_t *id;
    pair *pairs;
    uint32_t *slot; /* open addressing: index + 1 of a pair, or 0 */
    place *places;
    candidate *heap;
    uint32_t *visit; /* the stretches of the pair that is being merged */
    size_t visit_cap;
    size_t n_pairs, pairs_cap, slots, n_places, places_cap, n_heap, heap_cap;
    uint32_t free_place; /* index + 1 of a place that may be used again, or 0 */
} learner;

static uint32_t *pair_slot(const learner *l, uint32_t key)
{
    size_t at = (key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (l->slots - 1);
    while (l->slot[at] && l->pairs[l->slot[at] - 1].key != key)
        at = (at + 1) & (l->slots - 1);
    return &l->slot[at];
}

static void double_pair_slots(learner *l)
{
    free(l->slot);
    l->slots *= 2;
    l->slot = nas_zalloc(l->slots, sizeof *l->slot);
    for (size_t i = 0; i < l->n_pairs; i++)
        *pair_slot(l, l->pairs[i].key) = (uint32_t)i + 1;
}

static pair *pair_of(learner *l, uint16_t left, uint16_t right)
{
    uint32_t key = (uint32_t)left << 16 | right, *slot = pair_slot(l, key);
    if (!*slot) {
        l->pairs = nas_grow(l->pairs, &l->pairs_cap, l->n_pairs + 1, sizeof *l->pairs);
        l->pairs[l->n_pairs++] = (pair){.key = key};
        *slot = (uint32_t)l->n_pairs;
        if (l->n_pairs * 2 > l->slots)
            double_pair_slots(l);
        return &l->pairs[l->n_pairs - 1];
    }
    return &l->pairs[*slot - 1];
}

/* Stretches are visited one after the other, so a pair's newest place tells whether this is new. */
static void add_place(learner *l, pair *p, uint32_t stretch_index)
{
    if (p->places && l->places[p->places - 1].stretch == stretch_index)
        return;
    uint32_t at = l->free_place;
    if (at)
        l->free_place = l->places[at - 1].next;
    else {
        l->places = nas_grow(l->places, &l->places_cap, l->n_places + 1, sizeof *l->places);
        at = (uint32_t)++l->n_places;
    }
    l->places[at - 1] = (place){stretch_index, p->places};
    p->places = at;
}

static void gain(learner *l, uint16_t left, uint16_t right, uint32_t stretch_index)
{
    pair *p = pair_of(l, left, right);
    p->weight += l->s[stretch_index].weight;
    add_place(l, p, stretch_index);
}

static void lose(learner *l, uint16_t left, uint16_t right, uint32_t stretch_index)
{
    pair_of(l, left, right)->weight -= l->s[stretch_index].weight;
}

/* ---- the heap ---- */

static bool heavier(candidate a, candidate b)
{
    return a.weight != b.weight ? a.weight > b.weight : a.key < b.key;
}

static void push(learner *l, uint32_t index)
{
    candidate c = {l->pairs[index].weight, l->pairs[index].key, index};
    l->heap = nas_grow(l->heap, &l->heap_cap, l->n_heap + 1, sizeof *l->heap);
    size_t at = l->n_heap++;
    for (; at > 0 && heavier(c, l->heap[(at - 1) / 2]); at = (at - 1) / 2)
        l->heap[at] = l->heap[(at - 1) / 2];
    l->heap[at] = c;
}

static candidate pop(learner *l)
{
    candidate top = l->heap[0], c = l->heap[--l->n_heap];
    size_t at = 0;
    for (size_t child = 1; child < l->n_heap; child = 2 * at + 1) {
        if (child + 1 < l->n_heap && heavier(l->heap[child + 1], l->heap[child]))
            child++;
        if (!heavier(l->heap[child], c))
            break;
        l->heap[at] = l->heap[child];
        at = child;
    }
    l->heap[at] = c;
    return top;
}

/* The index of the heaviest pair, or -1 when none occurs twice. Weights in the heap may be stale,
 * never too small: a pair gains weight only in the merge that creates it. */
static int64_t heaviest(learner *l)
{
    while (l->n_heap > 0) {
        candidate c = pop(l);
        if (l->pairs[c.pair].weight == c.weight)
            return c.weight < 2 ? -1 : (int64_t)c.pair;
        push(l, c.pair);
    }
    return -1;
}

/* ---- merging ---- */

/* Replaces the pair by id in one stretch, from left to right, and keeps all weights true. */
static void merge_in(learner *l, uint32_t stretch_index, nas_merge m, uint16_t id)
{
    stretch *s = &l->s[stretch_index];
    uint16_t *t = l->id + s->at;
    uint32_t out = 0;
    for (uint32_t i = 0; i < s->size; i++) {
        if (t[i] != m.left || i + 1 == s->size || t[i + 1] != m.right) {
            t[out++] = t[i];
            continue;
        }
        if (out > 0) {
            lose(l, t[out - 1], m.left, stretch_index);
            gain(l, t[out - 1], id, stretch_index);
        }
        if (i + 2 < s->size) {
            lose(l, m.right, t[i + 2], stretch_index);
            gain(l, id, t[i + 2], stretch_index);
        }
        t[out++] = id;
        i++;
    }
    s->size = out;
}

/* Moves the stretches of a pair to l->visit, its places to the free ones; returns how many. */
static size_t take_places(learner *l, pair *p)
{
    size_t n = 0;
    for (uint32_t at = p->places, next; at; at = next, n++) {
        place *here = &l->places[at - 1];
        next = here->next;
        l->visit = nas_grow(l->visit, &l->visit_cap, n + 1, sizeof *l->visit);
        l->visit[n] = here->stretch;
        here->next = l->free_place;
        l->free_place = at;
    }
    p->places = 0;
    return n;
}

/* The stretches lie far apart, so their memory is asked for ahead. */
static nas_merge merge_pair(learner *l, uint32_t index, uint16_t id)
{
    enum { AHEAD = 8 };
    nas_merge m = {(uint16_t)(l->pairs[index].key >> 16), (uint16_t)l->pairs[index].key};
    size_t before = l->n_pairs, n = take_places(l, &l->pairs[index]);
    for (size_t i = 0; i < n; i++) {
        if (i + 2 * AHEAD < n)
            __builtin_prefetch(&l->s[l->visit[i + 2 * AHEAD]]);
        if (i + AHEAD < n)
            __builtin_prefetch(l->id + l->s[l->visit[i + AHEAD]].at);
        merge_in(l, l->visit[i], m, id);
    }
    l->pairs[index].weight = 0;
    for (size_t i = before; i < l->n_pairs; i++)
        push(l, (uint32_t)i);
    return m;
}

static void learner_init(learner *l, const nas_vocab_trainer *trainer)
{
    *l = (learner){.slots = 1 << 16};
    l->slot = nas_zalloc(l->slots, sizeof *l->slot);
    l->s = nas_alloc(trainer->n * sizeof *l->s);
    l->id = nas_alloc(trainer->text.size * sizeof *l->id);
    for (size_t i = 0; i < trainer->text.size; i++)
        l->id[i] = (uint16_t)((unsigned char)trainer->text.data[i] + 1);
    for (size_t i = 0; i < trainer->n; i++) {
        l->s[i] = trainer->s[i];
        const uint16_t *id = l->id + l->s[i].at;
        for (uint32_t k = 0; k + 1 < l->s[i].size; k++)
            gain(l, id[k], id[k + 1], (uint32_t)i);
    }
    for (size_t i = 0; i < l->n_pairs; i++)
        push(l, (uint32_t)i);
}

static void learner_clear(learner *l)
{
    free(l->s);
    free(l->id);
    free(l->pairs);
    free(l->slot);
    free(l->places);
    free(l->heap);
    free(l->visit);
}

nas_vocab *nas_vocab_trainer_learn(const nas_vocab_trainer *trainer, int pieces, nas_err *err)
{
    if (pieces < NAS_VOCAB_BYTES || pieces > NAS_VOCAB_MOST) {
        nas_fail(err, NAS_USAGE, "a vocabulary has %d to %d pieces, not %d", NAS_VOCAB_BYTES,
                 NAS_VOCAB_MOST, pieces);
        return NULL;
    }
    learner l;
    learner_init(&l, trainer);
    size_t n = 0, most = (size_t)pieces - NAS_VOCAB_BYTES;
    nas_merge *merge = nas_alloc(most * sizeof *merge);
    int64_t best;
    for (; n < most && (best = heaviest(&l)) >= 0; n++)
        merge[n] = merge_pair(&l, (uint32_t)best, (uint16_t)(1 + NAS_VOCAB_BYTES + n));
    nas_vocab *vocab = (trainer->whole ? nas_vocab_new_whole : nas_vocab_new)(merge, n, err);
    learner_clear(&l);
    free(merge);
    return vocab;
}

nas_vocab *nas_vocab_train(const char *const *texts, const size_t *sizes, size_t n, int pieces,
                           nas_err *err)
{
    nas_vocab_trainer *trainer = nas_vocab_trainer_new();
    for (size_t i = 0; i < n; i++)
        nas_vocab_trainer_add(trainer, texts[i], sizes[i]);
    nas_vocab *vocab = nas_vocab_trainer_learn(trainer, pieces, err);
    nas_vocab_trainer_free(trainer);
    return vocab;
}
