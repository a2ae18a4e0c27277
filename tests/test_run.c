/* results/run: what is committed survives a stop at any call, in the same bytes. With arguments it
 * writes a sample run: what test_run.py reads with h5py and pandas. */
#include "results/h5.h"
#include "results/run.h"
#include "spaces/base/rng.h"

#include "tests/check.h"
#include "tests/fault.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/nas-run-XXXXXX";
static char path[64], journal_path[80], temporary_path[80];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/run.h5", folder);
    snprintf(journal_path, sizeof journal_path, "%s.journal", path);
    snprintf(temporary_path, sizeof temporary_path, "%s.tmp", path);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    unlink(path);
    unlink(journal_path);
    unlink(temporary_path);
    return 0;
}

static int drop_folder(void **state)
{
    clean(state);
    return rmdir(folder);
}

/* ---- a search that depends on the generation alone ---- */

static nas_metric metrics[3];

static nas_run_info sample_info(void)
{
    static const double lower[] = {-INFINITY, -INFINITY, -INFINITY};
    static const double upper[] = {INFINITY, 0.9, INFINITY};
    nas_metric_make(&metrics[0], "accuracy", NULL);
    nas_metric_make(&metrics[1], "latency:raspi4", NULL);
    nas_metric_make(&metrics[2], "accuracy_predicted", NULL);
    return (nas_run_info){.space = "nb201",
                          .task = "cifar10",
                          .seed = 7,
                          .config = "{\"budget\": 40}",
                          .provenance = "{\"naslm\": \"0\"}",
                          .metric = metrics,
                          .n_metric = 3,
                          .n_objective = 2,
                          .lower = lower,
                          .upper = upper,
                          .has_tau = true};
}

static void add_generation(nas_run *run, size_t rows)
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
static nas_status drive(nas_run_mode mode, const nas_disk *disk, double snapshot, bool sync,
                        size_t generations, nas_err *err)
{
    nas_run_info info = sample_info();
    nas_run_how how = {disk, snapshot, sync};
    nas_run *run;
    nas_status status = nas_run_open(&run, path, &info, mode, &how, err);
    if (status)
        return status;
    while (!status && nas_run_generations(run) < generations) {
        size_t g = nas_run_generations(run);
        if (g == 0)
            nas_run_set_reference(run, (double[]){0, 1});
        status = keep_answers(run, g % 4, err);
        if (status)
            break;
        add_generation(run, g % 4);
        nas_run_step step = {(int64_t)nas_run_rows(run), 2, (double)g / 7, g ? 0.5 : NAN};
        status = nas_run_commit(run, &step, err);
    }
    if (!status)
        status = nas_run_finish(run, err);
    nas_run_close(run);
    return status;
}

static nas_bytes file_bytes(const char *name)
{
    nas_bytes bytes = {0};
    assert_int_equal(nas_disk_read(name, &bytes, NULL), NAS_OK);
    return bytes;
}

static nas_bytes unbroken(size_t generations)
{
    nas_err err = {0};
    clean(NULL);
    if (drive(NAS_RUN_NEW, &nas_disk_real, 1e9, false, generations, &err))
        print_message("%s\n", err.text);
    assert_int_equal(err.code, NAS_OK);
    return file_bytes(path);
}

static void assert_final(const nas_bytes *want)
{
    nas_bytes got = file_bytes(path);
    assert_int_equal(got.size, want->size);
    assert_memory_equal(got.data, want->data, want->size);
    assert_int_equal(access(journal_path, F_OK), -1);
    assert_int_equal(access(temporary_path, F_OK), -1);
    nas_bytes_clear(&got);
}

/* ---- disks that stop or fail at a chosen call ---- */

/* A reader sees a state that was committed, or is told that there is none yet. */
static void assert_readable(size_t generations)
{
    nas_run *run;
    nas_err err = {0};
    if (nas_run_read(&run, path, &err)) {
        if (!strstr(err.text, "stopped before its first commit") &&
            !strstr(err.text, "does not exist"))
            fail_msg("%s", err.text);
        return;
    }
    assert_true(nas_run_generations(run) <= generations);
    size_t rows = 0;
    for (size_t g = 0; g < nas_run_generations(run); g++)
        rows += g % 4;
    assert_int_equal(nas_run_rows(run), rows);
    nas_run_close(run);
}

