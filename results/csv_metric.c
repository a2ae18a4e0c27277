#include "results/csv_metric.h"

#include "spaces/base/mem.h"
#include "spaces/base/option.h"

#include <stdio.h>
#include <stdlib.h>

enum { METRIC_PARTS = 4 };

size_t nas_csv_cut(char *text, char **part, size_t most)
{
    size_t n = 0;
    for (char *comma = text; comma; text = comma + 1) {
        if (n == most)
            return most + 1;
        comma = strchr(text, ',');
        if (comma)
            *comma = '\0';
        part[n++] = text;
    }
    return n;
}

/* "FACTOR" or "FACTOR+OFFSET"; the sign of an exponent is none of the two. */
static bool read_scale(const char *text, double *factor, double *offset)
{
    const char *plus = strrchr(text, '+');
    char first[64];
    if (nas_read_real(text, factor))
        return *factor != 0;
    if (!plus || snprintf(first, sizeof first, "%.*s", (int)(plus - text), text) >= 64)
        return false;
    return nas_read_real(first, factor) && *factor != 0 && nas_read_real(plus + 1, offset);
}

nas_status nas_csv_metric_find(const nas_csv *csv, const char *spec, nas_metric *metric,
                               nas_csv_metric *where, nas_err *err)
{
    char *text = nas_strdup(spec), *part[METRIC_PARTS], *equals = strchr(text, '=');
    nas_status status = NAS_OK;
    size_t n = equals ? nas_csv_cut(equals + 1, part, METRIC_PARTS) : 0;
    if (equals)
        *equals = '\0';
    *where = (nas_csv_metric){.factor = 1};
    if (n == 0 || n > METRIC_PARTS)
        status = nas_fail(err, NAS_USAGE, "it is not " NAS_CSV_METRIC);
    else if (!(status = nas_metric_make(metric, text, err)))
        status = nas_csv_need(csv, part[0], &where->column, err);
    if (!status && n > 1 && strlen(part[1]) >= NAS_METRIC_UNIT)
        status = nas_fail(err, NAS_USAGE, "the unit '%s' is longer than %d characters", part[1],
                          NAS_METRIC_UNIT - 1);
    if (!status && n > 1)
        strcpy(metric->unit, part[1]);
    if (!status && n > 2 && *part[2] && !nas_direction_read(part[2], &metric->direction))
        status = nas_fail(err, NAS_USAGE, "the direction '%s' is not max or min", part[2]);
    if (!status && n > 3 &&
        (part[3][0] != 'x' || !read_scale(part[3] + 1, &where->factor, &where->offset)))
        status = nas_fail(err, NAS_USAGE, "the factor '%s' is not x and a number", part[3]);
    free(text);
    return status ? nas_fail_in(err, "metric '%s'", spec) : NAS_OK;
}

nas_status nas_csv_metric_read(const nas_csv *csv, const nas_csv_metric *where, double *value,
                               nas_err *err)
{
    nas_status status = nas_csv_real(csv, where->column, value, err);
    *value = where->factor * *value + where->offset;
    return status;
}
