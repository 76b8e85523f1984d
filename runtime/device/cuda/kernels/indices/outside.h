// OutsideCheck: fails a call where an index lies outside of a dimension.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_INDICES_OUTSIDE_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_INDICES_OUTSIDE_H_

#include "runtime/device/cuda/kernels/makers.h"

namespace cgraph::cuda {

class OutsideCheck {
 public:
  static Result<OutsideCheck> Make(const Making& making);
  // Fails the call where one of `indices`, i64, is not in 0 .. limit - 1. The failure's numbers are
  // the position of the first such index, the index, and the limit.
  CUresult operator()(const Call& call, const View& indices, const Extent& limit) const;

 private:
  OutsideCheck(const Launcher& launcher, CUfunction function)
      : launcher_(launcher), function_(function) {}

  Launcher launcher_;
  CUfunction function_;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_INDICES_OUTSIDE_H_
