// A row of f32 times a matrix of f16 or bf16, which is widened in registers: what is used but once
// need not be written down. Only where the processor has the conversions.
#ifndef CGRAPH_RUNTIME_DEVICE_KERNELS_HALF_ROW_H_
#define CGRAPH_RUNTIME_DEVICE_KERNELS_HALF_ROW_H_

#include <cstdint>
#include <type_traits>

#include "runtime/device/kernels/elementwise/half_vectors.h"
#include "runtime/device/numbers/binary_format.h"
#include "runtime/device/numbers/half.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

// sum[j] += the sum of row[i] * matrix[i * width + j], of i < rows and j < columns.
template <typename Half>
using HalfRowProduct = void (*)(const float* row, const Half* matrix, int64_t width, int64_t rows,
                                int64_t columns, float* sum);

#if defined(__x86_64__)
template <typename Halves, typename Half>
class HalfRow {
 public:
  CGRAPH_INLINE static void Run(const float* row, const Half* matrix, int64_t width, int64_t rows,
                                int64_t columns, float* sum) {
    int64_t i = 0;
    for (; i + kRows <= rows; i += kRows) {
      AddRows<kRows>(row + i, matrix + i * width, width, columns, sum);
    }
    for (; i < rows; ++i) AddRows<1>(row + i, matrix + i * width, width, columns, sum);
  }

 private:
  static constexpr int kRows = 8;  // so that sums are seldom written
  static constexpr int kLanes = Halves::kLanes;

  template <int rows>
  CGRAPH_INLINE static void AddRows(const float* row, const Half* matrix, int64_t width,
                                    int64_t columns, float* sum) {
    int64_t j = 0;
    for (; j + kLanes <= columns; j += kLanes) {
      float x[1][kLanes], total[kLanes];
      CGRAPH_FOR_LANES(l, kLanes) total[l] = sum[j + l];
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i) {
        Halves::WidenRow(matrix + i * width + j, x);
        CGRAPH_FOR_LANES(l, kLanes) total[l] = Fma(row[i], x[0][l], total[l]);
      }
      CGRAPH_FOR_LANES(l, kLanes) sum[j + l] = total[l];
    }
    for (; j < columns; ++j) {
      for (int i = 0; i < rows; ++i) sum[j] = Fma(row[i], matrix[i * width + j], sum[j]);
    }
  }
};
#endif

// Null where the processor has no conversions.
template <typename Half>
HalfRowProduct<Half> HalfRowProductOf() {
#if defined(__x86_64__)
  if (HasAvx512()) return Versions<HalfRow<Avx512Halves, Half>>::Avx512;
  if (HasAvx2()) return Versions<HalfRow<Avx2Halves, Half>>::Avx2;
#endif
  return nullptr;
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_KERNELS_HALF_ROW_H_
