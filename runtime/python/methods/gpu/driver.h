// Driver: the functions of CUDA's driver that calls on GPUs need. The engine has loaded it before
// it makes such a call, so nothing here needs CUDA to be built.
#ifndef CGRAPH_RUNTIME_PYTHON_METHODS_GPU_DRIVER_H_
#define CGRAPH_RUNTIME_PYTHON_METHODS_GPU_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace cgraph::methods {

struct Driver {
  using Status = int;  // CUresult; 0: success

  // Returns null where the process has no driver.
  static const Driver* Find();
  // Returns "cuMemcpyAsync: CUDA_ERROR_INVALID_VALUE", or an empty text of a success.
  std::string Said(const char* function, Status status) const;

  Status (*cuCtxGetCurrent)(void** context);
  Status (*cuCtxSetCurrent)(void* context);
  Status (*cuMemcpyAsync)(uint64_t to, uint64_t from, size_t bytes, void* stream);
  Status (*cuMemsetD8Async)(uint64_t to, unsigned char byte, size_t count, void* stream);
  Status (*cuStreamWaitEvent)(void* stream, void* event, unsigned flags);
  Status (*cuEventCreate)(void** event, unsigned flags);
  Status (*cuEventRecord)(void* event, void* stream);
  Status (*cuEventQuery)(void* event);
  Status (*cuEventDestroy)(void* event);
  Status (*cuGetErrorName)(Status status, const char** name);
};

}  // namespace cgraph::methods

#endif  // CGRAPH_RUNTIME_PYTHON_METHODS_GPU_DRIVER_H_
