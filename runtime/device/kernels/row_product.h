// A row times a matrix. Each element of the matrix is used but once, so nothing is gained by
// packing it as libraries do for products, and f16 and bf16 are widened in registers. The sums are
// made in the same order whatever vectors the processor has.
#ifndef CGRAPH_RUNTIME_DEVICE_KERNELS_ROW_PRODUCT_H_
#define CGRAPH_RUNTIME_DEVICE_KERNELS_ROW_PRODUCT_H_

#include <algorithm>
#include <cstdint>

#include "runtime/device/kernels/elementwise/half_vectors.h"
#include "runtime/device/numbers/binary_format.h"
#include "runtime/device/numbers/half.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

// sum[j] += the sum of row[i] * matrix[i * width + j], of i < rows and j < columns.
template <typename T>
using RowProductFunction = void (*)(const Compute<T>* row, const T* matrix, int64_t width,
                                    int64_t rows, int64_t columns, Compute<T>* sum);

// What is computed with as it is, in vectors of the processor's own size: of longer ones compilers
// make single elements.
template <typename C, int bytes>
struct PlainVectors {
  static constexpr int kLanes = bytes / sizeof(C);
  CGRAPH_INLINE static void WidenRow(const C* from, C (&to)[1][kLanes]) {
    CGRAPH_FOR_LANES(l, kLanes) to[0][l] = from[l];
  }
};

template <typename Vectors, typename T>
class RowProduct {
 public:
  using C = Compute<T>;
  CGRAPH_INLINE static void Run(const C* row, const T* matrix, int64_t width, int64_t rows,
                                int64_t columns, C* sum) {
    for (int64_t first = 0; first < columns; first += kColumns) {
      const int64_t some = std::min(kColumns, columns - first);
      const T* at = matrix + first;
      int64_t i = 0;
      for (; i + kRows <= rows; i += kRows) {
        AddRows<kRows>(row + i, at + i * width, width, some, sum + first);
      }
      for (; i < rows; ++i) AddRows<1>(row + i, at + i * width, width, some, sum + first);
    }
  }

 private:
  static constexpr int kRows = 8;            // so that sums are seldom written
  static constexpr int64_t kColumns = 2048;  // of which the sums stay in the first cache
  static constexpr int kLanes = Vectors::kLanes;

  template <int rows>
  CGRAPH_INLINE static void AddRows(const C* row, const T* matrix, int64_t width, int64_t columns,
                                    C* sum) {
    int64_t j = 0;
    for (; j + kLanes <= columns; j += kLanes) {
      C x[1][kLanes], total[kLanes];
      CGRAPH_FOR_LANES(l, kLanes) total[l] = sum[j + l];
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i) {
        Vectors::WidenRow(matrix + i * width + j, x);
        CGRAPH_FOR_LANES(l, kLanes) total[l] = Fma(row[i], x[0][l], total[l]);
      }
      CGRAPH_FOR_LANES(l, kLanes) sum[j + l] = total[l];
    }
    for (; j < columns; ++j) {
      for (int i = 0; i < rows; ++i) {
        sum[j] = Fma(row[i], static_cast<C>(matrix[i * width + j]), sum[j]);
      }
    }
  }
};

// Null where the processor has no fused multiply-add.
template <typename T>
RowProductFunction<T> RowProductOf() {
#if defined(__x86_64__)
  using C = Compute<T>;
  using Wide = std::conditional_t<kIsHalf<T>, Avx512Halves, PlainVectors<C, 64>>;
  using Narrow = std::conditional_t<kIsHalf<T>, Avx2Halves, PlainVectors<C, 32>>;
  if (HasAvx512()) return Versions<RowProduct<Wide, T>>::Avx512;
  if (HasAvx2()) return Versions<RowProduct<Narrow, T>>::Avx2;
#endif
  return nullptr;
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_KERNELS_ROW_PRODUCT_H_
