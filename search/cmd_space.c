/* naslm spaces, sample, canon, mutate, cross, cost: what can be said of architectures at once. */
#include "hw/cost.h"
#include "onnx/read.h"
#include "search/command.h"
#include "surrogate/rlm.h"
#include "surrogate/structure.h"

#include <stdio.h>

/* ---- spaces ---- */

static const nas_option SPACES_OPTIONS[] = {NAS_OPTION_FORMAT, {0}};

/* The model inside, or NULL: the list of spaces does without. */
static nas_rlm *built_in_model(void)
{
    nas_err err = {0};
    nas_bytes path = {0};
    nas_rlm *rlm =
        nas_command_model(NULL, &path, &err) == NAS_OK ? nas_rlm_load(path.data, &err) : NULL;
    nas_bytes_clear(&path);
    return rlm;
}

static bool costs_nothing(const char *metric)
{
    for (int k = 0; k < NAS_STRUCTURE_COUNT; k++)
        if (!strcmp(metric, nas_structure_names[k]))
            return true;
    return false;
}

/* The metrics whose labels the model has seen in that space, for any task. */
static void list_known(const nas_rlm *rlm, const nas_space *space, nas_bytes *text)
{
    for (size_t k = 0; rlm && k < rlm->schema.n; k++) {
        const char *name = rlm->schema.metric[k].name;
        bool known = false;
        for (int t = 0; t < space->n_tasks && !costs_nothing(name); t++)
            known |= nas_rlm_knows(rlm, space->name, space->tasks[t].name, k);
        if (known)
            nas_bytes_print(text, "%s%s", text->size ? " " : "", name);
    }
}

static nas_status run_spaces(nas_options *options, nas_err *err)
{
    static const char *const columns[] = {"space",  "genes", "size",   "tasks",
                                          "string", "about", "metrics"};
    nas_report report;
    nas_status status = nas_command_operands(options, 0, 0, "nothing", err);
    if (status == NAS_OK)
        status = nas_report_open(&report, options, columns, 7, err);
    if (status != NAS_OK)
        return status;
    nas_rlm *rlm = built_in_model();
    nas_bytes text = {0};
    for (int i = 0; i < nas_space_count(); i++) {
        const nas_space *s = nas_spaces[i];
        nas_report_text(&report, s->name);
        nas_report_int(&report, s->n_genes);
        nas_report_real(&report, s->size);
        nas_bytes_reset(&text);
        for (int t = 0; t < s->n_tasks; t++)
            nas_bytes_print(&text, "%s%s", t ? " " : "", s->tasks[t].name);
        nas_report_text(&report, text.data);
        nas_report_text(&report, s->syntax);
        nas_bytes_reset(&text);
        nas_bytes_print(&text, "%s (%s)", s->title, s->source);
        nas_report_text(&report, text.data);
        nas_bytes_reset(&text);
        list_known(rlm, s, &text);
        nas_report_text(&report, text.size ? text.data : "");
    }
    nas_rlm_free(rlm);
    nas_bytes_clear(&text);
    return nas_report_close(&report, err);
}

static const char SPACES_DETAILS[] =
    "metrics: those whose labels the built-in model has seen.\n"
    "Reading accepts any spelling that means the same; printing is always one form.\n"
    "nb101: the upper triangle of the adjacency row by row, then the interior operators.\n"
    "tnb101-*: class_scene (63 classes), class_object (75) and room_layout (9) are whole networks. "
    "Of\n"
    "jigsaw (one 64x64 tile), segmentsemantic, normal and autoencoder exports and costs are the "
    "encoder\n"
    "alone: their decoders, equal for all architectures of one output shape, are not part.\n"
    "ofa-*: R/D/KS/E (ofa-rn R/D/E/W); slots beyond a stage's depth are 0.\n"
    "nasnet, amoeba, pnas, enas, darts: the NDS genotype as one line of JSON; states 0 and 1 are "
    "the\n"
    "two inputs, 2 and up the nodes. Whole NDS records and Genotype(...) are read too.\n"
    "twopath: two paths joined by '|'; blocks joined by ';', their operators by '+', and after "
    "'@'\n"
    "the two blocks that reduce: conv3x3;conv3x3@01|conv5x5;double3x3@01\n"
    "inception: four stages joined by '|'; a stage is the number of its blocks (2 to 6), '*' and "
    "one\n"
    "to four paths joined by ','; a path is operators joined by '+', then :half or :double when "
    "its\n"
    "inner channels are half or twice those it gives, and :wide for the path of three that gives\n"
    "half of the block's channels (unsaid: the first). Operators: conv3x3 conv5x5 depthwise3x3\n"
    "depthwise5x5 inception_s3x3 inception_s5x5 inception_p3x3 inception_p5x5 conv1x1 double1x1\n"
    "avgpool3x3 maxpool3x3. As 2*conv3x3|3*conv3x3+conv1x1:half,depthwise5x5|2*conv5x5|2*conv3x3";

