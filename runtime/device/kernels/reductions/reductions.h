// Sums and maxima of rows of elements, in a fixed order of addition: the same bits from run to run.
//
// Floats of up to four bytes are summed in f64, which is closer to the true sum than NumPy's
// pairwise f32 and within rounding of it; f64 is summed pairwise in blocks, as NumPy does; integers
// wrap around.
#ifndef CGRAPH_RUNTIME_DEVICE_KERNELS_REDUCTIONS_REDUCTIONS_H_
#define CGRAPH_RUNTIME_DEVICE_KERNELS_REDUCTIONS_REDUCTIONS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/device/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/numbers/half.h"

namespace cgraph::device {

// The type in which sums of T are made.
template <typename T>
using Sum = std::conditional_t<kIsFloat<T>, double, T>;

inline constexpr int64_t kBlock = 128;
inline constexpr int kParts = 8;

// Eight partial sums vectorise and are added in a fixed order. Blocks are halved recursively
// (Higham, The accuracy of floating point summation, 1993): the error grows with log(count).
template <typename T>
Sum<T> SumRow(const T* x, int64_t count) {
  if (count > kBlock) {
    const int64_t half = count / 2 / kParts * kParts;
    return Add::Of(SumRow(x, half), SumRow(x + half, count - half));
  }
  Sum<T> parts[kParts] = {};
  int64_t i = 0;
  for (; i + kParts <= count; i += kParts) {
    for (int j = 0; j < kParts; ++j) parts[j] = Add::Of(parts[j], Sum<T>(x[i + j]));
  }
  for (; i < count; ++i) parts[0] = Add::Of(parts[0], Sum<T>(x[i]));
  for (int width = kParts / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) parts[j] = Add::Of(parts[j], parts[j + width]);
  }
  return parts[0];
}

// The least and the greatest value of the type that T is computed with.
template <typename T>
constexpr Compute<T> Least() {
  using C = Compute<T>;
  return std::is_floating_point_v<C> ? -std::numeric_limits<C>::infinity()
                                     : std::numeric_limits<C>::lowest();
}
template <typename T>
constexpr Compute<T> Greatest() {
  using C = Compute<T>;
  return std::is_floating_point_v<C> ? std::numeric_limits<C>::infinity()
                                     : std::numeric_limits<C>::max();
}

// Returns the Minimum or Maximum of a row and `start`.
template <typename Extremum, typename T>
Compute<T> ExtremeOfRow(const T* x, int64_t count, Compute<T> start) {
  using C = Compute<T>;
  C parts[kParts];
  std::fill(parts, parts + kParts, start);
  int64_t i = 0;
  for (; i + kParts <= count; i += kParts) {
    for (int j = 0; j < kParts; ++j) parts[j] = Extremum::Of(parts[j], C(x[i + j]));
  }
  for (; i < count; ++i) parts[0] = Extremum::Of(parts[0], C(x[i]));
  for (int j = 1; j < kParts; ++j) parts[0] = Extremum::Of(parts[0], parts[j]);
  return parts[0];
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_KERNELS_REDUCTIONS_REDUCTIONS_H_
