/* A drawing: one panel for each function, side by side; boxes in the colour of their operator,
 * shapes beside the edges. */
#include "onnx/draw.h"
#include "onnx/file.h"

#include <stdlib.h>

enum { MARGIN = 16, TITLE = 30, ROW_WIDTH = 1200, HEADING = 34, TITLE_MOST = 40 };

typedef struct {
    nas_layout layout;
    int x, y, width, height; /* of the frame */
} frame;

static void put_number(nas_bytes *out, const char *name, int value)
{
    nas_bytes_putc(out, ' ');
    nas_bytes_puts(out, name);
    nas_bytes_puts(out, "=\"");
    nas_bytes_puti(out, value);
    nas_bytes_putc(out, '"');
}

/* Text of at most `most` characters with those that XML reserves replaced. */
static void put_xml(nas_bytes *out, const char *text, int most)
{
    for (const char *c = text; *c; c++)
        switch (most-- > 0 ? *c : 0) {
        case 0:
            nas_bytes_puts(out, "…");
            return;
        case '&':
            nas_bytes_puts(out, "&amp;");
            break;
        case '<':
            nas_bytes_puts(out, "&lt;");
            break;
        default:
            nas_bytes_putc(out, *c);
        }
}

static int top_of(const nas_box *box)
{
    return box->layer * NAS_LAYER_PITCH;
}

/* A curve from the bottom of one box to the top of another; bends are points in the middle. */
static void put_edge(nas_bytes *out, const nas_box *from, const nas_box *to)
{
    int y0 = top_of(from) + (from->id < 0 ? NAS_BOX_HEIGHT / 2 : NAS_BOX_HEIGHT);
    int y1 = top_of(to) + (to->id < 0 ? NAS_BOX_HEIGHT / 2 : 0), middle = (y0 + y1) / 2;
    const int at[] = {from->x, y0, from->x, middle, to->x, middle, to->x, y1};
    nas_bytes_puts(out, "<path d=\"M");
    for (int i = 0; i < 8; i++) {
        nas_bytes_putc(out, i == 2 ? 'C' : ' ');
        nas_bytes_puti(out, at[i]);
    }
    nas_bytes_puts(out, to->id < 0 ? "\"/>\n" : "\" marker-end=\"url(#a)\"/>\n");
}

static void put_box(nas_bytes *out, const nas_panels *panels, const nas_panel *panel,
                    const nas_box *box)
{
    const nas_fn *fn = &panels->graph->fn[panel->fn];
    nas_bytes_puts(out, "<rect");
    put_number(out, "x", box->x - box->width / 2);
    put_number(out, "y", top_of(box));
    put_number(out, "width", box->width);
    put_number(out, "height", NAS_BOX_HEIGHT);
    nas_bytes_puts(out, " fill=\"");
    nas_bytes_puts(out, nas_panel_color(panels, panel, box->id));
    nas_bytes_puts(out, box->id == fn->out ? "\" class=\"o\"/>\n<text" : "\"/>\n<text");
    put_number(out, "x", box->x);
    put_number(out, "y", top_of(box) + 17);
    nas_bytes_putc(out, '>');
    nas_panel_label(panels, panel, box->id, out);
    nas_bytes_puts(out, "</text>\n<text class=\"s\"");
    put_number(out, "x", box->x + 5);
    put_number(out, "y", top_of(box) + NAS_BOX_HEIGHT + 13);
    nas_bytes_putc(out, '>');
    nas_panel_shape(panels, panel, box->id, out);
    nas_bytes_puts(out, "</text>\n");
}

static void put_panel(nas_bytes *out, const nas_panels *panels, int p, const frame *f)
{
    const nas_layout *l = &f->layout;
    nas_bytes_puts(out, "<rect class=\"f\"");
    put_number(out, "x", f->x);
    put_number(out, "y", f->y);
    put_number(out, "width", f->width);
    put_number(out, "height", f->height);
    nas_bytes_puts(out, "/>\n<text class=\"t\"");
    put_number(out, "x", f->x + MARGIN);
    put_number(out, "y", f->y + 20);
    nas_bytes_putc(out, '>');
    nas_panel_title(panels, &panels->panel[p], out);
    nas_bytes_puts(out, "</text>\n<g transform=\"translate(");
    nas_bytes_puti(out, f->x + (f->width - l->width) / 2);
    nas_bytes_putc(out, ',');
    nas_bytes_puti(out, f->y + TITLE);
    nas_bytes_puts(out, ")\">\n");
    for (size_t i = 0; i < l->n; i++)
        for (int k = 0; k < l->box[i].n_in; k++)
            put_edge(out, &l->box[l->box[i].in[k]], &l->box[i]);
    for (size_t i = 0; i < l->n; i++)
        if (l->box[i].id >= 0)
            put_box(out, panels, &panels->panel[p], &l->box[i]);
    nas_bytes_puts(out, "</g>\n");
}

