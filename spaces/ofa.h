/* How do the once-for-all spaces (Cai et al. 2020) spell and vary their subnets? They share genes,
 * strings and operators behind one layout; a space adds its networks.
 *
 *     static const nas_ofa LAYOUT = {.stages = 5, .depth = {"234", …}, .lists = 2, …};
 *     const nas_space nas_space_ofa_mb = {.data = &LAYOUT, NAS_OFA_VERBS, .build = build, …};
 *     int k = nas_ofa_value(&LAYOUT, a, 0, slot);       in build
 *
 * Genes: resolution, a depth for each stage, lists of one value for each slot, widths; each is the
 * place of a digit among its digits. A stage uses its first slots; what is unused is zero. */
#ifndef NAS_OFA_H
#define NAS_OFA_H

#include "spaces/space.h"

enum { NAS_OFA_STAGES = 6, NAS_OFA_LOW = 128, NAS_OFA_RESOLUTIONS = 33, NAS_OFA_SAMPLED = 25 };

typedef struct {
    int stages;
    const char *depth[NAS_OFA_STAGES]; /* digits of a stage's depth */
    int slots[NAS_OFA_STAGES];         /* of a stage */
    int base[NAS_OFA_STAGES];          /* blocks = base + digit, at most slots */
    int lists;
    const char *list[2]; /* digits of the values of slots */
    int widths;          /* genes behind the lists, digits "012" */
} nas_ofa;

/* The input's height and width: 128, 132, … 256; sampling stops at 224. */
int nas_ofa_resolution(const nas_arch *a);
/* Blocks of a stage, its depth digit, the value of a slot (counted over all stages), a width. */
int nas_ofa_blocks(const nas_ofa *ofa, const nas_arch *a, int stage);
int nas_ofa_depth(const nas_ofa *ofa, const nas_arch *a, int stage);
int nas_ofa_value(const nas_ofa *ofa, const nas_arch *a, int list, int slot);
int nas_ofa_width(const nas_ofa *ofa, const nas_arch *a, int i);

/* For a space whose data is a nas_ofa or begins with one. */
void nas_ofa_tidy(const nas_space *space, nas_arch *a);
void nas_ofa_sample(const nas_space *space, nas_rng *rng, nas_arch *out);
void nas_ofa_mutate(const nas_space *space, nas_rng *rng, const nas_arch *a, nas_arch *out);
void nas_ofa_cross(const nas_space *space, nas_rng *rng, const nas_arch *a, const nas_arch *b,
                   nas_arch *out);
void nas_ofa_print(const nas_space *space, const nas_arch *a, nas_bytes *out);
nas_status nas_ofa_parse(const nas_space *space, const char *text, nas_arch *out, nas_err *err);

#define NAS_OFA_VERBS                                                                              \
    .tidy = nas_ofa_tidy, .sample = nas_ofa_sample, .mutate = nas_ofa_mutate,                      \
    .cross = nas_ofa_cross, .print = nas_ofa_print, .parse = nas_ofa_parse

#endif
