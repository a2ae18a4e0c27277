#include "results/h5_metric.h"

#include <string.h>

size_t nas_h5_metric_fields(nas_h5_field *field, size_t *n)
{
    nas_h5_field_add(field, n, "name", NAS_H5_TEXT, NAS_METRIC_NAME);
    nas_h5_field_add(field, n, "column", NAS_H5_TEXT, NAS_METRIC_NAME);
    nas_h5_field_add(field, n, "unit", NAS_H5_TEXT, NAS_METRIC_UNIT);
    return nas_h5_field_add(field, n, "direction", NAS_H5_TEXT, strlen("none"));
}

void nas_h5_put_metric(char *row, const nas_h5_field *field, const nas_metric *metric)
{
    const char *text[] = {metric->name, metric->column, metric->unit,
                          nas_direction_name(metric->direction)};
    for (size_t k = 0; k < NAS_H5_METRIC_FIELDS; k++)
        memcpy(row + field[k].offset, text[k], strlen(text[k]));
}

void nas_h5_get_metric(const char *row, const nas_h5_field *field, nas_metric *metric)
{
    char direction[8];
    nas_h5_field_text(row, &field[0], metric->name, sizeof metric->name);
    nas_h5_field_text(row, &field[1], metric->column, sizeof metric->column);
    nas_h5_field_text(row, &field[2], metric->unit, sizeof metric->unit);
    nas_h5_field_text(row, &field[3], direction, sizeof direction);
    if (!nas_direction_read(direction, &metric->direction))
        metric->direction = NAS_NO_DIRECTION;
}
