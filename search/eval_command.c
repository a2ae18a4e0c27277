/* The evaluator `command:CMD`: a program of the user's measures. `sh -c CMD` runs as one or several
 * workers that read one JSON line an architecture,
 *
 *     {"space": "nb201", "task": "cifar10", "arch": "|…|", "metrics": ["accuracy", "latency:x"]}
 *
 * and answer one JSON line each: {"accuracy": 93.1, "latency:x": 5.2}. An object without a number
 * for each metric, as {"error": "why"}, is a final failure of that architecture. A worker that
 * dies, says something else or is silent for too long is replaced and its architecture tried again
 * a few times; then that one has failed and the rest goes on. Answers go by architecture, so
 * results do not depend on the number of workers, and into the journal of the run as they come:
 * after a stop or kill only what was in work is asked again. */
#include "search/evaluator.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { IDLE = -1, LINE_MOST = 1 << 20 };

typedef struct {
    pid_t pid;  /* 0: not running */
    int status; /* how the last process ended, as waitpid says */
    int in, out;
    nas_bytes answer; /* what came so far */
    bool answered;    /* something, since it was started */
    int64_t job;      /* the architecture in work or IDLE */
    size_t tries;     /* of that job, this one included */
    double deadline;
} worker;

typedef struct {
    char *text; /* the command */
    nas_metric *metric;
    size_t metric_cap;
    worker *worker; /* [limits.workers] */
} command;

/* One call of evaluate. */
typedef struct {
    nas_evaluator *e;
    command *c;
    const nas_arch *arch; /* [n] */
    size_t n, next, done;
    const size_t *metric;
    size_t m;
    double *values;
    nas_row_state *states;
    nas_err *err;
} batch;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- processes ---- */

/* A process of its own group, so that a signal from the terminal ends naslm's run in order. */
static nas_status start(worker *w, const char *text, nas_err *err)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) {
        close(in[0]), close(in[1]);
        return nas_fail(err, NAS_FAILED, "cannot make a pipe to '%s': %m", text);
    }
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT), sigaddset(&usual, SIGTERM), sigaddset(&usual, SIGPIPE),
        sigaddset(&usual, SIGXFSZ);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                       POSIX_SPAWN_SETSIGMASK);
    char *const args[] = {"sh", "-c", (char *)text, NULL};
    int failed = posix_spawn(&w->pid, "/bin/sh", &files, &how, args, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    close(in[0]), close(out[1]);
    w->in = in[1], w->out = out[0];
    nas_bytes_reset(&w->answer);
    w->answered = false;
    if (!failed)
        return NAS_OK;
    close(w->in), close(w->out);
    w->pid = 0;
    return nas_fail(err, NAS_FAILED, "cannot start '%s': %s", text, strerror(failed));
}