const nas_command nas_command_spaces = {
    "spaces",       "[--format F]", "list the search spaces and how their strings look",
    SPACES_DETAILS, SPACES_OPTIONS, run_spaces};

/* ---- sample ---- */

static const nas_option SAMPLE_OPTIONS[] = {
    NAS_OPTION_SPACE,
    {"number", 'n', "N", "how many (default 1)", NAS_OPTION_U64},
    {"unique", 0, NULL, "no two of one isomorphism class", NAS_OPTION_FLAG},
    NAS_OPTION_SEED,
    {0}};

enum { UNIQUE_TRIES = 100000 }; /* in a row without a new class: the space is as good as empty */

static nas_status run_sample(nas_options *options, nas_err *err)
{
    const nas_space *space = nas_command_space(options, err);
    if (!space || nas_command_operands(options, 0, 0, "nothing", err) != NAS_OK)
        return err->code;
    uint64_t n = nas_options_u64(options, "number", 1), found = 0;
    bool unique = nas_options_has(options, "unique");
    nas_rng run = nas_rng_seed(nas_command_seed(options));
    nas_arch_set seen = {0};
    nas_bytes text = {0};
    for (uint64_t i = 0, tries = 0; found < n && tries < UNIQUE_TRIES && !ferror(stdout); i++) {
        nas_rng rng = nas_rng_child(&run, "sample", i);
        nas_arch arch, key;
        nas_space_sample(space, &rng, &arch);
        bool fresh = true;
        if (unique) {
            nas_space_canonical(space, &arch, &key);
            nas_arch_set_add(&seen, &key, &fresh);
        }
        tries = fresh ? 0 : tries + 1;
        if (!fresh)
            continue;
        found++;
        nas_bytes_reset(&text);
        nas_space_print(space, &arch, &text);
        puts(text.data);
    }
    nas_arch_set_clear(&seen);
    nas_bytes_clear(&text);
    if (nas_command_output(err) != NAS_OK)
        return err->code;
    if (found < n)
        return nas_fail(err, NAS_FAILED, "%s has no %llu different architectures, %llu were found",
                        space->name, (unsigned long long)n, (unsigned long long)found);
    return NAS_OK;
}

const nas_command nas_command_sample = {"sample",
                                        "-s SPACE [-n N] [--unique] [--seed K]",
                                        "draw random architectures",
                                        NULL,
                                        SAMPLE_OPTIONS,
                                        run_sample};

/* ---- canon ---- */

static const nas_option CANON_OPTIONS[] = {
    NAS_OPTION_SPACE,
    {"functional", 0, NULL, "coarser: the functional class instead of the string", NAS_OPTION_FLAG},
    NAS_OPTION_FORMAT,
    {0}};

static nas_status run_canon(nas_options *options, nas_err *err)
{
    static const char *const columns[] = {"arch", "canonical", "hash"};
    const nas_space *space = nas_command_space(options, err);
    nas_report report;
    if (!space || nas_command_operands(options, 1, SIZE_MAX, "an architecture", err) != NAS_OK ||
        nas_report_open(&report, options, columns, 3, err) != NAS_OK)
        return err->code;
    nas_arch_input input = {.space = space, .options = options};
    nas_bytes text = {0};
    nas_arch arch, canonical;
    nas_status status;
    bool functional = nas_options_has(options, "functional");
    while ((status = nas_arch_input_next(&input, &arch, err)) == NAS_OK) {
        char hash[33];
        nas_bytes_reset(&text);
        nas_space_print(space, &arch, &text);
        nas_report_text(&report, text.data);
        nas_bytes_reset(&text);
        nas_space_canonical(space, &arch, &canonical);
        if (functional)
            nas_space_functional(space, &arch, &text);
        else
            nas_space_print(space, &canonical, &text);
        nas_report_text(&report, text.data);
        nas_space_hash(space, &arch, hash);
        nas_report_text(&report, hash);
    }
    nas_arch_input_clear(&input);
    nas_bytes_clear(&text);
    nas_status closed = nas_report_close(&report, err);
    return status == NAS_EMPTY ? closed : status;
}

const nas_command nas_command_canon = {"canon",
                                       "-s SPACE [--functional] ARCH... | -",
                                       "canonical form and hash of architectures",
                                       NULL,
                                       CANON_OPTIONS,
                                       run_canon};

/* ---- mutate, cross ---- */

static const nas_option OPERATOR_OPTIONS[] = {
    NAS_OPTION_SPACE,
    {"number", 'n', "N", "how many children (default 1)", NAS_OPTION_U64},
    NAS_OPTION_SEED,
    {0}};

