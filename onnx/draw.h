/* What is drawn where? Every function of a graph once, as a panel: its calls and operators in
 * layers, inputs on top. Small prelude functions without calls are not opened, their names say all.
 *
 *     nas_panels panels;
 *     nas_panels_make(&panels, graph, flat);
 *     nas_layout_make(&layout, &panels, p);
 *     nas_panels_clear(&panels);
 */
#ifndef NAS_ONNX_DRAW_H
#define NAS_ONNX_DRAW_H

#include "spaces/graph.h"

typedef struct {
    int fn;              /* of the graph; main is the first panel */
    int depth;           /* of the call that is shown: the first */
    const int *flat;     /* by node of the function: the node of the flat graph with its value */
    const nas_attr *arg; /* of the call that is shown; NULL for main */
} nas_panel;

typedef struct {
    const nas_graph *graph, *flat;
    nas_arena *arena;
    nas_panel *panel; /* [n] in order of the first call */
    size_t n, cap;
    int *of_fn; /* [n_fn] panel of a function, -1 for those that are not opened */
} nas_panels;

void nas_panels_make(nas_panels *panels, const nas_graph *graph, const nas_graph *flat);
void nas_panels_clear(nas_panels *panels);

/* What stands in the box of a node: "Conv 3x3/2", "cell c=16". */
void nas_panel_label(const nas_panels *panels, const nas_panel *panel, int id, nas_bytes *out);
/* "16x32x32": the shape of one image's value. */
void nas_panel_shape(const nas_panels *panels, const nas_panel *panel, int id, nas_bytes *out);
/* The title: the function's name and arguments. */
void nas_panel_title(const nas_panels *panels, const nas_panel *panel, nas_bytes *out);
/* Fill colour, "#rrggbb", by the heaviest operator of the node. */
const char *nas_panel_color(const nas_panels *panels, const nas_panel *panel, int id);

/* ---- layout ---- */

enum { NAS_BOX_HEIGHT = 26, NAS_LAYER_PITCH = 62, NAS_BOX_GAP = 18 };

/* A node, or a bend of an edge that crosses the layer (id -1). */
typedef struct {
    int id, layer;
    int x, width;  /* center and width */
    int n_in, *in; /* boxes that it reads, all one layer above */
    int want;      /* scratch of the layout */
} nas_box;

typedef struct {
    nas_box *box; /* [n]; the first n_node are the nodes of the function */
    size_t n, cap;
    int layers, width;
} nas_layout;

/* Boxes lie in x = 0 .. width, layer k at y = k * NAS_LAYER_PITCH. In the arena of panels. */
void nas_layout_make(nas_layout *layout, const nas_panels *panels, const nas_panel *panel);
void nas_layout_clear(nas_layout *layout);

#endif
