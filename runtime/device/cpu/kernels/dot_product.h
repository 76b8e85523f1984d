// A few rows times a matrix that is stored transposed, as checkpoints store weights: an element of
// the result is the sum along a row of the matrix. Libraries pack the matrix first, which costs
// more than such a product; here every element of it is read once, in the order of memory.
//
// A sum is made in 64 bytes of lanes, which are added up at the end, so its bits are the same
// whatever vectors the processor has, and however many rows are multiplied together.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_DOT_PRODUCT_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_DOT_PRODUCT_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/device/cpu/kernels/row_product.h"
#include "runtime/device/numbers/binary_format.h"
#include "runtime/device/numbers/half.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

// c[r, j] = sum of x[r, i] * matrix[j, i] over i < k, for r < m and j < n. Rows follow one another.
template <typename T>
using DotProductFunction = void (*)(const Compute<T>* x, const T* matrix, int64_t m, int64_t n,
                                    int64_t k, Compute<T>* c);

template <typename Vectors, typename T>
class DotProduct {
 public:
  using C = Compute<T>;
  CGRAPH_INLINE static void Run(const C* x, const T* matrix, int64_t m, int64_t n, int64_t k,
                                C* c) {
    for (int64_t j = 0; j < n; j += kGroup) {
      const int64_t some = std::min(kGroup, n - j);
      const T* const rows = matrix + j * k;
      int64_t r = 0;
      if constexpr (kWide) {
        for (; r + 4 <= m; r += 4) AddGroup<4, 4>(x + r * k, rows, some, k, c + r * n + j, n);
      }
      for (; r + 2 <= m; r += 2) {
        AddGroup<2, kWide ? 4 : 2>(x + r * k, rows, some, k, c + r * n + j, n);
      }
      if (r < m) AddGroup<1, 1>(x + r * k, rows, some, k, c + r * n + j, n);
    }
  }

 private:
  static constexpr int kLanes = Vectors::kLanes;
  static constexpr bool kWide = kLanes * sizeof(C) == 64;
  static constexpr int kWidth = 64 / sizeof(C), kVectors = kWidth / kLanes;
  static constexpr int64_t kLine = 64 / sizeof(T);  // elements of the matrix
  static constexpr int64_t kGroup = 4;              // rows whose last lanes are added up together
  static constexpr int kLast = 4;                   // these lanes
  static constexpr int kSecondLevel = 2;            // prefetching into the first level is slower
  static constexpr int64_t kAhead = 8192 / sizeof(T);

  // Multiplies rows of x by a group of `some` rows of the matrix, `side` of them side by side: so
  // many sums of vectors fit the registers. The next group is prefetched. One row of x reads the
  // matrix in the order of memory, which is fastest without prefetching for floats, with it for
  // halves.
  template <int rows, int side>
  CGRAPH_INLINE static void AddGroup(const C* x, const T* matrix, int64_t some, int64_t k, C* c,
                                     int64_t width) {
    C last[rows][kGroup][kLast];
    if (some == kGroup) {
      CGRAPH_KEEP_LOOP for (int g = 0; g < kGroup; g += side) {
        AddUp<rows, side>(x, matrix + g * k, k, g, last);
      }
    } else {
      for (int g = 0; g < some; ++g) AddUp<rows, 1>(x, matrix + g * k, k, g, last);
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      C totals[kGroup];
#pragma GCC unroll 4
      for (int g = 0; g < kGroup; ++g) {
        const C* const lanes = last[r][g];
        totals[g] = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
      }
      std::copy_n(totals, some, c + r * width);
    }
  }

  // Puts the last lanes of the sums along `side` rows of the matrix into last[..][at].
  template <int rows, int side>
  CGRAPH_INLINE static void AddUp(const C* x, const T* matrix, int64_t k, int at,
                                  C (&last)[rows][kGroup][kLast]) {
    C sums[rows][side][kVectors][kLanes] = {};
    int64_t i = 0;
    for (; i + kLine <= k; i += kLine) {
      if (rows > 1) {
#pragma GCC unroll 4
        for (int g = 0; g < side; ++g) {
          __builtin_prefetch(matrix + (kGroup + g) * k + i, 0, kSecondLevel);
        }
      } else if (kIsHalf<T>) {
        __builtin_prefetch(matrix + i + kAhead, 0, kSecondLevel);
      }
#pragma GCC unroll 2
      for (int s = 0; s < kLine; s += kWidth) {
        AddStep<rows, side>(x + i + s, k, matrix + i + s, k, sums);
      }
    }
    for (; i < k; i += kWidth) {
      const int64_t rest = std::min<int64_t>(kWidth, k - i);
      C x_rest[rows][kWidth] = {};
      T matrix_rest[side][kWidth] = {};
      for (int r = 0; r < rows; ++r) std::copy_n(x + r * k + i, rest, x_rest[r]);
      for (int g = 0; g < side; ++g) std::copy_n(matrix + g * k + i, rest, matrix_rest[g]);
      AddStep<rows, side>(x_rest[0], kWidth, matrix_rest[0], kWidth, sums);
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int g = 0; g < side; ++g) Fold(sums[r][g], last[r][at + g]);
    }
  }

  template <int rows, int side>
  CGRAPH_INLINE static void AddStep(const C* x, int64_t x_width, const T* matrix, int64_t width,
                                    C (&sums)[rows][side][kVectors][kLanes]) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 4
      for (int g = 0; g < side; ++g) {
        const T* const from = matrix + g * width + v * kLanes;
        C widened[1][kLanes];
        const C* y = widened[0];
        if constexpr (kIsHalf<T>) Vectors::WidenRow(from, widened);
        else y = from;  // compilers would keep a copy in memory
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
          const C* const factors = x + r * x_width + v * kLanes;
          C(&sum)[kLanes] = sums[r][g][v];
          CGRAPH_FOR_LANES(l, kLanes) sum[l] = Fma(factors[l], y[l], sum[l]);
        }
      }
    }
  }

  // Adds the lanes up by halves.
  CGRAPH_INLINE static void Fold(const C (&sums)[kVectors][kLanes], C (&last)[kLast]) {
    C lanes[kWidth];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      CGRAPH_FOR_LANES(l, kLanes) lanes[v * kLanes + l] = sums[v][l];
    }
    if constexpr (kWidth == 16) CGRAPH_FOR_LANES(l, 8) lanes[l] += lanes[l + 8];
    CGRAPH_FOR_LANES(l, kLast) last[l] = lanes[l] + lanes[l + kLast];
  }
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_DOT_PRODUCT_H_
