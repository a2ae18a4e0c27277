/* NAS-Bench-101 (Ying et al. 2019): a cell is a directed acyclic graph of at most 7 vertices and 9
 * edges, its interior vertices labelled with 3 operators. Vertices that are on no path from input
 * to output are pruned before anything is built or compared.
 *
 * Genes: number of vertices - 2, the upper triangle row by row, the interior operators. The string
 * keeps what was drawn; a smaller or pruned cell has fewer vertices. */
#include "spaces/nb101.h"

#include "spaces/block.h"
#include "spaces/read.h"
#include "spaces/space.h"

#include <md5.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = NAS_NB101_VERTICES, INTERIOR = N - 2, PAIRS = N * (N - 1) / 2, EDGES = 9 };
enum { CONV3, CONV1, POOL, OPS };
enum { SIZE, BIT, OP = BIT + PAIRS, GENES = OP + INTERIOR };

static const uint8_t ARITY[GENES] = {N - 1, 2, 2, 2, 2, 2, 2, 2, 2,   2,   2,   2,   2,  2,
                                     2,     2, 2, 2, 2, 2, 2, 2, OPS, OPS, OPS, OPS, OPS};
static const nas_task TASKS[] = {{"cifar10", 3, 32, 32, 10}};

typedef struct {
    int n;          /* vertices: input, interior, output */
    uint8_t out[N]; /* bit w of out[v]: edge v -> w, w > v */
    uint8_t op[N];  /* of interior vertices */
} cell;

static bool has_edge(const cell *c, int v, int w)
{
    return c->out[v] >> w & 1;
}

static cell decode(const nas_arch *a)
{
    cell c = {.n = a->gene[SIZE] + 2};
    const uint8_t *bit = &a->gene[BIT];
    for (int v = 0; v < c.n; v++)
        for (int w = v + 1; w < c.n; w++)
            c.out[v] |= (uint8_t)(*bit++ << w);
    for (int v = 1; v < c.n - 1; v++)
        c.op[v] = a->gene[OP + v - 1];
    return c;
}

static void encode(const cell *c, nas_arch *a)
{
    memset(a->gene, 0, GENES);
    a->gene[SIZE] = (uint8_t)(c->n - 2);
    uint8_t *bit = &a->gene[BIT];
    for (int v = 0; v < c->n; v++)
        for (int w = v + 1; w < c->n; w++)
            *bit++ = has_edge(c, v, w);
    for (int v = 1; v < c->n - 1; v++)
        a->gene[OP + v - 1] = c->op[v];
}

/* Only the vertices from keep, in the given order: order[k] is the old name of vertex k. */
static cell reorder(const cell *c, const uint8_t *order, int n)
{
    cell out = {.n = n};
    for (int v = 0; v < n; v++) {
        out.op[v] = c->op[order[v]];
        for (int w = v + 1; w < n; w++)
            out.out[v] |= (uint8_t)(has_edge(c, order[v], order[w]) << w);
    }
    return out;
}

/* Whether output can be reached; *pruned is what lies on the way. */
static bool prune(const cell *c, cell *pruned)
{
    unsigned forward = 1, backward = 1u << (c->n - 1);
    for (int v = 0; v < c->n; v++) /* no branches: what is drawn is not predicted */
        forward |= c->out[v] * (forward >> v & 1);
    for (int v = c->n - 2; v >= 0; v--)
        backward |= (unsigned)((c->out[v] & backward) != 0) << v;
    unsigned keep = forward & backward;
    uint8_t order[N];
    int n = 0;
    if (!(keep & 1))
        return false;
    if (keep == (1u << c->n) - 1) {
        *pruned = *c;
        return true;
    }
    for (int v = 0; v < c->n; v++)
        if (keep >> v & 1)
            order[n++] = (uint8_t)v;
    *pruned = reorder(c, order, n);
    return true;
}

