// Cumulative sums, from the first element on or from the last. Floats of up to four bytes are added
// in f64, as on the CPU.
#include "runtime/cuda/kernels/device_numbers.h"
#include "runtime/cuda/kernels/reductions/cumulative.h"
#include "runtime/device/kernels/elementwise/elementwise_ops.h"

namespace cgraph::cuda {

template <typename T>
using CumulativeSum = std::conditional_t<kIsFloat<T>, double, T>;

// Calls `use(at, sum)` with the sum up to each element of a part, which lies at `at`.
template <typename T, typename Use>
__device__ CumulativeSum<T> AddUpPart(const Cumulative& cumulative, const RowShape& shape,
                                      int64_t row, int64_t part, CumulativeSum<T> sum, Use use) {
  const Quotient place = Divided(row, shape.inner);
  const int64_t first = part * cumulative.length, rest = shape.along - first;
  const int64_t count = rest < cumulative.length ? rest : cumulative.length;
  for (int64_t j = first; j < first + count; ++j) {
    const int64_t i = cumulative.from_end ? shape.along - 1 - j : j;
    const int64_t at = (place.whole * shape.along + i) * shape.inner + place.rest;
    const T x = static_cast<const T*>(cumulative.x.data)[at];
    sum = device::Add::Of(sum, static_cast<CumulativeSum<T>>(Widened(x)));
    use(at, sum);
  }
  return sum;
}

template <typename T>
__device__ void SumParts(const Cumulative& cumulative) {
  const RowShape shape = RowsOf(DimsOf(cumulative.x), cumulative.dim);
  auto* sums = static_cast<CumulativeSum<T>*>(cumulative.sums);
  for (int64_t i = GridThread(); i < shape.rows * cumulative.parts; i += GridThreads()) {
    const Quotient place = Divided(i, shape.rows);
    sums[i] = AddUpPart<T>(cumulative, shape, place.rest, place.whole, CumulativeSum<T>(0),
                           [](int64_t, CumulativeSum<T>) {});
  }
}

// Makes of the parts' sums those of all parts before.
template <typename T>
__device__ void JoinParts(const Cumulative& cumulative) {
  const RowShape shape = RowsOf(DimsOf(cumulative.x), cumulative.dim);
  auto* sums = static_cast<CumulativeSum<T>*>(cumulative.sums);
  for (int64_t row = GridThread(); row < shape.rows; row += GridThreads()) {
    CumulativeSum<T> sum = CumulativeSum<T>(0);
    for (int64_t part = 0; part < cumulative.parts; ++part) {
      CumulativeSum<T>& own = sums[part * shape.rows + row];
      const CumulativeSum<T> next = device::Add::Of(sum, own);
      own = sum;
      sum = next;
    }
  }
}

template <typename T>
__device__ void WriteSums(const Cumulative& cumulative) {
  const RowShape shape = RowsOf(DimsOf(cumulative.x), cumulative.dim);
  const auto* sums = static_cast<const CumulativeSum<T>*>(cumulative.sums);
  auto* out = static_cast<T*>(cumulative.out);
  for (int64_t i = GridThread(); i < shape.rows * cumulative.parts; i += GridThreads()) {
    const Quotient place = Divided(i, shape.rows);
    const CumulativeSum<T> before = cumulative.parts > 1 ? sums[i] : CumulativeSum<T>(0);
    AddUpPart<T>(cumulative, shape, place.rest, place.whole, before,
                 [&](int64_t at, CumulativeSum<T> sum) { out[at] = Stored<T>(sum); });
  }
}

#define CUMSUM_KERNELS(dtype, type, ...)                                                    \
  KERNEL(SumParts_##dtype, (Guard guard, const __grid_constant__ Cumulative cumulative)) {  \
    if (Enter(guard)) SumParts<type>(cumulative);                                           \
  }                                                                                         \
  KERNEL(JoinParts_##dtype, (Guard guard, const __grid_constant__ Cumulative cumulative)) { \
    if (Enter(guard)) JoinParts<type>(cumulative);                                          \
  }                                                                                         \
  KERNEL(WriteSums_##dtype, (Guard guard, const __grid_constant__ Cumulative cumulative)) { \
    if (Enter(guard)) WriteSums<type>(cumulative);                                          \
  }
FOR_kNumber(CUMSUM_KERNELS)

}  // namespace cgraph::cuda
