#include "spaces/space.h"

#include "spaces/graph.h"
#include "spaces/read.h"

#include <assert.h>
#include <md5.h>
#include <stdio.h>

/* ---- the list: one line a space ---- */

extern const nas_space nas_space_fbnet;
extern const nas_space nas_space_nb101;
extern const nas_space nas_space_nb201;
extern const nas_space nas_space_nats_sss;
extern const nas_space nas_space_nbmacro;
extern const nas_space nas_space_tnb101_micro;
extern const nas_space nas_space_tnb101_macro;
extern const nas_space nas_space_hiaml;
extern const nas_space nas_space_mnasnet;
extern const nas_space nas_space_ofa_mb;
extern const nas_space nas_space_ofa_mb_w12;
extern const nas_space nas_space_ofa_pn;
extern const nas_space nas_space_ofa_rn;
extern const nas_space nas_space_nasnet;
extern const nas_space nas_space_nasnet_fix;
extern const nas_space nas_space_amoeba;
extern const nas_space nas_space_amoeba_fix;
extern const nas_space nas_space_pnas;
extern const nas_space nas_space_pnas_fix;
extern const nas_space nas_space_enas;
extern const nas_space nas_space_enas_fix;
extern const nas_space nas_space_darts;
extern const nas_space nas_space_darts_fix;
extern const nas_space nas_space_twopath;
extern const nas_space nas_space_inception;
extern const nas_space nas_space_toy;

/* clang-format off */
const nas_space *const nas_spaces[] = {
    &nas_space_nb101,
    &nas_space_nb201,
    &nas_space_nats_sss,
    &nas_space_nbmacro,
    &nas_space_tnb101_micro,
    &nas_space_tnb101_macro,
    &nas_space_hiaml,
    &nas_space_fbnet,
    &nas_space_mnasnet,
    &nas_space_ofa_mb,
    &nas_space_ofa_mb_w12,
    &nas_space_ofa_pn,
    &nas_space_ofa_rn,
    &nas_space_nasnet,
    &nas_space_nasnet_fix,
    &nas_space_amoeba,
    &nas_space_amoeba_fix,
    &nas_space_pnas,
    &nas_space_pnas_fix,
    &nas_space_enas,
    &nas_space_enas_fix,
    &nas_space_darts,
    &nas_space_darts_fix,
    &nas_space_twopath,
    &nas_space_inception,
    &nas_space_toy,
};
/* clang-format on */

int nas_space_count(void)
{
    return (int)(sizeof nas_spaces / sizeof *nas_spaces);
}

const nas_space *nas_space_find(const char *name)
{
    for (int i = 0; i < nas_space_count(); i++)
        if (!strcmp(nas_spaces[i]->name, name))
            return nas_spaces[i];
    return NULL;
}

const nas_space *nas_space_of(const nas_arch *arch)
{
    assert((int)arch->space < nas_space_count());
    return nas_spaces[arch->space];
}

const nas_space *nas_space_need(const char *name, nas_err *err)
{
    const nas_space *space = nas_space_find(name);
    if (space)
        return space;
    const char *names[sizeof nas_spaces / sizeof *nas_spaces];
    char hint[100];
    for (int i = 0; i < nas_space_count(); i++)
        names[i] = nas_spaces[i]->name;
    nas_fail(err, NAS_USAGE, "unknown space '%s'%s", name,
             nas_hint(hint, sizeof hint, name, names, (size_t)nas_space_count()));
    return NULL;
}

const nas_task *nas_space_task(const nas_space *space, const char *name, nas_err *err)
{
    if (!name)
        return &space->tasks[0];
    const char *names[16];
    char hint[100];
    for (int i = 0; i < space->n_tasks; i++) {
        names[i] = space->tasks[i].name;
        if (!strcmp(name, names[i]))
            return &space->tasks[i];
    }
    nas_fail(err, NAS_USAGE, "space %s has no task '%s'%s", space->name, name,
             nas_hint(hint, sizeof hint, name, names, (size_t)space->n_tasks));
    return NULL;
}

/* ---- verbs with their defaults ---- */

/* A space of one's own that is not in the list has the row after it. */
static uint32_t row_of(const nas_space *space)
{
    uint32_t row = 0;
    while ((int)row < nas_space_count() && nas_spaces[row] != space)
        row++;
    return row;
}

void nas_space_init(const nas_space *space, nas_arch *arch)
{
    *arch = (nas_arch){.space = row_of(space), .n = (uint32_t)space->n_genes};
}

bool nas_space_valid(const nas_space *space, const nas_arch *arch)
{
    for (int i = 0; i < space->n_genes; i++)
        if (arch->gene[i] >= space->arity[i])
            return false;
    return !space->valid || space->valid(space, arch);
}

static void tidy(const nas_space *space, nas_arch *arch)
{
    if (space->tidy)
        space->tidy(space, arch);
}

void nas_space_sample(const nas_space *space, nas_rng *rng, nas_arch *out)
{
    nas_space_init(space, out);
    if (space->sample) {
        space->sample(space, rng, out);
        tidy(space, out);
        return;
    }
    do
        for (int i = 0; i < space->n_genes; i++)
            out->gene[i] = (uint8_t)nas_rng_below(rng, space->arity[i]);
    while (space->valid && !space->valid(space, out));
    tidy(space, out);
}

