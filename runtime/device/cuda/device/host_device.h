// The host's devices beside GPUs: the caller, and cpu[i]. They compute on the CPU, in pinned memory
// that GPUs reach.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_HOST_DEVICE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_HOST_DEVICE_H_

#include <memory>

#include "runtime/device/cuda/gpu/gpu.h"
#include "runtime/device/cuda/gpu/shared_memory.h"
#include "runtime/device/device.h"

namespace cgraph::cuda {

// `cpu`: the device of the CPU's backend that does the work. `shared`: where its memory is, if
// several processes share it; else null.
std::unique_ptr<device::Device> MakeHostDevice(std::shared_ptr<Gpu> gpu,
                                               std::unique_ptr<device::Device> cpu,
                                               std::shared_ptr<PinnedSource> shared);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_HOST_DEVICE_H_
