/* Which architectures are there? A search space is a const table of functions over genes.
 *
 *     const nas_space *s = nas_space_find("nb201");
 *     nas_space_sample(s, &rng, &a);
 *     nas_space_print(s, &a, &text);
 *     nas_graph *g = nas_space_build(s, &a, 0, &err);
 *
 * Adding a space: one file with its table and one line in the list of spaces/space.c. Only name,
 * arity, print, parse and build must be there; what is NULL has the default that is said beside it.
 * Verbs below check nothing that the types already promise; parse is the gate for foreign text. */
#ifndef NAS_SPACE_H
#define NAS_SPACE_H

#include "spaces/arch.h"
#include "spaces/base/err.h"
#include "spaces/base/mem.h"
#include "spaces/base/rng.h"
#include "spaces/cell.h"

typedef struct nas_graph nas_graph;
typedef struct nas_space nas_space;

typedef struct {
    const char *name;  /* cifar10 */
    int channels;      /* of the input */
    int height, width; /* of the input; 0: the architecture decides (resolution gene) */
    int classes;       /* outputs of the head; 0: the network ends with its feature map */
} nas_task;

typedef enum {
    NAS_HASH_CANONICAL, /* 16 hex digits: the start of the MD5 of the canonical string */
    NAS_HASH_GRAPH,     /* 32 hex digits: the data set's own isomorphism hash, from hash() */
} nas_hash_kind;

struct nas_space {
    const char *name;
    const char *title;     /* one line for people */
    const char *source;    /* paper or data set that defines it */
    const char *syntax;    /* how a string looks */
    const nas_task *tasks; /* [n_tasks], the first is the default */
    int n_tasks;
    double size;          /* architectures that strings can name, duplicates included */
    int n_genes;          /* at most NAS_ARCH_GENES */
    const uint8_t *arity; /* [n_genes]: gene i is 0..arity[i]-1 */
    nas_hash_kind hash_kind;
    const void *data; /* the space's own constants, for tables that share functions */

    /* Whether genes within their arity make a member. NULL: always. */
    bool (*valid)(const nas_space *, const nas_arch *);
    /* Sets unused genes to zero. NULL: nothing is ever unused. */
    void (*tidy)(const nas_space *, nas_arch *);
    /* Uniform over genes, repeated until valid. */
    void (*sample)(const nas_space *, nas_rng *, nas_arch *);
    /* Another architecture near a; the verb repeats it until the network is another one (a itself
     * after many tries). NULL: one gene changed. */
    void (*mutate)(const nas_space *, nas_rng *, const nas_arch *a, nas_arch *out);
    /* NULL: every gene from one parent or the other with even chance. */
    void (*cross)(const nas_space *, nas_rng *, const nas_arch *a, const nas_arch *b,
                  nas_arch *out);
    /* The member of a's isomorphism class whose string is smallest. NULL: a itself. */
    void (*canonical)(const nas_space *, const nas_arch *a, nas_arch *out);
    /* A text equal for functionally equal architectures (coarser). NULL: the canonical string. */
    void (*functional)(const nas_space *, const nas_arch *, nas_bytes *out);
    /* 32 hex digits for NAS_HASH_GRAPH. */
    void (*hash)(const nas_space *, const nas_arch *, char text[33]);

    void (*print)(const nas_space *, const nas_arch *, nas_bytes *out);
    /* Fills arch->gene (cleared before; n is set already). The sentence names the column, from 1.
     */
    nas_status (*parse)(const nas_space *, const char *text, nas_arch *, nas_err *);
    /* Fills an empty graph with the network of the canonical form of a. */
    void (*build)(const nas_space *, const nas_arch *a, const nas_task *, nas_graph *);
    /* The cells as labelled graphs (out is cleared before), labels below cell_labels. NULL: graph
     * networks read the blocks of the main graph. */
    void (*cell)(const nas_space *, const nas_arch *, nas_cells *out);
    int cell_labels;
    /* Closed-form objectives in a fixed order (toy spaces). NULL: none. */
    const char *const *objectives;
    void (*evaluate)(const nas_space *, const nas_arch *, double *values);
};

/* For print and parse: one digit a gene. */
void nas_space_print_digits(const nas_space *space, const nas_arch *arch, nas_bytes *out);
nas_status nas_space_parse_digits(const nas_space *space, const char *text, nas_arch *arch,
                                  nas_err *err);

/* The list, in a fixed order; nas_arch.space is the row. A space outside the list works with every
 * verb below that is given the space. */
extern const nas_space *const nas_spaces[];
int nas_space_count(void);
const nas_space *nas_space_find(const char *name); /* NULL: no such space */
const nas_space *nas_space_of(const nas_arch *arch);
/* The space, or a sentence with the nearest name. */
const nas_space *nas_space_need(const char *name, nas_err *err);
/* The task by name (NULL: the first), or a sentence with the nearest name. */
const nas_task *nas_space_task(const nas_space *space, const char *name, nas_err *err);

void nas_space_init(const nas_space *space, nas_arch *arch); /* all genes zero */
bool nas_space_valid(const nas_space *space, const nas_arch *arch);
void nas_space_sample(const nas_space *space, nas_rng *rng, nas_arch *out);
void nas_space_mutate(const nas_space *space, nas_rng *rng, const nas_arch *a, nas_arch *out);
void nas_space_cross(const nas_space *space, nas_rng *rng, const nas_arch *a, const nas_arch *b,
                     nas_arch *out);
void nas_space_canonical(const nas_space *space, const nas_arch *a, nas_arch *out);
void nas_space_print(const nas_space *space, const nas_arch *arch, nas_bytes *out);
nas_status nas_space_parse(const nas_space *space, const char *text, nas_arch *out, nas_err *err);
void nas_space_functional(const nas_space *space, const nas_arch *arch, nas_bytes *out);
/* text: 16 or 32 hex digits and NUL. */
void nas_space_hash(const nas_space *space, const nas_arch *arch, char text[33]);
/* The network for a task; free with nas_graph_free. Never fails for a valid architecture. */
nas_graph *nas_space_build(const nas_space *space, const nas_arch *arch, const nas_task *task);

/* All genes as one number, for spaces whose product of arities is below 2^63: the index and back.
 * The first gene is the most significant digit. */
uint64_t nas_space_points(const nas_space *space); /* product of arities, 0 when too large */
uint64_t nas_space_index(const nas_space *space, const nas_arch *arch);
void nas_space_at(const nas_space *space, uint64_t index, nas_arch *out);

#endif
