// Elements of a tensor as the numbers that they are computed with: f16 and bf16 are widened to f32,
// a tile at a time, others are read where they lie.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_REDUCTIONS_WIDENER_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_REDUCTIONS_WIDENER_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/device/cpu/kernels/elementwise/element_loops.h"
#include "runtime/device/numbers/half.h"

namespace cgraph::device {

template <typename T>
class Widener {
 public:
  static constexpr int64_t kMost = std::numeric_limits<int64_t>::max();  // elements at once
  const T* Of(const T* x, int64_t) { return x; }
};

template <typename Half>
requires kIsHalf<Half>
class Widener<Half> {
 public:
  static constexpr int64_t kMost = 1024;  // the tile and its sums stay in the first-level cache
  // These return a tile, which holds until the next call, of elements one after another.
  const float* Of(const Half* x, int64_t count) { return Rows(x, 1, count, count); }
  const float* Rows(const Half* x, int64_t rows, int64_t stride, int64_t count) {
    if (count == stride) count *= rows, rows = 1;
    for (int64_t i = 0; i < rows; ++i) widen_(x + i * stride, tile_ + i * count, count);
    return tile_;
  }

 private:
  void (*widen_)(const void*, void*, int64_t) =
      HalfLoopsOf(std::is_same_v<Half, F16> ? plan::DType::f16 : plan::DType::bf16).widen;
  alignas(64) float tile_[kMost];
};

// Calls `use(rows, i, n, stride)` for all `rows` of `count` elements, `stride` apart: n of them at
// a time, of which the first is row i, with the stride that they have there. A row has at most
// kMost elements.
template <typename T, typename Use>
void ForRows(Widener<T>& widener, const T* x, int64_t rows, int64_t stride, int64_t count,
             Use use) {
  if constexpr (!kIsHalf<T>) {
    use(x, 0, rows, stride);
  } else {
    const int64_t together = Widener<T>::kMost / std::max(count, int64_t{1});
    for (int64_t i = 0; i < rows; i += together) {
      const int64_t n = std::min(together, rows - i);
      use(widener.Rows(x + i * stride, n, stride, count), i, n, count);
    }
  }
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_REDUCTIONS_WIDENER_H_
