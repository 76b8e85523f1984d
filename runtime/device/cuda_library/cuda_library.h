// libcgraph_cuda.so, loaded when something asks for NVIDIA GPUs.
//
// The library is the one beside the executable, in ../lib of there, or where the loader looks,
// whichever is found first; it is never unloaded. Without an NVIDIA driver it is not looked for.
// Where it cannot be loaded, the report says so: kNotFound, or kInvalid when it is of another
// version.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_CUDA_LIBRARY_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_CUDA_LIBRARY_H_

#include "runtime/device/backends.h"

namespace cgraph::device {

// Returns the backend of NVIDIA GPUs and their platform, for the registry.
BackendKind CudaBackends();

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_CUDA_LIBRARY_H_
