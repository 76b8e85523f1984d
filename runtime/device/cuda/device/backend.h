// The CUDA backend: serves the gpus of a plan on the GPUs of this machine, and its other devices in
// memory that GPUs reach.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_BACKEND_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_BACKEND_H_

#include <memory>

#include "runtime/device/backends.h"
#include "runtime/device/cuda/driver/driver.h"

namespace cgraph::cuda {

std::unique_ptr<device::Backend> MakeCudaBackend(const Driver& driver,
                                                 const device::Assignment& assignment);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_BACKEND_H_