/* The main graph on the left, the others beside it in rows; returns the size of the whole. */
static void arrange(frame *frames, const nas_panels *panels, int *width, int *height)
{
    int left = MARGIN, x = MARGIN, y = HEADING, row = 0;
    nas_bytes title = {0};
    *width = *height = 0;
    for (size_t p = 0; p < panels->n; p++) {
        frame *f = &frames[p];
        nas_bytes_reset(&title);
        nas_panel_title(panels, &panels->panel[p], &title);
        int name = (int)title.size * 9;
        nas_layout_make(&f->layout, panels, &panels->panel[p]);
        f->width = (f->layout.width > name ? f->layout.width : name) + 2 * MARGIN;
        f->height = TITLE + f->layout.layers * NAS_LAYER_PITCH;
        if (x > left && x + f->width > left + ROW_WIDTH) {
            x = left;
            y += row + MARGIN;
            row = 0;
        }
        f->x = x;
        f->y = y;
        x += f->width + MARGIN;
        left = p == 0 ? x : left;
        row = p > 0 && f->height > row ? f->height : row;
        *width = x > *width ? x : *width;
        *height = y + f->height + MARGIN > *height ? y + f->height + MARGIN : *height;
    }
    nas_bytes_clear(&title);
}

static void put_head(nas_bytes *out, int width, int height, const nas_label *label,
                     const char *name)
{
    nas_bytes_puts(out, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
    put_number(out, "width", width);
    put_number(out, "height", height);
    nas_bytes_puts(
        out, " font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"11\">\n"
             "<style>rect{rx:5px;stroke:#555}.o{stroke-width:2.5px}"
             ".f{fill:#fafafa;stroke:#bbb}text{text-anchor:middle}"
             ".s{font-size:9px;fill:#666;text-anchor:start;"
             "paint-order:stroke;stroke:#fafafa;stroke-width:3px}"
             ".t{font-size:13px;font-weight:bold;text-anchor:start}"
             "path{fill:none;stroke:#777;stroke-width:1.2px}</style>\n"
             "<defs><marker id=\"a\" markerWidth=\"7\" markerHeight=\"6\" refX=\"6\" refY=\"3\" "
             "orient=\"auto\"><polygon points=\"0 0 7 3 0 6\" fill=\"#777\"/></marker></defs>\n"
             "<rect width=\"100%\" height=\"100%\" style=\"fill:white;stroke:none\"/>\n"
             "<text class=\"t\" x=\"16\" y=\"22\">");
    put_xml(out, label ? label->space : name, TITLE_MOST);
    if (label) {
        nas_bytes_putc(out, ' ');
        put_xml(out, label->task, TITLE_MOST);
        nas_bytes_puts(out, "<tspan font-weight=\"normal\">  ");
        put_xml(out, label->arch, (width - 200) / 7);
        nas_bytes_puts(out, "</tspan>");
    }
    nas_bytes_puts(out, "</text>\n");
}

void nas_write_svg(const nas_export_job *job)
{
    nas_panels panels;
    int width, height;
    nas_panels_make(&panels, job->graph, job->flat);
    frame *frames = nas_zalloc(panels.n, sizeof *frames);
    arrange(frames, &panels, &width, &height);
    put_head(job->out, width, height, job->label, job->flat->name);
    for (size_t p = 0; p < panels.n; p++) {
        put_panel(job->out, &panels, (int)p, &frames[p]);
        nas_layout_clear(&frames[p].layout);
    }
    nas_bytes_puts(job->out, "</svg>\n");
    free(frames);
    nas_panels_clear(&panels);
}
