#include "hw/runtime.h"

#include "hw/ort.h"
#include "onnx/export.h"
#include "results/score.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { OLDEST_MINOR = 12 }; /* 1.12 is the first that reads operator set 17 */

struct nas_runtime {
    const OrtApi *api;
    OrtEnv *env;
    OrtSessionOptions *options;
    OrtMemoryInfo *memory;
};

/* ---- the library ---- */

/* NULL with a sentence. *name: which library it is. */
static void *load(const char *library, const char **name, nas_err *err)
{
    static const char *const usual[] = {"libonnxruntime.so.1", "libonnxruntime.so"};
    char why[400] = "";
    if (!library)
        library = getenv("NASLM_ONNXRUNTIME");
    bool given = library && *library;
    for (size_t i = 0; i < (given ? 1 : 2); i++) {
        *name = given ? library : usual[i];
        void *handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
        if (handle)
            return handle;
        if (i == 0)
            snprintf(why, sizeof why, "%s", dlerror());
    }
    nas_fail(err, NAS_FAILED,
             "cannot load ONNX Runtime from %s%s%s (%s); NASLM_ONNXRUNTIME may name the library",
             given ? "'" : "", given ? library : "libonnxruntime.so.1 or libonnxruntime.so",
             given ? "'" : "", why);
    return NULL;
}

/* The functions of the library; NULL with a sentence. All that is asked for is in every version of
 * the API, so that GetApi, which prints when it knows none, always does. */
static const OrtApi *find_api(void *handle, const char *name, nas_err *err)
{
    const OrtApiBase *(*entry)(void);
    *(void **)&entry = dlsym(handle, "OrtGetApiBase"); /* ISO C knows no cast between the two */
    if (!entry) {
        nas_fail(err, NAS_FAILED, "'%s' is not ONNX Runtime: it has no OrtGetApiBase", name);
        return NULL;
    }
    int major = 0, minor = 0;
    const char *version = entry()->GetVersionString();
    if (sscanf(version, "%d.%d", &major, &minor) != 2 || major < 1 ||
        (major == 1 && minor < OLDEST_MINOR)) {
        nas_fail(err, NAS_FAILED, "ONNX Runtime %s ('%s') is too old: 1.%d or later is needed",
                 version, name, OLDEST_MINOR);
        return NULL;
    }
    const OrtApi *api = entry()->GetApi(ORT_API_VERSION);
    if (!api)
        nas_fail(err, NAS_FAILED, "ONNX Runtime %s ('%s') has no version %d of its API", version,
                 name, ORT_API_VERSION);
    return api;
}

/* Takes the status. what: "load the network". */
static nas_status check(const nas_runtime *r, OrtStatus *status, const char *what, nas_err *err)
{
    if (!status)
        return NAS_OK;
    nas_fail(err, NAS_FAILED, "ONNX Runtime cannot %s: %s", what, r->api->GetErrorMessage(status));
    r->api->ReleaseStatus(status);
    return NAS_FAILED;
}

/* The defaults of a session are those of use: all optimizations, one node after the other. */
static nas_status prepare(nas_runtime *r, nas_err *err)
{
    const OrtApi *api = r->api;
    nas_status status =
        check(r, api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "naslm", &r->env), "start", err);
    if (status == NAS_OK)
        status = check(r, api->CreateSessionOptions(&r->options), "make options", err);
    if (status == NAS_OK)
        status = check(r, api->SetIntraOpNumThreads(r->options, 1), "use one thread", err);
    if (status == NAS_OK)
        status =
            check(r, api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &r->memory),
                  "use memory", err);
    return status;
}

nas_runtime *nas_runtime_open(const char *library, nas_err *err)
{
    const char *name;
    void *handle = load(library, &name, err);
    const OrtApi *api = handle ? find_api(handle, name, err) : NULL;
    if (!api) {
        if (handle)
            dlclose(handle);
        return NULL;
    }
    nas_runtime *r = nas_zalloc(1, sizeof *r);
    r->api = api;
    if (prepare(r, err) == NAS_OK)
        return r;
    nas_runtime_close(r);
    return NULL;
}

/* The library stays loaded: its threads may have data that end only with them. */
void nas_runtime_close(nas_runtime *r)
{
    if (!r)
        return;
    r->api->ReleaseMemoryInfo(r->memory);
    r->api->ReleaseSessionOptions(r->options);
    r->api->ReleaseEnv(r->env);
    free(r);
}

