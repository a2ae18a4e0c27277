/* What if the disk stops or fails at exactly this call? A nas_disk with a plan.
 *
 *     fault = (fault_plan){.kind = FAULT_FAIL, .calls_left = 7, .number = ENOSPC};
 *     status = nas_run_open(&run, path, &info, mode, &(nas_run_how){&fault_disk, 0, true}, &err);
 *
 * Every call that changes a file counts: open, write, fsync, fdatasync, ftruncate, rename, unlink.
 * The one that finds 0 left is hit; those after it work again. */
#ifndef NAS_TESTS_FAULT_H
#define NAS_TESTS_FAULT_H

#include "results/disk.h"

enum { FAULT_EXIT = 77 }; /* exit code of a stopped process */

typedef struct {
    enum {
        FAULT_STOP,        /* the process ends; a write is torn */
        FAULT_FAIL,        /* the call does nothing and returns an error */
        FAULT_FAIL_PARTLY, /* the same, but a write puts half of its bytes */
    } kind;
    long calls_left;
    int number; /* errno */
} fault_plan;

extern fault_plan fault;
extern const nas_disk fault_disk;

/* The real disk without its slow calls: a process that stops needs no sync. */
extern const nas_disk fault_quick_disk;

#endif
