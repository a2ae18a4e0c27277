#include "results/points.h"

#include "spaces/base/lines.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    nas_points *points;
    size_t value_cap, end_cap;
    const char *path;
    size_t line;
} reader;

static void end_set(reader *r)
{
    nas_points *p = r->points;
    if (p->n == (p->n_set ? p->end[p->n_set - 1] : 0))
        return;
    p->end = nas_grow(p->end, &r->end_cap, p->n_set + 1, sizeof *p->end);
    p->end[p->n_set++] = p->n;
}

static nas_status read_line(reader *r, char *text, nas_err *err)
{
    nas_points *p = r->points;
    bool comment = strchr(text, '#') != NULL;
    text[strcspn(text, "#")] = '\0';
    size_t count = 0;
    char *rest;
    for (char *word = strtok_r(text, " \t\r\n,", &rest); word;
         word = strtok_r(NULL, " \t\r\n,", &rest), count++) {
        char *end;
        double value = strtod(word, &end);
        if (*end || end == word)
            return nas_fail(err, NAS_FAILED, "%s, line %zu, column %zu: '%.40s' is not a number",
                            r->path, r->line, count + 1, word);
        if (isnan(value))
            return nas_fail(err, NAS_FAILED, "%s, line %zu, column %zu: NaN cannot be compared",
                            r->path, r->line, count + 1);
        p->value = nas_grow(p->value, &r->value_cap, p->n * p->m + count + 1, sizeof *p->value);
        p->value[p->n * p->m + count] = value;
    }
    if (count == 0) {
        if (!comment)
            end_set(r);
        return NAS_OK;
    }
    if (p->n && count != p->m)
        return nas_fail(err, NAS_FAILED, "%s, line %zu has %zu numbers, the first point %zu",
                        r->path, r->line, count, p->m);
    p->m = count;
    p->n++;
    return NAS_OK;
}

nas_status nas_points_read(nas_points *points, const char *path, nas_err *err)
{
    nas_lines lines = {0};
    *points = (nas_points){0};
    nas_status status = nas_lines_open(&lines, path, err);
    reader r = {.points = points, .path = lines.name};
    while (status == NAS_OK && (status = nas_lines_next(&lines, err)) == NAS_OK) {
        r.line = lines.number;
        status = read_line(&r, lines.text.data, err);
    }
    end_set(&r);
    if (status == NAS_EMPTY)
        status = points->n ? NAS_OK : nas_fail(err, NAS_FAILED, "%s holds no point", r.path);
    nas_lines_close(&lines);
    if (status)
        nas_points_clear(points);
    return status;
}

void nas_points_clear(nas_points *points)
{
    free(points->value);
    free(points->end);
    *points = (nas_points){0};
}
