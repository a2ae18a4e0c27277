/* search: a run that stops at any call to the disk, or meets a full or broken one there, goes on to
 * the same file; no row is repeated and only what was in flight is evaluated again. */
#include "search/search.h"

#include "tests/check.h"
#include "tests/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BUDGET = 300, POPULATION = 50 };

static char folder[] = "/tmp/nas-crash-XXXXXX";
static char path[64], journal_path[80], temporary_path[80], log_path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/run.h5", folder);
    snprintf(journal_path, sizeof journal_path, "%s.journal", path);
    snprintf(temporary_path, sizeof temporary_path, "%s.tmp", path);
    snprintf(log_path, sizeof log_path, "%s/log", folder);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    unlink(path);
    unlink(journal_path);
    unlink(temporary_path);
    unlink(log_path);
    return 0;
}

static int drop_folder(void **state)
{
    clean(state);
    return rmdir(folder);
}

/* ---- an evaluator that notes each architecture it is asked for, and sometimes fails ---- */

static nas_status logged_evaluate(nas_evaluator *e, const nas_arch *archs, size_t n,
                                  const size_t *metric, size_t m, double *values,
                                  nas_row_state *states, nas_err *err)
{
    (void)err;
    int fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    for (size_t i = 0; i < n; i++) {
        double all[2];
        e->space->evaluate(e->space, &archs[i], all);
        for (size_t k = 0; k < m; k++)
            values[i * m + k] = all[metric[k]];
        states[i] = nas_space_index(e->space, &archs[i]) % 7 ? NAS_ROW_OK : NAS_ROW_FAILED;
        if (write(fd, &archs[i], sizeof archs[i]) != sizeof archs[i])
            abort();
    }
    close(fd);
    return NAS_OK;
}

static const nas_evaluator_type logged = {.name = "logged", .evaluate = logged_evaluate};

/* Runs the search to its end on that disk, into path. */
static nas_status drive(const nas_searcher_type *searcher, nas_run_mode mode, const nas_disk *disk,
                        double snapshot, nas_err *err)
{
    static const char *const names[] = {"accuracy", "latency:toy"};
    const nas_space *space = nas_space_find("toy");
    nas_metric metrics[2];
    double options[NAS_SEARCHER_OPTIONS];
    for (size_t i = 0; i < 2; i++)
        nas_metric_make(&metrics[i], names[i], NULL);
    nas_sources sources = {.source[0] = {.type = &logged,
                                         .space = space,
                                         .task = space->tasks,
                                         .metrics = metrics,
                                         .n_metrics = 2},
                           .n_source = 1};
    assert_int_equal(nas_sources_need(&sources, metrics, 2, err), NAS_OK);
    nas_searcher_defaults(searcher, options);
    static const char *const quick[] = {"pool=20", "batch=100", "predictor=ridge"};
    for (size_t i = 0; i < 3 && !strcmp(searcher->name, "guided"); i++)
        assert_int_equal(nas_searcher_option_read(searcher, quick[i], options, NULL), NAS_OK);
    nas_search search = {.space = space,
                         .task = space->tasks,
                         .sources = &sources,
                         .m = 2,
                         .searcher = searcher,
                         .options = options,
                         .population = POPULATION,
                         .budget = BUDGET,
                         .seed = 5};
    const nas_run_info info = {.space = space->name,
                               .task = space->tasks->name,
                               .seed = search.seed,
                               .config = "{}",
                               .provenance = "{}",
                               .metric = sources.wanted,
                               .n_metric = 2,
                               .n_objective = 2};
    nas_run *run;
    nas_status status =
        nas_run_open(&run, path, &info, mode, &(nas_run_how){disk, snapshot, true}, err);
    if (status != NAS_OK)
        return status;
    status = nas_search_run(&search, run, err);
    if (status == NAS_OK)
        status = nas_run_finish(run, err);
    nas_run_close(run);
    return status;
}

/* ---- what must hold afterwards ---- */

