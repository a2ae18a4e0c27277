#include "tests/csv.h"

#include <stdio.h>

void check_csv_open(check_csv *csv, const char *name)
{
    const char *dir = check_data_dir();
    if (!dir) {
        print_message("# SKIP no folder of shared tables: %s is not checked\n", name);
        skip();
    }
    char path[500];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    csv->file = gzopen(path, "rb");
    assert_non_null(csv->file);
    assert_true(check_csv_next(csv));
}

bool check_csv_next(check_csv *csv)
{
    if (!gzgets(csv->file, csv->line, sizeof csv->line))
        return false;
    csv->line[strcspn(csv->line, "\r\n")] = '\0';
    csv->n = 0;
    for (char *at = csv->line; at && csv->n < CHECK_CSV_FIELDS;) {
        csv->field[csv->n++] = at;
        at = strchr(at, ',');
        if (at)
            *at++ = '\0';
    }
    return true;
}

void check_csv_close(check_csv *csv)
{
    gzclose(csv->file);
}

nas_arch check_arch(const nas_space *space, const char *text)
{
    nas_arch arch;
    nas_err err = {0};
    if (nas_space_parse(space, text, &arch, &err) != NAS_OK)
        fail_msg("%s", err.text);
    return arch;
}

nas_cost check_cost(const nas_space *space, const nas_arch *arch, const char *task)
{
    nas_cost cost;
    nas_err err = {0};
    const nas_task *t = nas_space_task(space, task, &err);
    assert_non_null(t);
    nas_graph *graph = nas_space_build(space, arch, t);
    if (nas_cost_of(graph, &cost, &err) != NAS_OK)
        fail_msg("%s", err.text);
    nas_graph_free(graph);
    return cost;
}
