#include "results/front.h"
#include "results/run_inner.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *nas_row_state_name(nas_row_state state)
{
    static const char *const name[] = {"ok", "failed", "missing"};
    return name[state];
}

/* ---- what a run is ---- */

void nas_run_adopt(nas_run *run, const nas_run_info *info)
{
    nas_run_info *own = &run->info;
    size_t n = info->n_metric;
    *own = *info;
    own->space = nas_arena_print(run->text, "%s", info->space);
    own->task = nas_arena_print(run->text, "%s", info->task);
    own->config = nas_arena_print(run->text, "%s", info->config);
    own->provenance = nas_arena_print(run->text, "%s", info->provenance);
    own->metric = nas_arena_copy(run->text, info->metric, n * sizeof *info->metric);
    double *bound = nas_arena_get(run->text, (2 * n + 1) * sizeof *bound);
    for (size_t i = 0; i < n; i++) {
        bound[i] = info->lower ? info->lower[i] : -INFINITY;
        bound[n + i] = info->upper ? info->upper[i] : INFINITY;
    }
    own->lower = bound;
    own->upper = bound + n;
}

/* ---- rows and generations ---- */

size_t nas_run_add(nas_run *run, const nas_run_row *row)
{
    size_t m = run->info.n_metric;
    run->row = nas_grow(run->row, &run->row_cap, run->n + 1, sizeof *run->row);
    run->value = nas_grow(run->value, &run->value_cap, (run->n + 1) * m, sizeof *run->value);
    run->row[run->n] = *row;
    run->row[run->n].generation = (int64_t)run->generations;
    run->row[run->n].arch = nas_arena_print(run->text, "%s", row->arch);
    memcpy(run->value + run->n * m, row->value, m * sizeof *run->value);
    return run->n++;
}

void nas_run_end_generation(nas_run *run, const nas_run_step *step)
{
    run->step = nas_grow(run->step, &run->step_cap, run->generations + 1, sizeof *run->step);
    run->step[run->generations++] = *step;
    run->n_committed = run->n;
}

void nas_run_set_numbers(nas_run *run, size_t row, const nas_run_row *numbers)
{
    size_t m = run->info.n_metric;
    assert(row < run->n_committed);
    run->row[row].feasible = numbers->feasible;
    run->row[row].violation = numbers->violation;
    memcpy(run->value + row * m, numbers->value, m * sizeof *run->value);
}

void nas_run_set_reference(nas_run *run, const double *reference)
{
    memcpy(run->reference, reference, run->info.n_objective * sizeof *reference);
    run->has_reference = true;
}

nas_status nas_run_append(nas_run *run, const nas_bytes *record, bool sync, nas_err *err)
{
    const nas_disk *disk = run->how.disk;
    double now = disk->now();
    bool good = nas_disk_put(disk, run->fd, record->data, record->size);
    const char *call = good ? NULL : "write";
    if (good && (sync || now - run->last_sync >= 1)) {
        call = disk->fdatasync(run->fd) ? "fdatasync" : NULL;
        run->last_sync = now;
    }
    if (!call) {
        run->journal_size += record->size;
        return NAS_OK;
    }
    nas_fail(err, NAS_FAILED, "cannot write '%s' (%s): %s", run->journal_path, call,
             strerror(errno));
    if (disk->ftruncate(run->fd, (off_t)run->journal_size)) {
        /* a torn record is dropped when it is read, so nothing is lost */
    }
    return NAS_FAILED;
}

void nas_run_truncate(nas_run *run, size_t generations)
{
    if (generations >= run->generations)
        return;
    run->generations = generations;
    while (run->n > 0 && run->row[run->n - 1].generation >= (int64_t)generations)
        run->n--;
    run->n_committed = run->n;
    run->rewrite = true;
}

nas_status nas_run_commit(nas_run *run, const nas_run_step *step, nas_err *err)
{
    if (!run->how.disk || run->rewrite) { /* the journal cannot take back what it holds */
        nas_run_end_generation(run, step);
        return run->how.disk ? nas_run_snapshot(run, err) : NAS_OK;
    }
    nas_bytes record = {0};
    nas_journal_put_generation(&record, run, step);
    nas_status status = nas_run_append(run, &record, run->how.sync_each, err);
    nas_bytes_clear(&record);
    if (status)
        return status;
    run->kept = run->journal_size;
    run->n_answer = 0; /* a generation that is done anew, above, leaves those of the next one */
    nas_run_end_generation(run, step);
    if (run->how.disk->now() - run->last_snapshot >= run->how.snapshot_seconds)
        status = nas_run_snapshot(run, err);
    return status;
}

