// The kernels of this library, loaded into a context.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_MODULE_MODULE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_MODULE_MODULE_H_

#include <functional>
#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/device/cuda/driver/driver.h"
#include "runtime/device/cuda/kernels/executable.h"

namespace cgraph::cuda {

// Loads all images (images.h) into the context that is current on this thread; it must be current
// on the thread that destroys the module, too. `check` makes a status of the driver's result and of
// what was done. kNotFound when there is no code for the GPU; else what `check` says.
using CheckFunction = std::function<Status(CUresult result, const std::string& what)>;
Result<std::unique_ptr<KernelModule>> LoadKernels(const Driver& driver, CheckFunction check);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_MODULE_MODULE_H_