enum { TRIES = 1000 }; /* random tries before an operator gives up on a space without neighbours */

/* Another string of the same network is no neighbour, so canonical forms are compared. */
void nas_space_mutate(const nas_space *space, nas_rng *rng, const nas_arch *a, nas_arch *out)
{
    nas_arch own, other;
    nas_space_canonical(space, a, &own);
    for (int i = 0; i < TRIES; i++) {
        *out = *a;
        if (space->mutate) {
            space->mutate(space, rng, a, out);
        } else {
            uint8_t *gene = &out->gene[nas_rng_below(rng, (uint64_t)space->n_genes)];
            uint8_t arity = space->arity[gene - out->gene];
            if (arity < 2)
                continue;
            *gene = (uint8_t)((*gene + 1 + nas_rng_below(rng, arity - 1u)) % arity);
        }
        tidy(space, out);
        if (nas_arch_same(a, out) || !nas_space_valid(space, out))
            continue;
        nas_space_canonical(space, out, &other);
        if (!nas_arch_same(&own, &other))
            return;
    }
    *out = *a;
}

void nas_space_cross(const nas_space *space, nas_rng *rng, const nas_arch *a, const nas_arch *b,
                     nas_arch *out)
{
    for (int i = 0; i < TRIES; i++) {
        *out = *a;
        if (space->cross)
            space->cross(space, rng, a, b, out);
        else
            for (int g = 0; g < space->n_genes; g++)
                if (nas_rng_next(rng) >> 63)
                    out->gene[g] = b->gene[g];
        tidy(space, out);
        if (nas_space_valid(space, out))
            return;
    }
    *out = *a;
}

void nas_space_canonical(const nas_space *space, const nas_arch *a, nas_arch *out)
{
    if (space->canonical)
        space->canonical(space, a, out);
    else
        *out = *a;
}

void nas_space_print(const nas_space *space, const nas_arch *arch, nas_bytes *out)
{
    space->print(space, arch, out);
}

nas_status nas_space_parse(const nas_space *space, const char *text, nas_arch *out, nas_err *err)
{
    nas_err own = {0};
    nas_space_init(space, out);
    if (space->parse(space, text, out, &own) != NAS_OK)
        return nas_fail(err, own.code, "architecture '%.120s' of %s: %s", text, space->name,
                        own.text);
    tidy(space, out);
    if (!nas_space_valid(space, out))
        return nas_fail(err, NAS_USAGE, "architecture '%.120s' is not a member of %s", text,
                        space->name);
    return NAS_OK;
}

void nas_space_functional(const nas_space *space, const nas_arch *arch, nas_bytes *out)
{
    nas_arch canonical;
    nas_space_canonical(space, arch, &canonical);
    if (space->functional)
        space->functional(space, arch, out);
    else
        nas_space_print(space, &canonical, out);
}

void nas_space_hash(const nas_space *space, const nas_arch *arch, char text[33])
{
    if (space->hash_kind == NAS_HASH_GRAPH) {
        space->hash(space, arch, text);
        return;
    }
    nas_arch canonical;
    nas_bytes name = {0};
    nas_space_canonical(space, arch, &canonical);
    nas_space_print(space, &canonical, &name);
    MD5Data((const uint8_t *)name.data, name.size, text);
    text[16] = '\0';
    nas_bytes_clear(&name);
}

nas_graph *nas_space_build(const nas_space *space, const nas_arch *arch, const nas_task *task)
{
    nas_arch canonical;
    nas_space_canonical(space, arch, &canonical);
    char name[32];
    snprintf(name, sizeof name, "%s", space->name);
    for (char *c = name; *c; c++) /* ONNX names are C identifiers */
        *c = *c == '-' ? '_' : *c;
    nas_graph *graph = nas_graph_new(name);
    space->build(space, &canonical, task, graph);
    return graph;
}

/* ---- strings of digits ---- */

void nas_space_print_digits(const nas_space *space, const nas_arch *arch, nas_bytes *out)
{
    for (int i = 0; i < space->n_genes; i++)
        nas_bytes_putc(out, (char)('0' + arch->gene[i]));
}

nas_status nas_space_parse_digits(const nas_space *space, const char *text, nas_arch *arch,
                                  nas_err *err)
{
    nas_reader r = {text, text, err, false};
    for (int i = 0, digit = 0; i < space->n_genes; i++)
        if (nas_read_number(&r, 1, 0, space->arity[i] - 1, &digit))
            arch->gene[i] = (uint8_t)digit;
    return nas_read_end(&r);
}

/* ---- indices ---- */

uint64_t nas_space_points(const nas_space *space)
{
    uint64_t points = 1;
    for (int i = 0; i < space->n_genes; i++) {
        if (points > (UINT64_C(1) << 63) / space->arity[i])
            return 0;
        points *= space->arity[i];
    }
    return points;
}

uint64_t nas_space_index(const nas_space *space, const nas_arch *arch)
{
    uint64_t index = 0;
    for (int i = 0; i < space->n_genes; i++)
        index = index * space->arity[i] + arch->gene[i];
    return index;
}

void nas_space_at(const nas_space *space, uint64_t index, nas_arch *out)
{
    nas_space_init(space, out);
    for (int i = space->n_genes; i-- > 0; index /= space->arity[i])
        out->gene[i] = (uint8_t)(index % space->arity[i]);
}