nas_status nas_run_snapshot(nas_run *run, nas_err *err)
{
    assert(run->how.disk);
    nas_bytes bytes = {0};
    nas_run_encode(run, &bytes);
    nas_status status = nas_disk_replace(run->how.disk, run->path, bytes.data, bytes.size, err);
    nas_bytes_clear(&bytes);
    run->last_snapshot = run->how.disk->now();
    run->rewrite &= status != NAS_OK;
    run->kept = status ? run->kept : run->journal_size;
    return status;
}

nas_status nas_run_finish(nas_run *run, nas_err *err)
{
    nas_status status = nas_run_snapshot(run, err);
    if (!status && run->how.disk->unlink(run->journal_path) && errno != ENOENT)
        status =
            nas_fail(err, NAS_FAILED, "cannot remove '%s': %s", run->journal_path, strerror(errno));
    run->has_journal = status != NAS_OK;
    run->kept = SIZE_MAX;
    return status;
}

/* ---- opening ---- */

static nas_run *empty_run(const char *path)
{
    nas_run *run = nas_zalloc(1, sizeof *run);
    nas_bytes journal = {0};
    nas_bytes_print(&journal, "%s.journal", path);
    run->path = nas_strdup(path);
    run->journal_path = journal.data;
    run->text = nas_arena_new();
    run->fd = -1;
    return run;
}

nas_run *nas_run_new(const nas_run_info *info)
{
    nas_run *run = empty_run("");
    run->has_journal = true;
    nas_run_adopt(run, info);
    return run;
}

/* A writer that was refused, or committed nothing, leaves what it found. */
static void restore_journal(nas_run *run)
{
    const nas_disk *disk = run->how.disk;
    int failed = 0;
    if (run->kept == 0)
        failed = disk->unlink(run->journal_path);
    else if (run->kept < run->journal_size)
        failed = disk->ftruncate(run->fd, (off_t)run->kept);
    (void)failed; /* then the journal says more than it must, nothing is lost */
}

void nas_run_close(nas_run *run)
{
    if (!run)
        return;
    if (run->fd >= 0) {
        restore_journal(run);
        close(run->fd);
    }
    nas_arena_free(run->text);
    free(run->path);
    free(run->journal_path);
    free(run->row);
    free(run->value);
    free(run->step);
    free(run->answer);
    free(run);
}

/* Loads the snapshot, then the journal, which was read before it: a writer may finish in between,
 * and then the snapshot has everything. NAS_EMPTY when there is neither. */
static nas_status load(nas_run *run, const nas_bytes *journal, nas_err *err)
{
    nas_status status = nas_journal_whole(run, journal, &run->journal_size, err);
    if (!status)
        status = nas_run_decode(run, run->path, err);
    if (!status || status == NAS_EMPTY)
        status = nas_journal_apply(run, journal, run->journal_size, err);
    return status ? status : run->info.space ? NAS_OK : NAS_EMPTY;
}

nas_status nas_run_read(nas_run **out, const char *path, nas_err *err)
{
    nas_run *run = empty_run(path);
    nas_bytes journal = {0};
    nas_status status = nas_disk_read(run->journal_path, &journal, err);
    run->has_journal = status == NAS_OK;
    if (status != NAS_FAILED)
        status = load(run, &journal, err);
    if (status == NAS_EMPTY)
        status = run->has_journal
                     ? nas_fail(err, NAS_FAILED, "'%s' stopped before its first commit", path)
                     : nas_fail(err, NAS_FAILED, "'%s' does not exist", path);
    nas_bytes_clear(&journal);
    if (status)
        nas_run_close(run);
    else
        *out = run;
    return status;
}

/* Makes sure that nothing is there: refuses or drops what is. */
static nas_status clear_way(nas_run *run, nas_run_mode mode, const nas_bytes *journal, nas_err *err)
{
    const nas_disk *disk = run->how.disk;
    nas_status status = nas_journal_whole(run, journal, &run->journal_size, err);
    if (!status && mode == NAS_RUN_NEW && run->journal_size > 0)
        status = nas_fail(err, NAS_USAGE,
                          "'%s' holds an unfinished run (--resume continues, --force drops it)",
                          run->journal_path);
    run->journal_size = 0;
    if (status)
        return status;
    if (disk->ftruncate(run->fd, 0) || (disk->unlink(run->path) && errno != ENOENT))
        return nas_fail(err, NAS_FAILED, "cannot clear '%s': %s", run->path, strerror(errno));
    return NAS_OK;
}

