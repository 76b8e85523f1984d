// CPU kernels except the elementwise ones, against values worked out here.
//
// Each is made for static operands and run once; the result is compared with plain arithmetic. Lies
// of a plan are refused when the kernel is made.
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "runtime/device/numbers/half.h"
#include "runtime/device/tensor.h"
#include "tests/support/kernel_calls.h"

namespace cgraph::device {

using namespace testing;

TEMPLATE_TEST_CASE("matmul", "[matmul]", int8_t, int32_t, int64_t, float, double) {
  struct Case { std::vector<int64_t> a, b, out; bool ta, tb; };
  const std::vector<Case> cases = {
      {{3, 4}, {4, 5}, {3, 5}, false, false},
      {{4, 3}, {4, 5}, {3, 5}, true, false},
      {{3, 4}, {5, 4}, {3, 5}, false, true},
      {{4, 3}, {5, 4}, {3, 5}, true, true},
      {{1, 64}, {64, 32}, {1, 32}, false, false},
      {{1, 19}, {19, 37}, {1, 37}, false, false},
      {{19, 1}, {19, 37}, {1, 37}, true, false},
      {{1, 19}, {37, 19}, {1, 37}, false, true},
      {{2, 1, 9}, {2, 9, 2}, {2, 1, 2}, false, false},
      {{2, 3, 4}, {4, 5}, {2, 3, 5}, false, false},
      {{2, 4, 3}, {4, 5}, {2, 3, 5}, true, false},
      {{3, 4}, {2, 4, 5}, {2, 3, 5}, false, false},
      {{2, 1, 3, 4}, {6, 4, 5}, {2, 6, 3, 5}, false, false},
      {{1, 3, 4}, {1, 4, 5}, {1, 3, 5}, false, false},
      {{5, 3, 4}, {1, 4, 5}, {5, 3, 5}, false, false},
      {{3, 0}, {0, 5}, {3, 5}, false, false},
      {{0, 4}, {4, 5}, {0, 5}, false, false},
  };
  for (const Case& c : cases) {
    Value a(kDTypeOf<TestType>, c.a), b(kDTypeOf<TestType>, c.b);
    a = Make(c.a, Sequence<TestType>(a.tensor.elements()));
    b = Make(c.b, Sequence<TestType>(b.tensor.elements(), -3));
    const Value got = Call("matmul", {&a, &b}, Value(kDTypeOf<TestType>, c.out),
                           {.ints = {{"transpose_a", c.ta}, {"transpose_b", c.tb}}});
    const int64_t m = c.out[c.out.size() - 2], n = c.out.back();
    const int64_t k = c.a[c.a.size() - (c.ta ? 2 : 1)];
    Tensor batch = got.tensor, a_batch = a.tensor, b_batch = b.tensor;
    for (Tensor* t : {&batch, &a_batch, &b_batch}) t->rank = static_cast<uint8_t>(t->rank - 2);
    for (int64_t i = 0; i < got.tensor.elements(); ++i) {
      const int64_t matrix = i / (m * n), row = i / n % m, column = i % n;
      const TestType* x = a.tensor.as<TestType>() + BroadcastIndex(a_batch, batch, matrix) * m * k;
      const TestType* y = b.tensor.as<TestType>() + BroadcastIndex(b_batch, batch, matrix) * k * n;
      TestType sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum = static_cast<TestType>(sum + x[c.ta ? l * m + row : row * k + l] *
                                              y[c.tb ? column * k + l : l * n + column]);
      }
      CHECK(got.tensor.as<TestType>()[i] == sum);
    }
  }
}

// Checks products of -1, 0 and 1, whose sums are exact before they are rounded, beyond the sizes of
// blocks.
template <typename Half>
void CheckHalfMatmul(DType dtype, int64_t m, int64_t k, int64_t n, bool transpose_a,
                     bool transpose_b) {
  const auto make = [&](int64_t rows, int64_t columns, int64_t step, bool transposed) {
    Value value(dtype, transposed ? std::vector{columns, rows} : std::vector{rows, columns});
    for (int64_t i = 0; i < rows * columns; ++i) {
      value.tensor.as<Half>()[i] = Half(i * step % 1009 % 3 - 1);
    }
    return value;
  };
  const Value a = make(m, k, 5, transpose_a), b = make(k, n, 7, transpose_b);
  const Value got = Call("matmul", {&a, &b}, Value(dtype, {m, n}),
                         {.ints = {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}});
  int64_t wrong = 0;
  for (int64_t i = 0; i < m * n; ++i) {
    float sum = 0;
    for (int64_t l = 0; l < k; ++l) {
      const int64_t row = i / n, column = i % n;
      sum += a.tensor.as<Half>()[transpose_a ? l * m + row : row * k + l] *
             b.tensor.as<Half>()[transpose_b ? column * k + l : l * n + column];
    }
    wrong += got.tensor.as<Half>()[i].bits != Half(sum).bits;
  }
  INFO(m << " " << k << " " << n << " " << transpose_a << transpose_b);
  CHECK(wrong == 0);
}
TEST_CASE("matmul of f16 and bf16", "[matmul]") {
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{1, 200, 70}, {2, 3, 1}, {3, 129, 33},
                                {7, 300, 515}, {515, 150, 40}}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        CheckHalfMatmul<F16>(DType::f16, m, k, n, transpose_a, transpose_b);
        CheckHalfMatmul<BF16>(DType::bf16, m, k, n, transpose_a, transpose_b);
      }
    }
  }
}

