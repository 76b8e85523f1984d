/* Methods in native code: what a library exports so that `extern "libmine.so:f"` can call it. C99;
 * tensors are DLPack's (<dlpack/dlpack.h>; Debian: libdlpack-dev).
 *
 *   #include <cgraph_extern.h>
 *   CGRAPH_EXTERN_LIBRARY
 *   int32_t twice(const cgraph_call* call) {
 *     const float* x = cgraph_data(&call->arguments[0]);
 *     float* y = cgraph_data(&call->results[0]);
 *     for (int64_t i = 0; i < cgraph_size(&call->arguments[0]); ++i) y[i] = 2 * x[i];
 *     return 0;
 *   }
 *
 * An actor `Layer` may have an object, which all its native methods are given: the library exports
 * Layer_create and Layer_destroy (types below). Without them the object is null. With Layer_save
 * and Layer_restore it is in the files of states, too.
 *
 * What a method costs is said in the program, `extern "libmine.so:twice" cost(flops: n)`, or
 * measured by `cgrun --profile`; without either it counts as 0 operations for the schedule and the
 * simulation.
 *
 * Rules. A method is called by one thread at a time for one object, not always by the same thread;
 * methods of different objects run at the same time. Tensors are dense and row-major, and valid
 * until the method returns. It reads arguments, writes every element of every result, and may
 * change those states only that its clause `writes` names (they hold their old values). It must not
 * fork without exec, change the working directory or the locale, or end the process; the rounding
 * mode is restored when it returns, the signals that its thread blocks now and then. A method that
 * fails returns another number than 0, best after cgraph_fail; its execution fails then, the states
 * are as they were, and the object is as the method left it. So it should change the object last.
 *
 * GPUs. The methods of a library that also says CGRAPH_EXTERN_CUDA may be called for a place on a
 * GPU: the tensors are kDLCUDA then, their data are addresses that the GPU reaches, and `stream` is
 * not null. Such a method gives the stream its work and returns without waiting for it; what it
 * gave to the stream counts as the call's work. It may give work to another stream if the call's
 * own one waits for it (cudaStreamWaitEvent), and none to the default stream. The GPU's primary
 * context is current in the thread, also in Layer_create and Layer_destroy, which have no stream:
 * what they start is over when they return. Memory is best taken there, and kernels loaded there
 * (cudaFuncGetAttributes does), since either may wait for the whole GPU; cudaMallocAsync does not.
 * Values of arguments are not there when the method is called; the host does not read them. An
 * error of a launch is the method's to return; one that the GPU meets later is the whole GPU's, and
 * ends the run. Calls are never captured into CUDA graphs.
 */
#ifndef CGRAPH_EXTERN_H_
#define CGRAPH_EXTERN_H_

#include <dlpack/dlpack.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when what is below changes; a library of another version is refused. */
#define CGRAPH_EXTERN_VERSION 3
#define CGRAPH_EXTERN_LIBRARY \
  int32_t cgraph_extern_version(void) { return CGRAPH_EXTERN_VERSION; }
#if defined(__cplusplus)
#undef CGRAPH_EXTERN_LIBRARY
#define CGRAPH_EXTERN_LIBRARY \
  extern "C" int32_t cgraph_extern_version(void) { return CGRAPH_EXTERN_VERSION; }
#endif

/* Written once beside it: methods may be called for places on GPUs (see above). */
#define CGRAPH_EXTERN_CUDA \
  int32_t cgraph_extern_cuda(void) { return 1; }
#if defined(__cplusplus)
#undef CGRAPH_EXTERN_CUDA
#define CGRAPH_EXTERN_CUDA \
  extern "C" int32_t cgraph_extern_cuda(void) { return 1; }
#endif

/* The type code of bool elements, one byte each (DLPack has it from 0.8 on, as kDLBool). */
#define CGRAPH_DLBOOL 6

/* A value that is known when the graph is compiled: an actor's parameter, or a method's. */
typedef struct cgraph_parameter {
  const char* name;
  const int64_t* ints; /* of an int or bool one, of a list of ints all; else null */
  int64_t count;       /* of ints */
  const double* real;  /* of a float; else null */
  const char* text;    /* of a str; else null */
} cgraph_parameter;

/* What an object is made for. Pointers are valid while the library may be called. */
typedef struct cgraph_actor {
  const char* place;          /* "stage[2]" */
  const char* actor;          /* "Stage" */
  const char* const* symbols; /* of its native methods, as the source names them */
  int32_t symbol_count;
  const cgraph_parameter* parameters; /* of the actor */
  int32_t parameter_count;
  DLDevice device;
  void (*fail)(void* error, const char* text); /* see cgraph_fail */
  void* error;
} cgraph_actor;

