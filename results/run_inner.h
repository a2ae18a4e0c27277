/* How is a run held in memory? What its file, its journal and its verbs share; internal.
 *
 *     for (size_t i = 0; i < run->n_committed; i++) use(run->row[i], nas_run_value(run, i));
 */
#ifndef NAS_RESULTS_RUN_INNER_H
#define NAS_RESULTS_RUN_INNER_H

#include "results/run.h"

struct nas_run {
    char *path, *journal_path;
    nas_arena *text;   /* strings of info and rows, metrics */
    nas_run_info info; /* copied; lower and upper are never NULL */
    nas_run_row *row;  /* [n] value is not used here */
    double *value;     /* (n, n_metric) */
    size_t n, row_cap, value_cap, n_committed;
    nas_run_step *step; /* [generations] */
    size_t generations, step_cap;
    nas_run_answer *answer; /* [n_answer] since the last commit */
    size_t n_answer, answer_cap;
    double reference[NAS_OBJECTIVE_MOST];
    bool has_reference, has_journal;

    nas_run_how how; /* from here on only in a writer */
    int fd;          /* of the journal, locked; -1 in a reader */
    size_t journal_size;
    size_t kept; /* bytes of the journal that closing leaves; 0: it goes, SIZE_MAX: as it is */
    double last_sync, last_snapshot;
    bool rewrite; /* the disk has generations that were forgotten */
};

static inline const double *nas_run_value(const nas_run *run, size_t row)
{
    return run->value + row * run->info.n_metric;
}

/* Copies info into the arena of run. */
void nas_run_adopt(nas_run *run, const nas_run_info *info);
/* run_match.c: NAS_USAGE when run and info are not of one search. */
nas_status nas_run_match(const nas_run *run, const nas_run_info *info, nas_err *err);
/* Makes rows in flight, or read ones, a generation. */
void nas_run_end_generation(nas_run *run, const nas_run_step *step);

/* Appends records to the journal; synced now or within a second. */
nas_status nas_run_append(nas_run *run, const nas_bytes *record, bool sync, nas_err *err);
/* run_answer.c: in memory. */
void nas_run_hold(nas_run *run, const nas_run_answer *answer);

/* run_file.c: the HDF5 file. Reading: NAS_EMPTY without a sentence when there is none. */
void nas_run_encode(const nas_run *run, nas_bytes *bytes);
nas_status nas_run_decode(nas_run *run, const char *path, nas_err *err);

/* run_journal.c. Records are appended to bytes, framed by length and checksum. */
void nas_journal_begin(nas_bytes *bytes); /* the magic word */
void nas_journal_put_info(nas_bytes *bytes, const nas_run *run);
void nas_journal_put_generation(nas_bytes *bytes, const nas_run *run, const nas_run_step *step);
void nas_journal_put_answer(nas_bytes *bytes, const nas_run_answer *answer);
/* Where the whole records end; 0: there is none. NAS_FAILED: a foreign file. */
nas_status nas_journal_whole(const nas_run *run, const nas_bytes *bytes, size_t *size,
                             nas_err *err);
/* Applies the whole records to run, which holds the snapshot or nothing. Generations that are there
 * already are skipped. NAS_FAILED: of another run. */
nas_status nas_journal_apply(nas_run *run, const nas_bytes *bytes, size_t size, nas_err *err);
/* Opens or creates the journal for appending and locks it. */
nas_status nas_journal_lock(nas_run *run, nas_err *err);

#endif
