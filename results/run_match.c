/* Is a run that goes on the same search? What was committed stands; with other settings its rows
 * and volumes would not go with the new ones. */
#include "results/run_inner.h"

#include <jansson.h>
#include <stdlib.h>

/* May differ: how far to go, how much to measure at the end. */
static bool may_change(const char *setting)
{
    return !strcmp(setting, "budget") || !strcmp(setting, "verify_best");
}

/* The setting as JSON, to be freed; a missing one is null. */
static char *setting_text(const json_t *config, const char *name)
{
    const json_t *value = json_object_get(config, name);
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS) : nas_strdup("null");
    return text ? text : nas_strdup("");
}

/* The settings named in `names`, a configuration too, are alike. */
static nas_status match_settings(const nas_run *run, json_t *names, const json_t *old,
                                 const json_t *now, nas_err *err)
{
    nas_status status = NAS_OK;
    for (void *at = json_object_iter(names); at && status == NAS_OK;
         at = json_object_iter_next(names, at)) {
        const char *name = json_object_iter_key(at);
        char *was = setting_text(old, name), *is = setting_text(now, name);
        if (!may_change(name) && strcmp(was, is))
            status = nas_fail(err, NAS_USAGE, "'%s' is a run with %s %s, not %s", run->path, name,
                              was, is);
        free(was);
        free(is);
    }
    return status;
}

static nas_status match_config(const nas_run *run, const char *config, nas_err *err)
{
    json_t *old = json_loads(run->info.config, 0, NULL), *now = json_loads(config, 0, NULL);
    nas_status status = match_settings(run, now, old, now, err);
    if (status == NAS_OK)
        status = match_settings(run, old, old, now, err);
    json_decref(old);
    json_decref(now);
    return status;
}

nas_status nas_run_match(const nas_run *run, const nas_run_info *info, nas_err *err)
{
    const nas_run_info *own = &run->info;
    const char *path = run->path;
    if (strcmp(own->space, info->space) || strcmp(own->task, info->task))
        return nas_fail(err, NAS_USAGE, "'%s' is a run on %s %s, not on %s %s", path, own->space,
                        own->task, info->space, info->task);
    if (own->seed != info->seed)
        return nas_fail(err, NAS_USAGE, "'%s' is a run with seed %llu, not %llu", path,
                        (unsigned long long)own->seed, (unsigned long long)info->seed);
    if (own->n_metric != info->n_metric || own->n_objective != info->n_objective)
        return nas_fail(err, NAS_USAGE,
                        "'%s' is a run with %zu objectives and %zu metrics, not %zu and %zu", path,
                        own->n_objective, own->n_metric, info->n_objective, info->n_metric);
    for (size_t i = 0; i < own->n_metric; i++) {
        const nas_metric *a = &own->metric[i], *b = &info->metric[i];
        if (strcmp(a->name, b->name) || strcmp(a->unit, b->unit) ||
            (i < own->n_objective && a->direction != b->direction))
            return nas_fail(err, NAS_USAGE, "'%s' is a run on %s (%s, %s), not on %s (%s, %s)",
                            path, a->name, a->unit, nas_direction_name(a->direction), b->name,
                            b->unit, nas_direction_name(b->direction));
    }
    return match_config(run, info->config, err);
}
