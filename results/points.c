#include "results/points.h"

#include "spaces/base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
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
    bool standard = !strcmp(path, "-");
    FILE *file = standard ? stdin : fopen(path, "r");
    if (!file)
        return nas_fail(err, NAS_FAILED, "cannot read '%s': %s", path, strerror(errno));
    *points = (nas_points){0};
    reader r = {.points = points, .path = standard ? "standard input" : path};
    char *line = NULL;
    size_t cap = 0;
    nas_status status = NAS_OK;
    while (!status && getline(&line, &cap, file) >= 0) {
        r.line++;
        status = read_line(&r, line, err);
    }
    if (!status && ferror(file))
        status = nas_fail(err, NAS_FAILED, "cannot read '%s': %s", path, strerror(errno));
    end_set(&r);
    if (!status && points->n == 0)
        status = nas_fail(err, NAS_FAILED, "%s holds no point", r.path);
    free(line);
    if (!standard)
        fclose(file);
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
