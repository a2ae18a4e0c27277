#include "spaces/ofa.h"

#include "spaces/read.h"

static const double MUTATION = 0.1; /* the tutorial's rate for each part */

static int all_slots(const nas_ofa *ofa)
{
    int n = 0;
    for (int stage = 0; stage < ofa->stages; stage++)
        n += ofa->slots[stage];
    return n;
}

/* ---- genes ---- */

static int slot_gene(const nas_ofa *ofa, int list, int slot)
{
    return 1 + ofa->stages + list * all_slots(ofa) + slot;
}

static int width_gene(const nas_ofa *ofa, int i)
{
    return slot_gene(ofa, ofa->lists, i);
}

int nas_ofa_resolution(const nas_arch *a)
{
    return NAS_OFA_LOW + 4 * a->gene[0];
}

int nas_ofa_depth(const nas_ofa *ofa, const nas_arch *a, int stage)
{
    return ofa->depth[stage][a->gene[1 + stage]] - '0';
}

int nas_ofa_blocks(const nas_ofa *ofa, const nas_arch *a, int stage)
{
    return ofa->slots[stage] ? ofa->base[stage] + nas_ofa_depth(ofa, a, stage) : 0;
}

int nas_ofa_value(const nas_ofa *ofa, const nas_arch *a, int list, int slot)
{
    return ofa->list[list][a->gene[slot_gene(ofa, list, slot)]] - '0';
}

int nas_ofa_width(const nas_ofa *ofa, const nas_arch *a, int i)
{
    return a->gene[width_gene(ofa, i)];
}

static bool used(const nas_ofa *ofa, const nas_arch *a, int slot)
{
    int stage = 0;
    for (; slot >= ofa->slots[stage]; stage++)
        slot -= ofa->slots[stage];
    return slot < nas_ofa_blocks(ofa, a, stage);
}

void nas_ofa_tidy(const nas_space *space, nas_arch *a)
{
    const nas_ofa *ofa = space->data;
    for (int slot = 0; slot < all_slots(ofa); slot++)
        for (int list = 0; list < ofa->lists && !used(ofa, a, slot); list++)
            a->gene[slot_gene(ofa, list, slot)] = 0;
}

/* ---- operators ---- */

static void draw(const nas_space *space, nas_rng *rng, nas_arch *a, int gene)
{
    uint64_t choices = gene == 0 ? NAS_OFA_SAMPLED : space->arity[gene];
    a->gene[gene] = (uint8_t)nas_rng_below(rng, choices);
}

static void draw_slot(const nas_space *space, nas_rng *rng, nas_arch *a, int slot)
{
    const nas_ofa *ofa = space->data;
    for (int list = 0; list < ofa->lists; list++)
        draw(space, rng, a, slot_gene(ofa, list, slot));
}

void nas_ofa_sample(const nas_space *space, nas_rng *rng, nas_arch *out)
{
    for (int gene = 0; gene < space->n_genes; gene++)
        draw(space, rng, out, gene);
}

/* Resolution, every depth, every block and every width drawn again with the rate; blocks that a
 * larger depth adds are new. */
void nas_ofa_mutate(const nas_space *space, nas_rng *rng, const nas_arch *a, nas_arch *out)
{
    const nas_ofa *ofa = space->data;
    for (int gene = 0; gene <= ofa->stages; gene++)
        if (nas_rng_unit(rng) < MUTATION)
            draw(space, rng, out, gene);
    for (int slot = 0; slot < all_slots(ofa); slot++)
        if (!used(ofa, a, slot) || nas_rng_unit(rng) < MUTATION)
            draw_slot(space, rng, out, slot);
    for (int i = 0; i < ofa->widths; i++)
        if (nas_rng_unit(rng) < MUTATION)
            draw(space, rng, out, width_gene(ofa, i));
}

/* Resolution of a; everything else from one or the other with even chance, but a block that only
 * one of them has from that one. */
