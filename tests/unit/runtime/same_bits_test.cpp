// The versions of an elementwise loop for different processors give the same bits: those of any
// processor against those for AVX2 and AVX-512, of every operation in f32 and f64, over numbers of
// every magnitude. (Compiled with the options of kernels.)
#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/device/kernels/elementwise/loop_templates.h"
#include "runtime/device/kernels/row_product.h"
#include "runtime/device/kernels/rows/lanes.h"

namespace cgraph::device {
namespace {

#if defined(__x86_64__)

constexpr int64_t kCount = 50'021;

// Bits of every kind, then numbers of which functions are neither 0 nor 1, then limits.
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

// Which differ; any NaN is like any other.
template <typename T>
int64_t Different(const std::vector<T>& a, const std::vector<T>& b) {
  int64_t different = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool both_nan = a[i] != a[i] && b[i] != b[i];
    different += !both_nan && std::memcmp(&a[i], &b[i], sizeof(T)) != 0;
  }
  return different;
}

template <typename Loop, typename T>
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
}

template <typename T>
void CheckAll() {
#define UNARY(name, operation, dtypes)                                                            \
  if constexpr (DTypes::dtypes != DTypes::kBool) {                                                \
    INFO(name);                                                                                   \
    CheckVersions<UnaryLoop<operation, T>, T>();                                                  \
    if constexpr (std::is_same_v<T, float>) CheckVersions<UnaryLoop<OnHalf<operation>, T>, T>();  \
  }
#define BINARY(name, operation, dtypes)                                                           \
  if constexpr (DTypes::dtypes != DTypes::kBool) {                                                \
    INFO(name);                                                                                   \
    CheckVersions<BinaryLoop<operation, T, T, Walking::kBoth>, T>();                              \
  }
#include "runtime/device/kernels/kernels.def"
}

TEST_CASE("every version of a loop gives the same bits, in f32") { CheckAll<float>(); }
TEST_CASE("every version of a loop gives the same bits, in f64") { CheckAll<double>(); }

// Of some thousand terms, in lengths at the seams of vectors.
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

// A row times a part of a matrix, against the sums one element after another.
template <typename T, typename Vectors2, typename Vectors512>
void CheckRowProduct() {
  using C = Compute<T>;
  constexpr int64_t kRows = 29, kWidth = 2100;
  std::vector<C> row(kRows);
  std::vector<T> matrix(kRows * kWidth);
  for (int64_t i = 0; i < kRows; ++i) row[i] = static_cast<C>(i * 5 % 7) - C(2.7);
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = T(static_cast<C>(i % 977) / C(100));
  for (int64_t columns : {1, 15, 16, 33, 2075}) {
    std::vector<C> expected(columns + 1, C(0.5));
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = 0; i < kRows; ++i) {
        expected[j] = Fma(row[i], static_cast<C>(matrix[i * kWidth + j]), expected[j]);
      }
    }
    const auto check = [&](RowProductFunction<T> function) {
      std::vector<C> sum(columns + 1, C(0.5));
      function(row.data(), matrix.data(), kWidth, kRows, columns, sum.data());
      CHECK(sum == expected);
    };
    if (HasAvx2()) check(Versions<RowProduct<Vectors2, T>>::Avx2);
    if (HasAvx512()) check(Versions<RowProduct<Vectors512, T>>::Avx512);
  }
}
TEST_CASE("every version of a row's product gives the same bits") {
  CheckRowProduct<float, PlainVectors<float, 32>, PlainVectors<float, 64>>();
  CheckRowProduct<double, PlainVectors<double, 32>, PlainVectors<double, 64>>();
  CheckRowProduct<F16, Avx2Halves, Avx512Halves>();
  CheckRowProduct<BF16, Avx2Halves, Avx512Halves>();
}

#endif

}  // namespace
}  // namespace cgraph::device
