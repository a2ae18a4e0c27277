/* What did one search do? The run file (HDF5) and, while it runs, its journal.
 *
 *     status = nas_run_open(&run, "run.h5", &info, NAS_RUN_NEW, &how, &err);
 *     for (each architecture of a generation) nas_run_add(run, &row);
 *     status = nas_run_commit(run, &step, &err);    … generation after generation …
 *     status = nas_run_finish(run, &err);           // then nas_run_close(run)
 *
 * RUN.h5 is always a whole file: it is written beside, synced and renamed. Each committed
 * generation is appended to RUN.h5.journal first; a torn tail of it is dropped. So a run that stops
 * anywhere loses at most the generation in flight, and the final file depends on what was added,
 * not on how often it was interrupted. Reading: nas_run_read gives what is committed, at any time.
 *
 * /: format "naslm-run", schema_major, schema_minor, producer_version, seed, space, task,
 * generations, reference_point (once it is known). /config, /provenance: JSON. /objectives: every
 * metric; direction "max" and "min" are the objectives, "none" what is only recorded or constrained
 * to lower..upper. /evaluations: a row an architecture. /history: a row a generation. /front: ids.
 */
#ifndef NAS_RESULTS_RUN_H
#define NAS_RESULTS_RUN_H

#include "results/disk.h"
#include "results/metric.h"

typedef struct nas_run nas_run;

/* What a run is; all but config and provenance is fixed for its life. */
typedef struct {
    const char *space, *task;
    uint64_t seed;
    const char *config, *provenance; /* JSON; no threads, paths, dates, hosts */
    const nas_metric *metric;        /* [n_metric], objectives first */
    size_t n_metric, n_objective;
    const double *lower, *upper; /* [n_metric] constraints; infinite: none. NULL: none at all */
    bool has_tau;                /* the history has the surrogate's tau */
} nas_run_info;

typedef enum { NAS_ROW_OK, NAS_ROW_FAILED, NAS_ROW_MISSING } nas_row_state;

const char *nas_row_state_name(nas_row_state state); /* "ok", "failed", "missing" */

typedef struct {
    int64_t generation;       /* set by the run */
    int64_t parent1, parent2; /* rows, -1: none */
    nas_row_state state;
    bool feasible;
    double violation; /* sum over constraints, 0 when feasible */
    const char *arch; /* copied */
    char hash[33];
    const double *value; /* (n_metric), NaN: missing; copied */
} nas_run_row;

/* What a slow source said of one architecture before its generation is whole. */
typedef struct {
    size_t source; /* a number of the caller's */
    nas_row_state state;
    const char *arch;
    const double *value; /* [n] */
    size_t n;
} nas_run_answer;

typedef struct {
    int64_t evaluations, front_size; /* so far */
    double hypervolume, tau;         /* tau: where has_tau, NaN while there is none */
} nas_run_step;

typedef enum {
    NAS_RUN_NEW,    /* refuse an existing file or unfinished run */
    NAS_RUN_FORCE,  /* drop it */
    NAS_RUN_RESUME, /* continue what is there; begin when there is nothing */
} nas_run_mode;

typedef struct {
    const nas_disk *disk;    /* &nas_disk_real */
    double snapshot_seconds; /* a commit writes RUN.h5 when that much time went by */
    bool sync_each;          /* sync the journal at each commit instead of once a second */
} nas_run_how;

/* Locks the run for writing. NAS_USAGE: it exists, or is another run than info says (space, task,
 * seed, metrics). NAS_FAILED: another process writes it (named), the disk, a damaged file. */
nas_status nas_run_open(nas_run **run, const char *path, const nas_run_info *info,
                        nas_run_mode mode, const nas_run_how *how, nas_err *err);

/* A run in memory only: commits write nothing; snapshot and finish are not for it. */
nas_run *nas_run_new(const nas_run_info *info);

/* Everything committed so far, for reading: snapshot and journal, never in the way of a writer.
 * NAS_FAILED: there is no run, or it is damaged. */
nas_status nas_run_read(nas_run **run, const char *path, nas_err *err);

/* Closes without finishing: what is committed can be resumed. NULL is allowed. */
void nas_run_close(nas_run *run);

/* Adds a row to the generation in flight; returns its number, which is its id. */
size_t nas_run_add(nas_run *run, const nas_run_row *row);
/* Writes an answer to the journal at once (in a run with a file); it is found, also after a kill
 * and NAS_RUN_RESUME, until the next new generation is committed. NAS_FAILED: the disk. */
nas_status nas_run_keep(nas_run *run, const nas_run_answer *answer, nas_err *err);
/* NULL: no answer is kept. */
const nas_run_answer *nas_run_kept(const nas_run *run, size_t source, const char *arch);
/* Replaces feasible, violation and value (n_metric) of a committed row by those of numbers, in
 * memory and in later snapshots. */
void nas_run_set_numbers(nas_run *run, size_t row, const nas_run_row *numbers);
/* Fixes the reference point (n_objective, own units); stored with the next commit. */
void nas_run_set_reference(nas_run *run, const double *reference);
/* Forgets the generations from that one on, which a longer run does anew. The disk keeps them until
 * the next commit, which writes RUN.h5 whole. */
void nas_run_truncate(nas_run *run, size_t generations);
/* Ends the generation in flight. On NAS_FAILED (journal or snapshot cannot be written) what the
 * disk held before is intact. */
nas_status nas_run_commit(nas_run *run, const nas_run_step *step, nas_err *err);
/* Writes RUN.h5 with what is committed. */
nas_status nas_run_snapshot(nas_run *run, nas_err *err);
/* nas_run_snapshot, then removes the journal. */
nas_status nas_run_finish(nas_run *run, nas_err *err);

const nas_run_info *nas_run_get_info(const nas_run *run);
bool nas_run_finished(const nas_run *run); /* no journal when it was opened or after finish */
size_t nas_run_generations(const nas_run *run);
size_t nas_run_rows(const nas_run *run);                     /* committed and in flight */
nas_run_row nas_run_get_row(const nas_run *run, size_t row); /* pointers live until the next add */
const nas_run_step *nas_run_history(const nas_run *run);     /* [generations] */
const double *nas_run_reference(const nas_run *run); /* (n_objective), NULL: not known yet */

/* The front: marks (rows) the committed rows that are ok, feasible, finite in all objectives and
 * not dominated; returns how many. */
size_t nas_run_front(const nas_run *run, bool *on_front);

/* What writes run files: the library's version and the schema, as "1.10.8" and "1.0". */
void nas_run_versions(char library[32], char schema[32]);

#endif