void nas_ofa_cross(const nas_space *space, nas_rng *rng, const nas_arch *a, const nas_arch *b,
                   nas_arch *out)
{
    const nas_ofa *ofa = space->data;
    for (int gene = 1; gene < space->n_genes; gene++) {
        const bool other = nas_rng_next(rng) >> 63;
        out->gene[gene] = (other ? b : a)->gene[gene];
    }
    for (int slot = 0; slot < all_slots(ofa); slot++) {
        if (used(ofa, a, slot) == used(ofa, b, slot))
            continue;
        const nas_arch *has = used(ofa, a, slot) ? a : b;
        for (int list = 0; list < ofa->lists; list++)
            out->gene[slot_gene(ofa, list, slot)] = has->gene[slot_gene(ofa, list, slot)];
    }
}

/* ---- strings: R/depths/list/list or R/depths/list/widths ---- */

void nas_ofa_print(const nas_space *space, const nas_arch *a, nas_bytes *out)
{
    const nas_ofa *ofa = space->data;
    nas_bytes_puti(out, nas_ofa_resolution(a));
    nas_bytes_putc(out, '/');
    for (int stage = 0; stage < ofa->stages; stage++)
        nas_bytes_putc(out, (char)('0' + nas_ofa_depth(ofa, a, stage)));
    for (int list = 0; list < ofa->lists; list++) {
        nas_bytes_putc(out, '/');
        for (int slot = 0; slot < all_slots(ofa); slot++)
            nas_bytes_putc(
                out, (char)('0' + (used(ofa, a, slot) ? nas_ofa_value(ofa, a, list, slot) : 0)));
    }
    if (ofa->widths)
        nas_bytes_putc(out, '/');
    for (int i = 0; i < ofa->widths; i++)
        nas_bytes_putc(out, (char)('0' + nas_ofa_width(ofa, a, i)));
}

static void parse_resolution(nas_reader *r, nas_arch *out)
{
    int size = 0, most = NAS_OFA_LOW + 4 * (NAS_OFA_RESOLUTIONS - 1);
    nas_read_peek(r, 0);
    const char *start = r->at;
    if (nas_read_number(r, 3, NAS_OFA_LOW, most, &size) && size % 4)
        nas_read_fault(r, start, "resolution %d is not a multiple of 4", size);
    out->gene[0] = (uint8_t)((size - NAS_OFA_LOW) / 4);
    nas_read_char(r, '/');
}

/* One list of slots; unused ones may be any digit. */
static void parse_list(nas_reader *r, const nas_ofa *ofa, int list, nas_arch *out)
{
    nas_read_char(r, '/');
    for (int slot = 0; slot < all_slots(ofa); slot++) {
        int index = 0;
        if (!used(ofa, out, slot))
            nas_read_digit(r, "0123456789", &index);
        else if (nas_read_digit(r, ofa->list[list], &index))
            out->gene[slot_gene(ofa, list, slot)] = (uint8_t)index;
    }
}

/* Whether the first part is no longer than a resolution: depths are more digits. */
static bool has_resolution(const char *text)
{
    int digits = 0;
    for (; *text && *text != '/'; text++)
        digits += *text >= '0' && *text <= '9';
    return digits < 5;
}

/* Left out: the resolution is 224, the depth of a last stage with one choice is that one. */
nas_status nas_ofa_parse(const nas_space *space, const char *text, nas_arch *out, nas_err *err)
{
    const nas_ofa *ofa = space->data;
    nas_reader r = {text, text, err, false};
    int index = 0;
    out->gene[0] = (224 - NAS_OFA_LOW) / 4;
    if (has_resolution(text))
        parse_resolution(&r, out);
    for (int stage = 0; stage < ofa->stages && !r.failed; stage++) {
        if (!ofa->depth[stage][1] && nas_read_peek(&r, '/'))
            break;
        if (nas_read_digit(&r, ofa->depth[stage], &index))
            out->gene[1 + stage] = (uint8_t)index;
    }
    for (int list = 0; list < ofa->lists && !r.failed; list++)
        parse_list(&r, ofa, list, out);
    if (ofa->widths)
        nas_read_char(&r, '/');
    for (int i = 0; i < ofa->widths && nas_read_digit(&r, "012", &index); i++)
        out->gene[width_gene(ofa, i)] = (uint8_t)index;
    return nas_read_end(&r);
}
