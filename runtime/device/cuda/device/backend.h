// The CUDA backend: serves the gpus of a plan on the GPUs of this machine, and its other devices in
// memory that GPUs reach.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_BACKEND_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_BACKEND_H_

#include <memory>

#include "runtime/device/backends.h"
#include "runtime/device/cuda/driver/driver.h"
#include "runtime/device/cuda_library/interface.h"

namespace cgraph::cuda {

// `among`: null where no other process serves devices of the plan.
std::unique_ptr<device::Backend> MakeCudaBackend(const Driver& driver,
                                                 const device::GpuMap& gpu_of_device,
                                                 const device::AmongProcesses* among);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_BACKEND_H_
