// The loops of attention over tiles of scores: some queries times some keys. Every sum is made in
// an order that depends on the shapes alone, so that all versions of a loop give the same bits.
//
// Rows of a tile are `kTileKeys` apart, and matrices that are multiplied have rows of whole panels,
// Padded<C>(columns) elements.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ATTENTION_TILES_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ATTENTION_TILES_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cpu/kernels/rows/lanes.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

// Measured on a Zen 4 with heads of 64 and of 32: 64 keys take 7 to 10 % longer, 256 keys as long;
// 48 rows take 6 % longer.
inline constexpr int64_t kTileRows = 96, kTileKeys = 128;

template <typename C>
inline constexpr int64_t kPanelColumns = 128 / static_cast<int64_t>(sizeof(C));
template <typename C>
constexpr int64_t Padded(int64_t columns) {
  return (columns + kPanelColumns<C> - 1) / kPanelColumns<C> * kPanelColumns<C>;
}

// c[m, n] = a[m, k] @ b[k, n], or added to c. Element (i, l) of `a` is a[i * a_row + l * a_step];
// `n` is a number of whole panels.
template <typename C>
struct TileProduct {
  const C* a;
  int64_t a_row, a_step;
  const C* b;
  int64_t b_width;
  C* c;
  int64_t c_width;
  int64_t m, n, k;
  bool add;
};

// `bytes` is the size of the processor's vectors.
template <int bytes, typename C>
class TileProductLoop {
 public:
  CGRAPH_INLINE static void Run(const TileProduct<C>& product) {
    for (int64_t j = 0; j < product.n; j += kColumns) {
      int64_t i = 0;
      for (; i + kRows <= product.m; i += kRows) AddRows<kRows>(product, i, j);
      for (; i + 2 <= product.m; i += 2) AddRows<2>(product, i, j);
      if (i < product.m) AddRows<1>(product, i, j);
    }
  }

 private:
  static constexpr int kLanes = bytes / static_cast<int>(sizeof(C)), kVectors = 2;
  static constexpr int kColumns = kVectors * kLanes;
  static constexpr int64_t kRows = 6;  // with two vectors: more sums than additions are in work

  template <int rows>
  CGRAPH_INLINE static void AddRows(const TileProduct<C>& product, int64_t i, int64_t j) {
    C total[rows][kColumns] = {};
    C* const c = product.c + i * product.c_width + j;
    if (product.add) {
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) CopyRow(c + r * product.c_width, total[r]);
    }
    const C* a = product.a + i * product.a_row;
    const C* b = product.b + j;
    for (int64_t l = 0; l < product.k; ++l, a += product.a_step, b += product.b_width) {
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const C factor = a[r * product.a_row];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
          CGRAPH_FOR_LANES(x, kLanes) {
            C& sum = total[r][v * kLanes + x];
            sum = Fma(factor, b[v * kLanes + x], sum);
          }
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) CopyRow(total[r], c + r * product.c_width);
  }
  CGRAPH_INLINE static void CopyRow(const C* from, C* to) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      CGRAPH_FOR_LANES(x, kLanes) to[v * kLanes + x] = from[v * kLanes + x];
    }
  }
};

// to[l, j] = from[j, l] for `rows` rows of `columns` elements, which are `width` apart. Rows of
// `to` are kTileKeys apart, and are 0 behind the rows.
template <typename C>
struct TransposeTile {
  CGRAPH_INLINE static void Run(const C* from, int64_t width, int64_t rows, int64_t columns,
                                C* to) {
    constexpr int kTogether = 8;
    for (int64_t l = 0; l < columns; l += kTogether) {
      const int64_t some = std::min<int64_t>(kTogether, columns - l);
      for (int64_t j = 0; j < rows; ++j) {
        const C* const row = from + j * width + l;
        if (some == kTogether) {
#pragma GCC unroll 8
          for (int x = 0; x < kTogether; ++x) to[(l + x) * kTileKeys + j] = row[x];
        } else {
          for (int64_t x = 0; x < some; ++x) to[(l + x) * kTileKeys + j] = row[x];
        }
      }
      for (int64_t x = 0; x < some; ++x) {
        std::fill(to + (l + x) * kTileKeys + rows, to + (l + x + 1) * kTileKeys, C(0));
      }
    }
  }
};

// scores[i, j] = the sum of q[i, l] * k[j, l], for queries that are too few for keys to be
// transposed.
template <typename C>
class TileDots {
 public:
  CGRAPH_INLINE static void Run(const C* q, int64_t queries, const C* k, int64_t keys,
                                int64_t length, C* scores) {
    for (int64_t i = 0; i < queries; ++i, q += length, scores += kTileKeys) {
      int64_t j = 0;
      for (; j + kTogether <= keys; j += kTogether) {
        Dots<kTogether>(q, k + j * length, length, scores + j);
      }
      for (; j < keys; ++j) Dots<1>(q, k + j * length, length, scores + j);
    }
  }

 private:
  static constexpr int kCount = device::kLanes<C>, kTogether = 4;

