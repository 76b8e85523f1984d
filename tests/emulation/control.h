// What tests ask of the emulated GPUs, besides the driver's functions: the emulation's libcuda.so.1
// also exports cgraph_emulation_control, which NVIDIA's does not.
#ifndef CGRAPH_TESTS_EMULATION_CONTROL_H_
#define CGRAPH_TESTS_EMULATION_CONTROL_H_

#include <cuda.h>

#include <cstdint>

#include "tests/emulation/library_work.h"

namespace cgraph::emulation {

struct Control {
  // Work is carried out in another order from here on.
  void (*reseed)(uint64_t seed);
  // Returns how often the driver's functions were called (cuGetErrorName and -String not counted).
  uint64_t (*calls)();
  // The call with this number fails, as `fail` of CGRAPH_EMULATION says; 0: none. What has failed
  // for good stays so.
  void (*fail_at)(uint64_t call, bool sticky);
  // In between, what allocates, frees or waits for a device is a misuse.
  void (*begin_steady_state)();
  void (*end_steady_state)();
  // Whether misuse is counted rather than aborts; how much there was; the last sentence, until the
  // calling thread asks again.
  void (*count_misuse)(bool count);
  uint64_t (*misuse_count)();
  const char* (*last_misuse)();
  void (*forget_misuse)();
  // Returns the most graphs that threads have instantiated at the same time.
  uint64_t (*most_instantiating)();
  // Returns the operations that were issued and are not done.
  uint64_t (*pending)();
  // Returns the allocations, streams, events, modules and graphs that nobody has destroyed.
  uint64_t (*live)();
  // Returns whether a grid has begun that never ends.
  bool (*never_ends)();
  // Returns the number of a context's device.
  int (*device_of)(CUcontext context);
  // Appends work of an emulated library to a stream of the current context, or makes a node of it
  // where the stream is captured. CUDA_ERROR_INVALID_VALUE after a misuse of memory.
  CUresult (*issue)(CUstream stream, LibraryWork work);
  // Reports a misuse of an emulated library. Returns where misuse is counted.
  void (*misuse)(const char* sentence);
};

}  // namespace cgraph::emulation

extern "C" const cgraph::emulation::Control* cgraph_emulation_control();

#endif  // CGRAPH_TESTS_EMULATION_CONTROL_H_
