/* How long does a network take here? ONNX Runtime on one thread of this machine. The library is
 * opened when the program runs and never needed to build.
 *
 *     nas_runtime *runtime = nas_runtime_open(NULL, &err);
 *     status = nas_runtime_measure(runtime, graph, &latency, &err);
 *     nas_runtime_close(runtime);
 *
 * Nothing else should compute meanwhile: callers measure one network after the other. */
#ifndef NAS_RUNTIME_H
#define NAS_RUNTIME_H

#include "spaces/graph.h"

typedef struct nas_runtime nas_runtime;

/* Of one image, in ms. */
typedef struct {
    double median;
    double spread; /* from the 10th to the 90th percentile of the runs */
    size_t runs;
} nas_latency;

/* library: a path, or a name for the loader; NULL: what NASLM_ONNXRUNTIME says, else
 * libonnxruntime.so.1 or libonnxruntime.so. NULL with a sentence (NAS_FAILED) when it cannot be
 * loaded, is something else, or is older than 1.12. */
nas_runtime *nas_runtime_open(const char *library, nas_err *err);
void nas_runtime_close(nas_runtime *runtime); /* may be NULL */

/* Measures the network with random weights and a fixed input: some runs to warm up, then runs for
 * a third of a second, 11 at the least and 1000 at the most. NAS_FAILED when the runtime refuses
 * it, or when it has several inputs. */
nas_status nas_runtime_measure(nas_runtime *runtime, nas_graph *graph, nas_latency *latency,
                               nas_err *err);

#endif