enum { GENERATIONS = 6 };

/* The process ends at every call in turn; the next one continues to the same bytes. */
static void test_stop_everywhere(void **state)
{
    (void)state;
    nas_bytes want = unbroken(GENERATIONS);
    fault.kind = FAULT_STOP;
    for (int snapshot = 0; snapshot < 2; snapshot++) { /* at every commit, and only at the end */
        int code = FAULT_EXIT;
        long calls = 0;
        for (long at = 0; code == FAULT_EXIT; at++) {
            clean(NULL);
            pid_t child = fork();
            if (child == 0) {
                fault.calls_left = at;
                _exit(drive(NAS_RUN_NEW, &fault_disk, snapshot ? 1e9 : 0, true, GENERATIONS, NULL));
            }
            int how;
            assert_int_equal(waitpid(child, &how, 0), child);
            assert_true(WIFEXITED(how));
            code = WEXITSTATUS(how);
            assert_readable(GENERATIONS);
            nas_err err = {0};
            if (drive(NAS_RUN_RESUME, &fault_quick_disk, 1e9, false, GENERATIONS, &err))
                fail_msg("call %ld: %s", at, err.text);
            assert_final(&want);
            calls = at;
        }
        assert_int_equal(code, 0);
        assert_in_range(calls, 15, 200);
    }
    nas_bytes_clear(&want);
}

/* Every call fails in turn, with two errors: one sentence, and nothing committed is lost. */
static void test_fail_everywhere(void **state)
{
    (void)state;
    nas_bytes want = unbroken(GENERATIONS);
    for (int kind = 0; kind < 4; kind++) {
        fault.kind = kind & 1 ? FAULT_FAIL : FAULT_FAIL_PARTLY;
        fault.number = kind & 2 ? ENOSPC : EIO;
        nas_status status = NAS_FAILED;
        long calls = 0;
        for (long at = 0; status; at++) {
            clean(NULL);
            fault.calls_left = at;
            nas_err err = {0};
            status = drive(NAS_RUN_NEW, &fault_disk, 0, true, GENERATIONS, &err);
            if (status) {
                assert_int_equal(status, NAS_FAILED);
                assert_non_null(strstr(err.text, strerror(fault.number)));
                assert_non_null(strstr(err.text, "run.h5"));
            }
            assert_readable(GENERATIONS);
            assert_int_equal(
                drive(NAS_RUN_RESUME, &fault_quick_disk, 1e9, false, GENERATIONS, NULL), NAS_OK);
            assert_final(&want);
            calls = at;
        }
        assert_in_range(calls, 50, 200);
    }
    nas_bytes_clear(&want);
}

/* Stops again and again, each time one call later: a resume of a resume of a resume. */
static void test_stop_often(void **state)
{
    (void)state;
    nas_bytes want = unbroken(GENERATIONS);
    clean(NULL);
    fault.kind = FAULT_STOP;
    int code = FAULT_EXIT;
    for (long at = 0; code == FAULT_EXIT; at++) {
        pid_t child = fork();
        if (child == 0) {
            fault.calls_left = at;
            _exit(drive(NAS_RUN_RESUME, &fault_disk, at % 3 ? 0 : 1e9, true, GENERATIONS, NULL));
        }
        int how;
        assert_int_equal(waitpid(child, &how, 0), child);
        code = WEXITSTATUS(how);
        assert_true(at < 500);
    }
    assert_int_equal(code, 0);
    assert_final(&want);
    nas_bytes_clear(&want);
}

/* ---- the journal ---- */

