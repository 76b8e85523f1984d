// Where the greatest elements are: of several that are equal the first, or the first NaN. Columns
// are searched side by side; so is a row, whose lanes are columns that are joined in the end.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_REDUCTIONS_ARGMAX_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_REDUCTIONS_ARGMAX_H_

#include <algorithm>
#include <cstdint>

#include "runtime/device/cpu/kernels/operands.h"
#include "runtime/device/cpu/kernels/reductions/reductions.h"
#include "runtime/device/cpu/kernels/reductions/widener.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

// Goes on with `rows` rows from row `first` on: most[j] is the greatest so far of column j, which
// is in row best[j].
template <typename C>
struct ArgmaxLoop {
  CGRAPH_INLINE static void Run(const C* x, int64_t first, int64_t rows, int64_t stride,
                                int64_t count, C* most, int64_t* best) {
    for (int64_t i = first; i < first + rows; ++i, x += stride) {
#pragma GCC ivdep
      for (int64_t j = 0; j < count; ++j) {
        const bool stays = Greatest::Stays(most[j], x[j]);
        most[j] = stays ? most[j] : x[j];
        best[j] = stays ? best[j] : i;
      }
    }
  }
};

template <typename T>
class ArgmaxFinder {
 public:
  using C = Compute<T>;

  void Find(const Columns& view, const T* x, int64_t* out) {
    if (view.along == 0) {  // a dynamic dimension, of this execution
      std::fill_n(out, view.count(), 0);
      return;
    }
    for (int64_t o = 0; o < view.outer; ++o, x += view.along * view.inner, out += view.inner) {
      if (view.inner == 1) {
        *out = InRow(x, view.along);
        continue;
      }
      for (int64_t first = 0; first < view.inner; first += kColumns) {
        const int64_t count = std::min(kColumns, view.inner - first);
        InColumns(x + first, view.along, view.inner, count, out + first);
      }
    }
  }

 private:
  static constexpr int64_t kColumns = 256, kLanes = 32;

  // Finds the row in which each of `count` columns has its greatest element, which `most_` becomes.
  void InColumns(const T* x, int64_t rows, int64_t stride, int64_t count, int64_t* best) {
    std::copy_n(x, count, most_);
    std::fill_n(best, count, 0);
    if (rows == 1) return;
    ForRows(widener_, x + stride, rows - 1, stride, count,
            [&](const C* some, int64_t i, int64_t n, int64_t apart) {
              loop_(some, i + 1, n, apart, count, most_, best);
            });
  }
  int64_t InRow(const T* x, int64_t count) {
    int64_t at = 0;
    C most = x[0];
    if (count <= kLanes) {
      for (int64_t i = 1; i < count; ++i) {
        if (!Greatest::Stays(most, C(x[i]))) most = x[i], at = i;
      }
      return at;
    }
    int64_t best[kLanes];
    const int64_t rows = count / kLanes, rest = count % kLanes;
    InColumns(x, rows, kLanes, kLanes, best);
    if (rest != 0) loop_(widener_.Of(x + count - rest, rest), rows, 1, rest, rest, most_, best);
    most = most_[0], at = best[0] * kLanes;
    for (int64_t j = 1; j < kLanes; ++j) {
      const int64_t here = best[j] * kLanes + j;
      const bool stays = Greatest::Stays(most, most_[j]);
      const bool equal = stays && Greatest::Stays(most_[j], most);
      if (!stays || (equal && here < at)) most = most_[j], at = here;
    }
    return at;
  }

  void (*loop_)(const C*, int64_t, int64_t, int64_t, int64_t, C*,
                int64_t*) = BestOf<ArgmaxLoop<C>>();
  Widener<T> widener_;
  C most_[kColumns];
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_REDUCTIONS_ARGMAX_H_
