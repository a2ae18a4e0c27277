#include "surrogate/encode.h"

#include "spaces/graph.h"

#include <assert.h>
#include <stdlib.h>

struct nas_encoder {
    const nas_space *space;
    const nas_task *task;
    char **call; /* [n_call] spelled blocks; label NAS_CELL_OPS + index */
    size_t n_call, cap;
    int cells, nodes;
};

/* ---- blocks of the main graph ---- */

enum { SAMPLES = 500 };

/* "mbconv3 16 24 2": the function, or the operator, and its integers. */
static void spell(const nas_graph *graph, const nas_node *node, nas_bytes *out)
{
    nas_bytes_reset(out);
    nas_bytes_puts(out,
                   node->op == NAS_OP_CALL ? graph->fn[node->fn].name : nas_ops[node->op].name);
    for (int i = 0; i < node->n_attr; i++)
        for (int k = 0; k < node->attr[i].n; k++) {
            nas_bytes_putc(out, ' ');
            nas_bytes_puti(out, node->attr[i].v[k]);
        }
}

static int find_call(const nas_encoder *e, const char *text)
{
    size_t low = 0, high = e->n_call;
    while (low < high) {
        size_t mid = (low + high) / 2;
        int order = strcmp(e->call[mid], text);
        if (order == 0)
            return (int)mid;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return -1;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the calls of one graph that are not there yet. */
static void learn_calls(nas_encoder *e, const nas_graph *graph)
{
    nas_bytes text = {0};
    const nas_fn *main = &graph->fn[0];
    for (size_t i = (size_t)main->n_in; i < main->n_node; i++) {
        spell(graph, &main->node[i], &text);
        if (e->n_call == NAS_ENCODER_LABELS - NAS_CELL_OPS || find_call(e, text.data) >= 0)
            continue;
        e->call = nas_grow(e->call, &e->cap, e->n_call + 1, sizeof *e->call);
        e->call[e->n_call++] = nas_strdup(text.data);
        qsort(e->call, e->n_call, sizeof *e->call, compare_text);
    }
    nas_bytes_clear(&text);
}

/* Main as one cell, with an output node behind its last call. */
static void main_cell(const nas_encoder *e, const nas_arch *arch, nas_cells *out)
{
    nas_graph *graph = nas_space_build(e->space, arch, e->task);
    const nas_fn *main = &graph->fn[0];
    nas_cell *c = &out->cell[0];
    nas_bytes text = {0};
    int most = NAS_CELL_NODES - 1;
    c->n = main->n_node < (size_t)most ? (int)main->n_node : most;
    for (int i = main->n_in; i < c->n; i++) {
        spell(graph, &main->node[i], &text);
        int call = find_call(e, text.data);
        c->label[i] = (uint8_t)(call < 0 ? NAS_CELL_SKIP : NAS_CELL_OPS + call);
        for (int k = 0; k < main->node[i].n_in; k++)
            c->from[i] |= UINT64_C(1) << main->node[i].in[k];
    }
    int last = main->out < c->n ? main->out : c->n - 1;
    c->label[c->n] = NAS_CELL_OUTPUT;
    c->from[c->n++] = UINT64_C(1) << last;
    out->n = 1;
    nas_bytes_clear(&text);
    nas_graph_free(graph);
}

/* ---- encoder ---- */

static void learn_sizes(nas_encoder *e, const nas_arch *arch)
{
    nas_cells cells;
    nas_encoder_cells(e, arch, &cells);
    e->cells = cells.n;
    for (int c = 0; c < cells.n; c++)
        e->nodes = cells.cell[c].n > e->nodes ? cells.cell[c].n : e->nodes;
}

static void learn_arch(nas_encoder *e, const nas_arch *arch)
{
    if (!e->space->cell) {
        nas_graph *graph = nas_space_build(e->space, arch, e->task);
        learn_calls(e, graph);
        nas_graph_free(graph);
    }
    learn_sizes(e, arch);
}

nas_encoder *nas_encoder_new(const nas_space *space, const nas_task *task)
{
    nas_encoder *e = nas_zalloc(1, sizeof *e);
    nas_rng rng = nas_rng_seed(0);
    e->space = space;
    e->task = task;
    for (int i = 0; i < SAMPLES; i++) {
        nas_arch a;
        nas_space_sample(space, &rng, &a);
        learn_arch(e, &a);
    }
    return e;
}

void nas_encoder_free(nas_encoder *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->n_call; i++)
        free(e->call[i]);
    free(e->call);
    free(e);
}

int nas_encoder_labels(const nas_encoder *e)
{
    return e->space->cell ? e->space->cell_labels : NAS_CELL_OPS + (int)e->n_call;
}

int nas_encoder_cells_each(const nas_encoder *e)
{
    return e->cells;
}

int nas_encoder_nodes(const nas_encoder *e)
{
    return e->nodes;
}

void nas_encoder_cells(const nas_encoder *e, const nas_arch *arch, nas_cells *out)
{
    *out = (nas_cells){0};
    if (e->space->cell)
        e->space->cell(e->space, arch, out);
    else
        main_cell(e, arch, out);
}

nas_encoding *nas_encode_cells(const nas_cells *cells, size_t n, int labels)
{
    nas_encoding *g = nas_zalloc(1, sizeof *g);
    g->n = n;
    g->cells = cells[0].n;
    g->labels = labels;
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < cells[i].n; c++)
            g->nodes = cells[i].cell[c].n > g->nodes ? cells[i].cell[c].n : g->nodes;
    size_t graphs = n * (size_t)g->cells, width = (size_t)g->nodes;
    g->label = nas_zalloc(graphs * width, sizeof *g->label);
    g->from = nas_zalloc(graphs * width, sizeof *g->from);
    g->count = nas_zalloc(graphs, sizeof *g->count);
    g->side = nas_zalloc(n * 2, sizeof *g->side);
    for (size_t i = 0; i < graphs; i++) {
        const nas_cells *all = &cells[i / (size_t)g->cells];
        const nas_cell *c = &all->cell[i % (size_t)g->cells];
        assert(all->n == g->cells);
        memcpy(g->label + i * width, c->label, (size_t)c->n * sizeof *g->label);
        memcpy(g->from + i * width, c->from, (size_t)c->n * sizeof *g->from);
        memcpy(g->side + i / (size_t)g->cells * 2, all->side, sizeof all->side);
        g->count[i] = (uint8_t)c->n;
    }
    return g;
}

