/* A CSV file as a table of 'naslm train': imported without being kept. */
#include "search/train_data.h"

#include <stdlib.h>
#include <unistd.h>

enum { COLUMNS_MOST = 128 };

/* The one space whose architectures the file holds. */
static const nas_space *space_of(const nas_options *o, const char *path, nas_err *err)
{
    const char *name = nas_options_nth(o, "space", 0);
    if (!name || nas_options_nth(o, "space", 1)) {
        nas_fail(err, NAS_USAGE, "'%s' needs one '--space': the one of its architectures", path);
        return NULL;
    }
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(name, "@"), name);
    return nas_space_need(text, err);
}

static bool names_architectures(const char *arch, const char *column)
{
    const size_t length = strlen(column);
    for (const char *at = arch; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && !strncmp(at, column, length))
            return true;
    return false;
}

/* Every column that is not of the architecture is a metric of that name. */
static size_t all_columns(const char *path, const char *arch, nas_arena *arena, const char **spec,
                          nas_err *err)
{
    size_t n = 0;
    nas_csv *csv = nas_csv_open(path, err);
    for (size_t k = 0; csv && k < csv->columns && n < COLUMNS_MOST; k++)
        if (!names_architectures(arch, csv->name[k]))
            spec[n++] = nas_arena_print(arena, "%s=%s", csv->name[k], csv->name[k]);
    if (csv && n == 0)
        nas_fail(err, NAS_FAILED, "'%s' has no column of numbers", path);
    nas_csv_close(csv);
    return n;
}

static nas_table *import(const char *path, const nas_table_source *from, nas_err *err)
{
    const char *folder = getenv("TMPDIR");
    nas_table *table = NULL;
    nas_bytes text = {0};
    nas_bytes_print(&text, "%s/naslm-XXXXXX", folder ? folder : "/tmp");
    int file = mkstemp(text.data);
    if (file < 0) {
        nas_fail(err, NAS_FAILED, "cannot write '%s': %m", text.data);
    } else {
        close(file);
        if (nas_table_import(path, from, text.data, true, &nas_disk_real, err) == NAS_OK)
            table = nas_table_open(text.data, err);
        unlink(text.data);
    }
    nas_bytes_clear(&text);
    return table;
}

bool nas_train_is_csv(const char *path)
{
    return nas_ends_with(path, ".csv") || nas_ends_with(path, ".csv.gz");
}

nas_table *nas_train_csv_open(const char *path, const nas_options *o, nas_err *err)
{
    const char *spec[COLUMNS_MOST];
    nas_table_source from = {.space = space_of(o, path, err),
                             .arch = nas_options_text(o, "arch", "arch"),
                             .metric = spec};
    nas_table *table = NULL;
    if (!from.space)
        return NULL;
    nas_arena *arena = nas_arena_new();
    while (from.n_metric < COLUMNS_MOST &&
           (spec[from.n_metric] = nas_options_nth(o, "metric", from.n_metric)))
        from.n_metric++;
    if (from.n_metric == 0)
        from.n_metric = all_columns(path, from.arch, arena, spec, err);
    if (err->code == NAS_OK)
        table = import(path, &from, err);
    nas_arena_free(arena);
    return table;
}
