// Products by f16 and bf16. A block of the left operand, f32 or widened already, is multiplied by a
// block of the right operand, which is widened panel by panel. A panel is two vectors of columns
// that stay in the first-level cache. Sums are made in the order of their terms, for results of f32
// block by block, whatever vectors the processor has.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_BLOCK_PRODUCT_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_BLOCK_PRODUCT_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/device/cpu/kernels/elementwise/half_vectors.h"
#include "runtime/device/numbers/binary_format.h"
#include "runtime/device/numbers/half.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

// Computes sums += a[m, k] @ b[k, n]. Element (i, l) of `a` is a[i * a_row + l * a_step], and rows
// of `b`, or its columns where it is stored transposed, are b_width apart. The first block of a
// product starts from zero; the last one brings the sums, rounded to R, into the rows of c.
template <typename T, typename R>
struct Block {
  const float* a;
  int64_t a_row, a_step;
  const T* b;
  int64_t b_width;
  bool transpose_b;
  int64_t m, n, k;
  bool first, last;
  float* panel;  // of kPanelElements
  float* sums;   // of SumElements(m, n)
  R* c;
  int64_t c_width;
};
template <typename T, typename R>
using BlockProductFunction = void (*)(const Block<T, R>& block);

inline constexpr int64_t kPanelElements = 4096;
inline constexpr int64_t kMostColumns = 32;                           // of a panel
inline constexpr int64_t kMostDepth = kPanelElements / kMostColumns;  // of a block
inline constexpr int64_t SumElements(int64_t m, int64_t n) {
  return m * ((n + kMostColumns - 1) / kMostColumns * kMostColumns);
}

#if defined(__x86_64__)

template <typename Halves, typename T, typename R>
class BlockProduct {
 public:
  CGRAPH_INLINE static void Run(const Block<T, R>& block) {
    for (int64_t j = 0; j < block.n; j += kColumns) {
      const int64_t columns = std::min(kColumns, block.n - j);
      if (block.transpose_b) {
        WidenColumns(block.b + j * block.b_width, block.b_width, block.k, columns, block.panel);
      } else {
        WidenPanel(block.b + j, block.b_width, block.k, columns, block.panel);
      }
      int64_t i = 0;
      for (; i + kRows <= block.m; i += kRows) AddRows<kRows>(block, i, j, columns);
      for (; i + 2 <= block.m; i += 2) AddRows<2>(block, i, j, columns);
      if (i < block.m) AddRows<1>(block, i, j, columns);
    }
  }

 private:
  static constexpr int kLanes = Halves::kLanes, kVectors = 2;
  static constexpr int64_t kColumns = kVectors * kLanes;
  static constexpr int64_t kRows = 6;  // with two vectors: more sums than additions are in work
  static constexpr int kSecondLevel = 2;  // the next panel is prefetched into this cache
  // Whether blocks are summed apart. A long sum of small terms loses bits that f32 results show.
  static constexpr bool kApart = std::is_same_v<R, float>;

