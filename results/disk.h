/* How do results get onto the disk? The file-system calls that write, as a table, and whole files.
 *
 *     status = nas_disk_vacant("run.h5", force, &err);
 *     status = nas_disk_replace(&nas_disk_real, "run.h5", bytes.data, bytes.size, &err);
 *     status = nas_disk_read("run.h5", &bytes, &err);
 *
 * Everything that changes a file goes through such a table, so a test can stop, or fail, at every
 * single call. */
#ifndef NAS_RESULTS_DISK_H
#define NAS_RESULTS_DISK_H

#include "spaces/base/err.h"
#include "spaces/base/mem.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct {
    int (*open)(const char *path, int flags, mode_t mode); /* these are the calls of POSIX */
    ssize_t (*write)(int fd, const void *data, size_t size);
    int (*fsync)(int fd);
    int (*fdatasync)(int fd);
    int (*ftruncate)(int fd, off_t size);
    int (*rename)(const char *from, const char *to);
    int (*unlink)(const char *path);
    double (*now)(void); /* seconds of a monotonic clock */
} nas_disk;

extern const nas_disk nas_disk_real;

/* Writes all bytes or fails with errno; false on failure. */
bool nas_disk_put(const nas_disk *disk, int fd, const void *data, size_t size);

/* Makes what was created or renamed in the directory of path last; false with errno. */
bool nas_disk_sync_directory(const nas_disk *disk, const char *path);

/* Makes path hold exactly these bytes, or leaves it as it was: writes PATH.tmp, syncs it, renames
 * it over path and syncs the directory. NAS_FAILED naming the path and the call that failed. */
nas_status nas_disk_replace(const nas_disk *disk, const char *path, const void *data, size_t size,
                            nas_err *err);

/* Appends the whole file to bytes. NAS_EMPTY without a sentence when it does not exist. */
nas_status nas_disk_read(const char *path, nas_bytes *bytes, nas_err *err);

/* NAS_USAGE when path exists and force is false, or when it is a directory or device. */
nas_status nas_disk_vacant(const char *path, bool force, nas_err *err);

#endif
