#include "results/run_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const char MAGIC[8] = "naslmj1\n";
enum {
    FRAME = 8,
    INFO = 'I',
    GENERATION = 'G',
    ANSWER = 'A'
}; /* frame: length and CRC-32 of what follows */

/* ---- records out ---- */

static void put_number(nas_bytes *bytes, uint64_t value)
{
    nas_bytes_put(bytes, &value, sizeof value);
}

static void put_reals(nas_bytes *bytes, const double *value, size_t n)
{
    nas_bytes_put(bytes, value, n * sizeof *value);
}

static void put_text(nas_bytes *bytes, const char *text)
{
    nas_bytes_put(bytes, text, strlen(text) + 1);
}

/* Begins a record; end_record needs the returned place. */
static size_t begin_record(nas_bytes *bytes, char type)
{
    size_t start = bytes->size;
    nas_bytes_put(bytes, (char[FRAME]){0}, FRAME);
    nas_bytes_putc(bytes, type);
    return start;
}

static void end_record(nas_bytes *bytes, size_t start)
{
    uint32_t length = (uint32_t)(bytes->size - start - FRAME);
    uint32_t sum = (uint32_t)crc32_z(0, (Bytef *)bytes->data + start + FRAME, length);
    memcpy(bytes->data + start, &length, sizeof length);
    memcpy(bytes->data + start + sizeof length, &sum, sizeof sum);
}

void nas_journal_begin(nas_bytes *bytes)
{
    nas_bytes_put(bytes, MAGIC, sizeof MAGIC);
}

void nas_journal_put_info(nas_bytes *bytes, const nas_run *run)
{
    const nas_run_info *info = &run->info;
    size_t start = begin_record(bytes, INFO);
    put_number(bytes, info->seed);
    put_number(bytes, info->n_metric);
    put_number(bytes, info->n_objective);
    put_number(bytes, info->has_tau);
    put_text(bytes, info->space);
    put_text(bytes, info->task);
    put_text(bytes, info->config);
    put_text(bytes, info->provenance);
    nas_bytes_put(bytes, info->metric, info->n_metric * sizeof *info->metric);
    put_reals(bytes, info->lower, info->n_metric);
    put_reals(bytes, info->upper, info->n_metric);
    end_record(bytes, start);
}

void nas_journal_put_generation(nas_bytes *bytes, const nas_run *run, const nas_run_step *step)
{
    size_t start = begin_record(bytes, GENERATION);
    put_number(bytes, run->generations);
    put_number(bytes, run->n_committed);
    put_number(bytes, run->n - run->n_committed);
    nas_bytes_put(bytes, step, sizeof *step);
    put_number(bytes, run->has_reference);
    put_reals(bytes, run->reference, NAS_OBJECTIVE_MOST);
    for (size_t i = run->n_committed; i < run->n; i++) {
        const nas_run_row *row = &run->row[i];
        put_number(bytes, (uint64_t)row->parent1);
        put_number(bytes, (uint64_t)row->parent2);
        put_number(bytes, row->state);
        put_number(bytes, row->feasible);
        put_reals(bytes, &row->violation, 1);
        put_reals(bytes, nas_run_value(run, i), run->info.n_metric);
        put_text(bytes, row->hash);
        put_text(bytes, row->arch);
    }
    end_record(bytes, start);
}

void nas_journal_put_answer(nas_bytes *bytes, const nas_run_answer *answer)
{
    size_t start = begin_record(bytes, ANSWER);
    put_number(bytes, answer->source);
    put_number(bytes, answer->state);
    put_number(bytes, answer->n);
    put_reals(bytes, answer->value, answer->n);
    put_text(bytes, answer->arch);
    end_record(bytes, start);
}

/* ---- records in ---- */

typedef struct {
    const char *at, *end;
    bool bad; /* asked for more than there is */
} cursor;

static const void *take(cursor *in, size_t size)
{
    if (in->bad || (size_t)(in->end - in->at) < size) {
        in->bad = true;
        return NULL;
    }
    const void *here = in->at;
    in->at += size;
    return here;
}