static int count_edges(const cell *c)
{
    uint64_t all = 0;
    memcpy(&all, c->out, sizeof c->out); /* those of missing vertices are zero */
    return __builtin_popcountll(all);
}

static bool is_member(const cell *c)
{
    cell pruned;
    return prune(c, &pruned) && count_edges(&pruned) <= EDGES;
}

static bool valid(const nas_space *space, const nas_arch *a)
{
    (void)space;
    const cell c = decode(a);
    return is_member(&c);
}

static void tidy(const nas_space *space, nas_arch *a)
{
    (void)space;
    const cell c = decode(a);
    encode(&c, a);
}

/* ---- strings ---- */

static void print(const nas_space *space, const nas_arch *a, nas_bytes *out)
{
    (void)space;
    int n = a->gene[SIZE] + 2;
    for (int i = 0; i < n * (n - 1) / 2; i++)
        nas_bytes_putc(out, (char)('0' + a->gene[BIT + i]));
    nas_bytes_putc(out, '/');
    for (int i = 0; i < n - 2; i++)
        nas_bytes_putc(out, (char)('0' + a->gene[OP + i]));
}

/* Digits below arity up to the slash or the end of the string; their number. */
static int read_digits(nas_reader *r, int most, int arity, uint8_t *digits)
{
    int n = 0;
    for (int digit = 0; !r->failed && !nas_read_peek(r, '/') && !nas_read_peek(r, '\0'); n++) {
        if (n == most)
            nas_read_fault(r, NULL, "more than %d digits", most);
        else if (nas_read_number(r, 1, 0, arity - 1, &digit))
            digits[n] = (uint8_t)digit;
    }
    return n;
}

static nas_status parse(const nas_space *space, const char *text, nas_arch *out, nas_err *err)
{
    (void)space;
    nas_reader r = {text, text, err, false};
    int bits = read_digits(&r, PAIRS, 2, &out->gene[BIT]), n = 2;
    while (n * (n - 1) / 2 < bits)
        n++;
    if (n * (n - 1) / 2 != bits)
        nas_read_fault(&r, NULL, "%d bits are not the upper triangle of 2 to %d vertices", bits, N);
    if (n > 2 || nas_read_peek(&r, '/'))
        nas_read_char(&r, '/');
    int ops = read_digits(&r, n - 2, OPS, &out->gene[OP]);
    if (ops < n - 2)
        nas_read_fault(&r, NULL, "%d vertices have %d interior operators, not %d", n, n - 2, ops);
    out->gene[SIZE] = (uint8_t)(n - 2);
    if (!r.failed && !valid(space, out))
        nas_read_fault(&r, text,
                       "after pruning the cell has no path from input to output or more "
                       "than %d edges",
                       EDGES);
    return nas_read_end(&r);
}

/* ---- canonical form ---- */

/* All orders of the vertices that keep edges pointing forward, input first and output last. */
typedef struct {
    const cell *c;
    uint8_t in[N]; /* bit v of in[w]: edge v -> w */
    bool by_column;
    uint8_t order[N], best_order[N];
    uint32_t best;
} orders;

/* The relabelled cell as a number: edges, the first the highest, then operators. Row by row it
 * compares like the printed string; by column (and from the last) like the numbers by which the
 * data set enumerated its cells. */
static uint32_t order_key(const orders *o)
{
    const cell *c = o->c;
    uint32_t key = 0;
    if (o->by_column) {
        for (int w = c->n - 1; w > 0; w--)
            for (int v = w - 1; v >= 0; v--)
                key = key << 1 | has_edge(c, o->order[v], o->order[w]);
    } else {
        for (int v = 0; v < c->n; v++)
            for (int w = v + 1; w < c->n; w++)
                key = key << 1 | has_edge(c, o->order[v], o->order[w]);
    }
    for (int v = 1; v < c->n - 1; v++)
        key = key << 2 | c->op[o->order[v]];
    return key;
}

/* first: the edges of the input to the vertices placed so far, the highest digits of a key by row;
 * an order that is behind already is given up. */
