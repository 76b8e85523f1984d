// Copies of whole tensors, which several kernels need.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MOVE_COPY_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MOVE_COPY_H_

#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {

// CopyKernel: copies a tensor with so many bytes an element as it lies in memory.
class CopyKernel {
 public:
  static Result<CopyKernel> Make(const Making& making, DType dtype);
  // Nothing is moved where the tensor lies there already.
  CUresult operator()(const Call& call, const View& from, void* to) const;

 private:
  CopyKernel(const Launcher& launcher, CUfunction function, int64_t width)
      : launcher_(launcher), function_(function), width_(width) {}

  Launcher launcher_;
  CUfunction function_;
  int64_t width_;  // bytes
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_MOVE_COPY_H_
