/* The program naslm: finds the subcommand, reads its options, runs it, turns a status into a
 * sentence and an exit code. */
#include "search/command.h"

#include <ctype.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* clang-format off */
#define LIST(X)                                                                                    \
    X(spaces) X(sample) X(cost) X(canon) X(mutate) X(cross) X(export) X(table) X(search) \
    X(front) X(plot) X(hv) X(show) X(tau) X(check) X(bench) X(train) \
    X(predict)
/* clang-format on */

#define DECLARE(name) extern const nas_command nas_command_##name;
LIST(DECLARE)

#define ENTRY(name) &nas_command_##name,
static const nas_command *const COMMANDS[] = {LIST(ENTRY)};
enum { N_COMMANDS = sizeof COMMANDS / sizeof *COMMANDS };

static void print_help(void)
{
    puts("Usage: naslm COMMAND [OPTION...]\n\n"
         "Neural architecture search with a regression language model.\n");
    for (int i = 0; i < N_COMMANDS; i++)
        printf("  %-8s %s\n", COMMANDS[i]->name, COMMANDS[i]->summary);
    puts("\n'naslm COMMAND --help' tells more. Exit codes: 0 done, 1 the work failed, 2 wrong\n"
         "usage, 3 nothing feasible or differences found, 130/143 stopped by a signal.");
}

static void print_command_help(const nas_command *command)
{
    nas_bytes text = {0};
    nas_bytes_print(&text, "Usage: naslm %s %s\n\n%c%s.\n\n", command->name, command->usage,
                    toupper((unsigned char)command->summary[0]), command->summary + 1);
    nas_options_help(&text, command->options);
    nas_bytes_puts(&text, "      --help                  this text\n");
    if (command->details)
        nas_bytes_print(&text, "\n%s\n", command->details);
    fputs(text.data, stdout);
    nas_bytes_clear(&text);
}

static nas_status report_error(const nas_err *err, const char *command)
{
    fflush(stdout);
    fprintf(stderr, "naslm: error: %s\n", err->text);
    if (err->code == NAS_USAGE)
        fprintf(stderr, command ? "Try 'naslm %s --help'.\n" : "Try 'naslm --help'.\n", command);
    return err->code;
}

static nas_status run_command(const nas_command *command, int argc, char **argv)
{
    nas_err err = {0};
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            print_command_help(command);
            return NAS_OK;
        }
    nas_options options = {0};
    nas_status status = nas_options_read(&options, command->options, argc, argv, &err);
    if (status == NAS_OK)
        status = command->run(&options, &err);
    nas_options_clear(&options);
    if (err.code != NAS_OK)
        report_error(&err, command->name);
    return status;
}

static nas_status unknown_command(const char *name)
{
    const char *names[N_COMMANDS];
    char hint[100];
    nas_err err = {0};
    for (int i = 0; i < N_COMMANDS; i++)
        names[i] = COMMANDS[i]->name;
    nas_fail(&err, NAS_USAGE, "unknown command '%s'%s", name,
             nas_hint(hint, sizeof hint, name, names, N_COMMANDS));
    return report_error(&err, NULL);
}

static void print_version(void)
{
    nas_part part[NAS_PARTS];
    nas_command_parts(part);
    printf("naslm %s\n", NAS_VERSION);
    for (size_t i = 0; i < NAS_PARTS; i++)
        printf("%-16s %s\n", part[i].name, part[i].version);
}

static nas_status dispatch(int argc, char **argv)
{
    if (argc < 2) {
        nas_err err = {0};
        nas_fail(&err, NAS_USAGE, "a command is missing");
        return report_error(&err, NULL);
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help();
        return NAS_OK;
    }
    if (!strcmp(argv[1], "--version")) {
        print_version();
        return NAS_OK;
    }
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strcmp(argv[1], COMMANDS[i]->name))
            return run_command(COMMANDS[i], argc - 1, argv + 1);
    return unknown_command(argv[1]);
}

/* A closed descriptor would become that of the next file, and messages would land in a run. */
static void fill_standard_streams(void)
{
    static const int wrong_way[] = {O_WRONLY, O_RDONLY, O_RDONLY}; /* using it still fails */
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", wrong_way[fd]) != fd)
            _exit(NAS_FAILED);
}

/* Threads of GNU OpenMP that wait spin for milliseconds, and on a busy machine take the core from
 * the one they wait for: training was 20 times slower. The library reads its settings before main
 * begins, so the program starts once more, unless somebody has set them. */
static void start_with_short_spins(char **argv)
{
    const char *threads = getenv("OMP_NUM_THREADS");
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") || (threads && !strcmp(threads, "1")))
        return;
    setenv("GOMP_SPINCOUNT", "1000", 1);
    execv("/proc/self/exe", argv); /* if it cannot, the spins stay long */
}

int main(int argc, char **argv)
{
    start_with_short_spins(argv);
    fill_standard_streams();
    signal(SIGXFSZ, SIG_IGN);           /* a file that may not grow is an error of its write */
    mallopt(M_MMAP_THRESHOLD, 1 << 28); /* keep freed memory: graphs are made and freed by the */
    mallopt(M_TRIM_THRESHOLD, 1 << 28); /* thousand, and fresh pages cost more than they do */
    nas_status status = dispatch(argc, argv);
    if ((fflush(stdout) || ferror(stdout)) && status == NAS_OK) {
        fputs("naslm: error: cannot write to standard output\n", stderr);
        status = NAS_FAILED;
    }
    return (int)status;
}
