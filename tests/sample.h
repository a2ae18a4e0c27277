/* Which text do tokenizer tests and benches read? Made-up exports in the manner of our own. */
#ifndef NAS_TESTS_SAMPLE_H
#define NAS_TESTS_SAMPLE_H

#include "spaces/base/mem.h"
#include "spaces/base/rng.h"

/* Appends one network: a main graph of calls and one to three functions, about 1 to 2 KB. */
void sample_network(nas_rng *rng, nas_bytes *out);
/* Appends size bytes of lines of random words, few of them twice: the worst case of a trainer. */
void sample_prose(nas_rng *rng, nas_bytes *out, size_t size);

#endif