/* Prints n children of one parent (mutate) or two (cross). */
static nas_status print_children(nas_options *options, size_t parents, nas_err *err)
{
    const nas_space *space = nas_command_space(options, err);
    const char *what = parents == 1 ? "the architecture" : "one of two architectures";
    nas_arch parent[2], child;
    if (!space || nas_command_operands(options, parents, parents, what, err) != NAS_OK)
        return err->code;
    for (size_t i = 0; i < parents; i++)
        if (nas_space_parse(space, options->operand[i], &parent[i], err) != NAS_OK)
            return err->code;
    uint64_t n = nas_options_u64(options, "number", 1);
    nas_rng run = nas_rng_seed(nas_command_seed(options));
    nas_bytes text = {0};
    for (uint64_t i = 0; i < n && !ferror(stdout); i++) {
        nas_rng rng = nas_rng_child(&run, parents == 1 ? "mutate" : "cross", i);
        if (parents == 1)
            nas_space_mutate(space, &rng, &parent[0], &child);
        else
            nas_space_cross(space, &rng, &parent[0], &parent[1], &child);
        nas_bytes_reset(&text);
        nas_space_print(space, &child, &text);
        puts(text.data);
    }
    nas_bytes_clear(&text);
    if (parents == 1 && nas_arch_same(&parent[0], &child) && n)
        return nas_fail(err, NAS_FAILED, "'%s' has no neighbour in %s", options->operand[0],
                        space->name);
    return nas_command_output(err);
}

static nas_status run_mutate(nas_options *options, nas_err *err)
{
    return print_children(options, 1, err);
}

static nas_status run_cross(nas_options *options, nas_err *err)
{
    return print_children(options, 2, err);
}

const nas_command nas_command_mutate = {"mutate",
                                        "-s SPACE [-n N] [--seed K] ARCH",
                                        "random neighbours of an architecture",
                                        NULL,
                                        OPERATOR_OPTIONS,
                                        run_mutate};
const nas_command nas_command_cross = {"cross",
                                       "-s SPACE [-n N] [--seed K] ARCH ARCH",
                                       "random children of two architectures",
                                       NULL,
                                       OPERATOR_OPTIONS,
                                       run_cross};

/* ---- cost ---- */

static const nas_option COST_OPTIONS[] = {
    NAS_OPTION_SPACE, NAS_OPTION_TASK, NAS_OPTION_FORMAT, {0}};

static void report_cost(nas_report *report, const char *name, const nas_cost *cost)
{
    nas_report_text(report, name);
    nas_report_int(report, cost->params);
    nas_report_int(report, cost->macs);
    nas_report_int(report, cost->activation_bytes);
    nas_report_int(report, cost->convs);
}

static nas_status cost_files(nas_options *options, nas_report *report, nas_err *err)
{
    for (size_t i = 0; i < options->n_operand; i++) {
        nas_graph *graph = NULL;
        nas_cost cost;
        nas_status status = nas_onnx_read_file(nas_command_path(options->operand[i]), &graph, err);
        if (status == NAS_OK)
            status = nas_cost_of(graph, &cost, err);
        nas_graph_free(graph);
        if (status != NAS_OK)
            return status;
        report_cost(report, options->operand[i], &cost);
    }
    return NAS_OK;
}

static nas_status cost_archs(nas_options *options, const nas_space *space, const nas_task *task,
                             nas_report *report, nas_err *err)
{
    nas_arch_input input = {.space = space, .options = options};
    nas_bytes text = {0};
    nas_arch arch;
    nas_status status;
    while ((status = nas_arch_input_next(&input, &arch, err)) == NAS_OK) {
        nas_cost cost;
        nas_graph *graph = nas_space_build(space, &arch, task);
        status = nas_cost_of(graph, &cost, err);
        nas_graph_free(graph);
        if (status != NAS_OK)
            break;
        nas_bytes_reset(&text);
        nas_space_print(space, &arch, &text);
        report_cost(report, text.data, &cost);
    }
    nas_arch_input_clear(&input);
    nas_bytes_clear(&text);
    return status == NAS_EMPTY ? NAS_OK : status;
}

/* Without a space the operands are ONNX files. */
static nas_status run_cost(nas_options *options, nas_err *err)
{
    static const char *const columns[] = {"arch", "params", "macs", "activation_bytes", "convs"};
    bool files = !nas_options_has(options, "space");
    if (nas_command_operands(options, 1, SIZE_MAX, "an architecture or ONNX file", err) != NAS_OK)
        return err->code;
    const nas_space *space = files ? NULL : nas_command_space(options, err);
    const nas_task *task = space ? nas_command_task(options, space, err) : NULL;
    nas_report report;
    if ((!files && !task) || nas_report_open(&report, options, columns, 5, err) != NAS_OK)
        return err->code;
    nas_status status =
        files ? cost_files(options, &report, err) : cost_archs(options, space, task, &report, err);
    nas_status closed = nas_report_close(&report, err);
    return status == NAS_OK ? closed : status;
}

const nas_command nas_command_cost = {
    "cost",
    "-s SPACE [--task T] ARCH... | -\n       naslm cost FILE.onnx... | -",
    "parameters, MACs, memory and convolutions",
    NULL,
    COST_OPTIONS,
    run_cost};