/* Takes what was committed, checked against info, and drops a torn tail of the journal. */
static nas_status continue_run(nas_run *run, const nas_run_info *info, const nas_bytes *journal,
                               nas_err *err)
{
    nas_status status = load(run, journal, err);
    if (!status)
        status = nas_run_match(run, info, err);
    if (status && status != NAS_EMPTY)
        return status;
    if (run->how.disk->ftruncate(run->fd, (off_t)run->journal_size))
        return nas_fail(err, NAS_FAILED, "cannot cut '%s': %s", run->journal_path, strerror(errno));
    return NAS_OK;
}

static nas_status open_locked(nas_run *run, const nas_run_info *info, nas_run_mode mode,
                              nas_err *err)
{
    nas_bytes journal = {0}, record = {0};
    nas_status status = nas_disk_read(run->journal_path, &journal, err);
    run->kept = !status && journal.size == 0 ? 0 : SIZE_MAX;
    if (!status)
        status = mode == NAS_RUN_RESUME ? continue_run(run, info, &journal, err)
                                        : clear_way(run, mode, &journal, err);
    if (!status) {
        run->kept = run->journal_size;
        nas_run_adopt(run, info);
        if (run->journal_size == 0)
            nas_journal_begin(&record);
        nas_journal_put_info(&record, run);
        status = nas_run_append(run, &record, true, err);
        if (!status && !nas_disk_sync_directory(run->how.disk, run->path))
            status = nas_fail(err, NAS_FAILED, "cannot sync the directory of '%s': %s", run->path,
                              strerror(errno));
        run->last_snapshot = run->how.disk->now();
    }
    nas_bytes_clear(&record);
    nas_bytes_clear(&journal);
    return status;
}

nas_status nas_run_open(nas_run **out, const char *path, const nas_run_info *info,
                        nas_run_mode mode, const nas_run_how *how, nas_err *err)
{
    assert(info->n_objective > 0 && info->n_objective <= NAS_OBJECTIVE_MOST);
    nas_status status = NAS_OK;
    if (mode != NAS_RUN_RESUME)
        status = nas_disk_vacant(path, mode == NAS_RUN_FORCE, err);
    if (status)
        return status;
    nas_run *run = empty_run(path);
    run->how = *how;
    run->has_journal = true;
    status = nas_journal_lock(run, err);
    if (!status)
        status = open_locked(run, info, mode, err);
    if (status)
        nas_run_close(run);
    else
        *out = run;
    return status;
}

/* ---- looking ---- */

const nas_run_info *nas_run_get_info(const nas_run *run)
{
    return &run->info;
}

bool nas_run_finished(const nas_run *run)
{
    return !run->has_journal;
}

size_t nas_run_generations(const nas_run *run)
{
    return run->generations;
}

size_t nas_run_rows(const nas_run *run)
{
    return run->n;
}

nas_run_row nas_run_get_row(const nas_run *run, size_t row)
{
    assert(row < run->n);
    nas_run_row copy = run->row[row];
    copy.value = nas_run_value(run, row);
    return copy;
}

const nas_run_step *nas_run_history(const nas_run *run)
{
    return run->step;
}

const double *nas_run_reference(const nas_run *run)
{
    return run->has_reference ? run->reference : NULL;
}

static bool may_enter_front(const nas_run *run, size_t row)
{
    bool good = run->row[row].state == NAS_ROW_OK && run->row[row].feasible;
    for (size_t j = 0; j < run->info.n_objective; j++)
        good &= (bool)isfinite(nas_run_value(run, row)[j]);
    return good;
}

size_t nas_run_front(const nas_run *run, bool *on_front)
{
    size_t m = run->info.n_objective, n = 0, count = 0;
    double *points = nas_alloc((run->n_committed + 1) * m * sizeof *points);
    uint32_t *row = nas_alloc((run->n_committed + 1) * sizeof *row);
    uint32_t *rank = nas_alloc((run->n_committed + 1) * sizeof *rank);
    memset(on_front, 0, run->n * sizeof *on_front);
    for (size_t i = 0; i < run->n_committed; i++)
        if (may_enter_front(run, i)) {
            memcpy(points + n * m, nas_run_value(run, i), m * sizeof *points);
            row[n++] = (uint32_t)i;
        }
    nas_objectives_minimise(points, n, run->info.metric, m);
    if (nas_front_sort(points, n, m, 1, rank, NULL) == NAS_OK)
        for (size_t i = 0; i < n; i++) {
            on_front[row[i]] = rank[i] == 0;
            count += rank[i] == 0;
        }
    free(points);
    free(row);
    free(rank);
    return count;
}
