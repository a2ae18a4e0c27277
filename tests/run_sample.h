/* A run for tests, in a folder of its own: a search that depends on the generation alone.
 *
 *     nas_bytes want = run_unbroken(6);          // bytes of the run that nothing disturbed
 *     run_drive(NAS_RUN_RESUME, disk, 1e9, false, 6, &err);
 *     run_assert_final(&want);
 */
#ifndef NAS_TESTS_RUN_SAMPLE_H
#define NAS_TESTS_RUN_SAMPLE_H

#include "results/run.h"

extern char run_path[64], run_journal[80], run_temporary[80];
extern nas_metric run_metrics[3]; /* of run_sample_info, which sets them anew */

/* Fixtures of a group of tests, and between two runs. */
int run_make_folder(void **state);
int run_drop_folder(void **state);
int run_clean(void **state);

nas_run_info run_sample_info(void);
void run_add_generation(nas_run *run, size_t rows);
/* Continues to that many generations and finishes. */
nas_status run_drive(nas_run_mode mode, const nas_disk *disk, double snapshot, bool sync,
                     size_t generations, nas_err *err);
/* The file of a run of that many generations, to be cleared. */
nas_bytes run_unbroken(size_t generations);
/* Leaves a run of that many generations that was not finished; the bytes of its journal. */
nas_bytes run_leave_unfinished(size_t generations);
/* The run's file has these bytes and nothing lies beside it. */
void run_assert_final(const nas_bytes *want);

nas_bytes file_bytes(const char *name);
void put_file(const char *name, const void *data, size_t size);

#endif
