// The versions of an elementwise loop for different processors give the same bits: those of any
// processor against those for AVX2 and AVX-512, of every operation in f32 and f64, over numbers of
// every magnitude. (Compiled with the options of kernels.)
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/device/cpu/kernels/attention/tiles.h"
#include "runtime/device/cpu/kernels/block_product.h"
#include "runtime/device/cpu/kernels/dot_product.h"
#include "runtime/device/cpu/kernels/elementwise/loop_templates.h"
#include "runtime/device/cpu/kernels/packed_product.h"
#include "runtime/device/cpu/kernels/reductions/argmax.h"
#include "runtime/device/cpu/kernels/reductions/reductions.h"
#include "runtime/device/cpu/kernels/row_product.h"
#include "runtime/device/cpu/kernels/rows/lanes.h"
#include "runtime/device/cpu/kernels/workspace.h"

namespace cgraph::device {
namespace {

#if defined(__x86_64__)

constexpr int64_t kCount = 50'021;

// Samples: bits of every kind, then numbers of which functions are neither 0 nor 1, then limits.
template <typename T>
std::vector<T> Samples(uint64_t start) {
  using Limits = std::numeric_limits<T>;
  using Bits = typename BinaryFormat<T>::Bits;
  std::vector<T> samples(kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    const uint64_t mixed = (static_cast<uint64_t>(i) + start) * 0x9e3779b97f4a7c15u;
    if (i % 2 == 0) samples[i] = std::bit_cast<T>(static_cast<Bits>(mixed >> (64 - 8 * sizeof(T))));
    else samples[i] = static_cast<T>(static_cast<int64_t>(mixed) * 0x1p-59);
  }
  const T limits[] = {T(0), -T(0), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                      Limits::min(), -Limits::denorm_min(), Limits::max(), Limits::lowest()};
  std::copy(std::begin(limits), std::end(limits), samples.begin() + start);
  return samples;
}

// Returns how many differ; any NaN is like any other.
template <typename T>
int64_t Different(const std::vector<T>& a, const std::vector<T>& b) {
  int64_t different = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool both_nan = a[i] != a[i] && b[i] != b[i];
    different += !both_nan && std::memcmp(&a[i], &b[i], sizeof(T)) != 0;
  }
  return different;
}

// Checks results that begin with a cache line and end within one.
template <typename Operation, typename T, int operands>
void CheckPastCaches(const void* const* in, const std::vector<T>& expected) {
  if constexpr (requires { Operation::kMoves; }) {
    if (!HasAvx2()) return;
    Workspace<T> got(kCount);
    Versions<PastCachesLoop<Operation, T, operands>>::Avx2(in, got.data(), kCount);
    FinishPastCaches();
    CHECK(Different({got.begin(), got.end()}, expected) == 0);
  }
}

template <typename Operation, typename Loop, typename T, int operands>
void CheckVersions() {
  const std::vector<T> a = Samples<T>(1), b = Samples<T>(77);
  const void* const in[] = {a.data(), b.data()};
  std::vector<T> expected(kCount), got(kCount);
  Versions<Loop>::Baseline(in, expected.data(), kCount);
  if (HasAvx2()) {
    Versions<Loop>::Avx2(in, got.data(), kCount);
    CHECK(Different(got, expected) == 0);
  }
  if (HasAvx512()) {
    Versions<Loop>::Avx512(in, got.data(), kCount);
    CHECK(Different(got, expected) == 0);
  }
  CheckPastCaches<Operation, T, operands>(in, expected);
}

template <typename T>
void CheckAll() {
#define UNARY(name, operation, dtypes)                                                            \
  if constexpr (DTypes::dtypes != DTypes::kBool) {                                                \
    INFO(name);                                                                                   \
    CheckVersions<operation, UnaryLoop<operation, T>, T, 1>();                                    \
    if constexpr (std::is_same_v<T, float>) {                                                     \
      CheckVersions<void, UnaryLoop<OnHalf<operation>, T>, T, 1>();                               \
    }                                                                                             \
  }
#define BINARY(name, operation, dtypes)                                                           \
  if constexpr (DTypes::dtypes != DTypes::kBool) {                                                \
    INFO(name);                                                                                   \
    CheckVersions<operation, BinaryLoop<operation, T, T, Walking::kBoth>, T, 2>();                \
  }
#include "runtime/device/cpu/kernels/kernels.def"
}

TEST_CASE("every version of a loop gives the same bits, in f32") { CheckAll<float>(); }
TEST_CASE("every version of a loop gives the same bits, in f64") { CheckAll<double>(); }

// Sums some thousand terms, in lengths at the seams of vectors.
template <typename T>
struct SumOf {
  CGRAPH_INLINE static double Run(const T* x, int64_t count) {
    return SumOver<T>(count, [x](T sum, int64_t i) { return Fma(x[i], x[i], sum); });
  }
};
template <typename T>
void CheckSums() {
  std::vector<T> x(5000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i % 977) / T(977) - T(0.3);
  for (int64_t count : {0, 1, 7, 16, 31, 63, 64, 65, 128, 1000, 2048, 2049, 5000}) {
    const double expected = Versions<SumOf<T>>::Baseline(x.data(), count);
    if (HasAvx2()) CHECK(Versions<SumOf<T>>::Avx2(x.data(), count) == expected);
    if (HasAvx512()) CHECK(Versions<SumOf<T>>::Avx512(x.data(), count) == expected);
    double exact = 0;
    for (int64_t i = 0; i < count; ++i) exact += double{x[i]} * double{x[i]};
    CHECK(expected == Approx(exact).epsilon(1e-6));
  }
}
TEST_CASE("every version of a sum gives the same bits") {
  CheckSums<float>();
  CheckSums<double>();
}

// Vectors of one element, which are widened by half.h.
template <typename T>
struct Single {
  static constexpr int kLanes = 1;
  CGRAPH_INLINE static void WidenRow(const T* from, Compute<T> (&to)[1][1]) { to[0][0] = *from; }
  CGRAPH_INLINE static void NarrowRow(const float* from, T* to) {
    constexpr int kCount = std::is_same_v<T, BF16> ? 2 : 1;
    for (int i = 0; i < kCount; ++i) to[i] = T(from[i]);
  }
  CGRAPH_INLINE static void WidenColumns(const T* from, int64_t, float* to, int64_t to_width) {
    to[0] = from[0], to[to_width] = from[1];
  }
};

// A copy that ends where a page ends that may be read.
template <typename T>
class LastOfPage {
 public:
  explicit LastOfPage(const std::vector<T>& from)
      : bytes_((from.size() * sizeof(T) + kPage - 1) / kPage * kPage + kPage),
        memory_(static_cast<std::byte*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    std::byte* const end = memory_ + bytes_ - kPage;
    REQUIRE(mprotect(end, kPage, PROT_NONE) == 0);
    data_ = reinterpret_cast<T*>(end) - from.size();
    std::copy(from.begin(), from.end(), data_);
  }
  ~LastOfPage() { munmap(memory_, bytes_); }
  LastOfPage(const LastOfPage&) = delete;
  LastOfPage& operator=(const LastOfPage&) = delete;
  const T* data() const { return data_; }

