#include "surrogate/schema.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

nas_status nas_schema_init(nas_schema *schema, const char *layout, nas_err *err)
{
    *schema = (nas_schema){0};
    return nas_number_parse(&schema->number, layout, err);
}

void nas_schema_clear(nas_schema *schema)
{
    free(schema->metric);
    free(schema->scale);
    *schema = (nas_schema){0};
}

nas_status nas_schema_add(nas_schema *schema, const nas_metric *metric, nas_err *err)
{
    if (nas_metric_find(schema->metric, schema->n, metric->name) >= 0)
        return nas_fail(err, NAS_USAGE, "the metric '%s' is there twice", metric->name);
    size_t need = schema->n + 1;
    schema->metric = nas_grow(schema->metric, &schema->metric_cap, need, sizeof *schema->metric);
    schema->scale = nas_grow(schema->scale, &schema->scale_cap, need, sizeof *schema->scale);
    schema->metric[schema->n] = *metric;
    schema->scale[schema->n++] = (nas_scale){0};
    return NAS_OK;
}

nas_status nas_schema_choose(const nas_schema *schema, const char *const *name, size_t n,
                             size_t *chosen, size_t *n_chosen, nas_err *err)
{
    bool *wanted = nas_zalloc(schema->n + 1, sizeof *wanted);
    nas_status status = NAS_OK;
    size_t index, last = 0;
    for (size_t i = 0; i < n; i++) {
        status = nas_metric_need(schema->metric, schema->n, name[i], "the model", &index, err);
        if (status)
            goto exit;
        wanted[index] = true;
        last = index > last ? index : last;
    }
    *n_chosen = 0;
    for (size_t i = 0; i < schema->n; i++)
        if (n == 0 || wanted[i] || (schema->plain && i < last))
            chosen[(*n_chosen)++] = i;
exit:
    free(wanted);
    return status;
}

/* ---- tokens ---- */

int32_t nas_schema_size(const nas_schema *schema)
{
    return schema->number.size + (schema->plain ? 0 : (int32_t)schema->n);
}

size_t nas_schema_block(const nas_schema *schema)
{
    return (size_t)schema->number.length + !schema->plain;
}

size_t nas_schema_length(const nas_schema *schema)
{
    return schema->n * nas_schema_block(schema);
}

int32_t nas_schema_token(const nas_schema *schema, size_t metric)
{
    assert(!schema->plain && metric < schema->n);
    return schema->number.size + (int32_t)metric;
}

bool nas_schema_write(const nas_schema *schema, size_t metric, double value, int32_t *id)
{
    return nas_number_encode(&schema->number, nas_scale_apply(&schema->scale[metric], value), id);
}

bool nas_schema_read(const nas_schema *schema, size_t metric, const int32_t *id, double *value)
{
    double z;
    if (!nas_number_decode(&schema->number, id, &z))
        return false;
    *value = nas_scale_invert(&schema->scale[metric], z);
    return true;
}

size_t nas_schema_encode(const nas_schema *schema, const double *label, int32_t *input,
                         int32_t *target, uint8_t *loss)
{
    size_t length = nas_schema_length(schema), at = 0;
    memset(target, 0, length * sizeof *target);
    memset(loss, 0, length);
    for (size_t i = 0; i < schema->n; i++) {
        if (isnan(label[i]) && schema->plain)
            break;
        if (isnan(label[i]))
            continue;
        if (!schema->plain)
            target[at++] = nas_schema_token(schema, i);
        nas_schema_write(schema, i, label[i], target + at);
        memset(loss + at, 1, (size_t)schema->number.length);
        at += (size_t)schema->number.length;
    }
    for (size_t i = 0; i < length; i++)
        input[i] = i && i < at ? target[i - 1] : NAS_NUMBER_PAD;
    return at;
}

nas_token_set nas_schema_legal(const nas_schema *schema, const size_t *chosen, const int32_t *id,
                               size_t position)
{
    size_t block = nas_schema_block(schema), in = position % block;
    if (!schema->plain && in == 0) {
        int32_t token = nas_schema_token(schema, chosen[position / block]);
        return (nas_token_set){{token, 0}, {token + 1, 0}};
    }
    size_t start = position - in + !schema->plain;
    return nas_number_legal(&schema->number, id + start, (int)(position - start));
}

/* ---- metadata ---- */