/* ---- one network ---- */

enum { WARM_LEAST = 3, LEAST = 11, MOST = 1000 };
static const int64_t WARM_NS = 50000000, RUN_NS = 333333333;

typedef struct {
    const nas_runtime *runtime;
    OrtSession *session;
    char in_name[32], out_name[32];
    OrtValue *in, *out;
    float *value; /* of in */
} network;

/* In ns. */
static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static nas_status make_session(network *n, nas_graph *graph, nas_err *err)
{
    const nas_runtime *r = n->runtime;
    const nas_export_how how = {NAS_FORM_ONNX, NAS_WEIGHTS_RANDOM, 0};
    nas_bytes model = {0};
    nas_status status = nas_export_graph(graph, NULL, how, &model, err);
    if (status == NAS_OK)
        status = check(
            r,
            r->api->CreateSessionFromArray(r->env, model.data, model.size, r->options, &n->session),
            "load the network", err);
    nas_bytes_clear(&model);
    return status;
}

/* One image of values between -1 and 1. */
static nas_status make_input(network *n, const nas_shape *shape, nas_err *err)
{
    const nas_runtime *r = n->runtime;
    int64_t dim[NAS_RANK_MAX] = {1}, values = 1;
    for (int i = 1; i < shape->rank; i++)
        values *= dim[i] = shape->dim[i];
    n->value = nas_alloc((size_t)values * sizeof *n->value);
    for (int64_t i = 0; i < values; i++)
        n->value[i] = (float)(i * 7919 % 2003) / 1001 - 1;
    return check(r,
                 r->api->CreateTensorWithDataAsOrtValue(
                     r->memory, n->value, (size_t)values * sizeof *n->value, dim,
                     (size_t)shape->rank, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &n->in),
                 "make the input", err);
}

/* Runs the network for so long, but at least so many times. ms: [MOST] of each run. The first run
 * makes the output tensor, which the others fill. */
static nas_status repeat(network *n, size_t least, int64_t ns, double *ms, size_t *runs,
                         nas_err *err)
{
    const nas_runtime *r = n->runtime;
    const char *in_name = n->in_name, *out_name = n->out_name;
    const OrtValue *in = n->in;
    int64_t start = now(), before = start;
    for (*runs = 0; *runs < MOST && (*runs < least || before < start + ns); ++*runs) {
        OrtStatus *status = r->api->Run(n->session, NULL, &in_name, &in, 1, &out_name, 1, &n->out);
        if (check(r, status, "run the network", err) != NAS_OK)
            return NAS_FAILED;
        int64_t after = now();
        ms[*runs] = (double)(after - before) / 1e6;
        before = after;
    }
    return NAS_OK;
}

nas_status nas_runtime_measure(nas_runtime *runtime, nas_graph *graph, nas_latency *latency,
                               nas_err *err)
{
    const nas_graph *flat = nas_graph_flat(graph, err);
    if (!flat)
        return NAS_FAILED;
    const nas_fn *main = &flat->fn[0];
    if (main->n_in != 1)
        return nas_fail(err, NAS_FAILED, "a network of %d inputs cannot be measured", main->n_in);
    network n = {.runtime = runtime};
    nas_node_name(flat, 0, n.in_name);
    nas_node_name(flat, main->out, n.out_name);
    double *ms = nas_alloc(MOST * sizeof *ms);
    size_t runs = 0;
    nas_score score;
    nas_status status = make_session(&n, graph, err);
    if (status == NAS_OK)
        status = make_input(&n, &main->node[0].shape, err);
    if (status == NAS_OK)
        status = repeat(&n, WARM_LEAST, WARM_NS, ms, &runs, err);
    if (status == NAS_OK)
        status = repeat(&n, LEAST, RUN_NS, ms, &runs, err);
    if (status == NAS_OK) {
        nas_score_summarise(&score, ms, runs);
        *latency = (nas_latency){score.median, score.p90 - score.p10, runs};
    }
    runtime->api->ReleaseValue(n.out);
    runtime->api->ReleaseValue(n.in);
    runtime->api->ReleaseSession(n.session);
    free(n.value);
    free(ms);
    return status;
}
