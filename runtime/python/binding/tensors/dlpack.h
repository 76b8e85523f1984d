// DLPack: what a capsule holds. Both forms of it: the first, and the one with a version, which
// <dlpack/dlpack.h> has from its version 1.0 on; it is stated here, for older headers.
#ifndef CGRAPH_RUNTIME_PYTHON_BINDING_TENSORS_DLPACK_H_
#define CGRAPH_RUNTIME_PYTHON_BINDING_TENSORS_DLPACK_H_

#include <cstdint>
#include <optional>

#include <dlpack/dlpack.h>

#include "runtime/plan/plan.h"

namespace cgraph::python {

inline constexpr char kPlainCapsule[] = "dltensor";
inline constexpr char kVersionedCapsule[] = "dltensor_versioned";
inline constexpr uint32_t kDLPackMajor = 1, kDLPackMinor = 0;

inline constexpr int kDLPackCudaManaged = 13;  // kDLCUDAManaged, which older headers lack

struct DLPackVersion {
  uint32_t major, minor;
};
struct VersionedTensor {  // DLManagedTensorVersioned of DLPack 1.0
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(VersionedTensor* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

// Nothing where cgraph has no such dtype.
std::optional<plan::DType> DTypeOf(DLDataType type);
// "uint", "float": what stands before the number of bits.
const char* DLPackCodeName(DLDataType type);

}  // namespace cgraph::python

#endif  // CGRAPH_RUNTIME_PYTHON_BINDING_TENSORS_DLPACK_H_