static nas_bytes unbroken(const nas_searcher_type *searcher)
{
    nas_bytes bytes = {0};
    nas_err err = {0};
    clean(NULL);
    if (drive(searcher, NAS_RUN_NEW, &fault_quick_disk, 1e9, &err) != NAS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(nas_disk_read(path, &bytes, NULL), NAS_OK);
    return bytes;
}

static void assert_final(const nas_bytes *want)
{
    nas_bytes got = {0};
    assert_int_equal(nas_disk_read(path, &got, NULL), NAS_OK);
    assert_int_equal(got.size, want->size);
    assert_memory_equal(got.data, want->data, want->size);
    assert_int_equal(access(journal_path, F_OK), -1);
    assert_int_equal(access(temporary_path, F_OK), -1);
    nas_bytes_clear(&got);
}

/* Of BUDGET architectures each was evaluated, none more than twice, and twice only what one
 * generation in flight holds. */
static void assert_little_redone(const nas_searcher_type *searcher)
{
    nas_bytes log = {0};
    nas_arch_set set = {0};
    unsigned char count[BUDGET] = {0};
    assert_int_equal(nas_disk_read(log_path, &log, NULL), NAS_OK);
    size_t n = log.size / sizeof(nas_arch);
    for (size_t i = 0; i < n; i++) {
        nas_arch arch;
        memcpy(&arch, log.data + i * sizeof arch, sizeof arch);
        int64_t entry = nas_arch_set_add(&set, &arch, NULL);
        assert_in_range(entry, 0, BUDGET - 1);
        assert_in_range(++count[entry], 1, 2);
    }
    assert_int_equal(set.n, BUDGET);
    assert_in_range(n - set.n, 0, searcher->steady ? 64 : POPULATION);
    nas_arch_set_clear(&set);
    nas_bytes_clear(&log);
}

/* ---- every call in turn ---- */

static void stop_everywhere(const nas_searcher_type *searcher, double snapshot, nas_bytes *want)
{
    int code = FAULT_EXIT;
    long calls = 0;
    for (long at = 0; code == FAULT_EXIT; at++) {
        clean(NULL);
        pid_t child = fork();
        if (child == 0) {
            fault = (fault_plan){FAULT_STOP, at, 0};
            _exit(drive(searcher, NAS_RUN_NEW, &fault_disk, snapshot, NULL));
        }
        int how;
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFEXITED(how));
        code = WEXITSTATUS(how);
        nas_err err = {0};
        if (drive(searcher, NAS_RUN_RESUME, &fault_quick_disk, 1e9, &err) != NAS_OK)
            fail_msg("%s, call %ld: %s", searcher->name, at, err.text);
        assert_final(want);
        assert_little_redone(searcher);
        calls = at;
    }
    assert_int_equal(code, 0);
    assert_in_range(calls, 15, 400);
}

static void test_stop_everywhere(void **state)
{
    (void)state;
    for (int i = 0; i < nas_searcher_count(); i++) {
        nas_bytes want = unbroken(nas_searcher_types[i]);
        stop_everywhere(nas_searcher_types[i], 0, &want);   /* a whole file at each commit */
        stop_everywhere(nas_searcher_types[i], 1e9, &want); /* only at the end */
        nas_bytes_clear(&want);
    }
}

static void fail_everywhere(const nas_searcher_type *searcher, fault_plan plan, nas_bytes *want)
{
    nas_status status = NAS_FAILED;
    long calls = 0;
    for (long at = 0; status != NAS_OK; at++) {
        clean(NULL);
        fault = plan;
        fault.calls_left = at;
        nas_err err = {0};
        status = drive(searcher, NAS_RUN_NEW, &fault_disk, 0, &err);
        if (status != NAS_OK) {
            assert_int_equal(status, NAS_FAILED);
            assert_non_null(strstr(err.text, strerror(plan.number)));
            assert_non_null(strstr(err.text, "run.h5"));
        }
        assert_int_equal(drive(searcher, NAS_RUN_RESUME, &fault_quick_disk, 1e9, NULL), NAS_OK);
        assert_final(want);
        assert_little_redone(searcher);
        calls = at;
    }
    assert_in_range(calls, 30, 400);
}

static void test_fail_everywhere(void **state)
{
    (void)state;
    for (int i = 0; i < nas_searcher_count(); i++) {
        nas_bytes want = unbroken(nas_searcher_types[i]);
        fail_everywhere(nas_searcher_types[i], (fault_plan){FAULT_FAIL, 0, EIO}, &want);
        fail_everywhere(nas_searcher_types[i], (fault_plan){FAULT_FAIL_PARTLY, 0, ENOSPC}, &want);
        nas_bytes_clear(&want);
    }
}

/* Stops one call later each time: a resume of a resume of a resume. */
static void test_stop_often(void **state)
{
    (void)state;
    for (int i = 0; i < nas_searcher_count(); i++) {
        nas_bytes want = unbroken(nas_searcher_types[i]);
        clean(NULL);
        int code = FAULT_EXIT;
        for (long at = 0; code == FAULT_EXIT; at++) {
            pid_t child = fork();
            if (child == 0) {
                fault = (fault_plan){FAULT_STOP, at, 0};
                _exit(drive(nas_searcher_types[i], NAS_RUN_RESUME, &fault_disk, at % 3 ? 0 : 1e9,
                            NULL));
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
}

int main(void)
{
    omp_set_num_threads(1); /* others do not outlive a fork, and OpenMP would wait for them */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_everywhere),
        cmocka_unit_test(test_fail_everywhere),
        cmocka_unit_test(test_stop_often),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
