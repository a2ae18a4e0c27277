#include "onnx/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool nas_tensor_of(const nas_node *node, int p, nas_tensor *tensor)
{
    const nas_param_row *row = &nas_ops[node->op].params[p];
    const nas_attr *attr = &node->attr[row->attr];
    if (attr->n < 0)
        return false;
    *tensor = (nas_tensor){.suffix = row->suffix, .kind = row->kind, .type = NAS_ONNX_FLOAT};
    if (row->kind == NAS_PARAM_SCALAR) {
        tensor->scalar = attr->f;
    } else if (row->kind == NAS_PARAM_INDEX) {
        tensor->type = NAS_ONNX_INT64;
        tensor->rank = 1;
        tensor->one = attr->n;
        tensor->dim = &tensor->one;
        tensor->value = attr->v;
    } else {
        tensor->rank = attr->n;
        tensor->dim = attr->v;
    }
    return true;
}

int64_t nas_tensor_values(const nas_tensor *tensor)
{
    int64_t n = 1;
    for (int i = 0; i < tensor->rank; i++)
        n *= tensor->dim[i];
    return n;
}

/* ---- names ---- */

void nas_names_make(nas_names *names, const nas_graph *flat)
{
    const nas_fn *main = &flat->fn[0];
    *names = (nas_names){.at = nas_alloc((main->n_node + 1) * sizeof *names->at)};
    for (int i = 0; i < (int)main->n_node; i++) {
        names->at[i] = (uint32_t)names->text.size;
        nas_bytes_puts(&names->text, i < main->n_in ? "x" : nas_ops[main->node[i].op].name);
        if (i >= main->n_in || main->n_in > 1)
            nas_bytes_puti(&names->text, i);
        nas_bytes_putc(&names->text, '\0');
    }
    names->at[main->n_node] = (uint32_t)names->text.size;
}

void nas_names_clear(nas_names *names)
{
    nas_bytes_clear(&names->text);
    free(names->at);
    *names = (nas_names){0};
}

void nas_names_put(nas_bytes *out, const nas_names *names, int id)
{
    nas_bytes_put(out, nas_names_text(names, id), names->at[id + 1] - names->at[id] - 1);
}

void nas_names_put_tensor(nas_bytes *out, const nas_names *names, int id, const char *suffix)
{
    nas_names_put(out, names, id);
    nas_bytes_putc(out, '_');
    nas_bytes_puts(out, suffix);
}

/* ---- literals ---- */

void nas_put_float(nas_bytes *out, float f)
{
    char text[32];
    if (fabsf(f) < 1e6f && f == (float)(int)f && !signbit(f)) {
        nas_bytes_puti(out, (int)f);
        nas_bytes_puts(out, ".0");
        return;
    }
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)f);
        if (strtof(text, NULL) == f)
            break;
    }
    if (isfinite(f) && !strpbrk(text, ".e"))
        strcat(text, ".0");
    nas_bytes_puts(out, text);
}

void nas_put_string(nas_bytes *out, const char *text)
{
    nas_bytes_putc(out, '"');
    for (const char *c = text; *c; c++)
        nas_bytes_putc(out, *c == '"' ? '\'' : *c);
    nas_bytes_putc(out, '"');
}
