/* How is ONNX Runtime called? The few parts of its C API that hw/runtime.c needs, so that its
 * header is not needed to build (onnxruntime_c_api.h, whose names these are).
 *
 *     const OrtApiBase *(*entry)(void) = dlsym(library, "OrtGetApiBase");
 *     const OrtApi *api = entry()->GetApi(ORT_API_VERSION);
 *     OrtStatus *status = api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "id", &env);
 *
 * OrtApi is a table of functions that only ever grows at its end. All that stand here are in the
 * first 102, which are version 1 and in every library. A status of NULL is success. */
#ifndef NAS_ORT_H
#define NAS_ORT_H

#include <stddef.h>
#include <stdint.h>

enum { ORT_API_VERSION = 1 };
enum { ORT_LOGGING_LEVEL_FATAL = 4 };
enum { ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1 };
enum { OrtArenaAllocator = 1 };
enum { OrtMemTypeDefault = 0 };

typedef struct OrtStatus OrtStatus;
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtValue OrtValue;

typedef struct {
    void *skip0[2];
    const char *(*GetErrorMessage)(const OrtStatus *);
    OrtStatus *(*CreateEnv)(int logging_level, const char *id, OrtEnv **);
    void *skip4[4];
    OrtStatus *(*CreateSessionFromArray)(const OrtEnv *, const void *model, size_t bytes,
                                         const OrtSessionOptions *, OrtSession **);
    OrtStatus *(*Run)(OrtSession *, const OrtRunOptions *, const char *const *in_name,
                      const OrtValue *const *in, size_t n_in, const char *const *out_name,
                      size_t n_out, OrtValue **out);
    OrtStatus *(*CreateSessionOptions)(OrtSessionOptions **);
    void *skip11[13];
    OrtStatus *(*SetIntraOpNumThreads)(OrtSessionOptions *, int threads);
    void *skip25[24];
    /* The value stays the caller's and must live as long as the tensor. */
    OrtStatus *(*CreateTensorWithDataAsOrtValue)(const OrtMemoryInfo *, void *value, size_t bytes,
                                                 const int64_t *dim, size_t rank, int type,
                                                 OrtValue **);
    void *skip50[19];
    OrtStatus *(*CreateCpuMemoryInfo)(int allocator, int mem_type, OrtMemoryInfo **);
    void *skip70[22];
    void (*ReleaseEnv)(OrtEnv *); /* each release takes NULL too */
    void (*ReleaseStatus)(OrtStatus *);
    void (*ReleaseMemoryInfo)(OrtMemoryInfo *);
    void (*ReleaseSession)(OrtSession *);
    void (*ReleaseValue)(OrtValue *);
    void *skip97[3];
    void (*ReleaseSessionOptions)(OrtSessionOptions *);
} OrtApi;

#define ORT_PLACE(function, place)                                                                 \
    _Static_assert(offsetof(OrtApi, function) == (place) * sizeof(void *), #function)
ORT_PLACE(GetErrorMessage, 2);
ORT_PLACE(CreateSessionFromArray, 8);
ORT_PLACE(SetIntraOpNumThreads, 24);
ORT_PLACE(CreateTensorWithDataAsOrtValue, 49);
ORT_PLACE(CreateCpuMemoryInfo, 69);
ORT_PLACE(ReleaseEnv, 92);
ORT_PLACE(ReleaseSessionOptions, 100);
#undef ORT_PLACE

typedef struct {
    const OrtApi *(*GetApi)(uint32_t version); /* NULL: it has no such version */
    const char *(*GetVersionString)(void);     /* "1.12.0" */
} OrtApiBase;

#endif