static void place(orders *o, int position, unsigned placed, uint32_t first)
{
    int last = o->c->n - 1, digits = last * (last + 1) / 2 + 2 * (last - 1);
    if (!o->by_column && first > o->best >> (digits - (position - 1)))
        return;
    if (position == last) {
        uint32_t key = order_key(o);
        if (key < o->best) {
            o->best = key;
            memcpy(o->best_order, o->order, sizeof o->order);
        }
        return;
    }
    for (int v = 1; v < last; v++)
        if (!(placed >> v & 1) && !(o->in[v] & ~placed)) {
            o->order[position] = (uint8_t)v;
            place(o, position + 1, placed | 1u << v, first << 1 | has_edge(o->c, 0, v));
        }
}

/* The relabelling of a pruned cell with the smallest key. */
static cell arrange(const cell *c, bool by_column)
{
    orders o = {.c = c, .by_column = by_column, .best = UINT32_MAX};
    for (int v = 0; v < c->n; v++)
        for (int w = v + 1; w < c->n; w++)
            o.in[w] |= (uint8_t)(has_edge(c, v, w) << v);
    o.order[c->n - 1] = (uint8_t)(c->n - 1);
    place(&o, 1, 1, 0);
    return reorder(c, o.best_order, c->n);
}

static cell pruned_cell(const nas_arch *a)
{
    cell c = decode(a), pruned = c;
    prune(&c, &pruned);
    return pruned;
}

static void canonical(const nas_space *space, const nas_arch *a, nas_arch *out)
{
    (void)space;
    const cell pruned = pruned_cell(a), c = arrange(&pruned, false);
    *out = *a;
    encode(&c, out);
}

/* ---- hash of the data set ---- */

typedef char hex[33];

