/* Graphviz: every function once, as a cluster. */
#include "onnx/draw.h"
#include "onnx/file.h"

static void put_id(nas_bytes *out, int panel, int node)
{
    nas_bytes_putc(out, 'p');
    nas_bytes_puti(out, panel);
    nas_bytes_putc(out, '_');
    nas_bytes_puti(out, node);
}

static void put_panel(nas_bytes *out, const nas_panels *panels, int p)
{
    const nas_panel *panel = &panels->panel[p];
    const nas_fn *fn = &panels->graph->fn[panel->fn];
    nas_bytes_puts(out, "  subgraph cluster_");
    nas_bytes_puti(out, p);
    nas_bytes_puts(out, " {\n    label=\"");
    nas_panel_title(panels, panel, out);
    nas_bytes_puts(out, "\"\n");
    for (int id = 0; id < (int)fn->n_node; id++) {
        nas_bytes_puts(out, "    ");
        put_id(out, p, id);
        nas_bytes_puts(out, " [label=\"");
        nas_panel_label(panels, panel, id, out);
        nas_bytes_puts(out, "\", fillcolor=\"");
        nas_bytes_puts(out, nas_panel_color(panels, panel, id));
        nas_bytes_puts(out, id == fn->out ? "\", penwidth=2]\n" : "\"]\n");
        for (int k = 0; k < fn->node[id].n_in; k++) {
            nas_bytes_puts(out, "    ");
            put_id(out, p, fn->node[id].in[k]);
            nas_bytes_puts(out, " -> ");
            put_id(out, p, id);
            nas_bytes_puts(out, " [label=\"");
            nas_panel_shape(panels, panel, fn->node[id].in[k], out);
            nas_bytes_puts(out, "\"]\n");
        }
    }
    nas_bytes_puts(out, "  }\n");
}

void nas_write_dot(const nas_export_job *job)
{
    nas_panels panels;
    nas_panels_make(&panels, job->graph, job->flat);
    nas_bytes_puts(job->out, "digraph ");
    nas_bytes_puts(job->out, job->flat->name);
    nas_bytes_puts(job->out,
                   " {\n  node [shape=box, style=\"filled,rounded\", fontname=\"sans-serif\", "
                   "fontsize=11]\n  edge [fontname=\"sans-serif\", fontsize=9]\n");
    for (int p = 0; p < (int)panels.n; p++)
        put_panel(job->out, &panels, p);
    nas_bytes_puts(job->out, "}\n");
    nas_panels_clear(&panels);
}