 private:
  static constexpr size_t kPage = 4096;
  size_t bytes_;
  std::byte* memory_;
  T* data_;
};

// Returns elements whose sums of products are rounded.
template <typename T>
std::vector<T> Elements(size_t count, size_t start) {
  std::vector<T> elements(count);
  for (size_t i = 0; i < count; ++i) {
    elements[i] = T(static_cast<Compute<T>>((i + start) * 5 % 977) / Compute<T>(100) - 4);
  }
  return elements;
}

// Multiplies rows with a part of a matrix, which the first-level cache holds or not.
template <typename T, typename Vectors2, typename Vectors512>
void CheckRowProduct() {
  using C = Compute<T>;
  constexpr int64_t kRows = 29, kWidth = 2100, kCount = 3;
  const std::vector<C> row = Elements<C>(kRows * kCount, 7);
  const std::vector<T> matrix = Elements<T>(kRows * kWidth, 0);
  for (int64_t columns : {1, 15, 16, 33, 127, 2075}) {
    const auto run = [&](RowProductFunction<T> function, int64_t count) {
      std::vector<C> sum(count * (columns + 1), C(0.5));
      function(row.data(), count, kRows, matrix.data(), kWidth, kRows, columns, sum.data(),
               columns + 1);
      return sum;
    };
    const std::vector<C> expected = run(Versions<RowProduct<Single<T>, T>>::Baseline, kCount);
    for (int64_t r = 0; r < kCount; ++r) {
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0.5;
        for (int64_t i = 0; i < kRows; ++i) {
          sum += double{row[r * kRows + i]} *
                 static_cast<double>(static_cast<C>(matrix[i * kWidth + j]));
        }
        CHECK(expected[r * (columns + 1) + j] == Approx(sum).epsilon(1e-5).margin(1e-4));
      }
      CHECK(expected[r * (columns + 1) + columns] == C(0.5));
    }
    const std::vector<C> alone = run(Versions<RowProduct<Single<T>, T>>::Baseline, 1);
    CHECK(std::equal(alone.begin(), alone.end(), expected.begin()));
    if (HasAvx2()) CHECK(run(Versions<RowProduct<Vectors2, T>>::Avx2, kCount) == expected);
    if (HasAvx512()) CHECK(run(Versions<RowProduct<Vectors512, T>>::Avx512, kCount) == expected);
  }
}
TEST_CASE("every version of a row's product gives the same bits") {
  CheckRowProduct<float, PlainVectors<float, 32>, PlainVectors<float, 64>>();
  CheckRowProduct<double, PlainVectors<double, 32>, PlainVectors<double, 64>>();
  CheckRowProduct<F16, Avx2Halves, Avx512Halves>();
  CheckRowProduct<BF16, Avx2Halves, Avx512Halves>();
}

