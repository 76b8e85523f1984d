// Sums and extremes of rows and of columns, in a fixed order: the same bits from run to run, on
// every processor.
//
// Floats of up to four bytes are summed in f64, which is closer to the true sum than NumPy's
// pairwise f32 and within rounding of it; f64 is summed pairwise in blocks, as NumPy does; integers
// wrap around. Of a row, eight parts vectorise, each with every eighth element; a column takes in
// its elements one after another, and many columns do so side by side.
#ifndef CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_REDUCTIONS_REDUCTIONS_H_
#define CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_REDUCTIONS_REDUCTIONS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/device/cpu/kernels/elementwise/elementwise_ops.h"
#include "runtime/device/cpu/kernels/reductions/widener.h"
#include "runtime/device/cpu/kernels/rows/lanes.h"
#include "runtime/device/numbers/half.h"
#include "runtime/device/numbers/targets.h"

namespace cgraph::device {

// The type in which sums of T are made.
template <typename T>
using Sum = std::conditional_t<kIsFloat<T>, double, T>;

inline constexpr int64_t kBlock = 128;
inline constexpr int kParts = 8;

// How an accumulator takes in elements of C, the type that they are computed with, and how parts
// of a row are joined.
template <typename C>
struct Adding {
  using Accumulator = Sum<C>;
  // Whether the order matters in which neighbours are joined.
  static constexpr bool kRounds = std::is_floating_point_v<C>;
  static constexpr int kRowsTogether = 4;  // whose columns take them in in one pass
  static constexpr Accumulator Start() { return 0; }
  static constexpr Accumulator Next(Accumulator sum, C x) { return Add::Of(sum, Accumulator(x)); }
  CGRAPH_INLINE static Accumulator Join(Accumulator first, const Accumulator* parts) {
    constexpr int kHalf = kParts / 2;
    Accumulator sums[kHalf];
    for (int j = 0; j < kHalf; ++j) sums[j] = Add::Of(j == 0 ? first : parts[j], parts[j + kHalf]);
    return Fold<kHalf>(sums, [](Accumulator a, Accumulator b) { return Add::Of(a, b); });
  }
};
// Which of two elements is the extreme: NaN is, and of two that are equal the first. (Without a
// branch, so that loops vectorise.)
struct Greatest {
  template <typename C>
  static constexpr bool Stays(C most, C x) {
    return (most >= x) | (most != most);
  }
  template <typename C, typename Limits = std::numeric_limits<C>>
  static constexpr C Start() {
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
};
struct Least {
  template <typename C>
  static constexpr bool Stays(C least, C x) {
    return (least <= x) | (least != least);
  }
  template <typename C, typename Limits = std::numeric_limits<C>>
  static constexpr C Start() {
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
};
// Joining is associative, so four steps are joined before they meet the rest. Of extremes that are
// equal (-0 and 0), columns and rows of fewer than kParts keep the first; longer rows keep that of
// the lowest part, by their length alone.
template <typename C, typename Extreme>
struct Choosing {
  using Accumulator = C;
  static constexpr bool kRounds = false;
  // Choices among floats do not vectorise where they depend on other choices.
  static constexpr int kRowsTogether = std::is_integral_v<C> ? 4 : 1;
  static constexpr C Start() { return Extreme::template Start<C>(); }
  static constexpr C Next(C extreme, C x) { return Extreme::Stays(extreme, x) ? extreme : x; }
  CGRAPH_INLINE static C Join(C first, const C* parts) {
    CGRAPH_UNROLL
    for (int j = 1; j < kParts; ++j) first = Next(first, parts[j]);
    return first;
  }
};
template <typename C>
using ChoosingGreatest = Choosing<C, Greatest>;
template <typename C>
using ChoosingLeast = Choosing<C, Least>;

// Takes `count` elements of a row in: the first ones, or those that follow a multiple of kParts.
// Part j takes in every kParts-th element from element j on, part 0 those that are left over.
// `from` are the parts before, `to` those after, and what they are together is returned.
template <typename Taking, typename C>
struct RowLoop {
  using A = typename Taking::Accumulator;
  CGRAPH_INLINE static A Run(const C* x, int64_t count, const A* from, A* to) {
    A part[kParts];
    CGRAPH_FOR_LANES(j, kParts) part[j] = from[j];
    int64_t i = 0;
    if constexpr (!Taking::kRounds) {  // of four steps only one waits for the steps before
      for (; i + 4 * kParts <= count; i += 4 * kParts) {
        A four[kParts];
        CGRAPH_FOR_LANES(j, kParts) four[j] = x[i + j];
        CGRAPH_FOR_LANES(j, kParts) four[j] = Taking::Next(four[j], x[i + kParts + j]);
        CGRAPH_FOR_LANES(j, kParts) four[j] = Taking::Next(four[j], x[i + 2 * kParts + j]);
        CGRAPH_FOR_LANES(j, kParts) four[j] = Taking::Next(four[j], x[i + 3 * kParts + j]);
        CGRAPH_FOR_LANES(j, kParts) part[j] = Taking::Next(part[j], four[j]);
      }
    }
    for (; i + kParts <= count; i += kParts) {
      CGRAPH_FOR_LANES(j, kParts) part[j] = Taking::Next(part[j], x[i + j]);
    }
    CGRAPH_FOR_LANES(j, kParts) to[j] = part[j];
    A first = part[0];
    for (; i < count; ++i) first = Taking::Next(first, x[i]);
    return Taking::Join(first, part);
  }
};

// columns[j] takes in elements j of rows that are `stride` apart.
template <typename Taking, typename C>
struct ColumnsLoop {
  using A = typename Taking::Accumulator;
  CGRAPH_INLINE static void Run(const C* x, int64_t rows, int64_t stride, int64_t count,
                                A* columns) {
    constexpr int kTogether = Taking::kRowsTogether;
    int64_t i = 0;
    for (; i + kTogether <= rows; i += kTogether, x += kTogether * stride) {
      TakeIn<kTogether>(x, stride, count, columns);
    }
    for (; i < rows; ++i, x += stride) TakeIn<1>(x, stride, count, columns);
  }