static json_t *metric_to_json(const nas_metric *metric, const nas_scale *scale)
{
    json_t *knots = json_array();
    for (int i = 0; i < scale->n; i++)
        json_array_append_new(knots, json_pack("[f, f]", scale->x[i], scale->z[i]));
    json_t *result = json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", metric->name, "unit",
                               metric->unit, "direction", nas_direction_name(metric->direction),
                               "scale", nas_scale_name(scale), "knots", knots);
    if (scale->spread.offset != 0 || scale->spread.slope != 0)
        json_object_set_new(result, "spread",
                            json_pack("[f, f]", scale->spread.offset, scale->spread.slope));
    return result;
}

void nas_schema_print(const nas_schema *schema, nas_bytes *out)
{
    char layout[64];
    json_t *metrics = json_array();
    for (size_t i = 0; i < schema->n; i++)
        json_array_append_new(metrics, metric_to_json(&schema->metric[i], &schema->scale[i]));
    json_t *root = json_pack("{s:s, s:b, s:o}", "number",
                             nas_number_print(&schema->number, layout, sizeof layout), "plain",
                             (int)schema->plain, "metrics", metrics);
    char *text = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(17));
    if (!text)
        nas_out_of_memory(0);
    nas_bytes_puts(out, text);
    free(text);
    json_decref(root);
}

static bool read_direction(const char *text, nas_direction *direction)
{
    for (*direction = NAS_MIN; *direction <= NAS_NO_DIRECTION; ++*direction)
        if (!strcmp(text, nas_direction_name(*direction)))
            return true;
    return false;
}

static bool read_scale(const char *kind, const json_t *knots, const nas_calibration *spread,
                       nas_scale *scale)
{
    *scale = (nas_scale){.kind = nas_scale_find(kind), .spread = *spread};
    if (json_array_size(knots) > NAS_SCALE_KNOTS)
        return false;
    for (; scale->n < (int)json_array_size(knots); scale->n++) {
        const json_t *knot = json_array_get(knots, (size_t)scale->n);
        const json_t *x = json_array_get(knot, 0), *z = json_array_get(knot, 1);
        if (json_array_size(knot) != 2 || !json_is_number(x) || !json_is_number(z))
            return false;
        scale->x[scale->n] = json_number_value(x);
        scale->z[scale->n] = json_number_value(z);
    }
    return nas_scale_valid(scale);
}

static nas_status read_metric(nas_schema *schema, json_t *item, nas_err *err)
{
    const char *name, *unit, *direction, *kind;
    const json_t *knots;
    nas_metric metric;
    nas_scale scale;
    nas_calibration spread = {0};
    if (json_unpack(item, "{s:s, s:s, s:s, s:s, s:o, s?[F, F !] !}", "name", &name, "unit", &unit,
                    "direction", &direction, "scale", &kind, "knots", &knots, "spread",
                    &spread.offset, &spread.slope))
        return nas_fail(err, NAS_FAILED, "metric %zu of the schema is not complete", schema->n);
    if (nas_metric_make(&metric, name, err))
        return NAS_FAILED;
    if (strlen(unit) >= NAS_METRIC_UNIT || !read_direction(direction, &metric.direction))
        return nas_fail(err, NAS_FAILED, "metric '%s' has a bad unit or direction", name);
    if (!json_is_array(knots) || !read_scale(kind, knots, &spread, &scale))
        return nas_fail(err, NAS_FAILED, "metric '%s' has a bad scale", name);
    strcpy(metric.unit, unit);
    if (nas_schema_add(schema, &metric, err))
        return NAS_FAILED;
    schema->scale[schema->n - 1] = scale;
    return NAS_OK;
}

static nas_status read_schema(nas_schema *schema, json_t *root, nas_err *err)
{
    const char *layout;
    int plain;
    json_t *metrics;
    if (json_unpack(root, "{s:s, s:b, s:o !}", "number", &layout, "plain", &plain, "metrics",
                    &metrics) ||
        !json_is_array(metrics))
        return nas_fail(err, NAS_FAILED, "a schema holds number, plain and metrics");
    if (nas_schema_init(schema, layout, err))
        return NAS_FAILED;
    schema->plain = plain;
    for (size_t i = 0; i < json_array_size(metrics); i++)
        if (read_metric(schema, json_array_get(metrics, i), err))
            return NAS_FAILED;
    return NAS_OK;
}

nas_status nas_schema_parse(nas_schema *schema, const char *text, size_t size, nas_err *err)
{
    json_error_t why;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    *schema = (nas_schema){0};
    nas_status status = root ? read_schema(schema, root, err)
                             : nas_fail(err, NAS_FAILED, "schema is not JSON: %s", why.text);
    if (status) {
        nas_schema_clear(schema);
        if (err)
            err->code = NAS_FAILED; /* a layout or name unknown here is a bad file, not bad usage */
    }
    json_decref(root);
    return status;
}
