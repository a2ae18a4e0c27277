/* How fast is the tokenizer on one core, and how long are networks in tokens? A vocabulary of 8,192
 * pieces is learned on prompts of all spaces, and one on the flat printable form; then learning and
 * encoding are timed on 100 MB, on random words (the worst case) or on a file of your own. */
#include "onnx/export.h"
#include "spaces/space.h"
#include "surrogate/vocab.h"

#include "tests/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void measure(const char *name, const nas_bytes *text)
{
    nas_err err = {0};
    double start = seconds();
    nas_vocab *v =
        nas_vocab_train((const char *[]){text->data}, &text->size, 1, NAS_VOCAB_PIECES, &err);
    double learned = seconds();
    int32_t *id = nas_alloc(text->size * sizeof *id);
    memset(id, 0, text->size * sizeof *id); /* page faults are not the encoder's */
    double before = seconds();
    size_t n = nas_vocab_encode(v, text->data, text->size, id);
    double mb = (double)text->size * 1e-6, encode = seconds() - before;
    printf("%-10s %6.0f MB  learn %6.2f s, %5d pieces  encode %6.1f MB/s, %.2f bytes a token\n",
           name, mb, learned - start, nas_vocab_pieces(v), mb / encode,
           (double)text->size / (double)n);
    free(id);
    nas_vocab_free(v);
}

/* One random network of a space, as the surrogate reads it and in the flat printable form. */
static void export_one(const nas_space *space, uint64_t k, nas_bytes *prompt, nas_bytes *flat)
{
    nas_rng root = nas_rng_seed(1), rng = nas_rng_child(&root, space->name, k);
    nas_arch arch;
    nas_err err = {0};
    nas_space_sample(space, &rng, &arch);
    nas_graph *graph = nas_space_build(space, &arch, &space->tasks[0]);
    nas_bytes_reset(prompt);
    nas_bytes_reset(flat);
    nas_export_prompt(graph, space->name, space->tasks[0].name, prompt, &err);
    nas_export_graph(graph, NULL, (nas_export_how){.form = NAS_FORM_PRINTABLE}, flat, &err);
    nas_graph_free(graph);
}

static int by_size(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static size_t tokens(const nas_vocab *v, const nas_bytes *text)
{
    int32_t *id = nas_alloc(text->size * sizeof *id);
    size_t n = nas_vocab_encode(v, text->data, text->size, id);
    free(id);
    return n;
}

enum { LEARN = 1000, LEARN_FLAT = 50, HELD_OUT = 101 };

static void lengths(const nas_space *space, const nas_vocab *compact, const nas_vocab *flat_vocab)
{
    size_t bytes[HELD_OUT], short_n[HELD_OUT], flat_n[HELD_OUT];
    nas_bytes prompt = {0}, flat = {0};
    for (size_t k = 0; k < HELD_OUT; k++) {
        export_one(space, LEARN + k, &prompt, &flat);
        bytes[k] = prompt.size;
        short_n[k] = tokens(compact, &prompt);
        flat_n[k] = tokens(flat_vocab, &flat);
    }
    qsort(bytes, HELD_OUT, sizeof *bytes, by_size);
    qsort(short_n, HELD_OUT, sizeof *short_n, by_size);
    qsort(flat_n, HELD_OUT, sizeof *flat_n, by_size);
    printf("%-12s prompt: median %5zu bytes, %4zu tokens, longest %4zu; printable: %6zu tokens\n",
           space->name, bytes[HELD_OUT / 2], short_n[HELD_OUT / 2], short_n[HELD_OUT - 1],
           flat_n[HELD_OUT / 2]);
    nas_bytes_clear(&prompt);
    nas_bytes_clear(&flat);
}

/* Learns on all spaces and reports held-out networks; appends up to 100 MB of exports to text. */
static void networks(nas_bytes *text)
{
    nas_vocab_trainer *compact = nas_vocab_trainer_new(), *flat = nas_vocab_trainer_new();
    nas_bytes prompt = {0}, printable = {0};
    nas_err err = {0};
    for (int s = 0; s < nas_space_count(); s++)
        for (uint64_t k = 0; k < LEARN; k++) {
            export_one(nas_spaces[s], k, &prompt, &printable);
            nas_vocab_trainer_add(compact, prompt.data, prompt.size);
            if (k < LEARN_FLAT) {
                nas_vocab_trainer_add(flat, printable.data, printable.size);
                nas_bytes_put(text, printable.data, printable.size);
            }
            nas_bytes_put(text, prompt.data, prompt.size);
        }
    nas_vocab *v = nas_vocab_trainer_learn(compact, NAS_VOCAB_PIECES, &err);
    nas_vocab *w = nas_vocab_trainer_learn(flat, NAS_VOCAB_PIECES, &err);
    printf("%d pieces on prompts, %d on the printable form\n", nas_vocab_pieces(v),
           nas_vocab_pieces(w));
    for (int s = 0; s < nas_space_count(); s++)
        lengths(nas_spaces[s], v, w);
    nas_vocab_free(v);
    nas_vocab_free(w);
    nas_vocab_trainer_free(compact);
    nas_vocab_trainer_free(flat);
    nas_bytes_clear(&prompt);
    nas_bytes_clear(&printable);
}

int main(int argc, char **argv)
{
    nas_rng rng = nas_rng_seed(1);
    nas_bytes text = {0};
    if (argc > 1) {
        FILE *f = fopen(argv[1], "rb");
        char block[1 << 16];
        for (size_t n; f && (n = fread(block, 1, sizeof block, f)) > 0;)
            nas_bytes_put(&text, block, n);
        if (!f || fclose(f) || !text.size)
            return 1;
        measure("file", &text);
        nas_bytes_clear(&text);
        return 0;
    }
    networks(&text);
    measure("exports", &text);
    nas_bytes_reset(&text);
    sample_prose(&rng, &text, 10000000);
    measure("words", &text);
    nas_bytes_clear(&text);
    return 0;
}