TEST_CASE("matmul refuses what does not fit", "[matmul]") {
  const auto type = [](std::vector<int64_t> dims, DType dtype = DType::f32) {
    return TypeOf(Value(dtype, std::move(dims)).tensor);
  };
  const Attributes plain = {.ints = {{"transpose_a", 0}, {"transpose_b", 0}}};
  CHECK(TryMake("matmul", {type({3, 4}), type({4, 5})}, {type({3, 5})}, plain).ok());
  CHECK(!TryMake("matmul", {type({3, 4}), type({4, 5})}, {type({3, 5})}).ok());
  CHECK(!TryMake("matmul", {type({3, 4}), type({3, 5})}, {type({3, 5})}, plain).ok());
  CHECK(!TryMake("matmul", {type({3, 4}), type({4, 5})}, {type({5, 3})}, plain).ok());
  CHECK(!TryMake("matmul", {type({4}), type({4, 5})}, {type({5})}, plain).ok());
  CHECK(!TryMake("matmul", {type({2, 3, 4}), type({4, 5})}, {type({3, 5})}, plain).ok());
  CHECK(!TryMake("matmul", {type({3, 4}), type({4, 5}, DType::f64)}, {type({3, 5})}, plain).ok());
  CHECK(TryMake("matmul", {type({3, 4}), type({4, 5}, DType::f16)}, {type({3, 5})}, plain).ok());
  CHECK(!TryMake("matmul", {type({3, 4}, DType::f16), type({4, 5})}, {type({3, 5})}, plain).ok());
  CHECK(!TryMake("matmul", {type({3, 4}), type({4, 5}, DType::bf16)},
                 {type({3, 5}, DType::bf16)}, plain).ok());
  const auto half = TryMake("matmul", {type({3, 4}, DType::bool_), type({4, 5}, DType::bool_)},
                            {type({3, 5}, DType::bool_)}, plain);
  REQUIRE(!half.ok());
  CHECK(half.status().code() == StatusCode::kUnsupported);
  CHECK(half.status().message() == "kernel `matmul` has no CPU version for bool[3, 4], bool[4, 5]");
}

TEST_CASE("a norm's epsilon is a number", "[norm]") {
  const OperandType x = TypeOf(Value(DType::bf16, {3, 4}).tensor);
  CHECK(TryMake("rms_norm", {x}, {x}, {.floats = {{"epsilon", 1e-5}}}).ok());
  CHECK(!TryMake("rms_norm", {x}, {x}, {.floats = {{"epsilon", kNan}}}).ok());
}

TEST_CASE("extents of an execution", "[matmul]") {
  OperandType x = TypeOf(Value(DType::f32, {64, 4}).tensor), y = x;
  x.dynamic[0] = true;
  y.dims[1] = 3;
  y.dynamic[0] = true;
  const OperandType w = TypeOf(Value(DType::f32, {4, 3}).tensor);
  auto kernel = TryMake("matmul", {x, w}, {y}, {.ints = {{"transpose_a", 0}, {"transpose_b", 0}}});
  REQUIRE(kernel.ok());
  const Value a = Make<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Value b = Make<float>({4, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1});
  Value c(DType::f32, {2, 3});
  std::string error;
  const Tensor in[] = {a.tensor, b.tensor};
  CHECK((*kernel)->Run(in, {&c.tensor, 1}, nullptr, error));
  SameElements(c.Elements<float>(), {5, 6, 7, 13, 14, 15});
  // Extents that disagree, as only a plan with two symbols for one dimension can give them.
  c.tensor.dims[0] = 3;
  CHECK(!(*kernel)->Run(in, {&c.tensor, 1}, nullptr, error));
  CHECK(error == "the extents of the operands of matmul do not fit each other");
}

TEST_CASE("products by packed weights refuse what does not fit", "[matmul]") {
  const auto type = [](DType dtype, std::vector<int64_t> dims) {
    return TypeOf(Value(dtype, std::move(dims)).tensor);
  };
  const auto f32 = [&](std::vector<int64_t> dims) { return type(DType::f32, std::move(dims)); };
  const OperandType q = type(DType::i8, {2, 3, 32, 16}), scale = type(DType::f16, {2, 3, 16});
  const OperandType pairs = type(DType::u8, {2, 3, 4, 16, 4});
  CHECK(TryMake("matmul_q8_0", {f32({5, 96}), q, scale}, {f32({5, 32})}).ok());
  CHECK(TryMake("matmul_q4_1", {f32({96}), pairs, scale, scale}, {f32({32})}).ok());
  const auto wrong = TryMake("matmul_q8_0", {f32({5, 95}), q, scale}, {f32({5, 32})});
  CHECK(!wrong.ok());
  CHECK(wrong.status().message() == "kernel `matmul_q8_0`: f32[5, 95], i8[2, 3, 32, 16], "
                                    "f16[2, 3, 16] do not make f32[5, 32]");
  CHECK(!TryMake("matmul_q8_0", {f32({5, 96}), q, scale}, {f32({5, 31})}).ok());
  CHECK(!TryMake("matmul_q8_0", {f32({5, 96}), q, scale}, {f32({4, 32})}).ok());
  CHECK(!TryMake("matmul_q8_0", {f32({5, 96}), pairs, scale}, {f32({5, 32})}).ok());
  CHECK(!TryMake("matmul_q8_0", {f32({5, 96}), q, type(DType::f16, {2, 2, 16})},
                 {f32({5, 32})}).ok());
  CHECK(!TryMake("matmul_q8_0", {f32({5, 96}), q, type(DType::f32, {2, 3, 16})},
                 {f32({5, 32})}).ok());
  CHECK(!TryMake("matmul_q4_1", {f32({5, 96}), pairs, scale}, {f32({5, 32})}).ok());
  CHECK(!TryMake("matmul_q4_1", {f32({}), pairs, scale, scale}, {f32({})}).ok());
  OperandType bounded = q;
  bounded.dynamic[0] = true;
  CHECK(!TryMake("matmul_q8_0", {f32({5, 96}), bounded, scale}, {f32({5, 32})}).ok());
}