  CGRAPH_INLINE static void WidenPanel(const T* b, int64_t width, int64_t rows, int64_t columns,
                                       float* panel) {
    for (int64_t i = 0; i < rows; ++i, b += width, panel += kColumns) {
      __builtin_prefetch(b + kColumns, 0, kSecondLevel);
      if (columns == kColumns) {
        WidenRow(b, panel);
      } else {
        T padded[kColumns] = {};
        std::copy(b, b + columns, padded);
        WidenRow(padded, panel);
      }
    }
  }
  CGRAPH_INLINE static void WidenRow(const T* from, float* to) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      Halves::WidenRow(from + v * kLanes, *reinterpret_cast<float(*)[1][kLanes]>(to + v * kLanes));
    }
  }

  // The same of a matrix that is stored transposed, square by square of pairs of elements. Rows
  // behind the last are 0: a panel has room for them.
  CGRAPH_INLINE static void WidenColumns(const T* b, int64_t width, int64_t rows, int64_t columns,
                                         float* panel) {
    constexpr int64_t kDepth = 2 * kLanes;
    for (int64_t i = 0; i < rows; i += kDepth, panel += kDepth * kColumns) {
      for (int64_t j = 0; j < kColumns; j += kLanes) {
        const T* const from = b + j * width + i;
        if (i + kDepth <= rows && j + kLanes <= columns) {
          const T* const next = from + kColumns * width;
#pragma GCC unroll 16
          for (int r = 0; r < kLanes; ++r) __builtin_prefetch(next + r * width, 0, kSecondLevel);
          Halves::WidenColumns(from, width, panel + j, kColumns);
          continue;
        }
        T padded[kLanes * kDepth] = {};
        for (int64_t r = 0; r < std::min<int64_t>(kLanes, columns - j); ++r) {
          std::copy_n(from + r * width, std::min(kDepth, rows - i), padded + r * kDepth);
        }
        Halves::WidenColumns(padded, kDepth, panel + j, kColumns);
      }
    }
  }

  // Adds the products for rows that begin at i and columns that begin at j.
  template <int rows>
  CGRAPH_INLINE static void AddRows(const Block<T, R>& block, int64_t i, int64_t j,
                                    int64_t columns) {
    float total[rows][kColumns] = {};
    float* const sums = block.sums + j * block.m + i * kColumns;
    if (!block.first && !kApart) CopyRows<rows>(sums, total[0]);
    AddProducts<rows>(block.a + i * block.a_row, block, total);
    if (!block.first && kApart) AddSums<rows>(sums, total[0]);
    if (!block.last) return CopyRows<rows>(total[0], sums);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      R* const c = block.c + (i + r) * block.c_width + j;
      if (columns == kColumns) {
        NarrowRow(total[r], c);
      } else {
        R padded[kColumns];
        NarrowRow(total[r], padded);
        std::copy(padded, padded + columns, c);
      }
    }
  }
  template <int rows>
  CGRAPH_INLINE static void CopyRows(const float* from, float* to) {
#pragma GCC unroll 16
    for (int v = 0; v < rows * kVectors; ++v) {
      CGRAPH_FOR_LANES(l, kLanes) to[v * kLanes + l] = from[v * kLanes + l];
    }
  }
  template <int rows>
  CGRAPH_INLINE static void AddSums(const float* from, float* to) {
#pragma GCC unroll 16
    for (int v = 0; v < rows * kVectors; ++v) {
      CGRAPH_FOR_LANES(l, kLanes) to[v * kLanes + l] += from[v * kLanes + l];
    }
  }
  template <int rows>
  CGRAPH_INLINE static void AddProducts(const float* a, const Block<T, R>& block,
                                        float (&total)[rows][kColumns]) {
    const float* const panel = block.panel;
    for (int64_t i = 0; i < block.k; ++i) {
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const float factor = a[r * block.a_row + i * block.a_step];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
          CGRAPH_FOR_LANES(l, kLanes) {
            float& sum = total[r][v * kLanes + l];
            sum = Fma(factor, panel[i * kColumns + v * kLanes + l], sum);
          }
        }
      }
    }
  }

  CGRAPH_INLINE static void NarrowRow(const float* from, R* to) {
    if constexpr (std::is_same_v<R, float>) {
      CopyRows<1>(from, to);
    } else {
      constexpr int64_t kStep = std::is_same_v<R, BF16> ? kColumns : kLanes;
#pragma GCC unroll 2
      for (int64_t i = 0; i < kColumns; i += kStep) Halves::NarrowRow(from + i, to + i);
    }
  }
};

#endif

// Returns null where the processor lacks the instructions.
template <typename T, typename R>
BlockProductFunction<T, R> BlockProductOf() {
#if defined(__x86_64__)
  if (HasAvx512()) return Versions<BlockProduct<Avx512Halves, T, R>>::Avx512;
  if (HasAvx2()) return Versions<BlockProduct<Avx2Halves, T, R>>::Avx2;
#endif
  return nullptr;
}

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_BLOCK_PRODUCT_H_