// Multiplies rows with a matrix that is stored transposed, and which ends with a page that may be
// read: a read behind it ends the test.
template <typename T, typename Vectors2, typename Vectors512>
void CheckDotProduct() {
  using C = Compute<T>;
  for (int64_t n : {1, 3, 4, 5, 11}) {
    for (int64_t k : {1, 2, 15, 16, 31, 32, 33, 63, 64, 100, 577}) {
      const std::vector<T> matrix = Elements<T>(n * k, 0);
      const LastOfPage<T> last(matrix);
      const std::vector<C> x = Elements<C>(9 * k, 7);
      const auto run = [&](DotProductFunction<T> function, int64_t m) {
        std::vector<C> c(m * n + 1, C(0.5));
        function(x.data(), last.data(), m, n, k, c.data());
        return c;
      };
      const std::vector<C> all = run(Versions<DotProduct<Single<T>, T>>::Baseline, 9);
      for (int64_t i = 0; i < 9 * n; ++i) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          sum += double{x[i / n * k + l]} *
                 static_cast<double>(static_cast<C>(matrix[i % n * k + l]));
        }
        CHECK(all[i] == Approx(sum).epsilon(1e-5).margin(1e-4));
      }
      for (int64_t m = 1; m <= 9; ++m) {
        std::vector<C> expected(all.begin(), all.begin() + m * n);
        expected.push_back(C(0.5));
        if (HasAvx2()) CHECK(run(Versions<DotProduct<Vectors2, T>>::Avx2, m) == expected);
        if (HasAvx512()) CHECK(run(Versions<DotProduct<Vectors512, T>>::Avx512, m) == expected);
      }
    }
  }
}
TEST_CASE("every version of a sum along rows gives the same bits, for any number of rows") {
  CheckDotProduct<float, PlainVectors<float, 32>, PlainVectors<float, 64>>();
  CheckDotProduct<double, PlainVectors<double, 32>, PlainVectors<double, 64>>();
  CheckDotProduct<F16, Avx2Halves, Avx512Halves>();
  CheckDotProduct<BF16, Avx2Halves, Avx512Halves>();
}

