/* results/run: what is committed survives a stop or an error at any call, in the same bytes. */
#include "spaces/base/rng.h"

#include "tests/check.h"
#include "tests/fault.h"
#include "tests/run_sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GENERATIONS = 6 };

/* A reader sees a state that was committed, or is told that there is none yet. */
static void assert_readable(size_t generations)
{
    nas_run *run;
    nas_err err = {0};
    if (nas_run_read(&run, run_path, &err)) {
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

/* The process ends at every call in turn; the next one continues to the same bytes. */
static void test_stop_everywhere(void **state)
{
    (void)state;
    nas_bytes want = run_unbroken(GENERATIONS);
    fault.kind = FAULT_STOP;
    for (int snapshot = 0; snapshot < 2; snapshot++) { /* at every commit, and only at the end */
        int code = FAULT_EXIT;
        long calls = 0;
        for (long at = 0; code == FAULT_EXIT; at++) {
            run_clean(NULL);
            pid_t child = fork();
            if (child == 0) {
                fault.calls_left = at;
                _exit(run_drive(NAS_RUN_NEW, &fault_disk, snapshot ? 1e9 : 0, true, GENERATIONS,
                                NULL));
            }
            int how;
            assert_int_equal(waitpid(child, &how, 0), child);
            assert_true(WIFEXITED(how));
            code = WEXITSTATUS(how);
            assert_readable(GENERATIONS);
            nas_err err = {0};
            if (run_drive(NAS_RUN_RESUME, &fault_quick_disk, 1e9, false, GENERATIONS, &err))
                fail_msg("call %ld: %s", at, err.text);
            run_assert_final(&want);
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
    nas_bytes want = run_unbroken(GENERATIONS);
    for (int kind = 0; kind < 4; kind++) {
        fault.kind = kind & 1 ? FAULT_FAIL : FAULT_FAIL_PARTLY;
        fault.number = kind & 2 ? ENOSPC : EIO;
        nas_status status = NAS_FAILED;
        long calls = 0;
        for (long at = 0; status; at++) {
            run_clean(NULL);
            fault.calls_left = at;
            nas_err err = {0};
            status = run_drive(NAS_RUN_NEW, &fault_disk, 0, true, GENERATIONS, &err);
            if (status) {
                assert_int_equal(status, NAS_FAILED);
                assert_non_null(strstr(err.text, strerror(fault.number)));
                assert_non_null(strstr(err.text, "run.h5"));
            }
            assert_readable(GENERATIONS);
            assert_int_equal(
                run_drive(NAS_RUN_RESUME, &fault_quick_disk, 1e9, false, GENERATIONS, NULL),
                NAS_OK);
            run_assert_final(&want);
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
    nas_bytes want = run_unbroken(GENERATIONS);
    run_clean(NULL);
    fault.kind = FAULT_STOP;
    int code = FAULT_EXIT;
    for (long at = 0; code == FAULT_EXIT; at++) {
        pid_t child = fork();
        if (child == 0) {
            fault.calls_left = at;
            _exit(
                run_drive(NAS_RUN_RESUME, &fault_disk, at % 3 ? 0 : 1e9, true, GENERATIONS, NULL));
        }
        int how;
        assert_int_equal(waitpid(child, &how, 0), child);
        code = WEXITSTATUS(how);
        assert_true(at < 500);
    }
    assert_int_equal(code, 0);
    run_assert_final(&want);
    nas_bytes_clear(&want);
}

static void test_torn_journal(void **state)
{
    (void)state;
    nas_bytes want = run_unbroken(GENERATIONS), journal = run_leave_unfinished(GENERATIONS);
    assert_int_equal(access(run_path, F_OK), -1); /* only the journal exists */
    assert_readable(GENERATIONS);
    for (size_t size = 0; size <= journal.size; size += size < 40 ? 1 : 37) {
        run_clean(NULL);
        put_file(run_journal, journal.data, size);
        assert_readable(GENERATIONS);
        nas_err err = {0};
        if (run_drive(NAS_RUN_RESUME, &fault_quick_disk, 1e9, false, GENERATIONS, &err))
            fail_msg("%s", err.text);
        run_assert_final(&want);
    }
    nas_rng rng = nas_rng_seed(4);
    for (int round = 0; round < 300; round++) { /* a damaged one: an earlier state or a sentence */
        run_clean(NULL);
        char *at = journal.data + nas_rng_below(&rng, journal.size), old = *at;
        *at ^= (char)(1 + nas_rng_below(&rng, 255));
        put_file(run_journal, journal.data, journal.size);
        *at = old;
        nas_run *run;
        nas_err err = {0};
        if (nas_run_read(&run, run_path, &err) == NAS_OK)
            nas_run_close(run);
        else
            assert_non_null(strstr(err.text, run_path));
    }
    run_clean(NULL);
    put_file(run_journal, "my own notes", 12);
    nas_err err = {0};
    assert_int_equal(run_drive(NAS_RUN_FORCE, &nas_disk_real, 1e9, false, 1, &err), NAS_FAILED);
    assert_non_null(strstr(err.text, "is not a journal of a run"));
    nas_bytes_clear(&want);
    nas_bytes_clear(&journal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_torn_journal),
        cmocka_unit_test(test_stop_everywhere),
        cmocka_unit_test(test_fail_everywhere),
        cmocka_unit_test(test_stop_often),
    };
    return cmocka_run_group_tests(tests, run_make_folder, run_drop_folder);
}
