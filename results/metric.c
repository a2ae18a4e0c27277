#include "results/metric.h"

#include "spaces/base/mem.h"
#include "spaces/base/option.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a family of metrics is by custom. */
static const struct {
    const char *family, *unit;
    nas_direction direction;
} family[] = {
    {"accuracy", "%", NAS_MAX},
    {"latency", "ms", NAS_MIN},
    {"energy", "mJ", NAS_MIN},
    {"throughput", "images/s", NAS_MAX},
    {"params", "", NAS_MIN},
    {"macs", "", NAS_MIN},
    {"activation_bytes", "B", NAS_MIN},
    {"convs", "", NAS_MIN},
    {"miou", "%", NAS_MAX},
    {"ssim", "", NAS_MAX},
    {"neg_loss", "", NAS_MAX},
};

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_.:-", c));
}

nas_status nas_metric_make(nas_metric *metric, const char *name, nas_err *err)
{
    size_t length = strlen(name);
    if (length == 0)
        return nas_fail(err, NAS_USAGE, "a metric has an empty name");
    if (length >= NAS_METRIC_NAME - 1) /* the column may need one more character */
        return nas_fail(err, NAS_USAGE, "the metric name '%.80s' is longer than %d characters",
                        name, NAS_METRIC_NAME - 2);
    memset(metric, 0, sizeof *metric);
    metric->direction = NAS_NO_DIRECTION;
    char *column = metric->column;
    if (isdigit((unsigned char)name[0]))
        *column++ = '_';
    for (size_t i = 0; i < length; i++) {
        if (!is_name_char(name[i]))
            return nas_fail(err, NAS_USAGE,
                            "the metric name '%s' has '%c' at column %zu; letters, digits and _.:- "
                            "are allowed",
                            name, name[i], i + 1);
        metric->name[i] = name[i];
        column[i] = isalnum((unsigned char)name[i]) ? name[i] : '_';
    }
    size_t stem = strcspn(name, ":");
    for (size_t i = 0; i < sizeof family / sizeof *family; i++)
        if (strlen(family[i].family) == stem && !memcmp(family[i].family, name, stem)) {
            strcpy(metric->unit, family[i].unit);
            metric->direction = family[i].direction;
        }
    return NAS_OK;
}

const char *nas_direction_name(nas_direction direction)
{
    return direction == NAS_MIN ? "min" : direction == NAS_MAX ? "max" : "none";
}

bool nas_direction_read(const char *text, nas_direction *direction)
{
    if (strcmp(text, "min") && strcmp(text, "max"))
        return false;
    *direction = strcmp(text, "min") ? NAS_MAX : NAS_MIN;
    return true;
}

int nas_metric_find(const nas_metric *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].name, name))
            return (int)i;
    return -1;
}

nas_status nas_metric_need(const nas_metric *list, size_t n, const char *name, const char *owner,
                           size_t *index, nas_err *err)
{
    int found = nas_metric_find(list, n, name);
    if (found >= 0) {
        *index = (size_t)found;
        return NAS_OK;
    }
    const char **names = nas_alloc((n + 1) * sizeof *names);
    for (size_t i = 0; i < n; i++)
        names[i] = list[i].name;
    char hint[NAS_METRIC_NAME + 32];
    nas_hint(hint, sizeof hint, name, names, n);
    free(names);
    return nas_fail(err, NAS_USAGE, "%s has no metric '%s'%s", owner, name, hint);
}

/* Reads one "max:name" of length bytes. */
static nas_status parse_objective(const char *text, size_t length, nas_metric *metric, nas_err *err)
{
    char name[NAS_METRIC_NAME + 8];
    while (length && isspace((unsigned char)*text))
        text++, length--;
    while (length && isspace((unsigned char)text[length - 1]))
        length--;
    if (length == 0)
        return nas_fail(err, NAS_USAGE, "an objective is empty; write max:METRIC or min:METRIC");
    if (length >= sizeof name)
        return nas_fail(err, NAS_USAGE, "the objective '%.*s' is too long", 80, text);
    memcpy(name, text, length);
    name[length] = '\0';
    bool max = !strncmp(name, "max:", 4);
    if (!max && strncmp(name, "min:", 4))
        return nas_fail(err, NAS_USAGE,
                        "the objective '%s' has no direction; write max:METRIC or min:METRIC",
                        name);
    if (nas_metric_make(metric, name + 4, err))
        return nas_fail_in(err, "objective '%s'", name);
    metric->direction = max ? NAS_MAX : NAS_MIN;
    return NAS_OK;
}

