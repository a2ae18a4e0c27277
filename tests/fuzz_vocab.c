/* Hostile vocabulary files: whatever parses must print, parse again and code text without loss.
 *
 *     clang -g -O1 -std=c11 -D_GNU_SOURCE -I. -fsanitize=fuzzer,address,undefined \
 *         tests/fuzz_vocab.c surrogate/vocab.c spaces/base/mem.c spaces/base/err.c -ljansson
 *
 * The input is a vocabulary, a NUL and a text. */
#include "surrogate/vocab.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void code(const nas_vocab *vocab, const char *text, size_t size)
{
    int32_t *id = nas_alloc(size * sizeof *id);
    size_t n = nas_vocab_encode(vocab, text, size, id);
    nas_bytes back = {0};
    bool good = nas_vocab_decode(vocab, id, n, &back);
    assert(good && back.size == size && !memcmp(nas_bytes_text(&back), text, size));
    (void)good;
    nas_bytes_clear(&back);
    free(id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    size_t first = size ? strnlen(text, size) : 0;
    nas_err err = {0};
    nas_vocab *vocab = nas_vocab_parse(text, first, &err);
    assert(!vocab == (err.code != NAS_OK));
    if (!vocab)
        return 0;
    nas_bytes printed = {0};
    nas_vocab_print(vocab, &printed);
    nas_vocab *again = nas_vocab_parse(printed.data, printed.size, &err);
    assert(again && nas_vocab_pieces(again) == nas_vocab_pieces(vocab));
    code(again, text, size);
    nas_vocab_free(again);
    nas_vocab_free(vocab);
    nas_bytes_clear(&printed);
    return 0;
}
