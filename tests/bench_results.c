/* How fast are files of results? Import and loading of a table of 400,000 rows, writing and reading
 * of a run of 100,000 evaluations. CPU milliseconds and bytes. */
#include "results/run.h"
#include "results/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void say(const char *what, double start, const char *path)
{
    struct stat file = {0};
    double spent = milliseconds() - start;
    printf("%-34s %8.1f ms", what, spent);
    if (path && stat(path, &file) == 0)
        printf("  %.2f MB", (double)file.st_size / 1e6);
    putchar('\n');
}

/* A random architecture of the space as text. */
static const char *draw(const nas_space *space, nas_rng *rng, nas_arch *arch, nas_bytes *text)
{
    nas_space_sample(space, rng, arch);
    nas_bytes_reset(text);
    nas_space_print(space, arch, text);
    return text->data;
}

static int bench_table(const nas_space *space, const char *csv, const char *out)
{
    enum { ROWS = 400000 };
    nas_rng rng = nas_rng_seed(1);
    nas_bytes text = {0};
    nas_arch arch;
    nas_err err = {0};
    FILE *file = fopen(csv, "w");
    if (!file)
        return 1;
    fputs("arch,acc,lat\n", file);
    for (int i = 0; i < ROWS; i++) {
        const char *string = draw(space, &rng, &arch, &text);
        double accuracy = 90 * nas_rng_unit(&rng), latency = 30 * nas_rng_unit(&rng);
        fprintf(file, "%s,%.4f,%.5f\n", string, accuracy, latency);
    }
    fclose(file);
    static const char *const metric[] = {"accuracy=acc", "latency:x=lat"};
    nas_table_source from = {space, "arch", metric, 2};
    double start = milliseconds();
    nas_status status = nas_table_import(csv, &from, out, true, &nas_disk_real, &err);
    say("import 400,000 rows", start, out);
    start = milliseconds();
    nas_table *table = status ? NULL : nas_table_open(out, &err);
    say("load 400,000 rows", start, NULL);
    start = milliseconds();
    double values[2];
    size_t found = 0;
    rng = nas_rng_seed(1);
    for (int i = 0; i < ROWS && table; i++) { /* the same ones */
        nas_space_sample(space, &rng, &arch);
        found += nas_table_find(table, &arch, values);
        nas_rng_unit(&rng);
        nas_rng_unit(&rng);
    }
    say("draw and look up 400,000", start, NULL);
    if (!table || found != ROWS)
        printf("failed: %s\n", err.text);
    nas_table_close(table);
    nas_bytes_clear(&text);
    return !table;
}

static int bench_run(const nas_space *space, const char *path)
{
    enum { ROWS = 100000, GENERATION = 20 };
    nas_rng rng = nas_rng_seed(2);
    nas_bytes text = {0};
    nas_err err = {0};
    nas_metric metric[2];
    nas_metric_make(&metric[0], "accuracy", NULL);
    nas_metric_make(&metric[1], "latency:x", NULL);
    nas_run_info info = {.space = space->name,
                         .task = "imagenet",
                         .config = "{}",
                         .provenance = "{}",
                         .metric = metric,
                         .n_metric = 2,
                         .n_objective = 2};
    nas_run_how how = {&nas_disk_real, 30, false};
    nas_run *run;
    double start = milliseconds();
    nas_status status = nas_run_open(&run, path, &info, NAS_RUN_FORCE, &how, &err);
    for (int64_t i = 0; i < ROWS && !status; i++) {
        nas_arch arch;
        double value[] = {90 * nas_rng_unit(&rng), 30 * nas_rng_unit(&rng)};
        nas_run_row row = {.parent1 = i - 1, .parent2 = -1, .feasible = true, .value = value};
        row.arch = draw(space, &rng, &arch, &text);
        nas_space_hash(space, &arch, row.hash);
        nas_run_add(run, &row);
        if (i % GENERATION == GENERATION - 1)
            status = nas_run_commit(run, &(nas_run_step){i + 1, 1, 0, NAN}, &err);
    }
    say("draw, hash, commit 100,000", start, NULL);
    start = milliseconds();
    if (!status)
        status = nas_run_finish(run, &err);
    say("write the run file", start, path);
    start = milliseconds();
    nas_run *again = NULL;
    if (!status)
        status = nas_run_read(&again, path, &err);
    say("read the run file", start, NULL);
    if (status)
        printf("failed: %s\n", err.text);
    nas_run_close(run);
    nas_run_close(again);
    nas_bytes_clear(&text);
    return status;
}

int main(void)
{
    char folder[] = "/tmp/nas-bench-XXXXXX", csv[64], h5[64];
    if (!mkdtemp(folder))
        return 1;
    snprintf(csv, sizeof csv, "%s/t.csv", folder);
    snprintf(h5, sizeof h5, "%s/t.h5", folder);
    const nas_space *space = nas_space_find("ofa-mb"); /* large: hardly a row twice */
    int failed = bench_table(space, csv, h5);
    failed |= bench_run(space, h5);
    unlink(csv);
    unlink(h5);
    rmdir(folder);
    return failed;
}