// Multiplies rows by packed weights, which end with a page that may be read.
template <bool nibbles>
void CheckPackedProduct() {
  constexpr int64_t kGroups = 3, kBlocks = 5, kMost = 9, k = kBlocks * 32, n = kGroups * 16;
  std::vector<uint8_t> q(kGroups * kBlocks * (nibbles ? 256 : 512));
  for (size_t i = 0; i < q.size(); ++i) q[i] = static_cast<uint8_t>(i * 0x9e3779b9u >> 24);
  const LastOfPage<uint8_t> of_q(q);
  const LastOfPage<F16> scale(Elements<F16>(kGroups * kBlocks * 16, 3));
  const LastOfPage<F16> minimum(Elements<F16>(kGroups * kBlocks * 16, 77));
  const std::vector<float> x = Elements<float>(kMost * k, 7);
  std::vector<float> sums(kMost * kBlocks);
  for (int64_t i = 0; i < kMost * k; ++i) sums[i / 32] += x[i];
  const PackedWeights weights{of_q.data(), scale.data(), nibbles ? minimum.data() : nullptr,
                              kGroups, kBlocks};
  const auto run = [&](PackedProductFunction function, int64_t rows) {
    std::vector<float> c(rows * n + 1, 0.5f);
    function(x.data(), sums.data(), rows, weights, c.data());
    return c;
  };
  const auto weight = [&](int64_t j, int64_t i) {
    const int64_t block = j / 16 * kBlocks + i / 32, lane = j % 16, column = i % 32;
    const float by = scale.data()[block * 16 + lane];
    if (!nibbles) return by * static_cast<int8_t>(q[block * 512 + column * 16 + lane]);
    const uint8_t pair = q[block * 256 + column % 16 / 4 * 64 + lane * 4 + column % 4];
    return by * static_cast<float>(column < 16 ? pair & 15 : pair >> 4) +
           float{minimum.data()[block * 16 + lane]};
  };
  const std::vector<float> all = run(Versions<PackedProduct<SingleNumbers, nibbles>>::Baseline, 9);
  for (int64_t i = 0; i < kMost * n; ++i) {
    double sum = 0;
    for (int64_t l = 0; l < k; ++l) sum += double{x[i / n * k + l]} * double{weight(i % n, l)};
    CHECK(all[i] == Approx(sum).epsilon(1e-4).margin(0.05));
  }
  for (int64_t rows = 1; rows <= kMost; ++rows) {
    std::vector<float> expected(all.begin(), all.begin() + rows * n);
    expected.push_back(0.5f);
    if (HasAvx2()) {
      CHECK(run(Versions<PackedProduct<Avx2Numbers, nibbles>>::Avx2, rows) == expected);
    }
    if (HasAvx512()) {
      CHECK(run(Versions<PackedProduct<Avx512Numbers, nibbles>>::Avx512, rows) == expected);
    }
  }
}
TEST_CASE("every version of a product by packed weights gives the same bits") {
  CheckPackedProduct<false>();
  CheckPackedProduct<true>();
}

// Computes two blocks of a product, the second of which ends it. `depth` is that of the whole.
template <typename T, typename R>
void CheckBlockProduct(int64_t depth, bool transpose_b) {
  constexpr int64_t kRows = 11, kWidth = 101;
  const std::vector<float> a = Elements<float>(kRows * depth, 7);
  const std::vector<T> b = Elements<T>(depth * kWidth, 0);
  const int64_t b_row = transpose_b ? 1 : kWidth, b_column = transpose_b ? depth : 1;
  Workspace<float> panel(kPanelElements);
  for (int64_t columns : {1, 15, 16, 17, 31, 32, 33, 64, 95, 100}) {
    const int64_t read = transpose_b ? columns * depth : (depth - 1) * kWidth + columns;
    const LastOfPage<T> last({b.begin(), b.begin() + read});
    const auto run = [&](BlockProductFunction<T, R> function, int64_t a_row, int64_t a_step) {
      std::vector<float> sums(SumElements(kRows, columns));
      std::vector<R> c(kRows * kWidth, R(0.5f));
      for (int64_t first : {int64_t{0}, kMostDepth}) {
        const bool ends = first != 0;
        function({.a = a.data() + first * a_step,
                  .a_row = a_row,
                  .a_step = a_step,
                  .b = last.data() + first * b_row,
                  .b_width = transpose_b ? depth : kWidth,
                  .transpose_b = transpose_b,
                  .m = kRows,
                  .n = columns,
                  .k = ends ? depth - first : kMostDepth,
                  .first = !ends,
                  .last = ends,
                  .panel = panel.data(),
                  .sums = sums.data(),
                  .c = c.data(),
                  .c_width = kWidth});
      }
      return c;
    };
    for (const auto& [a_row, a_step] : {std::pair{depth, int64_t{1}}, {int64_t{1}, kRows}}) {
      int64_t wrong = 0;
      const auto check = [&](const std::vector<R>& c) {
        for (int64_t i = 0; i < kRows * kWidth; ++i) {
          const int64_t column = i % kWidth;
          float sum = 0, before = 0;  // those of f32 are made block by block
          for (int64_t l = 0; l < depth && column < columns; ++l) {
            if (l == kMostDepth && std::is_same_v<R, float>) std::swap(sum, before);
            const float factor = b[l * b_row + column * b_column];
            sum = Fma(a[i / kWidth * a_row + l * a_step], factor, sum);
          }
          const R expected(column < columns ? sum + before : 0.5f);
          wrong += std::memcmp(&c[i], &expected, sizeof(R)) != 0;
        }
      };
      check(run(Versions<BlockProduct<Single<T>, T, R>>::Baseline, a_row, a_step));
      if (HasAvx2()) check(run(Versions<BlockProduct<Avx2Halves, T, R>>::Avx2, a_row, a_step));
      if (HasAvx512()) {
        check(run(Versions<BlockProduct<Avx512Halves, T, R>>::Avx512, a_row, a_step));
      }
      CHECK(wrong == 0);
    }
  }
}
TEST_CASE("every version of a block's product sums in the order of the terms") {
  for (const bool transpose_b : {false, true}) {
    for (const int64_t depth : {kMostDepth + 9, kMostDepth + 64, 2 * kMostDepth}) {
      CheckBlockProduct<F16, F16>(depth, transpose_b);
      CheckBlockProduct<BF16, BF16>(depth, transpose_b);
      CheckBlockProduct<F16, float>(depth, transpose_b);
      CheckBlockProduct<BF16, float>(depth, transpose_b);
    }
  }
}

