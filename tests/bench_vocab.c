/* How fast is the tokenizer on one core? Learning 8,192 pieces on 100 MB, and encoding. */
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

/* A file of the user's own exports, else made-up texts. */
int main(int argc, char **argv)
{
    nas_rng rng = nas_rng_seed(1);
    nas_bytes text = {0};
    if (argc > 1) {
        FILE *f = fopen(argv[1], "rb");
        char block[1 << 16];
        for (size_t n; f && (n = fread(block, 1, sizeof block, f)) > 0;)
            nas_bytes_put(&text, block, n);
        measure("file", &text);
        return 0;
    }
    while (text.size < 100000000)
        sample_network(&rng, &text);
    measure("networks", &text);
    nas_bytes_reset(&text);
    sample_prose(&rng, &text, 10000000);
    measure("prose", &text);
    nas_bytes_clear(&text);
    return 0;
}
