#include "results/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int real_open(const char *path, int flags, mode_t mode)
{
    return open(path, flags | O_CLOEXEC, mode);
}

static double real_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const nas_disk nas_disk_real = {
    .open = real_open,
    .write = write,
    .fsync = fsync,
    .fdatasync = fdatasync,
    .ftruncate = ftruncate,
    .rename = rename,
    .unlink = unlink,
    .now = real_now,
};

bool nas_disk_put(const nas_disk *disk, int fd, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t put = disk->write(fd, at, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put == 0)
            errno = ENOSPC;
        if (put <= 0)
            return false;
        at += put;
        size -= (size_t)put;
    }
    return true;
}

bool nas_disk_sync_directory(const nas_disk *disk, const char *path)
{
    char *copy = nas_strdup(path);
    int fd = disk->open(dirname(copy), O_RDONLY | O_DIRECTORY, 0);
    free(copy);
    bool good = fd >= 0 && (disk->fsync(fd) == 0 || errno == EINVAL); /* EINVAL: cannot be synced */
    int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return good;
}

/* The name of the call that failed, or NULL. */
static const char *write_whole(const nas_disk *disk, const char *path, const void *data,
                               size_t size)
{
    int fd = disk->open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return "open";
    const char *call = !nas_disk_put(disk, fd, data, size) ? "write"
                       : disk->fsync(fd)                   ? "fsync"
                                                           : NULL;
    int why = errno;
    if (close(fd) && !call)
        return "close";
    errno = why;
    return call;
}

nas_status nas_disk_replace(const nas_disk *disk, const char *path, const void *data, size_t size,
                            nas_err *err)
{
    nas_bytes temporary = {0};
    nas_bytes_print(&temporary, "%s.tmp", path);
    const char *call = write_whole(disk, temporary.data, data, size);
    if (!call && disk->rename(temporary.data, path))
        call = "rename";
    nas_status status = NAS_OK;
    if (call) {
        status =
            nas_fail(err, NAS_FAILED, "cannot write '%s' (%s): %s", path, call, strerror(errno));
        disk->unlink(temporary.data);
    } else if (!nas_disk_sync_directory(disk, path)) {
        status = nas_fail(err, NAS_FAILED, "cannot sync the directory of '%s': %s", path,
                          strerror(errno));
    }
    nas_bytes_clear(&temporary);
    return status;
}

nas_status nas_disk_read(const char *path, nas_bytes *bytes, nas_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return NAS_EMPTY;
    static const size_t chunk = 1 << 20;
    struct stat file;
    ssize_t got = fd < 0 ? -1 : 1;
    if (fd >= 0 && fstat(fd, &file) == 0 && S_ISCHR(file.st_mode)) { /* may never end */
        errno = ENOTSUP;
        got = -1;
    }
    while (got > 0) {
        bytes->data = nas_grow(bytes->data, &bytes->cap, bytes->size + chunk + 1, 1);
        got = read(fd, bytes->data + bytes->size, chunk);
        bytes->size += got > 0 ? (size_t)got : 0;
        bytes->data[bytes->size] = '\0';
    }
    nas_status status = NAS_OK;
    if (got < 0)
        status = nas_fail(err, NAS_FAILED, "cannot read '%s': %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return status;
}

nas_status nas_disk_vacant(const char *path, bool force, nas_err *err)
{
    struct stat there;
    if (!strcmp(path, "-"))
        return nas_fail(err, NAS_USAGE, "this output cannot go to standard output ('-')");
    if (lstat(path, &there)) /* a link to nothing is something */
        return NAS_OK;
    if (!force)
        return nas_fail(err, NAS_USAGE, "'%s' exists (--force overwrites it)", path);
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return nas_fail(err, NAS_USAGE, "'%s' is no regular file, so it is not overwritten", path);
    return NAS_OK;
}
