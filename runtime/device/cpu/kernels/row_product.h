// A few rows times a matrix. Each element of the matrix is used only a few times, so packing it, as
// libraries do for products, gains nothing; f16 and bf16 are widened in registers. The sums are
// made in the same order whatever vectors the processor has, and however many rows are multiplied.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ROW_PRODUCT_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ROW_PRODUCT_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

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
inline constexpr int64_t kMostRows = 8;

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
        const Part part{matrix + i * width + first, width, std::min(together, rows - i), some};
        int64_t r = 0;
        for (; r + kSide <= count; r += kSide) {
          AddRows<kSide>(row + r * row_width + i, row_width, part, sum + r * sum_width + first,
                         sum_width);
        }
        for (; r < count; ++r) {
          AddRows<1>(row + r * row_width + i, row_width, part, sum + r * sum_width + first,
                     sum_width);
        }
      }
    }
  }

 private:
  static constexpr int64_t kNear = 1 << 14;  // bytes
  static constexpr int64_t kRows = 8;        // so that sums are seldom written
  static constexpr int64_t kAhead = 16;      // rows: those that are prefetched
  static constexpr int64_t kColumns = 8192;  // of which the sums stay in the nearest caches
  static constexpr int kLanes = Vectors::kLanes;
  static constexpr int kLine = 64 / sizeof(T);  // elements in a cache line
  // The vectors side by side: together they have the same width whatever vectors the processor has.
  static constexpr int kVectors = std::max(1, 128 / static_cast<int>(kLanes * sizeof(C)));

  // Rows that are multiplied together: registers hold their sums.
  static constexpr int kSide = kVectors <= 2 ? 2 : 1;

  // Some rows and columns of the matrix.
  struct Part {
    const T* matrix;
    int64_t width, rows, columns;
  };

  template <int count>
  CGRAPH_INLINE static void AddRows(const C* row, int64_t row_width, const Part& part, C* sum,
                                    int64_t sum_width) {
    int64_t j = 0;
    for (; j + kVectors * kLanes <= part.columns; j += kVectors * kLanes) {
      AddColumns<count, kVectors>(row, row_width, part, j, sum + j, sum_width);
    }
    for (; j + kLanes <= part.columns; j += kLanes) {
      AddColumns<count, 1>(row, row_width, part, j, sum + j, sum_width);
    }
    for (; j < part.columns; ++j) {
      for (int r = 0; r < count; ++r) {
        C total[2] = {sum[r * sum_width + j], 0};
        for (int64_t i = 0; i < part.rows; ++i) {
          total[i % 2] = Fma(row[r * row_width + i],
                             static_cast<C>(part.matrix[i * part.width + j]), total[i % 2]);
        }
        sum[r * sum_width + j] = total[0] + total[1];
      }
    }
  }
  template <int count, int vectors>
  CGRAPH_INLINE static void AddColumns(const C* row, int64_t row_width, const Part& part, int64_t j,
                                       C* sum, int64_t sum_width) {
    C even[count][vectors][kLanes], odd[count][vectors][kLanes];
#pragma GCC unroll 2
    for (int r = 0; r < count; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        CGRAPH_FOR_LANES(l, kLanes) even[r][v][l] = sum[r * sum_width + v * kLanes + l];
        CGRAPH_FOR_LANES(l, kLanes) odd[r][v][l] = 0;
      }
    }
    const T* matrix = part.matrix + j;
    int64_t i = 0;
    for (; i + 2 <= part.rows; i += 2, matrix += 2 * part.width) {
      CGRAPH_UNROLL for (int line = 0; line < vectors * kLanes; line += kLine) {
        // Into the second-level cache; into the first it is slower.
        __builtin_prefetch(matrix + kAhead * part.width + line, 0, 2);
        __builtin_prefetch(matrix + (kAhead + 1) * part.width + line, 0, 2);
      }
      AddRow(row + i, row_width, matrix, even);
      AddRow(row + i + 1, row_width, matrix + part.width, odd);
    }
    if (i < part.rows) AddRow(row + i, row_width, matrix, even);
#pragma GCC unroll 2
    for (int r = 0; r < count; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        CGRAPH_FOR_LANES(l, kLanes) {
          sum[r * sum_width + v * kLanes + l] = even[r][v][l] + odd[r][v][l];
        }
      }
    }
  }
  template <int count, int vectors>
  CGRAPH_INLINE static void AddRow(const C* factors, int64_t row_width, const T* matrix,
                                   C (&total)[count][vectors][kLanes]) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      C widened[1][kLanes];
      const C* x = widened[0];
      if constexpr (kIsHalf<T>) Vectors::WidenRow(matrix + v * kLanes, widened);
      else x = matrix + v * kLanes;  // compilers would keep a copy in memory
#pragma GCC unroll 2
      for (int r = 0; r < count; ++r) {
        const C factor = factors[r * row_width];
        CGRAPH_FOR_LANES(l, kLanes) total[r][v][l] = Fma(factor, x[l], total[r][v][l]);
      }
    }
  }
};

// Returns the version of RowProduct or DotProduct for this processor; null where it has no fused
// multiply-add.
template <template <typename, typename> typename FewRows, typename T>
auto FewRowsOf() -> decltype(&FewRows<PlainVectors<Compute<T>, 64>, T>::Run) {
#if defined(__x86_64__)
  using C = Compute<T>;
  using Wide = std::conditional_t<kIsHalf<T>, Avx512Halves, PlainVectors<C, 64>>;
  using Narrow = std::conditional_t<kIsHalf<T>, Avx2Halves, PlainVectors<C, 32>>;
  if (HasAvx512()) return Versions<FewRows<Wide, T>>::Avx512;
  if (HasAvx2()) return Versions<FewRows<Narrow, T>>::Avx2;
#endif
  return nullptr;
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ROW_PRODUCT_H_