// Multiplies tiles of every number of rows that the loop takes together, and adds to them.
template <typename C>
void CheckTileProduct() {
  constexpr int64_t kDepth = 37, kColumns = 2 * kPanelColumns<C>;
  for (int64_t rows : {1, 2, 3, 5, 6, 7, 13}) {
    const std::vector<C> a = Elements<C>(rows * kDepth, 7), b = Elements<C>(kDepth * kColumns, 0);
    for (const bool add : {false, true}) {
      for (const auto& [a_row, a_step] : {std::pair{kDepth, int64_t{1}}, {int64_t{1}, rows}}) {
        std::vector<C> expected(rows * kColumns);
        for (int64_t i = 0; i < rows * kColumns; ++i) {
          C sum = add ? C(0.5) : C(0);
          for (int64_t l = 0; l < kDepth; ++l) {
            sum = Fma(a[i / kColumns * a_row + l * a_step], b[l * kColumns + i % kColumns], sum);
          }
          expected[i] = sum;
        }
        const auto run = [&, a_row = a_row, a_step = a_step](auto function) {
          std::vector<C> c(rows * kColumns, C(0.5));
          function({a.data(), a_row, a_step, b.data(), kColumns, c.data(), kColumns, rows,
                    kColumns, kDepth, add});
          return c;
        };
        CHECK(run(Versions<TileProductLoop<16, C>>::Baseline) == expected);
        if (HasAvx2()) CHECK(run(Versions<TileProductLoop<32, C>>::Avx2) == expected);
        if (HasAvx512()) CHECK(run(Versions<TileProductLoop<64, C>>::Avx512) == expected);
      }
    }
  }
}

