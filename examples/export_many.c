/* Writes many networks of a space as files: export_many SPACE N SEED FORM WEIGHTS PREFIX makes
 * PREFIX0, PREFIX1, …; without arguments it lists the spaces. */
#include "onnx/export.h"

#include <stdio.h>
#include <stdlib.h>

static int index_of(const char *word, const char *const *list, int n)
{
    int i = 0;
    while (i < n && strcmp(word, list[i]))
        i++;
    return i;
}

static nas_status write_file(const char *prefix, int i, const nas_bytes *bytes, nas_err *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%d", prefix, i);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes->data, 1, bytes->size, file) != bytes->size)
        nas_fail(err, NAS_FAILED, "cannot write '%s'", path);
    if (file && fclose(file))
        nas_fail(err, NAS_FAILED, "cannot write '%s'", path);
    return err->code;
}

/* The i-th network, random by (seed, i), into out. */
static nas_status export_one(const nas_space *space, const nas_rng *root, int i, nas_export_how how,
                             nas_bytes *out, nas_err *err)
{
    nas_rng own = nas_rng_child(root, "arch", (uint64_t)i);
    nas_arch arch;
    nas_space_sample(space, &own, &arch);
    how.seed = (uint64_t)i;
    nas_bytes_reset(out);
    return nas_export(space, &arch, &space->tasks[i % space->n_tasks], how, out, err);
}

int main(int argc, char **argv)
{
    nas_err err = {0};
    if (argc != 7) {
        for (int i = 0; i < nas_space_count(); i++)
            puts(nas_spaces[i]->name);
        return 0;
    }
    const nas_space *space = nas_space_need(argv[1], &err);
    nas_export_how how = {.form = (nas_form)index_of(argv[4], nas_form_names, NAS_FORM_COUNT),
                          .weights =
                              (nas_weights)index_of(argv[5], nas_weights_names, NAS_WEIGHTS_COUNT)};
    if (how.form == NAS_FORM_COUNT || how.weights == NAS_WEIGHTS_COUNT)
        nas_fail(&err, NAS_USAGE, "no form '%s' or weights '%s'", argv[4], argv[5]);
    nas_rng root = nas_rng_seed(strtoull(argv[3], NULL, 10));
    nas_bytes out = {0};
    for (int i = 0; i < atoi(argv[2]) && err.code == NAS_OK; i++)
        if (export_one(space, &root, i, how, &out, &err) == NAS_OK)
            write_file(argv[6], i, &out, &err);
    nas_bytes_clear(&out);
    if (err.code)
        fprintf(stderr, "%s\n", err.text);
    return (int)err.code;
}
