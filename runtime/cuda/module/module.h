// The kernels of this library, loaded into a context.
#ifndef CGRAPH_RUNTIME_CUDA_MODULE_MODULE_H_
#define CGRAPH_RUNTIME_CUDA_MODULE_MODULE_H_

#include <memory>

#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/kernels/executable.h"
#include "runtime/status/status.h"

namespace cgraph::cuda {

// Loads all images (images.h) into the context that is current on this thread; it must be current
// on the thread that destroys the module, too. kUnsupported when the GPU is older than every one
// that they were compiled for; kFailed with the driver's error otherwise.
Result<std::unique_ptr<KernelModule>> LoadKernels(const Driver& driver);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_CUDA_MODULE_MODULE_H_
