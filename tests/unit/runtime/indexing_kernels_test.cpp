// CPU kernels that put elements in order, take them by their index, draw them or convolve: at the
// values where they have their seams, and what they refuse. tests/kernels compares them with NumPy.
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/kernel_calls.h"

namespace cgraph::device {

using namespace testing;

namespace {

OperandType Type(DType dtype, std::vector<int64_t> dims, bool dynamic = false) {
  OperandType type = TypeOf(Value(dtype, std::move(dims)).tensor);
  if (type.rank > 0) type.dynamic[0] = dynamic;
  return type;
}

bool Takes(const std::string& kernel, std::vector<OperandType> in, std::vector<OperandType> out,
           const Attributes& attributes = {}) {
  return TryMake(kernel, std::move(in), std::move(out), attributes).ok();
}

}  // namespace

TEST_CASE("the order of special numbers", "[order]") {
  const Value x = Make<double>({8}, {kNan, 0, -kInf, -0.0, 5e-324, kInf, -1, -kNan});
  Value values(DType::f64, {8}), indices(DType::i64, {8});
  for (const int64_t descending : {0, 1}) {
    auto kernel =
        TryMake("sort", {TypeOf(x.tensor)}, {TypeOf(values.tensor), TypeOf(indices.tensor)},
                {.ints = {{"dim", 0}, {"descending", descending}}});
    REQUIRE(kernel.ok());
    std::string error;
    const Tensor in[] = {x.tensor}, out[] = {values.tensor, indices.tensor};
    REQUIRE((*kernel)->Run(in, out, nullptr, error));
    const std::vector<int64_t> up = {2, 6, 1, 3, 4, 5, 0, 7}, down = {0, 7, 5, 4, 1, 3, 6, 2};
    CHECK(indices.Elements<int64_t>() == (descending ? down : up));
    CHECK(std::signbit(values.Elements<double>()[descending ? 5 : 3]));  // -0 where it was
  }
}

TEMPLATE_TEST_CASE("the order of the greatest integers", "[order]", int8_t, uint8_t, int32_t,
                   int64_t) {
  using Limits = std::numeric_limits<TestType>;
  const Value x = Make<TestType>({5}, {1, Limits::max(), Limits::min(), 0, Limits::max()});
  Value values(kDTypeOf<TestType>, {2}), indices(DType::i64, {2});
  auto kernel = TryMake("topk", {TypeOf(x.tensor)}, {TypeOf(values.tensor), TypeOf(indices.tensor)},
                        {.ints = {{"dim", 0}, {"k", 2}, {"largest", 1}}});
  REQUIRE(kernel.ok());
  std::string error;
  const Tensor in[] = {x.tensor}, out[] = {values.tensor, indices.tensor};
  REQUIRE((*kernel)->Run(in, out, nullptr, error));
  CHECK(indices.Elements<int64_t>() == std::vector<int64_t>{1, 4});
}

TEST_CASE("powers of integers", "[elementwise]") {
  const Value x = Make<int8_t>({8}, {-2, -1, -1, 1, 0, 0, 3, 2}),
              y = Make<int8_t>({8}, {7, -3, -2, -9, -1, 0, 5, -1});
  CHECK(Call("pow", {&x, &y}, Value(DType::i8, {8})).Elements<int8_t>() ==
        std::vector<int8_t>{-128, -1, 1, 1, 0, 1, static_cast<int8_t>(243), 0});
}

TEST_CASE("an index outside", "[indices]") {
  const Value x = Make<float>({3, 2}, {0, 1, 2, 3, 4, 5}), part = Make<float>({2, 2}, {1, 1, 1, 1});
  const Attributes along = {.ints = {{"dim", 0}}};
  for (const int64_t wrong : {int64_t{-1}, int64_t{3}, std::numeric_limits<int64_t>::max()}) {
    const Value index = Make<int64_t>({2, 2}, {0, wrong, 1, 2});
    const std::string text = fmt::format("index 1 is {}, of a dimension of 3", wrong);
    std::string error;
    Value out(DType::f32, {2, 2});
    CHECK(!Run("take_along_dim", {&x, &index}, &out, along, error));
    CHECK(error == "take_along_dim: " + text);
    Value sum(DType::f32, {3, 2});
    CHECK(!Run("scatter_add", {&x, &index, &part}, &sum, along, error));
    CHECK(error == "scatter_add: " + text);
    CHECK(sum.memory.front() == 0xa5a5a5a5a5a5a5a5u);  // nothing was written
    Value hot(DType::f32, {2, 2, 3});
    CHECK(!Run("one_hot", {&index}, &hot, {}, error));
    CHECK(error == "one_hot: " + text);
  }
}

TEST_CASE("kernels by index and order refuse what does not fit", "[make]") {
  const OperandType x = Type(DType::f32, {4, 3}), index = Type(DType::i64, {2, 3}),
                    part = Type(DType::f32, {2, 3}), at = Type(DType::i64, {4, 3});
  const Attributes along = {.ints = {{"dim", 0}}}, outside = {.ints = {{"dim", 2}}};
  CHECK(Takes("take_along_dim", {x, index}, {part}, along));
  CHECK(!Takes("take_along_dim", {x, index}, {part}, {.ints = {{"dim", 1}}}));
  CHECK(!Takes("take_along_dim", {x, index}, {x}, along));
  CHECK(!Takes("take_along_dim", {x, part}, {part}, along));
  CHECK(!Takes("take_along_dim", {x, Type(DType::i64, {2})}, {Type(DType::f32, {2})}, along));
  CHECK(Takes("scatter_add", {x, index, part}, {x}, along));
  CHECK(!Takes("scatter_add", {x, index, part}, {part}, along));
  CHECK(!Takes("scatter_add", {x, index, Type(DType::f64, {2, 3})}, {x}, along));
  CHECK(!Takes("scatter_add", {x, index, part}, {x}, outside));

  const Attributes up = {.ints = {{"dim", 0}, {"descending", 0}}};
  CHECK(Takes("sort", {x}, {x, at}, up));
  CHECK(!Takes("sort", {x}, {x, index}, up));
  CHECK(!Takes("sort", {x}, {x, x}, up));
  CHECK(!Takes("sort", {x}, {x}, up));
  CHECK(!Takes("sort", {x}, {x, at}, along));
  const auto k = [](int64_t count) {
    return Attributes{.ints = {{"dim", 0}, {"k", count}, {"largest", 1}}};
  };
  CHECK(Takes("topk", {x}, {part, index}, k(2)));
  CHECK(!Takes("topk", {x}, {part, index}, k(3)));
  CHECK(!Takes("topk", {part}, {x, at}, k(4)));
  CHECK(!Takes("topk", {Type(DType::f32, {4, 3}, true)}, {part, index}, k(2)));

  CHECK(Takes("cumsum", {x}, {x}, along));
  CHECK(!Takes("cumsum", {x}, {part}, along));
  CHECK(!Takes("cumsum", {x}, {x}, outside));
  CHECK(Takes("one_hot", {index}, {Type(DType::f32, {2, 3, 9})}));
  CHECK(!Takes("one_hot", {index}, {x}));
  CHECK(!Takes("one_hot", {part}, {Type(DType::f32, {2, 3, 9})}));
}

TEST_CASE("random kernels refuse what is no seed or probability", "[make]") {
  const OperandType x = Type(DType::f32, {4, 3}), seed = Type(DType::i64, {});
  CHECK(Takes("uniform", {seed}, {x}));
  CHECK(!Takes("uniform", {Type(DType::i32, {})}, {x}));
  CHECK(!Takes("uniform", {Type(DType::i64, {1})}, {x}));
  CHECK(!Takes("uniform", {seed}, {Type(DType::i64, {4})}));
  CHECK(!Takes("uniform", {}, {x}));
  CHECK(Takes("normal", {seed}, {x}));
  CHECK(!Takes("normal", {x}, {x}));
  for (const double p : {0.0, 1.0}) {
    CHECK(Takes("dropout", {x, seed}, {x}, {.floats = {{"p", p}}}));
  }
  for (const double p : {-0.1, 1.1, kNan}) {
    CHECK(!Takes("dropout", {x, seed}, {x}, {.floats = {{"p", p}}}));
  }
  CHECK(!Takes("dropout", {x, seed}, {Type(DType::f32, {4})}, {.floats = {{"p", 0.5}}}));
}

TEST_CASE("convolutions refuse what does not fit", "[make]") {
  struct How {
    std::vector<int64_t> stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
    int64_t groups = 1;
  };
  const auto takes = [](OperandType x, OperandType weight, OperandType y, const How& how = {}) {
    return Takes(
        "conv2d", {x, weight}, {y},
        {.ints = {{"groups", how.groups}},
         .lists = {{"stride", how.stride}, {"padding", how.padding}, {"dilation", how.dilation}}});
  };
  const OperandType x = Type(DType::f32, {2, 4, 9, 8}), w = Type(DType::f32, {6, 4, 3, 3}),
                    y = Type(DType::f32, {2, 6, 7, 6});
  CHECK(takes(x, w, y));
  CHECK(takes(x, Type(DType::f32, {6, 2, 3, 3}), y, {.groups = 2}));
  CHECK(takes(Type(DType::f32, {2, 4, 9, 8}, true), w, Type(DType::f32, {2, 6, 7, 6}, true)));
  CHECK(!takes(Type(DType::f32, {2, 4, 9, 8}, true), w, y));
  CHECK(!takes(x, w, y, {.groups = 2}));
  CHECK(!takes(x, w, y, {.groups = 0}));
  CHECK(!takes(x, w, y, {.stride = {2, 1}}));
  CHECK(!takes(x, w, y, {.stride = {0, 1}}));
  CHECK(!takes(x, w, y, {.stride = {1}}));
  CHECK(!takes(x, w, y, {.padding = {-1, 0}}));
  CHECK(!takes(x, w, y, {.dilation = {int64_t{1} << 40, 1}}));
  CHECK(!takes(x, w, Type(DType::f32, {3, 6, 7, 6})));
  CHECK(!takes(x, w, Type(DType::f64, {2, 6, 7, 6})));
  CHECK(!takes(x, Type(DType::f32, {6, 4, 3}), y));
  CHECK(!takes(Type(DType::f32, {2, 4, 2, 8}), w, Type(DType::f32, {2, 6, 0, 6})));
  CHECK(!takes(Type(DType::i32, {2, 4, 9, 8}), Type(DType::i32, {6, 4, 3, 3}),
               Type(DType::i32, {2, 6, 7, 6})));
  // Of no images, so that no tensor has an element.
  constexpr int64_t kLong = int64_t{1} << 30;
  CHECK(!takes(Type(DType::f16, {0, 1, kLong, kLong}), Type(DType::f16, {1, 1, 1, 1}),
               Type(DType::f16, {0, 1, kLong, kLong})));
  CHECK(!takes(Type(DType::f16, {0, kLong, kLong, 1}), Type(DType::f16, {0, kLong, 1, 1}),
               Type(DType::f16, {0, 0, kLong, 1})));
}

// Of 3 images, where the plan says 3, and where it says 5 at most.
TEST_CASE("convolutions of a dynamic number of images", "[convolution]") {
  const auto filled = [](std::vector<int64_t> dims) {
    Value value(DType::f32, std::move(dims));
    for (int64_t i = 0; i < value.tensor.elements(); ++i) {
      value.tensor.as<float>()[i] = static_cast<float>(i * 7 % 31) / 10 - 1.5f;
    }
    return value;
  };
  const Value x = filled({3, 16, 9, 8}), weight = filled({24, 16, 3, 3}), y = filled({3, 24, 7, 6});
  const Attributes how = {
      .ints = {{"groups", 1}},
      .lists = {{"stride", {1, 1}}, {"padding", {0, 0}}, {"dilation", {1, 1}}}};
  struct Part {
    std::string kernel;
    const Value *a, *b, *out;
  };
  for (const Part& part : {Part{"conv2d", &x, &weight, &y},
                           Part{"conv2d_input_grad", &weight, &y, &x},
                           Part{"conv2d_weight_grad", &x, &y, &weight}}) {
    INFO(part.kernel);
    std::vector<Value> results;
    results.reserve(2);
    for (const bool dynamic : {false, true}) {
      const auto type = [&](const Value* value) {
        OperandType type = TypeOf(value->tensor);
        type.dynamic[0] = dynamic && value != &weight;
        if (type.dynamic[0]) type.dims[0] = 5;
        return type;
      };
      auto kernel = TryMake(part.kernel, {type(part.a), type(part.b)}, {type(part.out)}, how);
      REQUIRE(kernel.ok());
      Value& result = results.emplace_back(*part.out);
      result.tensor.data = result.memory.data();
      const Tensor in[] = {part.a->tensor, part.b->tensor}, out[] = {result.tensor};
      std::string error;
      REQUIRE((*kernel)->Run(in, out, nullptr, error));
    }
    const auto fixed = results[0].Elements<float>(), dynamic = results[1].Elements<float>();
    double apart = 0;
    for (size_t i = 0; i < fixed.size(); ++i) {
      apart = std::max(apart, std::fabs(double{fixed[i]} - double{dynamic[i]}));
    }
    CHECK(apart < 1e-3);
    CHECK(fixed != part.out->Elements<float>());
  }
}

}  // namespace cgraph::device
