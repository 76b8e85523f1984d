// What elementwise kernels take.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_ARGUMENTS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_ARGUMENTS_H_

#include "runtime/device/cuda/kernels/walk.h"

namespace cgraph::cuda {

template <int operands>
struct Elementwise {
  View in[operands];
  View out;
  int64_t known = false;  // whether the host knew all extents; else `walk` is made on the device
  Walk<operands> walk = {};
};

static_assert(kDense<Elementwise<3>>);

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_ARGUMENTS_H_
