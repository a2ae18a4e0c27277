#include "results/plot.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Sizes so that a picture shrunk to 600 pixels can still be read. */
static const struct {
    const char *suffix, *terminal;
} FORMAT[] = {
    {".svg", "svg size 900,600 font 'DejaVu Sans,17' background 'white'"},
    {".png", "pngcairo size 1200,800 font 'DejaVu Sans,17' linewidth 1.6 pointscale 1.6 "
             "background 'white'"},
    {".pdf", "pdfcairo size 6.3in,4.2in font 'DejaVu Sans,12' background 'white'"},
    {".gp", "svg size 900,600 font 'DejaVu Sans,17' background 'white'"},
};
enum { FORMATS = sizeof FORMAT / sizeof *FORMAT };

/* A file without a name that holds script, read from its start; -1 on failure. */
static int hidden_file(const nas_bytes *script)
{
    int fd = memfd_create("naslm-plot", MFD_CLOEXEC);
    if (fd >= 0 && script &&
        (!nas_disk_put(&nas_disk_real, fd, script->data, script->size) || lseek(fd, 0, SEEK_SET))) {
        close(fd);
        return -1;
    }
    return fd;
}

static void read_hidden(int fd, nas_bytes *bytes)
{
    char buffer[1 << 16];
    ssize_t got;
    lseek(fd, 0, SEEK_SET);
    while ((got = read(fd, buffer, sizeof buffer)) > 0)
        nas_bytes_put(bytes, buffer, (size_t)got);
}

/* Runs gnuplot with these three as its standard streams; errno or its exit status, 0 when well. */
static int run_gnuplot(const int fd[3], bool *started)
{
    static char *const argv[] = {(char *)"gnuplot", (char *)"-d", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int k = 0; k < 3; k++)
        posix_spawn_file_actions_adddup2(&actions, fd[k], k);
    pid_t child;
    int code = posix_spawnp(&child, "gnuplot", &actions, NULL, argv, environ), how = 0;
    posix_spawn_file_actions_destroy(&actions);
    *started = code == 0;
    if (code)
        return code;
    while (waitpid(child, &how, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128;
}

/* The only thing in a PDF that is not the same each time is when it was made. */
static void drop_date(nas_bytes *pdf)
{
    static const char mark[] = "/CreationDate (D:", date[] = "20000101000000";
    char *at = memmem(pdf->data, pdf->size, mark, sizeof mark - 1);
    if (at && (size_t)(pdf->data + pdf->size - at) > sizeof mark + sizeof date)
        memcpy(at + sizeof mark - 1, date, sizeof date - 1);
}

static nas_status draw(const nas_bytes *script, nas_bytes *image, nas_err *err)
{
    int fd[3] = {hidden_file(script), hidden_file(NULL), hidden_file(NULL)};
    nas_bytes complaint = {0};
    bool started = false;
    int code = fd[0] < 0 || fd[1] < 0 || fd[2] < 0 ? errno : run_gnuplot(fd, &started);
    nas_status status = NAS_OK;
    if (!started) {
        status = nas_fail(err, NAS_FAILED, "cannot run gnuplot: %s (a plot to FILE.gp needs none)",
                          strerror(code));
    } else {
        read_hidden(fd[1], image);
        read_hidden(fd[2], &complaint);
        if (code || image->size == 0)
            status =
                nas_fail(err, NAS_FAILED, "gnuplot failed: %.300s", nas_bytes_text(&complaint));
    }
    for (int k = 0; k < 3; k++)
        if (fd[k] >= 0)
            close(fd[k]);
    nas_bytes_clear(&complaint);
    return status;
}

nas_status nas_plot_draw(nas_plot_maker *make, const void *what, const char *out, bool force,
                         const nas_disk *disk, nas_err *err)
{
    int format = 0;
    size_t length = strlen(out);
    for (; format < FORMATS; format++) {
        size_t n = strlen(FORMAT[format].suffix);
        if (length > n && !strcasecmp(out + length - n, FORMAT[format].suffix))
            break;
    }
    if (format == FORMATS)
        return nas_fail(err, NAS_USAGE, "'%s' does not end in .svg, .png, .pdf or .gp", out);
    nas_bytes script = {0}, image = {0};
    bool is_script = !strcmp(FORMAT[format].suffix, ".gp");
    nas_status status = nas_disk_vacant(out, force, err);
    if (!status)
        status = make(what, FORMAT[format].terminal, &script, err);
    if (!status && !is_script)
        status = draw(&script, &image, err);
    if (!status && !strcmp(FORMAT[format].suffix, ".pdf"))
        drop_date(&image);
    const nas_bytes *result = is_script ? &script : &image;
    if (!status)
        status = nas_disk_replace(disk, out, result->data, result->size, err);
    nas_bytes_clear(&script);
    nas_bytes_clear(&image);
    return status;
}

static nas_status script_of_plot(const void *plot, const char *terminal, nas_bytes *script,
                                 nas_err *err)
{
    return nas_plot_script(plot, terminal, script, err);
}

nas_status nas_plot_write(const nas_plot *plot, const char *out, bool force, const nas_disk *disk,
                          nas_err *err)
{
    return nas_plot_draw(script_of_plot, plot, out, force, disk, err);
}
