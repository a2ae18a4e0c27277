#include "spaces/chain.h"

#include <string.h>

int nas_chain_length(const nas_chain *chain, const uint8_t *gene)
{
    int n = 0;
    while (n < chain->most && gene[n])
        n++;
    return n;
}

bool nas_chain_valid(const nas_chain *chain, const uint8_t *gene)
{
    int n = nas_chain_length(chain, gene), convs = 0;
    for (int i = 0; i < chain->most; i++) {
        convs += nas_chain_is_conv(chain, gene[i]);
        if (i >= n && gene[i])
            return false;
    }
    return convs > 0 && n - convs <= 1;
}

void nas_chain_sample(const nas_chain *chain, nas_rng *rng, int n, uint8_t *gene)
{
    const uint64_t convs = (uint64_t)chain->convs, ops = (uint64_t)chain->ops;
    bool supported = false;
    for (int i = 0; i < n; i++) {
        bool conv = i == 0 || nas_rng_below(rng, ops) < convs || supported;
        supported = supported || !conv;
        gene[i] = (uint8_t)(1 + (conv ? nas_rng_below(rng, convs)
                                      : convs + nas_rng_below(rng, ops - convs)));
    }
    nas_rng_shuffle(rng, gene, (size_t)n, 1);
}

void nas_chain_edit(const nas_chain *chain, nas_rng *rng, uint8_t *gene)
{
    int n = nas_chain_length(chain, gene), kind = (int)nas_rng_below(rng, 3);
    enum { REPLACE, ADD };
    if (kind == ADD && n == chain->most)
        return;
    int at = (int)nas_rng_below(rng, (uint64_t)n + (kind == ADD));
    uint8_t op = (uint8_t)(1 + nas_rng_below(rng, (uint64_t)chain->ops));
    if (kind == REPLACE) {
        gene[at] = op;
    } else if (kind == ADD) {
        memmove(&gene[at + 1], &gene[at], (size_t)(n - at));
        gene[at] = op;
    } else {
        memmove(&gene[at], &gene[at + 1], (size_t)(n - at - 1));
        gene[n - 1] = 0;
    }
}

void nas_chain_print(const nas_chain *chain, const uint8_t *gene, nas_bytes *out)
{
    for (int i = 0; i < nas_chain_length(chain, gene); i++) {
        if (i)
            nas_bytes_putc(out, '+');
        nas_bytes_puts(out, chain->name[gene[i] - 1]);
    }
}

void nas_chain_read(const nas_chain *chain, nas_reader *reader, uint8_t *gene)
{
    int n = 0, op = 0;
    nas_read_peek(reader, '\0');
    const char *start = reader->at;
    do {
        if (n == chain->most)
            nas_read_fault(reader, NULL, "at most %d operators are joined", chain->most);
        else if (nas_read_word(reader, chain->name, chain->ops, "operator", &op))
            gene[n++] = (uint8_t)(1 + op);
    } while (nas_read_peek(reader, '+') && nas_read_char(reader, '+'));
    if (!reader->failed && !nas_chain_valid(chain, gene))
        nas_read_fault(reader, start,
                       "here are a convolution at least and one supporting operator at most");
}
