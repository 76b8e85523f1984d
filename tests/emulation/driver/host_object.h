// HostObject: what the emulated NVRTC gives as machine code, a shared object of the host's compiler
// that enters kernels when it is opened. The bytes are the whole object, so that they can be kept
// in a file and loaded by another process.
#ifndef CGRAPH_TESTS_EMULATION_DRIVER_HOST_OBJECT_H_
#define CGRAPH_TESTS_EMULATION_DRIVER_HOST_OBJECT_H_

#include <cstdint>

#include "tests/emulation/grid/kernel_table.h"

namespace cgraph::emulation {

inline constexpr uint32_t kHostObject = 0xe3170c0d;  // its first four bytes
struct HostObject {
  uint32_t magic = kHostObject;
  uint32_t capability = 0;  // of the GPUs that it is for
  uint64_t bytes = 0;       // of the shared object, which follows
};

// Opens the object, for good. Returns its kernels; null where it cannot be opened.
const HostKernels* LoadHostObject(const void* image);

}  // namespace cgraph::emulation

#endif  // CGRAPH_TESTS_EMULATION_DRIVER_HOST_OBJECT_H_