 private:
  template <int rows>
  CGRAPH_INLINE static void TakeIn(const C* x, int64_t stride, int64_t count, A* columns) {
#pragma GCC ivdep
    for (int64_t j = 0; j < count; ++j) {
      A column = columns[j];
      CGRAPH_UNROLL
      for (int r = 0; r < rows; ++r) column = Taking::Next(column, x[r * stride + j]);
      columns[j] = column;
    }
  }
};

// Reduces elements of T by the loops for this processor.
template <typename T, template <typename> typename TakingOf>
class ElementReducer {
 public:
  using C = Compute<T>;
  using Taking = TakingOf<C>;
  using A = typename Taking::Accumulator;
  static constexpr int64_t kColumns = 256;  // that are reduced side by side, at most

  // Sums of floats are halved recursively down to blocks (Higham, The accuracy of floating point
  // summation, 1993): the error grows with log(count).
  A Row(const T* x, int64_t count) {
    if (Taking::kRounds && count > kBlock) {
      const int64_t half = count / 2 / kParts * kParts;
      const A first = Row(x, half);
      return Add::Of(first, Row(x + half, count - half));
    }
    A parts[kParts], result = Taking::Start();
    if (count < kParts) {
      for (int64_t i = 0; i < count; ++i) result = Taking::Next(result, C(x[i]));
      return result;
    }
    for (int64_t i = 0; i < count;) {
      const int64_t n = std::min(Widener<T>::kMost, count - i);
      result = row_(widener_.Of(x + i, n), n, i == 0 ? kStart.data() : parts, parts);
      i += n;
    }
    return result;
  }

  // Of `rows` rows of `count` <= kColumns elements, `stride` apart, columns[j] takes in elements j.
  void Columns(const T* x, int64_t rows, int64_t stride, int64_t count, A* columns) {
    ForRows(widener_, x, rows, stride, count,
            [&](const C* some, int64_t, int64_t n, int64_t apart) {
              columns_(some, n, apart, count, columns);
            });
  }

 private:
  static constexpr auto kStart = [] {
    std::array<A, kParts> start;
    start.fill(Taking::Start());
    return start;
  }();
  A (*row_)(const C*, int64_t, const A*, A*) = BestOf<RowLoop<Taking, C>>();
  void (*columns_)(const C*, int64_t, int64_t, int64_t, A*) = BestOf<ColumnsLoop<Taking, C>>();
  Widener<T> widener_;
};

}  // namespace cgraph::device

#endif  // CGRAPH_RUNTIME_DEVICE_CPU_KERNELS_REDUCTIONS_REDUCTIONS_H_