/* Ends the worker, who may end by himself within so many seconds. */
static void stop(worker *w, double patience)
{
    close(w->in), close(w->out);
    double until = now() + patience;
    while (waitpid(w->pid, &w->status, WNOHANG) == 0) {
        if (now() >= until) {
            kill(-w->pid, SIGKILL);
            waitpid(w->pid, &w->status, 0);
            break;
        }
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    kill(-w->pid, SIGKILL); /* what he left behind */
    w->pid = 0;
}

/* write without SIGPIPE: the worker may be gone. */
static bool put(int fd, const char *data, size_t size)
{
    sigset_t sigpipe, old;
    sigemptyset(&sigpipe);
    sigaddset(&sigpipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &sigpipe, &old);
    bool good = true;
    while (size > 0 && good) {
        ssize_t n = write(fd, data, size);
        good = n > 0 || (n < 0 && errno == EINTR);
        if (n > 0)
            data += n, size -= (size_t)n;
    }
    if (!good && errno == EPIPE)
        sigtimedwait(&sigpipe, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return good;
}

/* ---- jobs ---- */

static nas_status finish(batch *b, worker *w, nas_row_state state)
{
    size_t i = (size_t)w->job;
    double *value = b->values + i * b->m;
    b->states[i] = state;
    for (size_t k = 0; k < b->m && state != NAS_ROW_OK; k++)
        value[k] = NAN;
    w->job = IDLE;
    b->done++;
    return nas_evaluator_keep(b->e, &b->arch[i], state, value, b->m, b->err);
}

static bool ask(const batch *b, const worker *w)
{
    nas_bytes arch = {0};
    nas_space_print(b->e->space, &b->arch[w->job], &arch);
    json_t *names = json_array();
    for (size_t k = 0; k < b->m; k++)
        json_array_append_new(names, json_string(b->c->metric[b->metric[k]].name));
    json_t *request = json_pack("{s:s, s:s, s:s, s:o}", "space", b->e->space->name, "task",
                                b->e->task->name, "arch", arch.data, "metrics", names);
    char *text = json_dumps(request, JSON_PRESERVE_ORDER);
    nas_bytes_reset(&arch);
    nas_bytes_print(&arch, "%s\n", text);
    bool good = put(w->in, arch.data, arch.size);
    json_decref(request);
    free(text);
    nas_bytes_clear(&arch);
    return good;
}

static nas_status leave(batch *b, worker *w);

/* Gives the worker his job (again), starting him when needed. */
static nas_status give(batch *b, worker *w)
{
    w->tries++;
    if (w->pid && w->answer.size) /* more than one line: no telling what the next one answers */
        stop(w, 0);
    if (!w->pid && start(w, b->c->text, b->err) != NAS_OK)
        return NAS_FAILED;
    w->deadline = now() + b->e->limits.timeout;
    return ask(b, w) ? NAS_OK : leave(b, w);
}

/* The worker is done for; his job is given to his successor, or has failed. */
static nas_status attempt_failed(batch *b, worker *w, const char *why)
{
    if (w->pid)
        stop(w, 0.2);
    int status = w->status;
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127))
        return nas_fail(b->err, NAS_FAILED, "the command '%s' cannot be run (exit code %d)",
                        b->c->text, WEXITSTATUS(status));
    nas_bytes_reset(&w->answer);
    if (w->tries < b->e->limits.tries)
        return give(b, w);
    if (WIFEXITED(status) && WEXITSTATUS(status))
        snprintf(b->e->why, sizeof b->e->why, "%s (exit code %d)", why, WEXITSTATUS(status));
    else
        snprintf(b->e->why, sizeof b->e->why, "%s", why);
    return finish(b, w, NAS_ROW_FAILED);
}

/* The worker has ended. One that ends in order after an answer did not see this job. */
static nas_status leave(batch *b, worker *w)
{
    stop(w, 5);
    if (w->answered && w->status == 0)
        w->tries--;
    return attempt_failed(b, w, "the command ended without an answer");
}

/* Takes the numbers of a JSON object. */
static nas_status take(batch *b, worker *w, const json_t *answer)
{
    nas_row_state state = NAS_ROW_OK;
    for (size_t k = 0; k < b->m; k++) {
        const char *name = b->c->metric[b->metric[k]].name;
        const json_t *number = json_object_get(answer, name);
        const char *error = json_string_value(json_object_get(answer, "error"));
        b->values[(size_t)w->job * b->m + k] = json_number_value(number);
        if (json_is_number(number))
            continue;
        state = NAS_ROW_FAILED;
        if (error)
            snprintf(b->e->why, sizeof b->e->why, "%s", error);
        else
            snprintf(b->e->why, sizeof b->e->why, "the answer has no number for '%s'", name);
    }
    return finish(b, w, state);
}

/* Reads what there is; acts when a line is whole. */
static nas_status listen(batch *b, worker *w)
{
    char part[4096];
    ssize_t n = read(w->out, part, sizeof part);
    if (n < 0 && errno == EINTR)
        return NAS_OK;
    if (n <= 0)
        return leave(b, w);
    nas_bytes_put(&w->answer, part, (size_t)n);
    char *end = memchr(w->answer.data, '\n', w->answer.size);
    if (!end)
        return w->answer.size < LINE_MOST ? NAS_OK
                                          : attempt_failed(b, w, "the answer is too long a line");
    nas_status status = NAS_OK;
    json_error_t fault = {0};
    json_t *answer = json_loadb(w->answer.data, (size_t)(end - w->answer.data), 0, &fault);
    bool good = json_is_object(answer);
    if (good) {
        size_t left = w->answer.size - (size_t)(end + 1 - w->answer.data);
        memmove(w->answer.data, end + 1, left);
        w->answer.size = left;
        w->answered = true;
        status = take(b, w, answer);
    }
    json_decref(answer);
    char why[sizeof fault.text + 40];
    snprintf(why, sizeof why, "the answer is not a JSON object%s%s", *fault.text ? ": " : "",
             fault.text);
    return good ? status : attempt_failed(b, w, why);
}

