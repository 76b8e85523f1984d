// Kept: what dropout makes of an element.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_RANDOM_KEPT_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_RANDOM_KEPT_H_

#include "runtime/device/numbers/normal_numbers.h"

namespace cgraph::device {

struct Kept {
  double p, scale;  // the probability of 0; what other elements are multiplied by

  explicit constexpr Kept(double probability)
      : p(probability), scale(probability < 1 ? 1 / (1 - probability) : 0) {}
  template <typename C>
  constexpr C Of(C x, uint64_t stream, int64_t i) const {
    return Uniform(stream, i) >= p ? x * static_cast<C>(scale) : C(0);
  }
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_RANDOM_KEPT_H_
