// CudaLibrary: libcgraph_cuda.so, loaded when something asks for NVIDIA GPUs.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_CUDA_LIBRARY_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_CUDA_LIBRARY_H_

#include "runtime/device/cuda_library/interface.h"
#include "runtime/status/status.h"

namespace cgraph::device {

struct CudaLibrary {
  CudaBackendFunction* backend = nullptr;

  // Returns the one library of this process, never unloaded: the one beside the executable, in
  // ../lib of there, or where the loader looks, whichever is found first. kNotFound, with a
  // sentence, where there is no NVIDIA driver (then the library is not looked for) or no library,
  // kInvalid where it is of another build. Thread-safe.
  static Result<const CudaLibrary*> Get();
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_LIBRARY_CUDA_LIBRARY_H_
