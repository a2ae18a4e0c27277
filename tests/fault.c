#include "tests/fault.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

fault_plan fault;

static bool hit(void)
{
    if (fault.calls_left-- != 0)
        return false;
    if (fault.kind == FAULT_STOP)
        _exit(FAULT_EXIT);
    errno = fault.number;
    return true;
}

static int bad_open(const char *name, int flags, mode_t mode)
{
    return hit() ? -1 : nas_disk_real.open(name, flags, mode);
}

static ssize_t bad_write(int fd, const void *data, size_t size)
{
    if (fault.calls_left == 0 && fault.kind != FAULT_FAIL && size > 1)
        if (write(fd, data, size / 2) < 0)
            abort();
    return hit() ? -1 : write(fd, data, size);
}

static int bad_sync(int fd)
{
    (void)fd; /* this process stops, not the machine: nothing is lost without a real sync */
    return hit() ? -1 : 0;
}

static int bad_ftruncate(int fd, off_t size)
{
    return hit() ? -1 : ftruncate(fd, size);
}

static int bad_rename(const char *from, const char *to)
{
    return hit() ? -1 : rename(from, to);
}

static int bad_unlink(const char *name)
{
    return hit() ? -1 : unlink(name);
}

static double no_time(void)
{
    return 0;
}

const nas_disk fault_disk = {bad_open,      bad_write,  bad_sync,   bad_sync,
                             bad_ftruncate, bad_rename, bad_unlink, no_time};

static int quick_open(const char *name, int flags, mode_t mode)
{
    return nas_disk_real.open(name, flags, mode);
}

static int no_sync(int fd)
{
    (void)fd;
    return 0;
}

const nas_disk fault_quick_disk = {quick_open, write,  no_sync, no_sync,
                                   ftruncate,  rename, unlink,  no_time};
