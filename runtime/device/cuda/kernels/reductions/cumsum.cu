// Cumulative sums, from the first element on or from the last. Floats of up to four bytes are added
// in f64, as on the CPU.
#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cuda/kernels/device_numbers.h"
#include "runtime/device/cuda/kernels/reductions/arguments.h"
#include "runtime/device/cuda/kernels/rows/arguments.h"

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

// Makes of the parts' sums those of all parts before. A block works on a row: each thread on some
// parts that follow one another, and all threads together on what each of them has.
template <typename T>
__device__ void JoinParts(const Cumulative& cumulative) {
  using Sum = CumulativeSum<T>;
  __shared__ Sum totals[kJoiningThreads];
  const RowShape shape = RowsOf(DimsOf(cumulative.x), cumulative.dim);
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t each = (cumulative.parts + kJoiningThreads - 1) / kJoiningThreads;
  const int64_t first = thread * each;
  const int64_t end = first + each < cumulative.parts ? first + each : cumulative.parts;
  for (int64_t row = blockIdx.x; row < shape.rows; row += gridDim.x) {
    Sum* sums = static_cast<Sum*>(cumulative.sums) + row;
    Sum total = Sum(0);
    for (int64_t part = first; part < end; ++part) {
      total = device::Add::Of(total, sums[part * shape.rows]);
    }
    totals[thread] = total;
    __syncthreads();
    for (int step = 1; step < kJoiningThreads; step *= 2) {
      const Sum before = thread >= step ? totals[thread - step] : Sum(0);
      __syncthreads();
      if (thread >= step) totals[thread] = device::Add::Of(before, totals[thread]);
      __syncthreads();
    }
    Sum before = thread > 0 ? totals[thread - 1] : Sum(0);
    for (int64_t part = first; part < end; ++part) {
      const Sum own = sums[part * shape.rows];
      sums[part * shape.rows] = before;
      before = device::Add::Of(before, own);
    }
    __syncthreads();
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
