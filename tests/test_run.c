/* results/run: what a run file holds, and who may write it. With arguments it writes a sample run:
 * what test_run.py reads with h5py and pandas. */
#include "results/h5.h"
#include "results/run.h"
#include "spaces/base/rng.h"

#include "tests/check.h"
#include "tests/run_sample.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GENERATIONS = 6 };

static void test_modes(void **state)
{
    (void)state;
    nas_err err = {0};
    nas_bytes want = run_unbroken(GENERATIONS);
    nas_bytes first = run_unbroken(3);
    assert_int_equal(run_drive(NAS_RUN_NEW, &nas_disk_real, 1e9, false, 3, &err), NAS_USAGE);
    assert_non_null(strstr(err.text, "exists (--force overwrites it)"));
    run_assert_final(&first);
    nas_bytes_clear(&first);
    assert_int_equal(run_drive(NAS_RUN_RESUME, &nas_disk_real, 0, false, GENERATIONS, NULL),
                     NAS_OK);
    run_assert_final(&want); /* a finished run that goes on is the longer run */
    assert_int_equal(run_drive(NAS_RUN_FORCE, &nas_disk_real, 0, false, GENERATIONS, NULL), NAS_OK);
    run_assert_final(&want);
    nas_bytes journal = run_leave_unfinished(3);
    nas_bytes_clear(&journal);
    err = (nas_err){0};
    assert_int_equal(run_drive(NAS_RUN_NEW, &nas_disk_real, 0, false, 3, &err), NAS_USAGE);
    assert_non_null(strstr(err.text, "holds an unfinished run"));
    assert_int_equal(run_drive(NAS_RUN_FORCE, &nas_disk_real, 0, false, GENERATIONS, NULL), NAS_OK);
    run_assert_final(&want);
    nas_bytes_clear(&want);
}

