#include "search/command.h"

#include "results/run.h"
#include "surrogate/kernel.h"

#include <jansson.h>
#include <omp.h>
#include <protobuf-c/protobuf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>
#include <zlib.h>

const nas_space *nas_command_space(const nas_options *options, nas_err *err)
{
    const char *name = nas_options_text(options, "space", NULL);
    if (!name) {
        nas_fail(err, NAS_USAGE, "option '--space' is missing (see 'naslm spaces')");
        return NULL;
    }
    return nas_space_need(name, err);
}

const nas_task *nas_command_task(const nas_options *options, const nas_space *space, nas_err *err)
{
    return nas_space_task(space, nas_options_text(options, "task", NULL), err);
}

uint64_t nas_command_seed(const nas_options *options)
{
    if (nas_options_has(options, "seed"))
        return nas_options_u64(options, "seed", 0);
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = 1;
    fprintf(stderr, "seed: %u\n", seed);
    return seed;
}

nas_status nas_command_threads(const nas_options *options, nas_err *err)
{
    if (!nas_options_has(options, "threads"))
        return NAS_OK;
    uint64_t threads = nas_options_u64(options, "threads", 1);
    if (threads == 0 || threads > 4096)
        return nas_fail(err, NAS_USAGE, "--threads is 1 to 4096");
    omp_set_num_threads((int)threads);
    return NAS_OK;
}

nas_status nas_command_operands(const nas_options *options, size_t low, size_t high,
                                const char *what, nas_err *err)
{
    if (options->n_operand < low)
        return nas_fail(err, NAS_USAGE, "%s is missing", what);
    if (options->n_operand > high)
        return nas_fail(err, NAS_USAGE, "'%s' is one operand too many", options->operand[high]);
    return NAS_OK;
}

nas_status nas_command_numbers(const char *text, double *values, size_t n, const char *what,
                               nas_err *err)
{
    size_t count = 0;
    for (const char *at = text;; at++) {
        char word[400]; /* longer than any double written out */
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        double value;
        if (length >= sizeof word || !nas_read_real(word, &value))
            return nas_fail(err, NAS_USAGE, "'%s' in the %s '%s' is not a number", word, what,
                            text);
        if (count < n)
            values[count] = value;
        count++;
        at += length;
        if (!*at)
            break;
    }
    if (count != n)
        return nas_fail(err, NAS_USAGE, "the %s '%s' has %zu numbers for %zu objectives", what,
                        text, count, n);
    return NAS_OK;
}

nas_status nas_command_model(const char *given, nas_bytes *path, nas_err *err)
{
    static const char *const places[] = {"../share/naslm", "../../surrogate/models"};
    char self[4096];
    const char *chosen = given && *given ? given : getenv("NASLM_MODEL");
    if (chosen && *chosen) {
        nas_bytes_puts(path, chosen);
        return NAS_OK;
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *folder_end = strrchr(self, '/');
    for (size_t i = 0; folder_end && i < 2; i++) {
        nas_bytes_reset(path);
        nas_bytes_print(path, "%.*s/%s/naslm.safetensors", (int)(folder_end - self), self,
                        places[i]);
        if (access(path->data, R_OK) == 0)
            return NAS_OK;
    }
    return nas_fail(err, NAS_USAGE,
                    "there is no model: name one, set NASLM_MODEL, or train one "
                    "(naslm train, make train-shipped)");
}

void nas_command_parts(nas_part part[NAS_PARTS])
{
    static const char *const names[NAS_PARTS] = {"HDF5",   "jansson",  "protobuf-c",     "zlib",
                                                 "OpenMP", "CPU path", "run file schema"};
    const nas_kernels *kernels = nas_kernels_choose(NULL);
    const char *const simple[NAS_PARTS] = {[1] = jansson_version_str(),
                                           [2] = protobuf_c_version(),
                                           [3] = zlibVersion(),
                                           [5] = kernels ? kernels->name : "unknown"};
    for (size_t i = 0; i < NAS_PARTS; i++) {
        part[i].name = names[i];
        snprintf(part[i].version, sizeof part[i].version, "%s", simple[i] ? simple[i] : "");
    }
    nas_run_versions(part[0].version, part[6].version);
    snprintf(part[4].version, sizeof part[5].version, "%d", _OPENMP);
}

char *nas_command_provenance(void)
{
    nas_part part[NAS_PARTS];
    nas_bytes text = {0};
    nas_command_parts(part);
    nas_bytes_print(&text, "{\n  \"naslm\": \"%s\"", NAS_VERSION);
    for (size_t i = 0; i < NAS_PARTS; i++)
        nas_bytes_print(&text, ",\n  \"%s\": \"%s\"", part[i].name, part[i].version);
    nas_bytes_puts(&text, "\n}");
    return text.data;
}

nas_status nas_command_output(nas_err *err)
{
    return ferror(stdout) ? nas_fail(err, NAS_FAILED, "cannot write to standard output") : NAS_OK;
}

const char *nas_command_path(const char *operand)
{
    return strcmp(operand, "-") ? operand : "/dev/stdin";
}

nas_status nas_arch_input_next(nas_arch_input *in, nas_arch *arch, nas_err *err)
{
    nas_lines *lines = &in->lines;
    nas_status status = nas_command_output(err);
    while (status == NAS_OK && in->next < in->options->n_operand) {
        const char *operand = in->options->operand[in->next];
        if (strcmp(operand, "-")) {
            in->next++;
            return nas_space_parse(in->space, operand, arch, err);
        }
        if (!lines->file)
            nas_lines_open(lines, "-", err);
        status = nas_lines_next(lines, err);
        if (status == NAS_EMPTY) {
            in->next++;
            status = NAS_OK;
        } else if (status == NAS_OK && lines->text.size > 0) {
            if (nas_space_parse(in->space, lines->text.data, arch, err) == NAS_OK)
                return NAS_OK;
            nas_fail_in(err, "%s, line %zu", lines->name, lines->number);
            return err->code = NAS_FAILED;
        }
    }
    return status == NAS_OK ? NAS_EMPTY : status;
}

void nas_arch_input_clear(nas_arch_input *input)
{
    nas_lines_close(&input->lines);
}
