// Prepared: what a CUDA device launches for a call or a load.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_PREPARED_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_PREPARED_H_

#include <memory>

#include "runtime/device/cuda/kernels/executable.h"
#include "runtime/device/device.h"
#include "runtime/device/executable.h"

namespace cgraph::cuda {

// One of them is not null.
struct Prepared : device::Executable {
  std::unique_ptr<CudaExecutable> kernel;
  std::unique_ptr<device::Source> source;   // that the output is filled from
  std::unique_ptr<device::QueueCode> code;  // of others, which is called when it is issued
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_PREPARED_H_