nas_status nas_objectives_parse(const char *text, nas_metric *list, size_t *n, nas_err *err)
{
    *n = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (*n == NAS_OBJECTIVE_MOST)
            return nas_fail(err, NAS_USAGE, "more than %d objectives", NAS_OBJECTIVE_MOST);
        nas_status status = parse_objective(text, length, &list[*n], err);
        if (status)
            return status;
        for (size_t i = 0; i < *n; i++)
            if (!strcmp(list[i].column, list[*n].column))
                return nas_fail(err, NAS_USAGE,
                                "the objectives '%s' and '%s' would share the column '%s'",
                                list[i].name, list[*n].name, list[i].column);
        ++*n;
        if (!text[length])
            return NAS_OK;
        text += length + 1;
    }
}

void nas_objectives_minimise(double *points, size_t n, const nas_metric *list, size_t m)
{
    for (size_t j = 0; j < m; j++)
        if (list[j].direction == NAS_MAX)
            for (size_t i = 0; i < n; i++)
                points[i * m + j] = -points[i * m + j];
}

/* Copies text without blanks into out; false when it does not fit. */
static bool copy_dense(char *out, size_t size, const char *text)
{
    size_t k = 0;
    for (; *text; text++)
        if (!isspace((unsigned char)*text)) {
            if (k + 1 == size)
                return false;
            out[k++] = *text;
        }
    out[k] = '\0';
    return true;
}

nas_status nas_constraint_parse(const char *text, nas_constraint *constraint, nas_err *err)
{
    char dense[NAS_METRIC_NAME + NAS_METRIC_UNIT + 48];
    char *sign = copy_dense(dense, sizeof dense, text) ? strpbrk(dense, "<>") : NULL;
    if (!sign || sign[1] != '=')
        return nas_fail(err, NAS_USAGE,
                        "the constraint '%.120s' is not METRIC<=NUMBER or METRIC>=NUMBER", text);
    constraint->upper = *sign == '<';
    *sign = '\0';
    if (nas_metric_make(&constraint->metric, dense, err))
        return nas_fail_in(err, "constraint '%s'", text);
    char number[48];
    size_t digits = strspn(sign + 2, "+-.0123456789eE");
    snprintf(number, sizeof number, "%.*s", (int)digits, sign + 2);
    const char *unit = sign + 2 + digits;
    if (digits >= sizeof number || !nas_read_real(number, &constraint->bound))
        return nas_fail(err, NAS_USAGE, "the constraint '%.120s' has no number after '%c='", text,
                        constraint->upper ? '<' : '>');
    if (strlen(unit) >= NAS_METRIC_UNIT || strpbrk(unit, "<>=,"))
        return nas_fail(err, NAS_USAGE, "the constraint '%.120s' ends in '%.20s', not a unit", text,
                        unit);
    constraint->has_unit = *unit;
    if (*unit)
        strcpy(constraint->metric.unit, unit);
    return NAS_OK;
}

nas_status nas_constraint_adopt(nas_constraint *constraint, const nas_metric *known, nas_err *err)
{
    if (constraint->has_unit && strcmp(constraint->metric.unit, known->unit))
        return nas_fail(err, NAS_USAGE, "the constraint on '%s' is in '%s', but its unit is '%s'",
                        known->name, constraint->metric.unit, known->unit);
    strcpy(constraint->metric.unit, known->unit);
    return NAS_OK;
}

double nas_constraint_violation(const nas_constraint *constraint, double value)
{
    if (isnan(value))
        return INFINITY;
    double excess = constraint->upper ? value - constraint->bound : constraint->bound - value;
    if (!(excess > 0))
        return 0;
    double size = fabs(constraint->bound);
    return size > 0 ? excess / size : excess;
}
