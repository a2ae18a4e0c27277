/* What do the blocks of Two-Path and the paths of Inception share? Both are chains: a few operators
 * in order, at least one of them a convolution, at most one that supports.
 *
 *     static const nas_chain CHAIN = {NAME, CONVS, OPS, 3};
 *     nas_chain_sample(&CHAIN, rng, 2, gene);
 *     nas_chain_print(&CHAIN, gene, out);        conv3x3+avgpool3x3
 *     if (nas_chain_is_conv(&CHAIN, gene[0])) ...
 *
 * Genes: 1 + the row of an operator; after the last one 0. */
#ifndef NAS_CHAIN_H
#define NAS_CHAIN_H

#include "spaces/base/mem.h"
#include "spaces/base/rng.h"
#include "spaces/read.h"

typedef struct {
    const char *const *name; /* [ops]: the convolutions, then what supports */
    int convs, ops;
    int most; /* operators of a chain */
} nas_chain;

int nas_chain_length(const nas_chain *chain, const uint8_t *gene);
bool nas_chain_valid(const nas_chain *chain, const uint8_t *gene);
static inline bool nas_chain_is_conv(const nas_chain *chain, int gene)
{
    return gene > 0 && gene <= chain->convs;
}

/* n operators as GENNAPE draws them: a convolution, then either kind in proportion to the number of
 * its operators, in random order. gene is empty before. */
void nas_chain_sample(const nas_chain *chain, nas_rng *rng, int n, uint8_t *gene);
/* Replaces, adds or removes one operator of a valid chain; it may not be valid then. */
void nas_chain_edit(const nas_chain *chain, nas_rng *rng, uint8_t *gene);

void nas_chain_print(const nas_chain *chain, const uint8_t *gene, nas_bytes *out);
/* Faults what is no valid chain. gene is empty before. */
void nas_chain_read(const nas_chain *chain, nas_reader *reader, uint8_t *gene);

#endif