/* Answers outlive a writer that commits nothing, and end with the generation that they were for. */
static void test_answers(void **state)
{
    (void)state;
    static const double value[] = {1.5, 2};
    const nas_run_answer answer = {3, NAS_ROW_OK, "a", value, 2};
    const nas_run_info info = run_sample_info();
    const nas_run_how how = {&nas_disk_real, 1e9, false};
    nas_err err = {0};
    run_clean(NULL);
    for (int open = 0; open < 4; open++) {
        nas_run *run;
        assert_int_equal(nas_run_open(&run, run_path, &info, NAS_RUN_RESUME, &how, &err), NAS_OK);
        const nas_run_answer *kept = nas_run_kept(run, 3, "a");
        assert_int_equal(kept != NULL, open == 1 || open == 2);
        assert_true(!kept || (kept->n == 2 && kept->value[0] == 1.5 && kept->value[1] == 2));
        if (open == 0)
            assert_int_equal(nas_run_keep(run, &answer, &err), NAS_OK);
        if (open == 2) {
            run_add_generation(run, 1);
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
    assert_int_equal(nas_run_open(&run, run_path, &info, NAS_RUN_RESUME, &how, &err), NAS_USAGE);
    if (!strstr(err.text, want))
        fail_msg("%s", err.text);
}

static void test_other_run(void **state)
{
    (void)state;
    nas_bytes bytes = run_unbroken(3);
    nas_bytes_clear(&bytes);
    nas_run_info info = run_sample_info();
    info.seed = 8;
    refuse_other(info, "is a run with seed 7, not 8");
    info = run_sample_info();
    info.space = "toy";
    refuse_other(info, "is a run on nb201 cifar10, not on toy cifar10");
    info = run_sample_info();
    info.n_objective = 3;
    refuse_other(info, "2 objectives and 3 metrics, not 3 and 3");
    info = run_sample_info();
    run_metrics[1].direction = NAS_MAX;
    refuse_other(info, "latency:raspi4 (ms, min), not on latency:raspi4 (ms, max)");
}

static void test_journal_of_another_run(void **state)
{
    (void)state;
    run_clean(NULL);
    nas_run_info info = run_sample_info();
    const nas_run_how how = {&nas_disk_real, 1e9, false};
    nas_run *run;
    info.seed = 8;
    assert_int_equal(nas_run_open(&run, run_path, &info, NAS_RUN_NEW, &how, NULL), NAS_OK);
    run_add_generation(run, 1);
    assert_int_equal(nas_run_commit(run, &(nas_run_step){1, 1, 0, NAN}, NULL), NAS_OK);
    nas_run_close(run);
    nas_bytes journal = file_bytes(run_journal), whole = run_unbroken(3);
    put_file(run_journal, journal.data, journal.size);
    nas_err err = {0};
    assert_int_equal(nas_run_read(&run, run_path, &err), NAS_FAILED);
    assert_int_equal(err.code, NAS_FAILED);
    assert_non_null(strstr(err.text, "belongs to another run than"));
    nas_bytes_clear(&journal);
    nas_bytes_clear(&whole);
}

static void test_lock(void **state)
{
    (void)state;
    run_clean(NULL);
    nas_run_info info = run_sample_info();
    nas_run_how how = {&nas_disk_real, 1e9, false};
    nas_run *run, *second;
    assert_int_equal(nas_run_open(&run, run_path, &info, NAS_RUN_NEW, &how, NULL), NAS_OK);
    for (int mode = NAS_RUN_NEW; mode <= NAS_RUN_RESUME; mode++) {
        nas_err err = {0};
        char want[120];
        snprintf(want, sizeof want, "'%s' is being written by process %ld", run_path,
                 (long)getpid());
        assert_int_equal(nas_run_open(&second, run_path, &info, mode, &how, &err), NAS_FAILED);
        if (strcmp(err.text, want) && !strstr(err.text, "is being written by another process"))
            fail_msg("%s", err.text);
    }
    run_add_generation(run, 3); /* a reader is never in the way, and sees what is committed */
    assert_int_equal(nas_run_commit(run, &(nas_run_step){3, 1, 0, NAN}, NULL), NAS_OK);
    run_add_generation(run, 3);
    assert_int_equal(nas_run_read(&second, run_path, NULL), NAS_OK);
    assert_int_equal(nas_run_rows(second), 3);
    assert_false(nas_run_finished(second));
    nas_run_close(second);
    assert_int_equal(nas_run_commit(run, &(nas_run_step){6, 1, 0, NAN}, NULL), NAS_OK);
    assert_int_equal(nas_run_finish(run, NULL), NAS_OK);
    nas_run_close(run);
    assert_int_equal(nas_run_read(&second, run_path, NULL), NAS_OK);
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
    run_clean(NULL);
    nas_run_info info = run_sample_info();
    nas_run_how how = {&nas_disk_real, 1e9, false};
    nas_run *run;
    assert_int_equal(nas_run_open(&run, run_path, &info, NAS_RUN_NEW, &how, NULL), NAS_OK);
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

    assert_int_equal(nas_run_read(&run, run_path, NULL), NAS_OK);
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
    run_clean(NULL);
    assert_int_equal(nas_run_read(&run, run_path, &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "does not exist"));
    nas_bytes bytes = run_unbroken(4);
    for (size_t size = 0; size < bytes.size - 16; size += 1 + bytes.size / 60) {
        put_file(run_path, bytes.data, size);
        err = (nas_err){0};
        assert_int_equal(nas_run_read(&run, run_path, &err), NAS_FAILED);
        assert_non_null(strstr(err.text, run_path));
    }
    nas_bytes_clear(&bytes);
    hid_t file = nas_h5_create(); /* ours by name, but empty */
    nas_h5_set_text(file, "format", "naslm-run");
    nas_h5_set_int(file, "schema_major", 1);
    nas_h5_close_into(file, &bytes);
    put_file(run_path, bytes.data, bytes.size);
    err = (nas_err){0};
    assert_int_equal(nas_run_read(&run, run_path, &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "lacks parts of a run"));
    nas_bytes_clear(&bytes);
    nas_run_info info = run_sample_info();
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
    run_clean(NULL);
    nas_run_info info = run_sample_info();
    nas_run_how how = {&nas_disk_real, 1e9, false};
    nas_run *run;
    enum { ROWS = 20000 };
    nas_rng rng = nas_rng_seed(9);
    assert_int_equal(nas_run_open(&run, run_path, &info, NAS_RUN_NEW, &how, NULL), NAS_OK);
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
    nas_bytes bytes = file_bytes(run_path);
    assert_in_range(bytes.size / ROWS, 10, 100);
    nas_bytes_clear(&bytes);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        snprintf(run_path, sizeof run_path, "%s", argv[1]);
        nas_run *run = NULL;
        if (argc > 2 && !strcmp(argv[2], "read")) {
            nas_status status = nas_run_read(&run, run_path, NULL);
            nas_run_close(run);
            return status;
        }
        return run_drive(NAS_RUN_FORCE, &nas_disk_real, 1e9, false, argc > 2 ? 0 : 12, NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_other_run),
        cmocka_unit_test(test_journal_of_another_run),
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_refused_files),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, run_make_folder, run_drop_folder);
}