static int compare_hex(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The sorted hashes of the vertices in mask, each between before and after. */
static void put_sorted(nas_bytes *text, hex *hash, unsigned mask, const char *before,
                       const char *after, const char *between)
{
    hex sorted[N];
    int n = 0;
    for (int v = 0; v < N; v++)
        if (mask >> v & 1)
            memcpy(sorted[n++], hash[v], sizeof(hex));
    qsort(sorted, (size_t)n, sizeof(hex), compare_hex);
    for (int i = 0; i < n; i++) {
        nas_bytes_puts(text, i ? between : "");
        nas_bytes_puts(text, before);
        nas_bytes_put(text, sorted[i], sizeof(hex) - 1);
        nas_bytes_puts(text, after);
    }
}

static void first_hashes(const cell *c, const unsigned *in, hex *h)
{
    for (int v = 0; v < c->n; v++) {
        char text[40];
        int label = v == 0 ? -1 : v == c->n - 1 ? -2 : c->op[v];
        int size = snprintf(text, sizeof text, "(%d, %d, %d)", __builtin_popcount(c->out[v]),
                            __builtin_popcount(in[v]), label);
        MD5Data((const uint8_t *)text, (size_t)size, h[v]);
    }
}

/* One round for every vertex: hashes of its predecessors | of its successors | its own. */
static void hash_round(const cell *c, const unsigned *in, hex *h, nas_bytes *text)
{
    hex next[N];
    for (int v = 0; v < c->n; v++) {
        nas_bytes_reset(text);
        put_sorted(text, h, in[v], "", "", "");
        nas_bytes_putc(text, '|');
        put_sorted(text, h, c->out[v], "", "", "");
        nas_bytes_putc(text, '|');
        nas_bytes_puts(text, h[v]);
        MD5Data((const uint8_t *)text->data, text->size, next[v]);
    }
    memcpy(h, next, (size_t)c->n * sizeof *h);
}

static void hash(const nas_space *space, const nas_arch *a, char text[33])
{
    (void)space;
    const cell c = pruned_cell(a);
    unsigned in[N] = {0};
    for (int v = 0; v < c.n; v++)
        for (int w = v + 1; w < c.n; w++)
            in[w] |= (unsigned)has_edge(&c, v, w) << v;
    hex h[N];
    nas_bytes buffer = {0};
    first_hashes(&c, in, h);
    for (int round = 0; round < c.n; round++)
        hash_round(&c, in, h, &buffer);
    nas_bytes_reset(&buffer);
    nas_bytes_putc(&buffer, '[');
    put_sorted(&buffer, h, (1u << c.n) - 1, "'", "'", ", ");
    nas_bytes_putc(&buffer, ']');
    MD5Data((const uint8_t *)buffer.data, buffer.size, text);
    nas_bytes_clear(&buffer);
}

/* ---- operators ---- */

/* Fair coins for the edges until the cell is a member, which operators do not decide. */
static void sample(const nas_space *space, nas_rng *rng, nas_arch *out)
{
    (void)space;
    cell c = {.n = N};
    do {
        uint64_t coins = nas_rng_next(rng) >> (64 - PAIRS);
        for (int v = 0; v < N - 1; coins >>= N - 1 - v, v++)
            c.out[v] = (uint8_t)((coins & ((1u << (N - 1 - v)) - 1)) << (v + 1));
    } while (!is_member(&c));
    for (int v = 1; v < N - 1; v++)
        c.op[v] = (uint8_t)nas_rng_below(rng, OPS);
    encode(&c, out);
}

/* The cell with dead vertices before the output so that it has all seven. */
static void fill_up(const nas_arch *a, nas_arch *out)
{
    cell c = decode(a);
    for (int v = 0, last = c.n - 1; v < last; v++)
        c.out[v] = (uint8_t)((c.out[v] & ((1 << last) - 1)) | (c.out[v] >> last << (N - 1)));
    c.n = N;
    encode(&c, out);
}

/* On all seven vertices: every edge flips with chance 1/7, every operator becomes another one with
 * chance 1/5. */
static void mutate(const nas_space *space, nas_rng *rng, const nas_arch *a, nas_arch *out)
{
    (void)space;
    fill_up(a, out);
    for (int i = 0; i < PAIRS; i++)
        out->gene[BIT + i] ^= nas_rng_below(rng, N) == 0;
    for (int i = 0; i < INTERIOR; i++)
        if (nas_rng_below(rng, INTERIOR) == 0)
            out->gene[OP + i] =
                (uint8_t)((out->gene[OP + i] + 1 + nas_rng_below(rng, OPS - 1)) % OPS);
}

static void cross(const nas_space *space, nas_rng *rng, const nas_arch *a, const nas_arch *b,
                  nas_arch *out)
{
    (void)space;
    nas_arch other = *b;
    fill_up(a, out);
    fill_up(b, &other);
    uint64_t coins = nas_rng_next(rng);
    for (int i = BIT; i < GENES; i++) { /* no branch: coins are not predicted */
        uint8_t differ = out->gene[i] ^ other.gene[i];
        out->gene[i] ^= (uint8_t)(differ * (coins >> i & 1));
    }
}

/* ---- graph ---- */

/* Interior vertices that feed the output. */
static unsigned feeders(int n, const uint8_t *out)
{
    unsigned mask = 0;
    for (int v = 1; v < n - 1; v++)
        mask |= (unsigned)(out[v] >> (n - 1) & 1) << v;
    return mask;
}

/* For each interior vertex the feeder whose width it has: itself, or the first one that it leads
 * to, which is the widest. */
static void leaders(int n, const uint8_t *out, int *leader)
{
    unsigned feed = feeders(n, out);
    for (int v = n - 2; v > 0; v--) {
        leader[v] = feed >> v & 1 ? v : n;
        for (int w = v + 1; w < n - 1 && !(feed >> v & 1); w++)
            if (out[v] >> w & 1 && leader[w] < leader[v])
                leader[v] = leader[w];
    }
}

void nas_nb101_channels(int n, const uint8_t *out, int64_t i, int64_t o, int64_t *channels)
{
    unsigned feed = feeders(n, out);
    int leader[N], d = __builtin_popcount(feed);
    channels[0] = i;
    channels[n - 1] = o;
    leaders(n, out, leader);
    for (int v = 1, k = 0; v < n - 1; v++)
        if (feed >> v & 1)
            channels[v] = o / d + (k++ < o % d);
    for (int v = 1; v < n - 1; v++)
        channels[v] = channels[leader[v]];
}

/* The formals of the cell: i, o and the widths between. One feeder: as wide as the output; a number
 * of feeders that divides all widths: one for all; else one each. */
static int width_count(int feeders_count)
{
    if (feeders_count <= 1)
        return 0;
    return 128 % feeders_count == 0 ? 1 : feeders_count;
}

static void width_formals(const cell *c, int64_t *width)
{
    unsigned feed = feeders(c->n, c->out);
    int count = width_count(__builtin_popcount(feed)), leader[N];
    leaders(c->n, c->out, leader);
    for (int v = 1; v < c->n - 1; v++) {
        int before = __builtin_popcount(feed & ((1u << leader[v]) - 1));
        width[v] = NAS_FORMAL(count == 0 ? 1 : count == 1 ? 2 : 2 + before);
    }
}

/* The first c channels: take <c>. */
static int take(nas_body body, int x, int64_t c)
{
    nas_body own;
    if (nas_graph_function(body.graph, "take", 1, (const char *const[]){"c"}, 1, true, &own)) {
        const nas_attr attr[] = {
            [NAS_SLICE_STARTS] = {.n = 1, .v = (int64_t[]){0}},
            [NAS_SLICE_ENDS] = {.n = 1, .v = (int64_t[]){NAS_FORMAL(0)}},
            [NAS_SLICE_AXES] = {.n = 1, .v = (int64_t[]){1}},
        };
        nas_body_return(own, nas_body_op(own, NAS_OP_SLICE, (int[]){0}, 1, attr));
    }
    return nas_body_call(body, "take", &x, 1, &c);
}

static int conv(nas_body body, int x, int k, int64_t i, int64_t o)
{
    return nas_block_conv(body, x,
                          (nas_conv){.i = i, .o = o, .k = k, .bn = true, .act = NAS_ACT_RELU});
}

/* The sum of predecessors, each cut to the width where it may be one wider (it is so in some stacks
 * only), and the projected input; then the operator. */
static int build_vertex(nas_body body, const cell *c, int v, const int *node, const int64_t *width)
{
    int terms[N], n = 0;
    for (int s = 1; s < v; s++)
        if (has_edge(c, s, v))
            terms[n++] = width[s] == width[v] ? node[s] : take(body, node[s], width[v]);
    if (has_edge(c, 0, v))
        terms[n++] = conv(body, 0, 1, NAS_FORMAL(0), width[v]);
    int x = nas_block_sum(body, terms, n);
    if (c->op[v] == POOL)
        return nas_block_pool(body, x, (nas_pool){.op = NAS_OP_MAXPOOL, .k = 3, .pad = 1});
    return conv(body, x, c->op[v] == CONV1 ? 1 : 3, width[v], width[v]);
}

static void build_cell(nas_body body, const cell *c)
{
    int node[N], last[N], n = 0;
    int64_t width[N];
    width_formals(c, width);
    for (int v = 1; v < c->n - 1; v++) {
        node[v] = build_vertex(body, c, v, node, width);
        if (has_edge(c, v, c->n - 1))
            last[n++] = node[v];
    }
    int y = n ? nas_block_concat(body, last, n) : -1;
    if (has_edge(c, 0, c->n - 1)) {
        int projected = conv(body, 0, 1, NAS_FORMAL(0), NAS_FORMAL(1));
        y = n ? nas_block_add(body, y, projected) : projected;
    }
    nas_body_return(body, y);
}

/* Three cells, the first of which may change the width: cells3 <i, o>, cells3a <i, o, a>, … */
static int stack(nas_graph *g, const cell *c, int x, int64_t i, int64_t o)
{
    static const char *const formal[] = {"i", "o", "a", "b", "c", "d", "e"};
    unsigned feed = feeders(c->n, c->out);
    int n = 2 + width_count(__builtin_popcount(feed));
    char name[16];
    snprintf(name, sizeof name, "cells3%.*s", n - 2, "abcde");
    nas_body own;
    if (nas_graph_function(g, "cell", 1, formal, n, false, &own))
        build_cell(own, c);
    if (nas_graph_function(g, name, 1, formal, n, true, &own)) {
        int64_t arg[N];
        for (int k = 0; k < n; k++)
            arg[k] = NAS_FORMAL(k);
        int h = nas_body_call(own, "cell", (int[]){0}, 1, arg);
        arg[0] = NAS_FORMAL(1);
        h = nas_body_call(own, "cell", &h, 1, arg);
        nas_body_return(own, nas_body_call(own, "cell", &h, 1, arg));
    }
    int64_t channels[N], arg[N] = {i, o};
    nas_nb101_channels(c->n, c->out, i, o, channels);
    for (int v = 1, k = 2; v < c->n - 1 && k < n; v++)
        if (feed >> v & 1)
            arg[k++] = channels[v];
    return nas_body_call(nas_graph_main(g), name, &x, 1, arg);
}

/* Where three vertices share the output's channels unevenly, their order decides who has one more:
 * the network is that of the data set's labelling, whichever the string has. */
static void build(const nas_space *space, const nas_arch *a, const nas_task *task, nas_graph *g)
{
    (void)space;
    const cell pruned = pruned_cell(a), c = arrange(&pruned, true);
    const nas_pool half = {.op = NAS_OP_MAXPOOL, .k = 2, .s = 2};
    nas_body main = nas_graph_main(g);
    int x = nas_graph_input(g, &(nas_shape){4, {0, task->channels, task->height, task->width}});
    x = conv(main, x, 3, task->channels, 128);
    x = stack(g, &c, x, 128, 128);
    x = stack(g, &c, nas_block_pool(main, x, half), 128, 256);
    x = stack(g, &c, nas_block_pool(main, x, half), 256, 512);
    nas_body_return(main, nas_block_head(main, x, 512, task->classes));
}

static void graph_cell(const nas_space *space, const nas_arch *a, nas_cells *out)
{
    (void)space;
    const cell c = pruned_cell(a);
    nas_cell *to = &out->cell[0];
    out->n = 1;
    to->n = c.n;
    for (int v = 0; v < c.n; v++) {
        to->label[v] = (uint8_t)(NAS_CELL_OPS + c.op[v]);
        for (int w = 0; w < v; w++)
            to->from[v] |= (uint64_t)has_edge(&c, w, v) << w;
    }
    to->label[0] = NAS_CELL_INPUT;
    to->label[c.n - 1] = NAS_CELL_OUTPUT;
}

const nas_space nas_space_nb101 = {
    .name = "nb101",
    .title = "NAS-Bench-101 cells",
    .source = "Ying et al., ICML 2019",
    .syntax = "BITS/OPS: upper triangle row by row / interior operators, 0 conv3x3, 1 conv1x1, 2 "
              "maxpool3x3",
    .tasks = TASKS,
    .n_tasks = 1,
    .size = 375975790,
    .n_genes = GENES,
    .arity = ARITY,
    .hash_kind = NAS_HASH_GRAPH,
    .valid = valid,
    .tidy = tidy,
    .sample = sample,
    .mutate = mutate,
    .cross = cross,
    .canonical = canonical,
    .hash = hash,
    .print = print,
    .parse = parse,
    .build = build,
    .cell = graph_cell,
    .cell_labels = NAS_CELL_OPS + OPS,
};