typedef struct cgraph_call {
  void* object;              /* as Layer_create made it */
  void* method;              /* as cgraph_find_method found it; else null */
  const DLTensor* arguments; /* a tensor for each tensor in the arguments, in order */
  int32_t argument_count;
  const DLTensor* results; /* likewise, with the extents of this execution */
  int32_t result_count;
  const DLTensor* states; /* those of `reads`, then those of `writes` */
  int32_t state_count;
  int32_t read_count;                 /* those of `reads`: the first ones */
  const cgraph_parameter* parameters; /* of the method */
  int32_t parameter_count;
  /* Names in the order of the declaration: of a parameter, or of the next of `arguments`; those of
   * tensors in a list or tuple are x[0], x[1], ... */
  const char* const* names;
  int32_t name_count;
  const char* const* state_names; /* of `states` */
  void* stream; /* of a place on a GPU: a CUstream, which is a cudaStream_t; else null */
  void (*fail)(void* error, const char* text);
  void* error;
} cgraph_call;

/* extern "libmine.so:f" calls the exported function f. Returns 0, or any other number when it has
 * failed. An exception that leaves it is a failure, too. */
typedef int32_t cgraph_method(const cgraph_call* call);

/* NAME_create of an actor NAME: makes the object of a place, before anything runs. Null: it has
 * failed. */
typedef void* cgraph_create(const cgraph_actor* actor);
/* NAME_destroy: called once for each object, when nothing runs any more. */
typedef void cgraph_destroy(void* object);

/* Instead of exported functions, a library may find methods by their symbols itself (an interpreter
 * does): cgraph_find_method returns what `method` of a call is then, and cgraph_call_method calls
 * it; null: there is none, and `fail` says why. Such a library makes all objects by
 * cgraph_create_object and ends them by cgraph_destroy_object. */
typedef void* cgraph_find(const char* symbol, void (*fail)(void* error, const char* text),
                          void* error);

/* What an object is saved with. */
typedef struct cgraph_saving {
  const char* place;
  const char* actor;
  /* Adds bytes, as often as needed, which are copied. Null: only whether the object can be saved is
   * asked, which interpreters alone are. */
  void (*write)(void* to, const void* data, uint64_t size);
  void* to;
  void (*fail)(void* error, const char* text);
  void* error;
} cgraph_saving;

/* What an object is restored from: the bytes that a save has given, of this run or another. */
typedef struct cgraph_restoring {
  const char* place;
  const char* actor;
  const void* data; /* aligned as malloc's */
  uint64_t size;
  void (*fail)(void* error, const char* text);
  void* error;
} cgraph_restoring;

/* NAME_save: writes what the object keeps. NAME_restore: puts an object of the same actor and
 * parameters into that state. A library exports both for an actor or neither. They are called
 * between executions, for one object at a time, by any thread. Both return 0, or another number
 * when they have failed, best after saving->fail or restoring->fail. For an object of a GPU its
 * context is current, and no work of methods is under way. Bytes may come from a file of
 * anybody's: a restore checks them. Where it fails for one of several objects, those before it and
 * itself are restored once more, from what they have saved just before: so an object that it leaves
 * half done is none that a method sees. */
typedef int32_t cgraph_save(void* object, const cgraph_saving* saving);
typedef int32_t cgraph_restore(void* object, const cgraph_restoring* restoring);

/* What a save returns for an object that cannot be saved, which is no failure: users are told that
 * it is not in the file, and what `fail` was given as the reason; without a reason there is nothing
 * to save. */
#define CGRAPH_NOT_SAVED (-1)

/* Of a library with cgraph_find_method these are cgraph_save_object and cgraph_restore_object. */

/* Say why a method failed, or that no object was made; the text is copied. Who has said so has
 * failed, whatever it returns. */
static inline int32_t cgraph_fail(const cgraph_call* call, const char* text) {
  call->fail(call->error, text);
  return 1;
}
static inline void* cgraph_fail_create(const cgraph_actor* actor, const char* text) {
  actor->fail(actor->error, text);
  return 0;
}
static inline void* cgraph_data(const DLTensor* tensor) {
  return (char*)tensor->data + tensor->byte_offset;
}
static inline int64_t cgraph_size(const DLTensor* tensor) {
  int64_t size = 1;
  for (int32_t i = 0; i < tensor->ndim; ++i) size *= tensor->shape[i];
  return size;
}

#ifdef __cplusplus
}
#endif

#endif /* CGRAPH_EXTERN_H_ */
