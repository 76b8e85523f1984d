// Sums and maxima of a row in lanes side by side, which are folded in a fixed order: the result has
// the same bits whatever size the instruction set's vectors have.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ROWS_LANES_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ROWS_LANES_H_

#include <cstdint>
#include <limits>

#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

template <typename C>
inline constexpr int kLanes = 64 / sizeof(C);

template <int lanes, typename C, typename Join>
CGRAPH_INLINE C Fold(const C* lane, Join join) {
  if constexpr (lanes == 1) {
    return lane[0];
  } else {
    C half[lanes / 2];
    CGRAPH_FOR_LANES(j, lanes / 2) half[j] = join(lane[j], lane[j + lanes / 2]);
    return Fold<lanes / 2>(half, join);
  }
}

// `add(sum, i)` returns the sum with term i added. Terms are added in C over blocks of some
// thousand, whose sums are added in f64.
template <typename C, typename Add>
CGRAPH_INLINE double SumOver(int64_t count, Add add) {
  constexpr int kCount = kLanes<C>, kTogether = 4 * kCount;
  constexpr int64_t kSteps = 32;
  const auto plus = [](C a, C b) { return a + b; };
  double total = 0;
  int64_t i = 0;
  while (i + kTogether <= count) {
    const int64_t steps = (count - i) / kTogether;
    const int64_t end = i + (steps < kSteps ? steps : kSteps) * kTogether;
    C a[kCount] = {}, b[kCount] = {}, c[kCount] = {}, d[kCount] = {};  // no addition waits for one
    for (; i < end; i += kTogether) {
      CGRAPH_FOR_LANES(j, kCount) a[j] = add(a[j], i + j);
      CGRAPH_FOR_LANES(j, kCount) b[j] = add(b[j], i + kCount + j);
      CGRAPH_FOR_LANES(j, kCount) c[j] = add(c[j], i + 2 * kCount + j);
      CGRAPH_FOR_LANES(j, kCount) d[j] = add(d[j], i + 3 * kCount + j);
    }
    CGRAPH_FOR_LANES(j, kCount) a[j] = (a[j] + b[j]) + (c[j] + d[j]);
    total += Fold<kCount>(a, plus);
  }
  if (i == count) return total;
  C vectors[kCount] = {}, rest = 0;
  for (; i + kCount <= count; i += kCount) {
    CGRAPH_FOR_LANES(j, kCount) vectors[j] = add(vectors[j], i + j);
  }
  for (; i < count; ++i) rest = add(rest, i);
  return total + (Fold<kCount>(vectors, plus) + rest);
}

// Returns the greatest element; NaN does not count. -inf for an empty row.
template <typename C>
CGRAPH_INLINE C MaxOfRow(const C* x, int64_t count) {
  constexpr int kCount = kLanes<C>;
  const auto greater = [](C a, C b) { return b > a ? b : a; };
  C most[kCount];
  for (int j = 0; j < kCount; ++j) most[j] = -std::numeric_limits<C>::infinity();
  int64_t i = 0;
  for (; i + kCount <= count; i += kCount) {
    CGRAPH_FOR_LANES(j, kCount) most[j] = greater(most[j], x[i + j]);
  }
  for (; i < count; ++i) most[0] = greater(most[0], x[i]);
  return Fold<kCount>(most, greater);
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ROWS_LANES_H_