static uint64_t take_number(cursor *in)
{
    uint64_t value = 0;
    const void *from = take(in, sizeof value);
    if (from)
        memcpy(&value, from, sizeof value);
    return value;
}

static const char *take_text(cursor *in)
{
    size_t left = in->bad ? 0 : (size_t)(in->end - in->at);
    const char *text = take(in, strnlen(in->at, left) + 1);
    return text ? text : "";
}

/* The record at *at, which moves behind it; false at the end or a torn tail. */
static bool next_record(const nas_bytes *bytes, size_t *at, cursor *record)
{
    uint32_t length, sum;
    if (bytes->size - *at < FRAME)
        return false;
    memcpy(&length, bytes->data + *at, sizeof length);
    memcpy(&sum, bytes->data + *at + sizeof length, sizeof sum);
    const char *start = bytes->data + *at + FRAME;
    if (length == 0 || bytes->size - *at - FRAME < length ||
        crc32_z(0, (const Bytef *)start, length) != sum)
        return false;
    *record = (cursor){start, start + length, false};
    *at += FRAME + length;
    return true;
}

/* Copies count items to aligned memory of the run; NULL when the record is too short. */
static void *take_copy(nas_run *run, cursor *in, size_t count, size_t size)
{
    const void *from = count > 4096 ? NULL : take(in, count * size);
    in->bad |= from == NULL;
    return from ? nas_arena_copy(run->text, from, count * size) : NULL;
}

static nas_status apply_info(nas_run *run, cursor *in, nas_err *err)
{
    nas_run_info info = {0};
    info.seed = take_number(in);
    info.n_metric = take_number(in);
    info.n_objective = take_number(in);
    info.has_tau = take_number(in);
    info.space = take_text(in);
    info.task = take_text(in);
    info.config = take_text(in);
    info.provenance = take_text(in);
    info.metric = take_copy(run, in, info.n_metric, sizeof *info.metric);
    info.lower = take_copy(run, in, info.n_metric, sizeof *info.lower);
    info.upper = take_copy(run, in, info.n_metric, sizeof *info.upper);
    if (in->bad || info.n_objective > info.n_metric || info.n_objective > NAS_OBJECTIVE_MOST)
        return nas_fail(err, NAS_FAILED, "'%s' is damaged", run->journal_path);
    if (run->info.space && nas_run_match(run, &info, err)) {
        nas_fail_in(err, "'%s' belongs to another run than '%s'", run->journal_path, run->path);
        if (err)
            err->code = NAS_FAILED; /* a bad file, whatever was asked for */
        return NAS_FAILED;
    }
    nas_run_adopt(run, &info);
    return NAS_OK;
}

static void take_row(nas_run *run, cursor *in, double *value)
{
    nas_run_row row = {.value = value};
    row.parent1 = (int64_t)take_number(in);
    row.parent2 = (int64_t)take_number(in);
    uint64_t state = take_number(in);
    in->bad |= state > NAS_ROW_MISSING;
    row.state = (nas_row_state)state;
    row.feasible = take_number(in);
    const void *violation = take(in, sizeof row.violation);
    const void *values = take(in, run->info.n_metric * sizeof *value);
    const char *hash = take_text(in);
    row.arch = take_text(in);
    if (in->bad)
        return;
    memcpy(&row.violation, violation, sizeof row.violation);
    memcpy(value, values, run->info.n_metric * sizeof *value);
    snprintf(row.hash, sizeof row.hash, "%s", hash);
    nas_run_add(run, &row);
}

