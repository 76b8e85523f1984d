// Memory of GPUs that NCCL's collectives read and write where it lies: NCCL's own allocator makes
// it, so that it can be registered with communicators.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCL_MEMORY_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCL_MEMORY_H_

#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/device/cuda/gpu/gpu.h"
#include "runtime/device/memory.h"

namespace cgraph::cuda {

// As AllocateOnGpu. The memory is NCCL's where NCCL is there and gives it, and where all GPUs that
// are open reach this one: what its allocator makes cannot be copied to others. Else it is the
// driver's.
Result<device::Memory> AllocateForCollectives(const std::shared_ptr<Gpu>& gpu, uint64_t bytes,
                                              device::MemoryKind kind, const std::string& what);

// Returns whether memory may be registered with communicators: its allocator was NCCL's.
bool IsOfNccl(const device::Memory& memory);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_COLLECTIVES_NCCL_MEMORY_H_
