/* Layers by longest path from the inputs; edges over several layers get bends, so that they run
 * between boxes; positions by averages of neighbours, swept down, up and down again. */
#include "onnx/draw.h"

#include <stdlib.h>

enum { BEND_WIDTH = 8, LETTER_WIDTH = 7, SIDES = 18, LEAST_WIDTH = 80 };

static int add_box(nas_layout *l, nas_box box)
{
    l->box = nas_grow(l->box, &l->cap, l->n + 1, sizeof *l->box);
    l->box[l->n] = box;
    return (int)l->n++;
}

/* A box for every node; shapes are written beside the edge below it, so width covers both. */
static void add_nodes(nas_layout *l, const nas_panels *panels, const nas_panel *panel)
{
    const nas_fn *fn = &panels->graph->fn[panel->fn];
    nas_bytes text = {0};
    for (int id = 0; id < (int)fn->n_node; id++) {
        int layer = 0;
        for (int k = 0; k < fn->node[id].n_in; k++) {
            int above = l->box[fn->node[id].in[k]].layer;
            layer = above >= layer ? above + 1 : layer;
        }
        nas_bytes_reset(&text);
        nas_panel_label(panels, panel, id, &text);
        int width = (int)text.size * LETTER_WIDTH + SIDES;
        add_box(l, (nas_box){.id = id,
                             .layer = layer,
                             .width = width > LEAST_WIDTH ? width : LEAST_WIDTH});
        l->layers = layer >= l->layers ? layer + 1 : l->layers;
    }
    nas_bytes_clear(&text);
}

/* Joins boxes of neighbouring layers. bend: by node, its lowest bend so far, shared by its edges.
 */
static void add_edges(nas_layout *l, const nas_panels *panels, const nas_fn *fn)
{
    int *bend = nas_arena_get(panels->arena, (fn->n_node + 1) * sizeof *bend);
    for (int id = 0; id < (int)fn->n_node; id++)
        bend[id] = id;
    for (int id = 0; id < (int)fn->n_node; id++) {
        int n = fn->node[id].n_in;
        int *in = nas_arena_get(panels->arena, (size_t)n * sizeof *in);
        for (int k = 0; k < n; k++) {
            int from = bend[fn->node[id].in[k]];
            if (l->box[from].layer >= l->box[id].layer)
                from = fn->node[id].in[k];
            while (l->box[from].layer + 1 < l->box[id].layer) {
                int *one = nas_arena_copy(panels->arena, &from, sizeof from);
                from = add_box(l, (nas_box){.id = -1,
                                            .layer = l->box[from].layer + 1,
                                            .width = BEND_WIDTH,
                                            .n_in = 1,
                                            .in = one});
                bend[fn->node[id].in[k]] = from;
            }
            in[k] = from;
        }
        l->box[id].n_in = n;
        l->box[id].in = in;
    }
}

/* ---- positions ---- */

static int by_want(const void *a, const void *b)
{
    const nas_box *p = *(nas_box *const *)a, *q = *(nas_box *const *)b;
    if (p->want != q->want)
        return p->want < q->want ? -1 : 1;
    return (p > q) - (p < q);
}

/* Puts the boxes of a layer side by side in the order of their wishes, as a whole near them. */
static void place(nas_box **row, int n)
{
    int64_t shift = 0;
    int at = 0;
    qsort(row, (size_t)n, sizeof(nas_box *), by_want);
    for (int i = 0; i < n; i++) {
        int x = at + row[i]->width / 2;
        if (i > 0 && row[i]->want > row[i - 1]->want + x - row[i - 1]->x)
            x = row[i - 1]->x + row[i]->want - row[i - 1]->want;
        row[i]->x = x;
        at = x + (row[i]->width + 1) / 2 + NAS_BOX_GAP;
        shift += row[i]->want - x;
    }
    for (int i = 0; i < n; i++)
        row[i]->x += (int)(shift / n);
}

/* Wishes: the middle of the boxes above; box->want of those that read nothing stays their place. */
static void want_above(nas_layout *l, nas_box *b)
{
    int64_t sum = 0;
    for (int k = 0; k < b->n_in; k++)
        sum += l->box[b->in[k]].x;
    b->want = b->n_in ? (int)(sum / b->n_in) : b->x;
}

/* Boxes by layer: row[start[k] .. start[k + 1] - 1] is layer k. */
static void sort_layers(nas_layout *l, nas_box **row, int *start)
{
    for (int k = 0; k <= l->layers + 1; k++)
        start[k] = 0;
    for (size_t i = 0; i < l->n; i++)
        start[l->box[i].layer + 2]++;
    for (int k = 1; k <= l->layers + 1; k++)
        start[k] += start[k - 1];
    for (size_t i = 0; i < l->n; i++)
        row[start[l->box[i].layer + 1]++] = &l->box[i];
}

static void sweep_down(nas_layout *l, nas_box **row, const int *start)
{
    for (int k = 0; k < l->layers; k++) {
        for (int i = start[k]; i < start[k + 1]; i++)
            want_above(l, row[i]);
        place(row + start[k], start[k + 1] - start[k]);
    }
}

/* sum, count: scratch by box. */
static void sweep_up(nas_layout *l, nas_box **row, const int *start, int64_t *sum, int *count)
{
    for (size_t i = 0; i < l->n; i++)
        sum[i] = count[i] = 0;
    for (int k = l->layers; k-- > 0;) {
        for (int i = start[k]; i < start[k + 1]; i++) {
            ptrdiff_t b = row[i] - l->box;
            row[i]->want = count[b] ? (int)(sum[b] / count[b]) : row[i]->x;
        }
        place(row + start[k], start[k + 1] - start[k]);
        for (int i = start[k]; i < start[k + 1]; i++)
            for (int j = 0; j < row[i]->n_in; j++) {
                sum[row[i]->in[j]] += row[i]->x;
                count[row[i]->in[j]]++;
            }
    }
}

/* Moves everything to x = 0 .. width. */
static void fit(nas_layout *l)
{
    int low = 0, high = 0;
    for (size_t i = 0; i < l->n; i++) {
        int left = l->box[i].x - l->box[i].width / 2, right = left + l->box[i].width;
        low = i == 0 || left < low ? left : low;
        high = i == 0 || right > high ? right : high;
    }
    for (size_t i = 0; i < l->n; i++)
        l->box[i].x -= low;
    l->width = high - low;
}

void nas_layout_make(nas_layout *layout, const nas_panels *panels, const nas_panel *panel)
{
    *layout = (nas_layout){0};
    add_nodes(layout, panels, panel);
    add_edges(layout, panels, &panels->graph->fn[panel->fn]);
    nas_arena *arena = panels->arena;
    nas_box **row = nas_arena_get(arena, layout->n * sizeof(nas_box *));
    int *start = nas_arena_get(arena, ((size_t)layout->layers + 2) * sizeof *start);
    int64_t *sum = nas_arena_get(arena, layout->n * sizeof *sum);
    int *count = nas_arena_get(arena, layout->n * sizeof *count);
    sort_layers(layout, row, start);
    sweep_down(layout, row, start);
    sweep_up(layout, row, start, sum, count);
    sweep_down(layout, row, start);
    fit(layout);
}

void nas_layout_clear(nas_layout *layout)
{
    free(layout->box);
    *layout = (nas_layout){0};
}
