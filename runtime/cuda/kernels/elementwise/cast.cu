// Kernels of casts between all dtypes: Cast_f32_i8, ... A bool is read as a byte.
#include "runtime/cuda/kernels/elementwise/elements.h"
#include "runtime/device/kernels/elementwise/cast_to.h"

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

template <typename To, typename From>
using CastOf = std::conditional_t<kIsHalf<To> && std::is_same_v<Compute<From>, float>,
                                  CastFloatToHalf<To>, CastOperation<To>>;

#define CAST_KERNEL(to, to_type, from, from_type)                                             \
  KERNEL(Cast_##from##_##to, (Guard guard, const __grid_constant__ Elementwise<1> arguments)) {                       \
    using Operation = CastOf<to_type, from_type>;                                             \
    if (Enter(guard)) ElementLoop<Operation, to_type, from_type>::Run(arguments);             \
  }
#define CASTS_FROM(from, from_type)                                                           \
  FOR_kNumber(CAST_KERNEL, from, from_type)                                                   \
  KERNEL(Cast_##from##_bool, (Guard guard, const __grid_constant__ Elementwise<1> arguments)) {                       \
    if (Enter(guard)) ElementLoop<CastToBool, uint8_t, from_type>::Run(arguments);            \
  }

CASTS_FROM(i8, int8_t)
CASTS_FROM(u8, uint8_t)
CASTS_FROM(i32, int32_t)
CASTS_FROM(i64, int64_t)
CASTS_FROM(f16, F16)
CASTS_FROM(bf16, BF16)
CASTS_FROM(f32, float)
CASTS_FROM(f64, double)

}  // namespace cgraph::cuda