static nas_status apply_generation(nas_run *run, cursor *in, nas_err *err)
{
    uint64_t generation = take_number(in), first = take_number(in), n = take_number(in);
    const void *step_bytes = take(in, sizeof(nas_run_step));
    bool has_reference = take_number(in);
    const void *reference = take(in, sizeof run->reference);
    run->n_answer = 0;
    if (!in->bad && generation < run->generations)
        return NAS_OK; /* the snapshot has it */
    if (in->bad || !run->info.space || generation > run->generations || first != run->n)
        return nas_fail(err, NAS_FAILED, "'%s' does not continue '%s'", run->journal_path,
                        run->path);
    double *value = nas_alloc((run->info.n_metric + 1) * sizeof *value);
    for (uint64_t i = 0; i < n && !in->bad; i++)
        take_row(run, in, value);
    free(value);
    if (in->bad)
        return nas_fail(err, NAS_FAILED, "'%s' is damaged", run->journal_path);
    nas_run_step step;
    memcpy(&step, step_bytes, sizeof step);
    run->has_reference = has_reference;
    memcpy(run->reference, reference, sizeof run->reference);
    nas_run_end_generation(run, &step);
    return NAS_OK;
}

static nas_status apply_answer(nas_run *run, cursor *in, nas_err *err)
{
    nas_run_answer answer = {.source = take_number(in)};
    uint64_t state = take_number(in);
    answer.n = take_number(in);
    answer.value = take_copy(run, in, answer.n, sizeof *answer.value);
    answer.arch = take_text(in);
    if (in->bad || state > NAS_ROW_MISSING)
        return nas_fail(err, NAS_FAILED, "'%s' is damaged", run->journal_path);
    answer.state = (nas_row_state)state;
    nas_run_hold(run, &answer);
    return NAS_OK;
}

nas_status nas_journal_whole(const nas_run *run, const nas_bytes *bytes, size_t *size, nas_err *err)
{
    size_t head = bytes->size < sizeof MAGIC ? bytes->size : sizeof MAGIC, at = sizeof MAGIC;
    *size = 0;
    if (head && memcmp(bytes->data, MAGIC, head))
        return nas_fail(err, NAS_FAILED, "'%s' is not a journal of a run", run->journal_path);
    cursor record;
    while (bytes->size > at && next_record(bytes, &at, &record))
        *size = at;
    return NAS_OK;
}

nas_status nas_journal_apply(nas_run *run, const nas_bytes *bytes, size_t size, nas_err *err)
{
    nas_status status = NAS_OK;
    cursor record;
    for (size_t at = sizeof MAGIC; !status && at < size;) {
        next_record(bytes, &at, &record);
        char type = *(const char *)take(&record, 1);
        status = type == INFO     ? apply_info(run, &record, err)
                 : type == ANSWER ? apply_answer(run, &record, err)
                                  : apply_generation(run, &record, err);
    }
    return status;
}

/* ---- the lock ---- */

/* The process that holds a lock on the file, from the kernel's list; 0: not known. */
static long find_holder(int fd)
{
    struct stat file;
    FILE *locks = fstat(fd, &file) ? NULL : fopen("/proc/locks", "re");
    char line[256];
    long holder = 0;
    while (locks && !holder && fgets(line, sizeof line, locks)) {
        long pid;
        unsigned long inode;
        if (sscanf(line, "%*s FLOCK %*s %*s %ld %*x:%*x:%lu", &pid, &inode) == 2 &&
            inode == (unsigned long)file.st_ino)
            holder = pid;
    }
    if (locks)
        fclose(locks);
    return holder;
}

/* Is fd still what path names? A finishing writer removes the file that another one waits for. */
static bool is_current(int fd, const char *path)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino &&
           a.st_dev == b.st_dev;
}

nas_status nas_journal_lock(nas_run *run, nas_err *err)
{
    const char *path = run->journal_path;
    for (;;) {
        run->fd = run->how.disk->open(path, O_RDWR | O_CREAT | O_APPEND, 0666);
        if (run->fd < 0)
            return nas_fail(err, NAS_FAILED, "cannot open '%s': %s", path, strerror(errno));
        if (flock(run->fd, LOCK_EX | LOCK_NB)) {
            long holder = find_holder(run->fd);
            char who[40] = "another process";
            if (holder > 0)
                snprintf(who, sizeof who, "process %ld", holder);
            close(run->fd);
            run->fd = -1;
            return nas_fail(err, NAS_FAILED, "'%s' is being written by %s", run->path, who);
        }
        if (is_current(run->fd, path))
            return NAS_OK;
        close(run->fd);
    }
}
