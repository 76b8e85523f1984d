// Casts as operations of elementwise kernels.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_CAST_OPERATIONS_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_CAST_OPERATIONS_H_

#include <type_traits>

#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cuda/kernels/device_numbers.h"

namespace cgraph::cuda {

template <typename To>
struct CastOperation {
  template <typename From>
  static constexpr To Of(From x) { return device::CastTo<To>(x); }
};
// Rounding to f16 and bf16 is done where results are stored.
template <typename Half>
struct CastFloatToHalf {
  static constexpr float Of(float x) { return x; }
};
struct CastToBool {
  template <typename From>
  static constexpr uint8_t Of(From x) { return x != 0; }
};

template <typename To>
struct Cast {
  template <typename From>
  using Operation = std::conditional_t<kIsHalf<To> && std::is_same_v<Compute<From>, float>,
                                       CastFloatToHalf<To>, CastOperation<To>>;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_KERNELS_ELEMENTWISE_CAST_OPERATIONS_H_