// Makes scores, probabilities of them and gradients, of keys and elements at the seams of vectors.
template <typename C>
void CheckTiles() {
  constexpr int64_t kQueries = 3, kWidth = 40;
  for (int64_t length : {1, 7, 8, 16, 33}) {
    for (int64_t keys : {int64_t{1}, int64_t{4}, int64_t{66}, kTileKeys}) {
      const std::vector<C> q = Elements<C>(kQueries * length, 7), k = Elements<C>(keys * length, 0);
      const auto run = [&](auto dots, auto transpose, auto softmax, auto gradient) {
        std::vector<C> scores(kQueries * kTileKeys, C(0)), turned(length * kTileKeys, C(1));
        dots(q.data(), kQueries, k.data(), keys, length, scores.data());
        for (C& score : scores) score /= C(100);
        transpose(k.data(), length, keys, length, turned.data());
        std::vector<C> made(kQueries * kWidth, C(0.5)), gradients = scores, first = scores;
        const int64_t visible[kQueries] = {keys, keys / 2, 0};
        RunningRow<C> running[kQueries] = {{C(-3), 2}, kNoScores<C>, kNoScores<C>};
        softmax(scores.data(), kQueries, keys, visible, running, made.data(), kWidth);
        const C shift[kQueries] = {C(0.5), C(-1), C(0)};
        RunningRow<C> sums[kQueries] = {running[0], running[1], {C(0), 1}};
        gradient(first.data(), gradients.data(), kQueries, keys, visible, sums, shift, keys == 4);
        for (const std::vector<C>* more : {&turned, &made, &first, &gradients}) {
          scores.insert(scores.end(), more->begin(), more->end());
        }
        for (const RunningRow<C>& row : running) {
          scores.push_back(row.most);
          scores.push_back(static_cast<C>(row.sum));
        }
        return scores;
      };
      const std::vector<C> expected =
          run(Versions<TileDots<C>>::Baseline, Versions<TransposeTile<C>>::Baseline,
              Versions<TileSoftmax<C>>::Baseline, Versions<TileSoftmaxGrad<C>>::Baseline);
      if (HasAvx2()) {
        CHECK(Different(run(Versions<TileDots<C>>::Avx2, Versions<TransposeTile<C>>::Avx2,
                            Versions<TileSoftmax<C>>::Avx2, Versions<TileSoftmaxGrad<C>>::Avx2),
                        expected) == 0);
      }
      if (HasAvx512()) {
        CHECK(Different(run(Versions<TileDots<C>>::Avx512, Versions<TransposeTile<C>>::Avx512,
                            Versions<TileSoftmax<C>>::Avx512, Versions<TileSoftmaxGrad<C>>::Avx512),
                        expected) == 0);
      }
    }
  }
}
TEST_CASE("every version of attention's loops gives the same bits") {
  CheckTileProduct<float>();
  CheckTileProduct<double>();
  CheckTiles<float>();
  CheckTiles<double>();
}

template <template <typename> typename Taking, typename C>
void CheckReduction() {
  using Row = RowLoop<Taking<C>, C>;
  using Columns = ColumnsLoop<Taking<C>, C>;
  using A = typename Taking<C>::Accumulator;
  constexpr int64_t kStride = 77;
  std::vector<C> x = Samples<C>(0);
  if (Taking<C>::kRounds) {
    std::replace_if(x.begin(), x.end(), [](C value) { return !std::isfinite(value); }, C(1));
  }
  for (int64_t count : {1, 7, 8, 23, 31, 32, 100, 128, 1001}) {
    const auto run = [&](auto row, auto columns) {
      std::vector<A> results(kParts, Taking<C>::Start());
      for (int64_t i = 0; i + count <= kCount; i += 1009) {
        results.push_back(row(x.data() + i, count, results.data(), results.data()));
      }
      results.resize(results.size() + kStride, Taking<C>::Start());
      columns(x.data(), count % 50, kStride, kStride, results.data() + results.size() - kStride);
      return results;
    };
    const std::vector<A> expected = run(Versions<Row>::Baseline, Versions<Columns>::Baseline);
    if (!HasAvx2()) return;
    CHECK(Different(expected, run(Versions<Row>::Avx2, Versions<Columns>::Avx2)) == 0);
  }
}
TEST_CASE("every version of a reduction takes elements in in the same order") {
  CheckReduction<Adding, float>();
  CheckReduction<Adding, double>();
  CheckReduction<ChoosingGreatest, float>();
  CheckReduction<ChoosingLeast, double>();
  CheckReduction<Adding, int32_t>();
  CheckReduction<ChoosingGreatest, int32_t>();
}

template <typename C>
void CheckArgmax() {
  constexpr int64_t kRows = 77, kColumns = 131;
  const std::vector<C> x = Samples<C>(0);
  const auto run = [&](auto loop) {
    std::vector<C> most(x.begin(), x.begin() + kColumns);
    std::vector<int64_t> best(kColumns, 0);
    loop(x.data() + kColumns, 1, kRows, kColumns, kColumns, most.data(), best.data());
    return std::pair(most, best);
  };
  const auto expected = run(Versions<ArgmaxLoop<C>>::Baseline);
  const std::vector<int64_t>& found = expected.second;
  CHECK(std::any_of(found.begin(), found.end(), [](int64_t row) { return row > 0; }));
  if (!HasAvx2()) return;
  const auto got = run(Versions<ArgmaxLoop<C>>::Avx2);
  CHECK(Different(expected.first, got.first) == 0);
  CHECK(expected.second == got.second);
}
TEST_CASE("every version of argmax finds the same elements") {
  CheckArgmax<float>();
  CheckArgmax<double>();
  CheckArgmax<int32_t>();
  CheckArgmax<int64_t>();
}

#endif

}  // namespace
}  // namespace cgraph::device