/* Waits until a worker says something or is late. */
static nas_status wait_for_workers(batch *b)
{
    size_t workers = b->e->limits.workers, n = 0;
    struct pollfd *fd = nas_alloc(workers * sizeof *fd);
    worker **of = nas_alloc(workers * sizeof(worker *));
    double left = 1; /* second, so that a request to stop is seen */
    for (size_t i = 0; i < workers; i++) {
        worker *w = &b->c->worker[i];
        if (w->job == IDLE)
            continue;
        left = fmin(left, w->deadline - now());
        of[n] = w;
        fd[n++] = (struct pollfd){w->out, POLLIN, 0};
    }
    int ready = poll(fd, n, (int)ceil(1000 * fmax(left, 0)));
    nas_status status = NAS_OK;
    for (size_t i = 0; i < n && status == NAS_OK; i++) {
        char why[80];
        snprintf(why, sizeof why, "no answer within %g s", b->e->limits.timeout);
        if (ready > 0 && fd[i].revents)
            status = listen(b, of[i]);
        else if (now() >= of[i]->deadline)
            status = attempt_failed(b, of[i], why);
    }
    free(of);
    free(fd);
    return status;
}

/* ---- the evaluator ---- */

static nas_status command_open(nas_evaluator *e, const char *argument, nas_err *err)
{
    command *c = e->state = nas_zalloc(1, sizeof *c);
    c->worker = nas_zalloc(e->limits.workers, sizeof *c->worker);
    if (!argument || !*argument)
        return nas_fail(err, NAS_USAGE, "source 'command' needs a command: command:'CMD'");
    c->text = nas_strdup(argument);
    return NAS_OK;
}

static void command_close(nas_evaluator *e)
{
    command *c = e->state;
    for (size_t i = 0; i < e->limits.workers; i++) {
        if (c->worker[i].pid)
            stop(&c->worker[i], c->worker[i].job == IDLE ? 1 : 0);
        nas_bytes_clear(&c->worker[i].answer);
    }
    free(c->worker);
    free(c->metric);
    free(c->text);
    free(c);
}

/* A command may know any metric: it is told which ones are wanted. */
static int command_learn(nas_evaluator *e, const nas_metric *metric)
{
    command *c = e->state;
    c->metric = nas_grow(c->metric, &c->metric_cap, e->n_metrics + 1, sizeof *c->metric);
    c->metric[e->n_metrics] = *metric;
    e->metrics = c->metric;
    return (int)e->n_metrics++;
}

static nas_status command_evaluate(nas_evaluator *e, const nas_arch *archs, size_t n,
                                   const size_t *metric, size_t m, double *values,
                                   nas_row_state *states, nas_err *err)
{
    command *c = e->state;
    batch b = {.e = e, .c = c, .arch = archs, .n = n, .metric = metric, .m = m, .err = err};
    b.values = values;
    b.states = states;
    nas_status status = NAS_OK;
    for (size_t i = 0; i < e->limits.workers; i++)
        c->worker[i].job = IDLE;
    while (b.done < n && status == NAS_OK) {
        if (e->limits.stop && *e->limits.stop)
            return NAS_EMPTY;
        for (size_t i = 0; i < e->limits.workers && status == NAS_OK && b.next < n; i++)
            if (c->worker[i].job == IDLE) {
                c->worker[i].job = (int64_t)b.next++;
                c->worker[i].tries = 0;
                status = give(&b, &c->worker[i]);
            }
        if (status == NAS_OK && b.done < n)
            status = wait_for_workers(&b);
    }
    return status;
}

const nas_evaluator_type nas_evaluator_command = {
    .name = "command",
    .argument = "CMD",
    .summary = "a program that answers JSON lines",
    .slow = true,
    .open = command_open,
    .close = command_close,
    .learn = command_learn,
    .evaluate = command_evaluate,
};
