// CastTo: what a cast makes of one number.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_CAST_TO_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_CAST_TO_H_

#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

// Truncates. A cast to an integer saturates and makes 0 of NaN, where C++ would be undefined.
template <typename To, typename From>
CGRAPH_INLINE constexpr To CastTo(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (x != x) return 0;
    // 2^digits is exact in every float type; the greatest To may not be.
    const From limit = std::ldexp(From(1), std::numeric_limits<To>::digits);
    if (x >= limit) return std::numeric_limits<To>::max();
    if (x <= (std::is_signed_v<To> ? -limit : From(0))) return std::numeric_limits<To>::lowest();
  }
  return static_cast<To>(x);
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ELEMENTWISE_CAST_TO_H_