nas_encoding *nas_encode(const nas_encoder *e, const nas_arch *arch, size_t n)
{
    nas_cells *cells = nas_alloc(n * sizeof *cells);
#pragma omp parallel for schedule(dynamic, 64)
    for (size_t i = 0; i < n; i++)
        nas_encoder_cells(e, &arch[i], &cells[i]);
    nas_encoding *g = nas_encode_cells(cells, n, nas_encoder_labels(e));
    free(cells);
    return g;
}

void nas_encoding_free(nas_encoding *g)
{
    if (!g)
        return;
    free(g->label);
    free(g->from);
    free(g->count);
    free(g->side);
    free(g);
}

/* ---- simpler cells ---- */

/* Nodes that a search along edges from the marked ones reaches; forth: from inputs. */
static uint64_t reach(const nas_cell *c, uint64_t marked, bool forth)
{
    for (int k = 0; k < c->n; k++) {
        int i = forth ? k : c->n - 1 - k;
        if (forth && c->from[i] & marked)
            marked |= UINT64_C(1) << i;
        if (!forth && marked >> i & 1)
            marked |= c->from[i];
    }
    return marked;
}

void nas_cell_simplify(nas_cell *c)
{
    uint64_t inputs = 0, path;
    for (int i = 0; i < c->n; i++) {
        uint64_t from = c->from[i];
        for (int j = 0; j < i; j++)
            if (from >> j & 1 && (c->label[j] == NAS_CELL_NONE || c->label[j] == NAS_CELL_SKIP)) {
                c->from[i] &= ~(UINT64_C(1) << j);
                c->from[i] |= c->label[j] == NAS_CELL_SKIP ? c->from[j] : 0;
            }
        if (c->label[i] == NAS_CELL_INPUT)
            inputs |= UINT64_C(1) << i;
    }
    path = reach(c, inputs, true) & reach(c, UINT64_C(1) << (c->n - 1), false);
    path |= UINT64_C(1) << (c->n - 1) | inputs; /* the ends stay, joined or not */
    nas_cell kept = {0};
    for (int i = 0; i < c->n; i++) {
        if (!(path >> i & 1))
            continue;
        kept.label[kept.n] = c->label[i];
        for (int j = 0, k = 0; j < i; j++)
            if (path >> j & 1)
                kept.from[kept.n] |= (c->from[i] >> j & 1) << k++;
        kept.n++;
    }
    *c = kept;
}

/* ---- genes ---- */

size_t nas_onehot_width(const nas_space *space)
{
    size_t width = 0;
    for (int i = 0; i < space->n_genes; i++)
        width += space->arity[i];
    return width;
}

void nas_onehot(const nas_space *space, const nas_arch *arch, uint32_t *column)
{
    uint32_t first = 0;
    for (int i = 0; i < space->n_genes; i++) {
        column[i] = first + arch->gene[i];
        first += space->arity[i];
    }
}
