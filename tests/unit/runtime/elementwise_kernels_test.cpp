// Elementwise kernels against values worked out here, element by element and without their loops,
// at the sizes, signs and NaNs where loops have their seams.
#include <cmath>
#include <functional>
#include <span>

#include <catch2/catch.hpp>

#include "tests/support/kernel_calls.h"

namespace cgraph::device {

using namespace testing;

TEMPLATE_TEST_CASE("add broadcasts as NumPy does", "[elementwise]", int8_t, uint8_t, int32_t,
                   int64_t, float, double) {
  struct Shapes { std::vector<int64_t> a, b, out; };
  const std::vector<Shapes> shapes = {
      {{}, {}, {}},
      {{5}, {5}, {5}},
      {{33}, {}, {33}},
      {{}, {33}, {33}},
      {{4, 17}, {17}, {4, 17}},
      {{4, 17}, {4, 1}, {4, 17}},
      {{4, 1}, {1, 17}, {4, 17}},
      {{17}, {4, 1}, {4, 17}},
      {{2, 3, 4, 5}, {3, 1, 5}, {2, 3, 4, 5}},
      {{2, 1, 4, 1}, {3, 1, 5}, {2, 3, 4, 5}},
      {{1, 1}, {3, 4}, {3, 4}},
      {{0, 4}, {4}, {0, 4}},
      {{3, 1}, {1, 0}, {3, 0}},
  };
  for (const Shapes& shape : shapes) {
    Value a(kDTypeOf<TestType>, shape.a), b(kDTypeOf<TestType>, shape.b);
    a = Make(shape.a, Sequence<TestType>(a.tensor.elements()));
    b = Make(shape.b, Sequence<TestType>(b.tensor.elements(), 2));
    const Value got = Call("add", {&a, &b}, Value(kDTypeOf<TestType>, shape.out));
    for (int64_t i = 0; i < got.tensor.elements(); ++i) {
      const TestType x = a.tensor.as<TestType>()[BroadcastIndex(a.tensor, got.tensor, i)];
      const TestType y = b.tensor.as<TestType>()[BroadcastIndex(b.tensor, got.tensor, i)];
      CHECK(got.tensor.as<TestType>()[i] == static_cast<TestType>(x + y));
    }
    CHECK(got.memory.back() == 0xa5a5a5a5a5a5a5a5u);
  }
}

TEST_CASE("a result may be its operand's memory", "[elementwise]") {
  for (const int64_t count : {1, 7, 8, 64, 100}) {
    Value a = Make({count}, Sequence<float>(count));
    const Value b = Make({count}, Sequence<float>(count, 1));
    const std::vector<float> before = a.Elements<float>();
    auto kernel = TryMake("subtract", {TypeOf(a.tensor), TypeOf(b.tensor)}, {TypeOf(a.tensor)});
    REQUIRE(kernel.ok());
    std::string error;
    const Tensor in[] = {a.tensor, b.tensor}, out[] = {a.tensor};
    REQUIRE((*kernel)->Run(in, out, nullptr, error));
    for (int64_t i = 0; i < count; ++i) {
      CHECK(a.tensor.as<float>()[i] == before[static_cast<size_t>(i)] - b.tensor.as<float>()[i]);
    }
  }
}

// The result begins with a line, and ends within one.
TEST_CASE("a result may be larger than caches", "[elementwise]") {
  constexpr int64_t kCount = (4 << 20) + 13;
  const Value a = Make({kCount}, Sequence<double>(kCount));
  const Value b = Make({kCount}, Sequence<double>(kCount, 2));
  for (const char* name : {"subtract", "relu"}) {
    const size_t operands = name == std::string("relu") ? 1 : 2;
    Value memory(DType::f64, {kCount + 8});
    Tensor out = memory.tensor;
    out.dims[0] = kCount;
    while (reinterpret_cast<uintptr_t>(out.data) % 64 != 0) out.data = out.as<double>() + 1;
    auto kernel = TryMake(name, {operands, TypeOf(a.tensor)}, {TypeOf(out)});
    REQUIRE(kernel.ok());
    std::string error;
    const std::vector<Tensor> in = {a.tensor, b.tensor};
    REQUIRE((*kernel)->Run(std::span(in).first(operands), {&out, 1}, nullptr, error));
    int64_t wrong = 0;
    for (int64_t i = 0; i < kCount; ++i) {
      const double x = a.tensor.as<double>()[i], y = b.tensor.as<double>()[i];
      wrong += out.as<double>()[i] != (operands == 1 ? std::max(x, 0.0) : x - y);
    }
    CHECK(wrong == 0);
    CHECK(std::bit_cast<uint64_t>(out.as<double>()[kCount]) == 0xa5a5a5a5a5a5a5a5u);
  }
}

TEST_CASE("integers wrap around and never trap", "[elementwise]") {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min(), kMax = -(kMin + 1);
  const Value a = Make<int32_t>({9}, {7, -7, 7, -7, kMin, kMin, 5, 0, kMax});
  const Value b = Make<int32_t>({9}, {2, 2, -2, -2, -1, 0, 0, 0, kMax});
  const auto binary = [&](const char* name) {
    return Call(name, {&a, &b}, Value(DType::i32, {9})).Elements<int32_t>();
  };
  SameElements(binary("divide"), {3, -4, -4, 3, kMin, 0, 0, 0, 1});
  SameElements(binary("modulo"), {1, 1, -1, -1, 0, 0, 0, 0, 0});
  SameElements(binary("add"), {9, -5, 5, -9, kMax, kMin, 5, 0, -2});
  SameElements(binary("multiply"), {14, -14, -14, 14, kMin, 0, 0, 0, 1});
  SameElements(Call("negate", {&a}, Value(DType::i32, {9})).Elements<int32_t>(),
               {-7, 7, -7, 7, kMin, kMin, -5, 0, -kMax});
  SameElements(Call("abs", {&a}, Value(DType::i32, {9})).Elements<int32_t>(),
               {7, 7, 7, 7, kMin, kMin, 5, 0, kMax});
  const Value c = Make<int8_t>({2}, {-128, 127}), d = Make<int8_t>({2}, {-1, 2});
  SameElements(Call("divide", {&c, &d}, Value(DType::i8, {2})).Elements<int8_t>(), {-128, 63});
  const Value e = Make<uint8_t>({3}, {200, 7, 0}), f = Make<uint8_t>({3}, {100, 0, 3});
  SameElements(Call("add", {&e, &f}, Value(DType::u8, {3})).Elements<uint8_t>(), {44, 7, 3});
  SameElements(Call("divide", {&e, &f}, Value(DType::u8, {3})).Elements<uint8_t>(), {2, 0, 0});
}

TEST_CASE("floats follow NumPy at the edges", "[elementwise]") {
  const Value a = Make<double>({8}, {7, -7, 7, -7, kNan, 1, 6, 0});
  const Value b = Make<double>({8}, {2, 2, -2, -2, 1, kNan, 0, -3});
  const auto binary = [&](const char* name) {
    return Call(name, {&a, &b}, Value(DType::f64, {8})).Elements<double>();
  };
  SameElements(binary("modulo"), {1, 1, -1, -1, kNan, kNan, kNan, -0.0});
  CHECK(std::signbit(binary("modulo")[7]));
  SameElements(binary("divide"), {3.5, -3.5, -3.5, 3.5, kNan, kNan, kInf, -0.0});
  SameElements(binary("maximum"), {7, 2, 7, -2, kNan, kNan, 6, 0});
  SameElements(binary("minimum"), {2, -7, -2, -7, kNan, kNan, 0, -3});
  SameElements(Call("relu", {&a}, Value(DType::f64, {8})).Elements<double>(),
               {7, 0, 7, 0, kNan, 1, 6, 0});
  SameElements(Call("relu_grad", {&a, &b}, Value(DType::f64, {8})).Elements<double>(),
               {2, 0, -2, 0, 0, kNan, 0, 0});
}

TEST_CASE("comparisons and logic", "[elementwise]") {
  const Value a = Make<float>({4}, {1, 2, 3, NAN}), b = Make<float>({4}, {2, 2, 2, NAN});
  const auto compare = [&](const char* name) {
    return Call(name, {&a, &b}, Value(DType::bool_, {4})).Elements<bool>();
  };
  SameElements<bool>(compare("equal"), {false, true, false, false});
  SameElements<bool>(compare("not_equal"), {true, false, true, true});
  SameElements<bool>(compare("less"), {true, false, false, false});
  SameElements<bool>(compare("less_equal"), {true, true, false, false});
  SameElements<bool>(compare("greater"), {false, false, true, false});
  SameElements<bool>(compare("greater_equal"), {false, true, true, false});
  const Value c = Make<bool>({4}, {false, false, true, true});
  const Value d = Make<bool>({4}, {false, true, false, true});
  SameElements<bool>(Call("logical_and", {&c, &d}, Value(DType::bool_, {4})).Elements<bool>(),
                     {false, false, false, true});
  SameElements<bool>(Call("logical_or", {&c, &d}, Value(DType::bool_, {4})).Elements<bool>(),
                     {false, true, true, true});
  SameElements<bool>(Call("logical_not", {&c}, Value(DType::bool_, {4})).Elements<bool>(),
                     {true, true, false, false});
  CHECK(!TryMake("add", {TypeOf(c.tensor), TypeOf(d.tensor)}, {TypeOf(c.tensor)}).ok());
}

TEST_CASE("functions of floats", "[elementwise]") {
  const std::vector<double> xs = {-3, -0.5, 0, 0.25, 1, 20};
  const Value x = Make<double>({6}, xs);
  const std::vector<std::pair<const char*, std::function<double(double)>>> functions = {
      {"exp", [](double v) { return std::exp(v); }},
      {"tanh", [](double v) { return std::tanh(v); }},
      {"square", [](double v) { return v * v; }},
      {"negate", [](double v) { return -v; }},
      {"sigmoid",
       [](double v) { return v < 0 ? std::exp(v) / (1 + std::exp(v)) : 1 / (1 + std::exp(-v)); }},
      {"sqrt", [](double v) { return std::sqrt(v); }},
      {"log", [](double v) { return std::log(v); }},
  };
  for (const auto& [name, function] : functions) {
    const std::vector<double> got = Call(name, {&x}, Value(DType::f64, {6})).Elements<double>();
    for (size_t i = 0; i < xs.size(); ++i) {
      INFO(name << "(" << xs[i] << ")");
      const double expected = function(xs[i]);
      if (expected != expected) CHECK(got[i] != got[i]);
      else CHECK(got[i] == Approx(expected).epsilon(1e-14));
    }
  }
}

}  // namespace cgraph::device
