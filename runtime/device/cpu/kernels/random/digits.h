// kDigits: the binary digits of a float, whose multiples of 2^-digits in [0, 1) are exact.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_RANDOM_DIGITS_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_RANDOM_DIGITS_H_

#include <limits>

#include "runtime/device/numbers/half.h"

namespace cgraph::device {

template <typename T>
inline constexpr int kDigits = std::numeric_limits<T>::digits;
template <>
inline constexpr int kDigits<F16> = 11;
template <>
inline constexpr int kDigits<BF16> = 8;

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_RANDOM_DIGITS_H_
