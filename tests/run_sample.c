#include "tests/run_sample.h"

#include "spaces/base/rng.h"
#include "tests/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/nas-run-XXXXXX";
char run_path[64], run_journal[80], run_temporary[80];
nas_metric run_metrics[3];

int run_make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    snprintf(run_path, sizeof run_path, "%s/run.h5", folder);
    snprintf(run_journal, sizeof run_journal, "%s.journal", run_path);
    snprintf(run_temporary, sizeof run_temporary, "%s.tmp", run_path);
    return 0;
}

int run_clean(void **state)
{
    (void)state;
    unlink(run_path);
    unlink(run_journal);
    unlink(run_temporary);
    return 0;
}

int run_drop_folder(void **state)
{
    run_clean(state);
    return rmdir(folder);
}

nas_run_info run_sample_info(void)
{
    static const double lower[] = {-INFINITY, -INFINITY, -INFINITY};
    static const double upper[] = {INFINITY, 0.9, INFINITY};
    nas_metric_make(&run_metrics[0], "accuracy", NULL);
    nas_metric_make(&run_metrics[1], "latency:raspi4", NULL);
    nas_metric_make(&run_metrics[2], "accuracy_predicted", NULL);
    return (nas_run_info){.space = "nb201",
                          .task = "cifar10",
                          .seed = 7,
                          .config = "{\"budget\": 40}",
                          .provenance = "{\"naslm\": \"0\"}",
                          .metric = run_metrics,
                          .n_metric = 3,
                          .n_objective = 2,
                          .lower = lower,
                          .upper = upper,
                          .has_tau = true};
}

void run_add_generation(nas_run *run, size_t rows)
{
    size_t generation = nas_run_generations(run);
    nas_rng root = nas_rng_seed(1), rng = nas_rng_child(&root, "generation", generation);
    for (size_t i = 0; i < rows; i++) {
        char arch[32];
        double value[] = {nas_rng_unit(&rng), nas_rng_unit(&rng), NAN};
        nas_run_row row = {.parent1 = -1, .parent2 = -1, .arch = arch, .value = value};
        snprintf(arch, sizeof arch, "g%zu-%0*zu", generation, (int)(1 + i * 3), i);
        snprintf(row.hash, sizeof row.hash, "%016llx", (unsigned long long)nas_rng_next(&rng));
        row.feasible = value[1] <= 0.9;
        row.violation = row.feasible ? 0 : value[1] - 0.9;
        if (generation)
            row.parent1 = (int64_t)nas_rng_below(&rng, generation);
        if (i == 2) {
            row.state = NAS_ROW_FAILED;
            row.feasible = false;
            value[0] = value[1] = NAN;
        }
        nas_run_add(run, &row);
    }
}

/* The answers that come before a generation; those that are kept are what was kept. */
static nas_status keep_answers(nas_run *run, size_t rows, nas_err *err)
{
    nas_status status = NAS_OK;
    for (size_t i = 0; i < rows && status == NAS_OK; i++) {
        char arch[32];
        double value[2] = {(double)nas_run_generations(run), (double)i};
        snprintf(arch, sizeof arch, "answer %zu", i);
        const nas_run_answer *kept = nas_run_kept(run, i % 2, arch);
        if (kept) {
            assert_int_equal(kept->n, 2);
            assert_memory_equal(kept->value, value, sizeof value);
            assert_int_equal(kept->state, i == 2 ? NAS_ROW_FAILED : NAS_ROW_OK);
            continue;
        }
        const nas_run_answer answer = {i % 2, i == 2 ? NAS_ROW_FAILED : NAS_ROW_OK, arch, value, 2};
        status = nas_run_keep(run, &answer, err);
        assert_true(status != NAS_OK || nas_run_kept(run, i % 2, arch));
        assert_null(nas_run_kept(run, 2, arch));
    }
    return status;
}

/* Continues to that many generations and finishes. */
nas_status run_drive(nas_run_mode mode, const nas_disk *disk, double snapshot, bool sync,
                     size_t generations, nas_err *err)
{
    nas_run_info info = run_sample_info();
    nas_run_how how = {disk, snapshot, sync};
    nas_run *run;
    nas_status status = nas_run_open(&run, run_path, &info, mode, &how, err);
    if (status)
        return status;
    while (!status && nas_run_generations(run) < generations) {
        size_t g = nas_run_generations(run);
        if (g == 0)
            nas_run_set_reference(run, (double[]){0, 1});
        status = keep_answers(run, g % 4, err);
        if (status)
            break;
        run_add_generation(run, g % 4);
        nas_run_step step = {(int64_t)nas_run_rows(run), 2, (double)g / 7, g ? 0.5 : NAN};
        status = nas_run_commit(run, &step, err);
    }
    if (!status)
        status = nas_run_finish(run, err);
    nas_run_close(run);
    return status;
}

nas_bytes file_bytes(const char *name)
{
    nas_bytes bytes = {0};
    assert_int_equal(nas_disk_read(name, &bytes, NULL), NAS_OK);
    return bytes;
}

nas_bytes run_unbroken(size_t generations)
{
    nas_err err = {0};
    run_clean(NULL);
    if (run_drive(NAS_RUN_NEW, &nas_disk_real, 1e9, false, generations, &err))
        print_message("%s\n", err.text);
    assert_int_equal(err.code, NAS_OK);
    return file_bytes(run_path);
}

void run_assert_final(const nas_bytes *want)
{
    nas_bytes got = file_bytes(run_path);
    assert_int_equal(got.size, want->size);
    assert_memory_equal(got.data, want->data, want->size);
    assert_int_equal(access(run_journal, F_OK), -1);
    assert_int_equal(access(run_temporary, F_OK), -1);
    nas_bytes_clear(&got);
}

/* Leaves a run of that many generations that was not finished. */
nas_bytes run_leave_unfinished(size_t generations)
{
    run_clean(NULL);
    nas_run_info info = run_sample_info();
    nas_run_how how = {&nas_disk_real, 1e9, false};
    nas_run *run;
    assert_int_equal(nas_run_open(&run, run_path, &info, NAS_RUN_NEW, &how, NULL), NAS_OK);
    nas_run_set_reference(run, (double[]){0, 1});
    for (size_t g = 0; g < generations; g++) {
        run_add_generation(run, g % 4);
        nas_run_step step = {(int64_t)nas_run_rows(run), 2, (double)g / 7, g ? 0.5 : NAN};
        assert_int_equal(nas_run_commit(run, &step, NULL), NAS_OK);
    }
    nas_run_close(run);
    return file_bytes(run_journal);
}

void put_file(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}