/* Leaves a run of that many generations that was not finished. */
static nas_bytes leave_unfinished(size_t generations)
{
    clean(NULL);
    nas_run_info info = sample_info();
    nas_run_how how = {&nas_disk_real, 1e9, false};
    nas_run *run;
    assert_int_equal(nas_run_open(&run, path, &info, NAS_RUN_NEW, &how, NULL), NAS_OK);
    nas_run_set_reference(run, (double[]){0, 1});
    for (size_t g = 0; g < generations; g++) {
        add_generation(run, g % 4);
        nas_run_step step = {(int64_t)nas_run_rows(run), 2, (double)g / 7, g ? 0.5 : NAN};
        assert_int_equal(nas_run_commit(run, &step, NULL), NAS_OK);
    }
    nas_run_close(run);
    return file_bytes(journal_path);
}

static void put_file(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static void test_torn_journal(void **state)
{
    (void)state;
    nas_bytes want = unbroken(GENERATIONS), journal = leave_unfinished(GENERATIONS);
    assert_int_equal(access(path, F_OK), -1); /* only the journal exists */
    assert_readable(GENERATIONS);
    for (size_t size = 0; size <= journal.size; size += size < 40 ? 1 : 37) {
        clean(NULL);
        put_file(journal_path, journal.data, size);
        assert_readable(GENERATIONS);
        nas_err err = {0};
        if (drive(NAS_RUN_RESUME, &fault_quick_disk, 1e9, false, GENERATIONS, &err))
            fail_msg("%s", err.text);
        assert_final(&want);
    }
    nas_rng rng = nas_rng_seed(4);
    for (int round = 0; round < 300; round++) { /* a damaged one: an earlier state or a sentence */
        clean(NULL);
        char *at = journal.data + nas_rng_below(&rng, journal.size), old = *at;
        *at ^= (char)(1 + nas_rng_below(&rng, 255));
        put_file(journal_path, journal.data, journal.size);
        *at = old;
        nas_run *run;
        nas_err err = {0};
        if (nas_run_read(&run, path, &err) == NAS_OK)
            nas_run_close(run);
        else
            assert_non_null(strstr(err.text, path));
    }
    clean(NULL);
    put_file(journal_path, "my own notes", 12);
    nas_err err = {0};
    assert_int_equal(drive(NAS_RUN_FORCE, &nas_disk_real, 1e9, false, 1, &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "is not a journal of a run"));
    nas_bytes_clear(&want);
    nas_bytes_clear(&journal);
}

static void test_modes(void **state)
{
    (void)state;
    nas_err err = {0};
    nas_bytes want = unbroken(GENERATIONS);
    nas_bytes first = unbroken(3);
    assert_int_equal(drive(NAS_RUN_NEW, &nas_disk_real, 1e9, false, 3, &err), NAS_USAGE);
    assert_non_null(strstr(err.text, "exists (--force overwrites it)"));
    assert_final(&first);
    nas_bytes_clear(&first);
    assert_int_equal(drive(NAS_RUN_RESUME, &nas_disk_real, 0, false, GENERATIONS, NULL), NAS_OK);
    assert_final(&want); /* a finished run that goes on is the longer run */
    assert_int_equal(drive(NAS_RUN_FORCE, &nas_disk_real, 0, false, GENERATIONS, NULL), NAS_OK);
    assert_final(&want);
    nas_bytes journal = leave_unfinished(3);
    nas_bytes_clear(&journal);
    err = (nas_err){0};
    assert_int_equal(drive(NAS_RUN_NEW, &nas_disk_real, 0, false, 3, &err), NAS_USAGE);
    assert_non_null(strstr(err.text, "holds an unfinished run"));
    assert_int_equal(drive(NAS_RUN_FORCE, &nas_disk_real, 0, false, GENERATIONS, NULL), NAS_OK);
    assert_final(&want);
    nas_bytes_clear(&want);
}

/* Answers outlive a writer that commits nothing, and end with the generation that they were for. */
static void test_answers(void **state)
{
    (void)state;
    static const double value[] = {1.5, 2};
    const nas_run_answer answer = {3, NAS_ROW_OK, "a", value, 2};
    const nas_run_info info = sample_info();
    const nas_run_how how = {&nas_disk_real, 1e9, false};
    nas_err err = {0};
    clean(NULL);
    for (int open = 0; open < 4; open++) {
        nas_run *run;
        assert_int_equal(nas_run_open(&run, path, &info, NAS_RUN_RESUME, &how, &err), NAS_OK);
        const nas_run_answer *kept = nas_run_kept(run, 3, "a");
        assert_int_equal(kept != NULL, open == 1 || open == 2);
        assert_true(!kept || (kept->n == 2 && kept->value[0] == 1.5 && kept->value[1] == 2));
        if (open == 0)
            assert_int_equal(nas_run_keep(run, &answer, &err), NAS_OK);
        if (open == 2) {
            add_generation(run, 1);
            assert_int_equal(nas_run_commit(run, &(nas_run_step){1, 1, 0, NAN}, &err), NAS_OK);
            assert_null(nas_run_kept(run, 3, "a"));
        }
        nas_run_close(run);
    }
}

static void refuse_other(nas_run_info info, const char *want)
{
    nas_err err = {0};
    nas_run *run;
    nas_run_how how = {&nas_disk_real, 1e9, false};
    assert_int_equal(nas_run_open(&run, path, &info, NAS_RUN_RESUME, &how, &err), NAS_USAGE);
    if (!strstr(err.text, want))
        fail_msg("%s", err.text);
}

static void test_other_run(void **state)
{
    (void)state;
    nas_bytes bytes = unbroken(3);
    nas_bytes_clear(&bytes);
    nas_run_info info = sample_info();
    info.seed = 8;
    refuse_other(info, "is a run with seed 7, not 8");
    info = sample_info();
    info.space = "toy";
    refuse_other(info, "is a run on nb201 cifar10, not on toy cifar10");
    info = sample_info();
    info.n_objective = 3;
    refuse_other(info, "2 objectives and 3 metrics, not 3 and 3");
    info = sample_info();
    metrics[1].direction = NAS_MAX;
    refuse_other(info, "latency:raspi4 (ms, min), not on latency:raspi4 (ms, max)");
}

static void test_journal_of_another_run(void **state)
{
    (void)state;
    clean(NULL);
    nas_run_info info = sample_info();
    const nas_run_how how = {&nas_disk_real, 1e9, false};
    nas_run *run;
    info.seed = 8;
    assert_int_equal(nas_run_open(&run, path, &info, NAS_RUN_NEW, &how, NULL), NAS_OK);
    add_generation(run, 1);
    assert_int_equal(nas_run_commit(run, &(nas_run_step){1, 1, 0, NAN}, NULL), NAS_OK);
    nas_run_close(run);
    nas_bytes journal = file_bytes(journal_path), whole = unbroken(3);
    put_file(journal_path, journal.data, journal.size);
    nas_err err = {0};
    assert_int_equal(nas_run_read(&run, path, &err), NAS_FAILED);
    assert_int_equal(err.code, NAS_FAILED);
    assert_non_null(strstr(err.text, "belongs to another run than"));
    nas_bytes_clear(&journal);
    nas_bytes_clear(&whole);
}

static void test_lock(void **state)
{
    (void)state;
    clean(NULL);
    nas_run_info info = sample_info();
    nas_run_how how = {&nas_disk_real, 1e9, false};
    nas_run *run, *second;
    assert_int_equal(nas_run_open(&run, path, &info, NAS_RUN_NEW, &how, NULL), NAS_OK);
    for (int mode = NAS_RUN_NEW; mode <= NAS_RUN_RESUME; mode++) {
        nas_err err = {0};
        char want[120];
        snprintf(want, sizeof want, "'%s' is being written by process %ld", path, (long)getpid());
        assert_int_equal(nas_run_open(&second, path, &info, mode, &how, &err), NAS_FAILED);
        if (strcmp(err.text, want) && !strstr(err.text, "is being written by another process"))
            fail_msg("%s", err.text);
    }
    add_generation(run, 3); /* a reader is never in the way, and sees what is committed */
    assert_int_equal(nas_run_commit(run, &(nas_run_step){3, 1, 0, NAN}, NULL), NAS_OK);
    add_generation(run, 3);
    assert_int_equal(nas_run_read(&second, path, NULL), NAS_OK);
    assert_int_equal(nas_run_rows(second), 3);
    assert_false(nas_run_finished(second));
    nas_run_close(second);
    assert_int_equal(nas_run_commit(run, &(nas_run_step){6, 1, 0, NAN}, NULL), NAS_OK);
    assert_int_equal(nas_run_finish(run, NULL), NAS_OK);
    nas_run_close(run);
    assert_int_equal(nas_run_read(&second, path, NULL), NAS_OK);
    assert_int_equal(nas_run_rows(second), 6);
    assert_true(nas_run_finished(second));
    nas_run_close(second);
}

/* ---- contents ---- */

static void add_row(nas_run *run, const char *arch, double accuracy, double latency,
                    nas_row_state row_state, bool feasible)
{
    double value[] = {accuracy, latency, 0};
    nas_run_row row = {.parent1 = -1,
                       .parent2 = 5,
                       .state = row_state,
                       .feasible = feasible,
                       .violation = feasible ? 0 : 2,
                       .arch = arch,
                       .hash = "abc",
                       .value = value};
    nas_run_add(run, &row);
}

static void test_contents(void **state)
{
    (void)state;
    clean(NULL);
    nas_run_info info = sample_info();
    nas_run_how how = {&nas_disk_real, 1e9, false};
    nas_run *run;
    assert_int_equal(nas_run_open(&run, path, &info, NAS_RUN_NEW, &how, NULL), NAS_OK);
    assert_null(nas_run_reference(run));
    add_row(run, "best", 0.9, 0.5, NAS_ROW_OK, true);
    add_row(run, "worse", 0.8, 0.6, NAS_ROW_OK, true);
    add_row(run, "a much longer name than the others, with UTF-8: \303\251", 0.5, 0.1, NAS_ROW_OK,
            true);
    add_row(run, "infeasible", 0.99, 0.01, NAS_ROW_OK, false);
    add_row(run, "failed", 0.99, 0.01, NAS_ROW_FAILED, true);
    add_row(run, "", NAN, 0.01, NAS_ROW_MISSING, false);
    add_row(run, "not finite", INFINITY, 0.01, NAS_ROW_OK, true);
    add_row(run, "best again", 0.9, 0.5, NAS_ROW_OK, true);
    assert_int_equal(nas_run_commit(run, &(nas_run_step){8, 3, 1.5, 0.25}, NULL), NAS_OK);
    const nas_run_row numbers = {
        .feasible = false, .violation = 0.5, .value = (double[]){0.8, 0.6, 0.75}};
    nas_run_set_numbers(run, 1, &numbers);
    nas_run_set_reference(run, (double[]){0.1, 2});
    assert_int_equal(nas_run_commit(run, &(nas_run_step){8, 3, 1.75, NAN}, NULL), NAS_OK);
    assert_int_equal(nas_run_finish(run, NULL), NAS_OK);
    nas_run_close(run);

    assert_int_equal(nas_run_read(&run, path, NULL), NAS_OK);
    const nas_run_info *got = nas_run_get_info(run);
    assert_string_equal(got->space, "nb201");
    assert_string_equal(got->config, info.config);
    assert_true(got->seed == 7 && got->n_metric == 3 && got->n_objective == 2 && got->has_tau);
    assert_string_equal(got->metric[1].name, "latency:raspi4");
    assert_string_equal(got->metric[1].column, "latency_raspi4");
    assert_string_equal(got->metric[1].unit, "ms");
    assert_true(got->upper[1] == 0.9 && isinf(got->lower[1]));
    assert_int_equal(nas_run_generations(run), 2);
    assert_true(nas_run_history(run)[0].tau == 0.25 && isnan(nas_run_history(run)[1].tau));
    assert_true(nas_run_reference(run)[1] == 2);
    assert_int_equal(nas_run_rows(run), 8);
    nas_run_row row = nas_run_get_row(run, 2);
    assert_string_equal(row.arch, "a much longer name than the others, with UTF-8: \303\251");
    assert_string_equal(row.hash, "abc");
    assert_true(row.parent1 == -1 && row.parent2 == 5 && row.generation == 0);
    row = nas_run_get_row(run, 5);
    assert_true(row.state == NAS_ROW_MISSING && !row.feasible && row.violation == 2);
    assert_true(isnan(row.value[0]) && row.value[1] == 0.01);
    assert_string_equal(row.arch, "");
    row = nas_run_get_row(run, 1);
    assert_true(row.value[2] == 0.75 && !row.feasible && row.violation == 0.5);
    assert_string_equal(row.arch, "worse");
    bool on_front[8];
    assert_int_equal(nas_run_front(run, on_front), 3);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(on_front[i], i == 0 || i == 2 || i == 7); /* equal rows stay both */
    nas_run_close(run);
}

static void test_refused_files(void **state)
{
    (void)state;
    nas_run *run;
    nas_err err = {0};
    clean(NULL);
    assert_int_equal(nas_run_read(&run, path, &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "does not exist"));
    nas_bytes bytes = unbroken(4);
    for (size_t size = 0; size < bytes.size - 16; size += 1 + bytes.size / 60) {
        put_file(path, bytes.data, size);
        err = (nas_err){0};
        assert_int_equal(nas_run_read(&run, path, &err), NAS_FAILED);
        assert_non_null(strstr(err.text, path));
    }
    nas_bytes_clear(&bytes);
    hid_t file = nas_h5_create(); /* ours by name, but empty */
    nas_h5_set_text(file, "format", "naslm-run");
    nas_h5_set_int(file, "schema_major", 1);
    nas_h5_close_into(file, &bytes);
    put_file(path, bytes.data, bytes.size);
    err = (nas_err){0};
    assert_int_equal(nas_run_read(&run, path, &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "lacks parts of a run"));
    nas_bytes_clear(&bytes);
    nas_run_info info = sample_info();
    nas_run_how how = {&nas_disk_real, 1e9, false};
    err = (nas_err){0};
    assert_int_equal(nas_run_open(&run, "/nowhere/run.h5", &info, NAS_RUN_NEW, &how, &err),
                     NAS_FAILED);
    assert_non_null(strstr(err.text, "/nowhere/run.h5"));
}

/* Size and time of a big run: bounded for each evaluation. */
static void test_size(void **state)
{
    (void)state;
    clean(NULL);
    nas_run_info info = sample_info();
    nas_run_how how = {&nas_disk_real, 1e9, false};
    nas_run *run;
    enum { ROWS = 20000 };
    nas_rng rng = nas_rng_seed(9);
    assert_int_equal(nas_run_open(&run, path, &info, NAS_RUN_NEW, &how, NULL), NAS_OK);
    for (int i = 0; i < ROWS; i++) {
        char arch[100], *at = arch;
        static const char *const op[] = {"none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3"};
        for (int k = 0; k < 6; k++)
            at += sprintf(at, "|%s~%d", op[nas_rng_below(&rng, 4)], k);
        add_row(run, arch, nas_rng_unit(&rng), nas_rng_unit(&rng), NAS_ROW_OK, true);
        if (i % 20 == 19)
            assert_int_equal(nas_run_commit(run, &(nas_run_step){i, 3, 1, NAN}, NULL), NAS_OK);
    }
    assert_int_equal(nas_run_finish(run, NULL), NAS_OK);
    nas_run_close(run);
    nas_bytes bytes = file_bytes(path);
    assert_in_range(bytes.size / ROWS, 10, 100);
    nas_bytes_clear(&bytes);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        snprintf(path, sizeof path, "%s", argv[1]);
        nas_run *run = NULL;
        if (argc > 2 && !strcmp(argv[2], "read")) {
            nas_status status = nas_run_read(&run, path, NULL);
            nas_run_close(run);
            return status;
        }
        return drive(NAS_RUN_FORCE, &nas_disk_real, 1e9, false, argc > 2 ? 0 : 12, NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_other_run),
        cmocka_unit_test(test_journal_of_another_run),
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_torn_journal),
        cmocka_unit_test(test_stop_everywhere),
        cmocka_unit_test(test_fail_everywhere),
        cmocka_unit_test(test_stop_often),
        cmocka_unit_test(test_refused_files),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
