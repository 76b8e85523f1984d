// A few rows times a matrix. Each element of the matrix is used only a few times, so packing it, as
// libraries do for products, gains nothing; f16 and bf16 are widened in registers. The sums are
// made in the same order whatever vectors the processor has, and however many rows are multiplied.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ROW_PRODUCT_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ROW_PRODUCT_H_

#include <algorithm>
#include <cstdint>

#include "runtime/device/cpu/kernels/elementwise/half_vectors.h"
#include "runtime/device/numbers/binary_format.h"
#include "runtime/device/numbers/half.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

// Adds to sum[r * sum_width + j] the sum of row[r * row_width + i] * matrix[i * width + j] over
// i < rows, for r < count and j < columns.
template <typename T>
using RowProductFunction = void (*)(const Compute<T>* row, int64_t count, int64_t row_width,
                                    const T* matrix, int64_t width, int64_t rows, int64_t columns,
                                    Compute<T>* sum, int64_t sum_width);

// From more rows on, packing the matrix pays.
inline constexpr int64_t kMostRows = 4;

// Elements that are computed with as they are, in vectors of the processor's own size: compilers
// split longer vectors into single elements.
template <typename C, int bytes>
struct PlainVectors {
  static constexpr int kLanes = bytes / sizeof(C);
};

// Sums terms of even rows and of odd rows apart, so that no sum waits for the one before.
template <typename Vectors, typename T>
class RowProduct {
 public:
  using C = Compute<T>;
  CGRAPH_INLINE static void Run(const C* row, int64_t count, int64_t row_width, const T* matrix,
                                int64_t width, int64_t rows, int64_t columns, C* sum,
                                int64_t sum_width) {
    // A matrix that fits the first-level cache is walked column by column, all rows at once.
    const bool small = rows * columns * static_cast<int64_t>(sizeof(T)) <= kNear;
    const int64_t together = small ? rows : kRows, most = small ? columns : kColumns;
    for (int64_t first = 0; first < columns; first += most) {
      const int64_t some = std::min(most, columns - first);
      for (int64_t i = 0; i < rows; i += together) {
        for (int64_t r = 0; r < count; ++r) {
          AddRows(row + r * row_width + i, matrix + i * width + first, width,
                  std::min(together, rows - i), some, sum + r * sum_width + first);
        }
      }
    }
  }

 private:
  static constexpr int64_t kNear = 1 << 14;  // bytes
  static constexpr int64_t kRows = 8;        // so that sums are seldom written
  static constexpr int64_t kColumns = 2048;  // of which the sums stay in the first cache
  static constexpr int kLanes = Vectors::kLanes;
  static constexpr int kLine = 64 / sizeof(T);  // elements in a cache line
  // The vectors side by side: together they have the same width whatever vectors the processor has.
  static constexpr int kVectors = std::max(1, 128 / static_cast<int>(kLanes * sizeof(C)));

  CGRAPH_INLINE static void AddRows(const C* row, const T* matrix, int64_t width, int64_t rows,
                                    int64_t columns, C* sum) {
    int64_t j = 0;
    for (; j + kVectors * kLanes <= columns; j += kVectors * kLanes) {
      AddColumns<kVectors>(row, matrix + j, width, rows, sum + j);
    }
    for (; j + kLanes <= columns; j += kLanes) AddColumns<1>(row, matrix + j, width, rows, sum + j);
    for (; j < columns; ++j) {
      C total[2] = {sum[j], 0};
      for (int64_t i = 0; i < rows; ++i) {
        total[i % 2] = Fma(row[i], static_cast<C>(matrix[i * width + j]), total[i % 2]);
      }
      sum[j] = total[0] + total[1];
    }
  }
  template <int vectors>
  CGRAPH_INLINE static void AddColumns(const C* row, const T* matrix, int64_t width, int64_t rows,
                                       C* sum) {
    C even[vectors][kLanes], odd[vectors][kLanes];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      CGRAPH_FOR_LANES(l, kLanes) even[v][l] = sum[v * kLanes + l];
      CGRAPH_FOR_LANES(l, kLanes) odd[v][l] = 0;
    }
    int64_t i = 0;
    for (; i + 2 <= rows; i += 2) {
      CGRAPH_UNROLL for (int line = 0; line < vectors * kLanes; line += kLine) {
        // Into the second-level cache, from the rows that come next; into the first it is slower.
        __builtin_prefetch(matrix + (i + kRows) * width + line, 0, 2);
        __builtin_prefetch(matrix + (i + kRows + 1) * width + line, 0, 2);
      }
      AddRow(row[i], matrix + i * width, even);
      AddRow(row[i + 1], matrix + (i + 1) * width, odd);
    }
    if (i < rows) AddRow(row[i], matrix + i * width, even);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      CGRAPH_FOR_LANES(l, kLanes) sum[v * kLanes + l] = even[v][l] + odd[v][l];
    }
  }
  template <int vectors>
  CGRAPH_INLINE static void AddRow(C factor, const T* matrix, C (&total)[vectors][kLanes]) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      C widened[1][kLanes];
      const C* x = widened[0];
      if constexpr (kIsHalf<T>) Vectors::WidenRow(matrix + v * kLanes, widened);
      else x = matrix + v * kLanes;  // compilers would keep a copy in memory
      CGRAPH_FOR_LANES(l, kLanes) total[v][l] = Fma(factor, x[l], total[v][l]);
    }
  }
};

// Returns null where the processor has no fused multiply-add.
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

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ROW_PRODUCT_H_