// The number of rows changes from call to call, and with it who multiplies.
TEST_CASE("a bounded number of rows of bf16", "[matmul]") {
  constexpr int64_t kMost = 70, kDepth = 130, kWidth = 65;
  for (const bool transpose_b : {false, true}) {
    const Value b = Value(DType::bf16, transpose_b ? std::vector<int64_t>{kWidth, kDepth}
                                                   : std::vector<int64_t>{kDepth, kWidth});
    const Value a = Value(DType::bf16, {kMost, kDepth}), c = Value(DType::bf16, {kMost, kWidth});
    for (int64_t i = 0; i < a.tensor.elements(); ++i) {
      a.tensor.as<BF16>()[i] = BF16(static_cast<float>(i * 7 % 31) * 0.1f - 1.5f);
    }
    for (int64_t i = 0; i < b.tensor.elements(); ++i) {
      b.tensor.as<BF16>()[i] = BF16(static_cast<float>(i * 5 % 23) * 0.1f - 1.1f);
    }
    OperandType x = TypeOf(a.tensor), y = TypeOf(c.tensor);
    x.dynamic[0] = y.dynamic[0] = true;
    auto kernel = TryMake("matmul", {x, TypeOf(b.tensor)}, {y},
                          {.ints = {{"transpose_a", 0}, {"transpose_b", transpose_b}}});
    REQUIRE(kernel.ok());
    for (const int64_t m : {70, 1, 9, 9, 0, 33, 2, 70, 8}) {
      Tensor in[] = {a.tensor, b.tensor}, out = c.tensor;
      in[0].dims[0] = out.dims[0] = m;
      std::fill_n(c.tensor.as<BF16>(), kMost * kWidth, BF16(-77.0f));
      std::string error;
      REQUIRE((*kernel)->Run(in, {&out, 1}, nullptr, error));
      int64_t wrong = 0;
      for (int64_t i = 0; i < kMost * kWidth; ++i) {
        double sum = i < m * kWidth ? 0 : -77;
        for (int64_t l = 0; l < kDepth && i < m * kWidth; ++l) {
          const int64_t j = i % kWidth;
          sum += double{float{a.tensor.as<BF16>()[i / kWidth * kDepth + l]}} *
                 double{float{b.tensor.as<BF16>()[transpose_b ? j * kDepth + l : l * kWidth + j]}};
        }
        wrong += std::fabs(float{c.tensor.as<BF16>()[i]} - sum) > 0.01 * std::fabs(sum) + 0.02;
      }
      INFO("m = " << m);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("reductions of all elements", "[reduce]") {
  std::mt19937 random(1);
  for (const int64_t count : {0, 1, 5, 8, 100, 129, 1000, 100'003}) {
    std::vector<float> xs(static_cast<size_t>(count));
    for (float& x : xs) x = std::uniform_real_distribution<float>(-1, 2)(random);
    const Value x = Make({count}, xs);
    const double sum = std::accumulate(xs.begin(), xs.end(), 0.0);
    CHECK(Call("sum", {&x}, Value(DType::f32, {})).Elements<float>()[0] ==
          Approx(sum).epsilon(1e-6));
    const float mean = Call("mean", {&x}, Value(DType::f32, {})).Elements<float>()[0];
    if (count == 0) CHECK(mean != mean);
    else CHECK(mean == Approx(sum / static_cast<double>(count)).epsilon(1e-6));
    const float most = xs.empty() ? -INFINITY : *std::max_element(xs.begin(), xs.end());
    CHECK(Call("max", {&x}, Value(DType::f32, {})).Elements<float>()[0] == most);
  }
  const Value ints = Make<int64_t>({2, 3}, {1, -2, 3, -4, 5, -60});
  CHECK(Call("sum", {&ints}, Value(DType::i64, {})).Elements<int64_t>()[0] == -57);
  CHECK(Call("max", {&ints}, Value(DType::i64, {})).Elements<int64_t>()[0] == 5);
  std::vector<float> with_nan(37, 1);
  with_nan[20] = NAN;
  const Value x = Make({37}, with_nan);
  CHECK(std::isnan(Call("max", {&x}, Value(DType::f32, {})).Elements<float>()[0]));
}

TEST_CASE("reductions over one dimension", "[reduce]") {
  const std::vector<int64_t> dims = {3, 4, 70};
  const Value x = Make(dims, Sequence<float>(3 * 4 * 70));
  for (int dim = 0; dim < 3; ++dim) {
    std::vector<int64_t> rest = dims;
    rest.erase(rest.begin() + dim);
    const Attributes over = {.ints = {{"dim", dim}}};
    const auto sum = Call("sum_dim", {&x}, Value(DType::f32, rest), over).Elements<float>();
    const auto mean = Call("mean_dim", {&x}, Value(DType::f32, rest), over).Elements<float>();
    const auto most = Call("max_dim", {&x}, Value(DType::f32, rest), over).Elements<float>();
    const auto where = Call("argmax", {&x}, Value(DType::i64, rest), over).Elements<int64_t>();
    int64_t inner = 1;
    for (int i = dim + 1; i < 3; ++i) inner *= dims[static_cast<size_t>(i)];
    const int64_t along = dims[static_cast<size_t>(dim)];
    for (size_t i = 0; i < sum.size(); ++i) {
      const int64_t first =
          static_cast<int64_t>(i) / inner * along * inner + static_cast<int64_t>(i) % inner;
      double total = 0;
      int64_t best = 0;
      for (int64_t j = 0; j < along; ++j) {
        const float value = x.tensor.as<float>()[first + j * inner];
        total += value;
        if (value > x.tensor.as<float>()[first + best * inner]) best = j;
      }
      CHECK(sum[i] == Approx(total));
      CHECK(mean[i] == Approx(total / static_cast<double>(along)).margin(1e-6));
      CHECK(most[i] == x.tensor.as<float>()[first + best * inner]);
      CHECK(where[i] == best);
    }
  }
}

namespace {

int64_t Product(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// Reduces a tensor of small whole numbers, whose sums are exact, that begins `offset` elements
// behind an aligned address; NaN is where `nan` says, if the elements can be.
template <typename T>
void CheckReductions(DType dtype, const std::vector<int64_t>& dims, int dim, int64_t offset,
                     int64_t nan) {
  Value memory(dtype, {Product(dims) + offset});
  Tensor x = memory.tensor;
  x.data = x.as<T>() + offset;
  x.rank = static_cast<uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), x.dims);
  for (int64_t i = 0; i < x.elements(); ++i) x.as<T>()[i] = T(i * 7919 % 1009 % 13 - 6);
  if (nan >= 0 && kIsFloat<T>) x.as<T>()[nan % x.elements()] = T(std::nan(""));

  std::vector<int64_t> rest = dims;
  rest.erase(rest.begin() + dim);
  const int64_t along = dims[dim], inner = Product({dims.begin() + dim + 1, dims.end()});
  const auto reduced = [&](const char* name, DType to) {
    Value y(to, rest);
    auto kernel = TryMake(name, {TypeOf(x)}, {TypeOf(y.tensor)}, {.ints = {{"dim", dim}}});
    REQUIRE(kernel.ok());
    std::string error;
    REQUIRE((*kernel)->Run({&x, 1}, {&y.tensor, 1}, nullptr, error));
    return y;
  };
  const Value sum = reduced("sum_dim", dtype), most = reduced("max_dim", dtype),
              least = reduced("min_dim", dtype), where = reduced("argmax", DType::i64);
  const auto same = [](T a, T b) { return a == b || (a != a && b != b); };
  int64_t wrong = 0;
  for (int64_t i = 0; i < sum.tensor.elements(); ++i) {
    const T* column = x.as<T>() + i / inner * along * inner + i % inner;
    Compute<T> greatest = column[0], smallest = column[0];
    double total = 0;
    int64_t best = 0;
    for (int64_t j = 0; j < along; ++j) {
      const Compute<T> value = column[j * inner];
      total += static_cast<double>(value);
      if (value > greatest || (value != value && greatest == greatest)) greatest = value, best = j;
      if (value < smallest || value != value) smallest = value;
    }
    // Integers wrap around.
    const T expected = kIsFloat<T> ? T(total) : static_cast<T>(static_cast<int64_t>(total));
    wrong += !same(sum.tensor.as<T>()[i], expected) || !same(most.tensor.as<T>()[i], T(greatest)) ||
             !same(least.tensor.as<T>()[i], T(smallest)) || where.tensor.as<int64_t>()[i] != best;
  }
  INFO(plan::DTypeName(dtype) << ", " << along << " along, " << inner << " inner");
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("reductions of rows and columns of any length, at any address", "[reduce]") {
  const auto check = [](auto zero, DType dtype) {
    using T = decltype(zero);
    // Around the lanes, the blocks of sums and the tiles of f16 and bf16, and their multiples.
    for (const int64_t count :
         {1, 7, 8, 9, 31, 32, 33, 127, 129, 255, 257, 1023, 1024, 1025, 2049, 2085}) {
      for (const int64_t nan : {int64_t{-1}, count - 1, count / 2}) {
        CheckReductions<T>(dtype, {count}, 0, 1, nan);
        CheckReductions<T>(dtype, {3, count}, 1, 3, nan);
        CheckReductions<T>(dtype, {7, count}, 0, 1, nan);
        CheckReductions<T>(dtype, {count, 3}, 0, 1, nan);
      }
    }
    CheckReductions<T>(dtype, {2, 9, 600}, 1, 1, 700);
  };
  check(F16{}, DType::f16);
  check(BF16{}, DType::bf16);
  check(float{}, DType::f32);
  check(double{}, DType::f64);
  check(int8_t{}, DType::i8);
  check(uint8_t{}, DType::u8);
  check(int32_t{}, DType::i32);
  check(int64_t{}, DType::i64);
}

TEST_CASE("of extremes that are equal the first stays in short rows and in columns", "[reduce]") {
  const Value x = Make<float>({2, 4}, {-1, 0.0f, -0.0f, -2, 0.0f, -0.0f, 0.0f, -1});
  const auto sign = [&](const char* name, int dim, std::vector<int64_t> rest) {
    std::vector<bool> negative;
    for (float y :
         Call(name, {&x}, Value(DType::f32, rest), {.ints = {{"dim", dim}}}).Elements<float>()) {
      negative.push_back(std::signbit(y));
    }
    return negative;
  };
  CHECK(sign("max_dim", 1, {2}) == std::vector{false, false});
  CHECK(sign("max_dim", 0, {4}) == std::vector{false, false, true, true});
  CHECK(sign("min_dim", 0, {4}) == std::vector{true, false, true, true});
}

TEST_CASE("argmax is the first maximum, or the first NaN", "[reduce]") {
  const Value x = Make<float>({3, 4}, {1, 5, 5, 2, NAN, 9, NAN, 1, 1, 2, NAN, 3});
  SameElements<int64_t>(Call("argmax", {&x}, Value(DType::i64, {3}), {.ints = {{"dim", 1}}})
                            .Elements<int64_t>(), {1, 0, 2});
  OperandType bounded = TypeOf(Value(DType::bf16, {3, 40}).tensor);
  bounded.dynamic[1] = true;
  Value where(DType::i64, {3});
  auto kernel = TryMake("argmax", {bounded}, {TypeOf(where.tensor)}, {.ints = {{"dim", 1}}});
  REQUIRE(kernel.ok());
  const Value none(DType::bf16, {3, 0});
  std::string error;
  REQUIRE((*kernel)->Run({&none.tensor, 1}, {&where.tensor, 1}, nullptr, error));
  SameElements<int64_t>(where.Elements<int64_t>(), {0, 0, 0});
  const Value bad = Make<float>({2, 0}, {});
  CHECK(!TryMake("argmax", {TypeOf(bad.tensor)}, {TypeOf(Value(DType::i64, {2}).tensor)},
                 {.ints = {{"dim", 1}}}).ok());
  CHECK(!TryMake("argmax", {TypeOf(x.tensor)}, {TypeOf(Value(DType::i64, {3}).tensor)},
                 {.ints = {{"dim", 2}}}).ok());
}

TEST_CASE("softmax", "[reduce]") {
  const Value x = Make<float>({2, 3}, {1, 2, 3, 1000, 1000, -1000});
  const auto got =
      Call("softmax", {&x}, Value(DType::f32, {2, 3}), {.ints = {{"dim", -1}}}).Elements<float>();
  const double total = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  for (int i = 0; i < 3; ++i)
    CHECK(got[static_cast<size_t>(i)] == Approx(std::exp(i + 1.0) / total));
  CHECK(got[3] == Approx(0.5));
  CHECK(got[5] == 0);
}

TEST_CASE("copies, casts, stacks", "[move]") {
  const Value x = Make<double>({7}, {1.9, -1.9, 300, -300, kNan, kInf, 0});
  SameElements<int8_t>(Call("cast", {&x}, Value(DType::i8, {7})).Elements<int8_t>(),
                       {1, -1, 127, -128, 0, 127, 0});
  SameElements<uint8_t>(Call("cast", {&x}, Value(DType::u8, {7})).Elements<uint8_t>(),
                        {1, 0, 255, 0, 0, 255, 0});
  SameElements<bool>(Call("cast", {&x}, Value(DType::bool_, {7})).Elements<bool>(),
                     {true, true, true, true, true, true, false});
  const int64_t max = std::numeric_limits<int64_t>::max();
  SameElements<int64_t>(Call("cast", {&x}, Value(DType::i64, {7})).Elements<int64_t>(),
                        {1, -1, 300, -300, 0, max, 0});
  const Value ints = Make<int64_t>({3}, {-1, 256, max});
  SameElements<uint8_t>(Call("cast", {&ints}, Value(DType::u8, {3})).Elements<uint8_t>(),
                        {255, 0, 255});
  SameElements<double>(Call("copy", {&x}, Value(DType::f64, {7})).Elements<double>(),
                       x.Elements<double>());
  const Value a = Make<int32_t>({2}, {1, 2}), b = Make<int32_t>({2}, {3, 4});
  SameElements<int32_t>(Call("stack", {&a, &b, &a}, Value(DType::i32, {3, 2})).Elements<int32_t>(),
                        {1, 2, 3, 4, 1, 2});
  CHECK(!TryMake("stack", {TypeOf(a.tensor)}, {TypeOf(Value(DType::i32, {2, 2}).tensor)}).ok());
}

TEST_CASE("slice and update", "[move]") {
  const Value x = Make({2, 5, 3}, Sequence<int64_t>(30));
  const auto slice = [&](int64_t from, int64_t length, int64_t extent, std::string& error) {
    const Value at = Make<int64_t>({}, {from}), count = Make<int64_t>({}, {length});
    Value out(DType::i64, {2, extent, 3});
    const bool done = Run("slice", {&x, &at, &count}, &out, {.ints = {{"dim", 1}}}, error);
    for (int64_t i = 0; done && i < out.tensor.elements(); ++i) {
      const int64_t o = i / (extent * 3), row = i / 3 % extent, column = i % 3;
      CHECK(out.tensor.as<int64_t>()[i] ==
            x.tensor.as<int64_t>()[(o * 5 + from + row) * 3 + column]);
    }
    return done;
  };
  std::string error;
  CHECK(slice(1, 3, 3, error));
  CHECK(slice(5, 0, 0, error));
  CHECK(slice(0, 5, 5, error));
  CHECK(!slice(3, 3, 3, error));
  CHECK(error == "slice of 3 elements from 3 on, of a dimension of 5");
  CHECK(!slice(-1, 3, 3, error));
  CHECK(!slice(std::numeric_limits<int64_t>::max(), 3, 3, error));
  CHECK(!slice(0, std::numeric_limits<int64_t>::max(), 3, error));
  CHECK(!slice(0, 2, 3, error));

  Value into = Make<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Value part = Make<float>({2}, {8, 9});
  for (const int64_t at : {0, 1, 2}) {
    const Value row = Make<int64_t>({}, {at});
    std::vector<float> expected = {1, 2, 3, 4, 5, 6};
    expected[static_cast<size_t>(2 * at)] = 8;
    expected[static_cast<size_t>(2 * at + 1)] = 9;
    SameElements(
        Call("update_row", {&into, &part, &row}, Value(DType::f32, {3, 2})).Elements<float>(),
        expected);
  }
  const Value row = Make<int64_t>({}, {3});
  Value out(DType::f32, {3, 2});
  CHECK(!Run("update_row", {&into, &part, &row}, &out, {}, error));
  CHECK(error == "update of row 3, of 3 rows");
}

TEST_CASE("look says what another op would", "[look]") {
  const auto sizes = [](const char* op, std::vector<int64_t> extents,
                        std::vector<int64_t> lengths) {
    return Attributes{.texts = {{"op", op}},
                      .lists = {{"extents", std::move(extents)}, {"lengths", std::move(lengths)}}};
  };
  std::string error;
  const auto look = [&](const Attributes& attributes, const std::vector<int64_t>& numbers) {
    std::vector<Value> values;
    for (int64_t number : numbers) values.push_back(Make<int64_t>({}, {number}));
    std::vector<const Value*> operands;
    for (const Value& value : values) operands.push_back(&value);
    error.clear();
    return Run("look", operands, nullptr, attributes, error);
  };
  CHECK(look(sizes("slice", {5}, {}), {2, 3}));
  CHECK(!look(sizes("slice", {5}, {}), {3, 3}));
  CHECK(error == "slice of 3 elements from 3 on, of a dimension of 5");
  CHECK(!look(sizes("slice", {5}, {}), {0, -1}));
  CHECK(look(sizes("update_row", {3}, {}), {2}));
  CHECK(!look(sizes("update_row", {3}, {}), {3}));
  CHECK(error == "update of row 3, of 3 rows");
  CHECK(look(sizes("update", {3, 4}, {1, 2}), {2, 2}));
  CHECK(!look(sizes("update", {3, 4}, {1, 2}), {2, 3}));
  CHECK(error == "update of 2 elements from 3 on, of a dimension of 4");
  CHECK(look(sizes("update", {3, 4}, {1, -1}), {2, 2, 2}));
  CHECK(!look(sizes("update", {3, 4}, {-1, -1}), {2, 2, 1, 3}));
  CHECK(error == "update of 3 elements from 2 on, of a dimension of 4");
  CHECK(look(sizes("update", {}, {}), {}));
  CHECK(look(sizes("attention", {5}, {2}), {5}));
  CHECK(!look(sizes("attention", {5}, {2}), {1}));
  CHECK(error == "attention: length is 1, and must be 2 to 5, the queries to the rows of k");
  CHECK(look(sizes("attention", {5}, {-1}), {5, 4}));
  CHECK(!look(sizes("attention", {5}, {-1}), {3, 4}));
  CHECK(error == "attention: length is 3, and must be 4 to 5, the queries to the rows of k");
  CHECK(!look(sizes("attention", {5}, {0}), {6}));
  CHECK(error == "attention: length is 6, and must be 0 to 5, the rows of k");

  const OperandType number = TypeOf(Value(DType::i64, {}).tensor);
  const auto makes = [&](std::vector<OperandType> operands, const Attributes& attributes,
                         std::vector<OperandType> results = {}) {
    return TryMake("look", std::move(operands), std::move(results), attributes).ok();
  };
  CHECK(makes({number, number}, sizes("slice", {5}, {})));
  CHECK(!makes({number}, sizes("slice", {5}, {})));
  CHECK(!makes({number, number}, sizes("slice", {5, 5}, {})));
  CHECK(!makes({number, number}, sizes("slice", {}, {})));
  CHECK(!makes({number, number}, sizes("slice", {5}, {1})));
  CHECK(!makes({}, sizes("update_row", {}, {})));
  CHECK(!makes({number}, sizes("update", {3, 4}, {1})));
  CHECK(!makes({number}, sizes("update", {3, 4}, {1, 2})));
  CHECK(makes({TypeOf(Value(DType::i64, {4}).tensor)}, sizes("attention", {5}, {0})));
  CHECK(!makes({TypeOf(Value(DType::i32, {}).tensor)}, sizes("attention", {5}, {0})));
  CHECK(!makes({number, number}, sizes("attention", {5}, {0})));
  CHECK(makes({number, number}, sizes("attention", {5}, {-1})));
  CHECK(!makes({number}, sizes("attention", {5}, {-1})));
  CHECK(!makes({number, TypeOf(Value(DType::i64, {4}).tensor)}, sizes("attention", {5}, {-1})));
  CHECK(!makes({number, number}, sizes("update", {3, 4}, {1, -1})));
  CHECK(!makes({number}, sizes("attention", {5}, {})));
  CHECK(!makes({number}, sizes("relu", {3}, {})));
  CHECK(!makes({number}, {.lists = {{"extents", {3}}, {"lengths", {}}}}));
  CHECK(!makes({number}, {.texts = {{"op", "update_row"}}}));
  CHECK(!makes({number}, sizes("update_row", {3}, {}), {number}));
  CHECK(!makes({TypeOf(Value(DType::i32, {}).tensor)}, sizes("update_row", {3}, {})));
  CHECK(!makes({TypeOf(Value(DType::i64, {1}).tensor)}, sizes("update_row", {3}, {})));
}

TEST_CASE("making tensors", "[create]") {
  SameElements<float>(Call("zeros", {}, Value(DType::f32, {3})).Elements<float>(), {0, 0, 0});
  SameElements<bool>(Call("zeros", {}, Value(DType::bool_, {2})).Elements<bool>(), {false, false});
  SameElements<int8_t>(Call("ones", {}, Value(DType::i8, {2})).Elements<int8_t>(), {1, 1});
  const Attributes half = {.floats = {{"value", 0.5}}}, three = {.floats = {{"value", -3.0}}};
  SameElements<double>(Call("full", {}, Value(DType::f64, {2}), half).Elements<double>(),
                       {0.5, 0.5});
  SameElements<int32_t>(Call("full", {}, Value(DType::i32, {2}), three).Elements<int32_t>(),
                        {-3, -3});
  CHECK(!TryMake("full", {}, {TypeOf(Value(DType::i32, {2}).tensor)}, half).ok());
  CHECK(!TryMake("full", {}, {TypeOf(Value(DType::u8, {2}).tensor)}, three).ok());
  SameElements<int64_t>(Call("iota", {}, Value(DType::i64, {2, 3})).Elements<int64_t>(),
                        {0, 1, 2, 3, 4, 5});
}

// The bits that tests/reference/normal.py gives.
TEST_CASE("normal is the same everywhere", "[create]") {
  const auto normal = [](int64_t seed, int64_t count) {
    return Call("normal", {}, Value(DType::f64, {count}), {.ints = {{"seed", seed}}})
        .Elements<double>();
  };
  SameElements(normal(7, 4), {0x1.2cb6377a80d3fp-1, 0x1.89c03ab5f0985p-2, 0x1.fc3c1523a25c0p-4,
                              0x1.0eaae8d7147b5p-2});
  SameElements(normal(-1, 2), {-0x1.5e06d20454797p-2, 0x1.4aaa251d6864cp-1});
  const std::vector<double> many = normal(7, 100'000);
  CHECK(many[94019] == 0x1.2d719f3b2f836p+2);  // out in the tail
  const double mean = std::accumulate(many.begin(), many.end(), 0.0) / 1e5;
  double variance = 0;
  for (const double x : many) variance += (x - mean) * (x - mean) / 1e5;
  CHECK(mean == Approx(0).margin(0.01));
  CHECK(variance == Approx(1).epsilon(0.02));
  const auto single = Call("normal", {}, Value(DType::f32, {1}), {.ints = {{"seed", 7}}});
  CHECK(single.Elements<float>()[0] == 0x1.2cb638p-1f);
}

TEST_CASE("check and sleep", "[debug]") {
  const Value yes = Make<bool>({}, {true}), no = Make<bool>({}, {false});
  std::string error;
  const Attributes message = {.texts = {{"message", "x equals y"}}};
  CHECK(Run("check", {&yes}, nullptr, message, error));
  CHECK(!Run("check", {&no}, nullptr, message, error));
  CHECK(error == "x equals y");
  const auto start = std::chrono::steady_clock::now();
  const Value ms = Make<int64_t>({}, {20}), none = Make<int64_t>({}, {-5});
  CHECK(Run("sleep", {&ms}, nullptr, {}, error));
  CHECK(Run("sleep", {&none}, nullptr, {}, error));
  const auto slept = std::chrono::steady_clock::now() - start;
  CHECK(slept >= std::chrono::milliseconds(20));
  CHECK(slept < std::chrono::seconds(5));
}

TEST_CASE("attention refuses what does not fit", "[attention]") {
  const Attributes attributes = {.ints = {{"causal", 0}}, .floats = {{"scale", 1}}};
  const auto type = [](std::vector<int64_t> dims, DType dtype = DType::f32) {
    return TypeOf(Value(dtype, std::move(dims)).tensor);
  };
  const OperandType q = type({2, 4, 3, 8}), k = type({2, 2, 5, 8}), v = type({2, 2, 5, 6}),
                    y = type({2, 4, 3, 6}), length = type({2}, DType::i64);
  const auto makes = [&](std::vector<OperandType> in, const OperandType& out,
                         const char* kernel = "attention") {
    return TryMake(kernel, std::move(in), {out}, attributes).ok();
  };
  CHECK(makes({q, k, v}, y));
  CHECK(makes({q, k, v, length}, y, "attention_prefix"));
  CHECK(makes({q, k, v, type({}, DType::i64)}, y, "attention_prefix"));
  CHECK(makes({q, k, v, type({1}, DType::i64)}, y, "attention_prefix"));
  CHECK(makes({q, type({2, 2, 5, 8}, DType::f16), type({2, 2, 5, 6}, DType::f16)}, y));
  CHECK(!makes({q, k}, y));
  CHECK(!makes({q, k, v, length}, y));
  CHECK(!makes({q, k, v}, y, "attention_prefix"));
  CHECK(!makes({q, k, v, type({2}, DType::i32)}, y, "attention_prefix"));
  CHECK(!makes({q, k, v, type({3}, DType::i64)}, y, "attention_prefix"));
  CHECK(!makes({q, k, v, type({2, 2}, DType::i64)}, y, "attention_prefix"));
  // Heads that are no multiple, none at all, and other extents that differ.
  CHECK(!makes({q, type({2, 3, 5, 8}), type({2, 3, 5, 6})}, y));
  CHECK(!makes({q, type({2, 0, 5, 8}), type({2, 0, 5, 6})}, y));
  CHECK(!makes({q, type({2, 2, 5, 7}), v}, y));
  CHECK(!makes({q, k, type({2, 2, 4, 6})}, y));
  CHECK(!makes({q, k, type({2, 1, 5, 6})}, y));
  CHECK(!makes({q, type({1, 2, 5, 8}), type({1, 2, 5, 6})}, y));
  CHECK(!makes({q, k, v}, type({2, 4, 3, 8})));
  CHECK(!makes({q, k, v}, type({4, 3, 6})));
  CHECK(!makes({type({3, 8}), type({5, 8}), type({5, 6})}, type({3, 6})));
  CHECK(!makes({type({1, 3, 100'000}), type({1, 5, 100'000}), type({1, 5, 6})}, type({1, 3, 6})));
  // Dtypes: k and v alike, no longer than q's, and floats.
  CHECK(!makes({q, type({2, 2, 5, 8}, DType::f16), v}, y));
  CHECK(!makes({q, type({2, 2, 5, 8}, DType::f64), type({2, 2, 5, 6}, DType::f64)}, y));
  CHECK(!makes({q, type({2, 2, 5, 8}, DType::i8), type({2, 2, 5, 6}, DType::i8)}, y));
  CHECK(!makes({q, k, v}, type({2, 4, 3, 6}, DType::f64)));
  OperandType dynamic = q, result = y;
  dynamic.dynamic[1] = result.dynamic[1] = true;  // heads: as many as k has, or known
  CHECK(!makes({dynamic, k, v}, result));
  CHECK(!TryMake("attention", {q, k, v}, {y}, {.ints = {{"causal", 0}}}).ok());
  CHECK(!TryMake("attention", {q, k, v}, {y}, {.floats = {{"scale", 1}}}).ok());
  const auto grad = [&](std::vector<OperandType> in, std::vector<OperandType> out) {
    return TryMake("attention_grad", std::move(in), std::move(out), attributes).ok();
  };
  CHECK(grad({q, k, v, y, y}, {q, k, v}));
  CHECK(!grad({q, k, v, y, q}, {q, k, v}));
  CHECK(!grad({q, k, v, y}, {q, k, v}));
  CHECK(!grad({q, k, v, y, y}, {q, v, k}));
  CHECK(!grad({q, k, v, y, y}, {q, k}));
}

TEST_CASE("attention of extents that are nothing in an execution", "[attention]") {
  const Attributes attributes = {.ints = {{"causal", 1}}, .floats = {{"scale", 1}}};
  for (const int nothing : {0, 1, 2}) {  // batch, heads, or queries and keys
    std::vector<int64_t> dims = {2, 3, 4, 8};
    dims[static_cast<size_t>(nothing)] = 0;
    Value x(DType::f32, dims), out(DType::f32, dims), k_out(DType::f32, dims),
        v_out(DType::f32, dims);
    OperandType type = TypeOf(Value(DType::f32, {2, 3, 4, 8}).tensor);
    type.dynamic[nothing] = true;
    const Tensor tensors[] = {x.tensor, x.tensor, x.tensor, x.tensor, x.tensor};
    const Tensor results[] = {out.tensor, k_out.tensor, v_out.tensor};
    std::string error;
    auto kernel = TryMake("attention", {type, type, type}, {type}, attributes);
    REQUIRE(kernel.ok());
    CHECK((*kernel)->Run({tensors, 3}, {results, 1}, nullptr, error));
    kernel = TryMake("attention_grad", {type, type, type, type, type}, {type, type, type},
                     attributes);
    REQUIRE(kernel.ok());
    CHECK((*kernel)->Run({tensors, 5}, {results, 3}, nullptr, error));
  }
}

TEST_CASE("rope refuses what does not fit", "[attention]") {
  const auto type = [](std::vector<int64_t> dims, DType dtype = DType::f32) {
    return TypeOf(Value(dtype, std::move(dims)).tensor);
  };
  const auto makes = [&](const char* kernel, const OperandType& x, std::vector<OperandType> more,
                         const char* pairs = "halves") {
    more.insert(more.begin(), x);
    return TryMake(kernel, std::move(more), {x},
                   {.ints = {{"inverse", 0}}, .floats = {{"theta", 1e4}},
                    .texts = {{"pairs", pairs}}}).ok();
  };
  const OperandType x = type({2, 4, 3, 8}), at = type({}, DType::i64),
                    table = type({4}, DType::f64);
  CHECK(makes("rope", x, {at}));
  CHECK(makes("rope", x, {type({2}, DType::i64)}, "adjacent"));
  CHECK(makes("rope_by", x, {at, table}));
  CHECK(makes("rope_at", x, {type({3}, DType::i64)}));
  CHECK(makes("rope_at_by", x, {type({2, 3}, DType::i64), table}));
  CHECK(!makes("rope", x, {at}, "both"));
  CHECK(!makes("rope", x, {type({3}, DType::i64)}));
  CHECK(!makes("rope", x, {type({}, DType::i32)}));
  CHECK(!makes("rope", x, {at, table}));
  CHECK(!makes("rope_by", x, {at}));
  CHECK(!makes("rope_by", x, {at, type({4})}));
  CHECK(!makes("rope_by", x, {at, type({8}, DType::f64)}));
  CHECK(!makes("rope_at", x, {at}));
  CHECK(!makes("rope_at", x, {type({4}, DType::i64)}));
  CHECK(!makes("rope", type({2, 4, 3, 7}), {at}));
  CHECK(!makes("rope", type({3, 8}), {at}));
  CHECK(!makes("rope", type({2, 4, 3, 8}, DType::i64), {at}));
  CHECK(!makes("rope", type({2, 4, 3, 100'000}), {at}));
}

TEST_CASE("what plans may not say", "[make]") {
  const OperandType three = TypeOf(Value(DType::f32, {3}).tensor);
  const OperandType four = TypeOf(Value(DType::f32, {4}).tensor);
  const auto refused = [](const Result<std::unique_ptr<Kernel>>& made) {
    REQUIRE(!made.ok());
    return made.status().message();
  };
  CHECK(refused(TryMake("nothing", {three}, {three})) ==
        "there is no CPU kernel `nothing`; the ops of the library, std/*.cgraph, name all there "
        "are");
  CHECK(refused(TryMake("add", {three}, {three})) ==
        "kernel `add`: it takes 2 tensors and makes 1, and is given 1 and asked for 1");
  CHECK(refused(TryMake("add", {three, four}, {four})) ==
        "kernel `add`: f32[3] does not broadcast to f32[4]");
  CHECK(!TryMake("add", {three, three}, {TypeOf(Value(DType::f32, {2, 3}).tensor)}).ok());
  CHECK(!TryMake("copy", {three}, {four}).ok());
  OperandType dynamic = three, one = TypeOf(Value(DType::f32, {1}).tensor);
  dynamic.dynamic[0] = true;
  CHECK(!TryMake("add", {dynamic, three}, {dynamic}).ok());
  CHECK(TryMake("add", {dynamic, one}, {dynamic}).ok());
  CHECK(!TryMake("add", {one, one}, {dynamic}).ok());
  OperandType wrong = three;
  wrong.rank = 200;
  CHECK(!TryMake("copy", {wrong}, {wrong}).ok());
  wrong = three;
  wrong.dims[0] = -1;
  CHECK(!TryMake("copy", {wrong}, {wrong}).ok());
  wrong = three;
  wrong.dtype = static_cast<DType>(77);
  CHECK(!TryMake("copy", {wrong}, {wrong}).ok());
  plan::Kernel exchanged = Named("subtract", {});
  exchanged.body[0]->operands = {1, 0, 2};
  CHECK(!MakeCpuKernel(exchanged, std::vector{three, three}, std::vector{three}).ok());
  exchanged.body[0]->operands = {0, 1, 2};
  CHECK(MakeCpuKernel(exchanged, std::vector{three, three}, std::vector{three}).ok());
  plan::Kernel native = Named("copy", {});
  native.library = "libevil.so";
  CHECK(!MakeCpuKernel(native, std::vector{three}, std::vector{three}).ok());
  CHECK(!MakeCpuKernel(plan::Kernel(), std::vector{three}, std::vector{three}).ok());
}

TEST_CASE("tensors as text", "[format]") {
  CHECK(FormatTensor(Make<int64_t>({}, {7}).tensor) == "7");
  CHECK(FormatTensor(Make<float>({}, {0.1f}).tensor) == "0.1");
  CHECK(FormatTensor(Make<int64_t>({3}, {1, -20, 3}).tensor) == "[  1 -20   3]");
  CHECK(FormatTensor(Make<float>({2, 2}, {1, 0.5, -2, 1e-9}).tensor) ==
        "[[ 1.e+00  5.e-01]\n [-2.e+00  1.e-09]]");
  CHECK(FormatTensor(Make<bool>({2}, {true, false}).tensor) == "[ true false]");
  CHECK(FormatTensor(Make<float>({0, 3}, {}).tensor) == "[]");
  CHECK(TensorTypeText(Make<float>({0, 3}, {}).tensor) == "f32[0, 3]");
  const Value long_row = Make({2000}, Sequence<int32_t>(2000, 0));
  CHECK(FormatTensor(long_row.tensor) == "[ 0  3  6 ... 11 14 17]");
  Value half(DType::f16, {3});
  const uint16_t bits[] = {0x3c00, 0xc000, 0x0001};
  std::memcpy(half.tensor.data, bits, sizeof(bits));
  CHECK(FormatTensor(half.tensor) == "[ 1.e+00 -2.e+00  6.e-08]");
}

}  // namespace cgraph::device