  template <int keys>
  CGRAPH_INLINE static void Dots(const C* q, const C* k, int64_t length, C* scores) {
    C sum[keys][kCount] = {}, rest[keys] = {};
    int64_t l = 0;
    for (; l + kCount <= length; l += kCount) {
#pragma GCC unroll 4
      for (int j = 0; j < keys; ++j) {
        CGRAPH_FOR_LANES(x, kCount) {
          sum[j][x] = Fma(q[l + x], k[j * length + l + x], sum[j][x]);
        }
      }
    }
    for (; l < length; ++l) {
#pragma GCC unroll 4
      for (int j = 0; j < keys; ++j) rest[j] = Fma(q[l], k[j * length + l], rest[j]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < keys; ++j) {
      scores[j] = Fold<kCount>(sum[j], [](C a, C b) { return a + b; }) + rest[j];
    }
  }
};

// The running softmax of a row: the greatest score so far, and the sum of exp(score - greatest).
template <typename C>
struct RunningRow {
  C most;
  double sum;
};
template <typename C>
constexpr RunningRow<C> kNoScores = {-std::numeric_limits<C>::infinity(), 0};

// Returns what is subtracted from a row's scores: the greatest, or 0 where all are -inf.
template <typename C>
CGRAPH_INLINE C BaseOf(C most) {
  return most == -std::numeric_limits<C>::infinity() ? C(0) : most;
}

// Turns a tile's scores into exponentials. Row i has visible[i] scores; the others up to `keys`
// become 0. Brings `running` up to date, and scales `sums`, `width` sums a row over earlier tiles,
// to the new greatest score.
template <typename C>
struct TileSoftmax {
  CGRAPH_INLINE static void Run(C* scores, int64_t rows, int64_t keys, const int64_t* visible,
                                RunningRow<C>* running, C* sums, int64_t width) {
    for (int64_t i = 0; i < rows; ++i, scores += kTileKeys, sums += width) {
      const C before = running[i].most, here = MaxOfRow(scores, visible[i]);
      const C most = here > before ? here : before;
      const C base = BaseOf(most);
#pragma GCC ivdep
      for (int64_t j = 0; j < visible[i]; ++j) scores[j] = Exp::Of(scores[j] - base);
      for (int64_t j = visible[i]; j < keys; ++j) scores[j] = 0;
      if (most != before) {
        const C factor = Exp::Of(before - base);
        running[i].sum *= static_cast<double>(factor);
#pragma GCC ivdep
        for (int64_t j = 0; j < width; ++j) sums[j] *= factor;
      }
      running[i].most = most;
      const C* const terms = scores;
      running[i].sum += SumOver<C>(visible[i], [=](C sum, int64_t j) { return sum + terms[j]; });
    }
  }
};

// Makes probabilities of a tile's scores, exp(score - most) / sum, and of the gradients of these
// the gradients of the scores: the probability times what the gradient is more than `shift`. Where
// `are_made` is true, the scores are the exponentials already.
template <typename C>
struct TileSoftmaxGrad {
  CGRAPH_INLINE static void Run(C* scores, C* gradients, int64_t rows, int64_t keys,
                                const int64_t* visible, const RunningRow<C>* running,
                                const C* shift, bool are_made) {
    for (int64_t i = 0; i < rows; ++i, scores += kTileKeys, gradients += kTileKeys) {
      const C base = BaseOf(running[i].most), share = static_cast<C>(1 / running[i].sum);
      const C less = shift[i];
      if (!are_made) {
#pragma GCC ivdep
        for (int64_t j = 0; j < visible[i]; ++j) scores[j] = Exp::Of(scores[j] - base);
      }
#pragma GCC ivdep
      for (int64_t j = 0; j < visible[i]; ++j) {
        scores[j] *= share;
        gradients[j] = scores[j] * (gradients[j] - less);
      }
      for (int64_t j = visible[i]; j < keys; ++j) scores[j] = gradients[j] = 0;
    }
  }
};

// The loops for this processor.
template <typename C>
struct TileLoops {
  decltype(&TileProductLoop<16, C>::Run) product = ProductLoop();
  decltype(&TransposeTile<C>::Run) transpose = BestOf<TransposeTile<C>>();
  decltype(&TileDots<C>::Run) dots = WidestOf<TileDots<C>>();
  decltype(&TileSoftmax<C>::Run) softmax = WidestOf<TileSoftmax<C>>();
  decltype(&TileSoftmaxGrad<C>::Run) softmax_grad = WidestOf<TileSoftmaxGrad<C>>();

 private:
  static auto ProductLoop() -> decltype(&TileProductLoop<16, C>::Run) {
#if defined(__x86_64__)
    if (HasAvx512()) return Versions<TileProductLoop<64, C>>::Avx512;
    if (HasAvx2()) return Versions<TileProductLoop<32, C>>::Avx2;
#endif
    return Versions<TileProductLoop<16, C>>::Baseline;
  }
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_ATTENTION_TILES_H_
