// A fused kernel gives the same bits as its primitives one after another, each with the kernel that
// it has when it stands alone: random chains over every dtype, with operands that broadcast, sizes
// around those of tiles, and the result in an operand's memory.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <random>

#include "runtime/device/kernel.h"
#include "runtime/plan/kinds.h"

namespace cgraph::device {
namespace {

using plan::DType;
using Random = std::mt19937_64;

int Below(Random& random, int bound) { return static_cast<int>(random() % bound); }

struct alignas(64) Line { char bytes[64]; };

// A tensor with memory of its own, which begins with a line.
struct Owned {
  Tensor tensor;
  std::vector<Line> memory;

  Owned(DType dtype, const std::vector<int64_t>& dims) {
    tensor.dtype = dtype;
    tensor.rank = static_cast<uint8_t>(dims.size());
    std::copy(dims.begin(), dims.end(), tensor.dims);
    memory.resize(bytes() / sizeof(Line) + 1);
    tensor.data = memory.data();
  }
  size_t bytes() const { return tensor.elements() * plan::DTypeBytes(tensor.dtype); }
};

void Fill(Random& random, Owned& owned) {
  auto* bytes = reinterpret_cast<uint8_t*>(owned.memory.data());
  const DType dtype = owned.tensor.dtype;
  for (int64_t i = 0; i < owned.tensor.elements(); ++i) {
    const double number = Below(random, 4001) / 1000.0 - 2;
    switch (dtype) {
      case DType::bool_: bytes[i] = random() % 2; break;
      case DType::f32: reinterpret_cast<float*>(bytes)[i] = static_cast<float>(number); break;
      case DType::f64: reinterpret_cast<double*>(bytes)[i] = number; break;
      case DType::f16:
        reinterpret_cast<uint16_t*>(bytes)[i] = 0x3000 + Below(random, 0x1000);
        break;
      case DType::bf16:
        reinterpret_cast<uint16_t*>(bytes)[i] = 0x3f00 + Below(random, 0x100);
        break;
      case DType::i32: reinterpret_cast<int32_t*>(bytes)[i] = Below(random, 2001) - 1000; break;
      default: bytes[i] = static_cast<uint8_t>(random()); break;
    }
  }
}

OperandType TypeOf(const Tensor& tensor) {
  OperandType type;
  type.dtype = tensor.dtype;
  type.rank = tensor.rank;
  std::copy(tensor.dims, tensor.dims + tensor.rank, type.dims);
  return type;
}

std::unique_ptr<plan::Primitive> MakePrimitive(std::string op, std::vector<int32_t> operands) {
  auto primitive = std::make_unique<plan::Primitive>();
  primitive->op = std::move(op);
  primitive->operands = std::move(operands);
  return primitive;
}

void Run(const plan::Kernel& kernel, const std::vector<Tensor>& inputs, const Tensor& output) {
  std::vector<OperandType> types;
  for (const Tensor& input : inputs) types.push_back(TypeOf(input));
  const OperandType out = TypeOf(output);
  auto made = MakeCpuKernel(kernel, types, {&out, 1});
  INFO(made.status().message());
  REQUIRE(made.ok());
  std::string error;
  REQUIRE((*made)->Run(inputs, {&output, 1}, nullptr, error));
}

// A chain whose first steps read inputs and whose later ones read what was made before.
struct Chain {
  plan::Kernel kernel;
  std::vector<Owned> inputs;
  std::vector<Owned> made;  // by the steps one after another, whole
};

class ChainMaker {
 public:
  ChainMaker(Random& random, std::vector<int64_t> dims) : random_(random), dims_(std::move(dims)) {}

  Chain Make(DType dtype, int steps) {
    dtype_ = dtype;
    chain_.kernel.name = "chain";
    for (int i = 0; i < steps; ++i) {
      const bool last = i + 1 == steps;
      AddStep(last);
    }
    auto& operands = chain_.kernel.body.back()->operands;
    operands.back() = static_cast<int32_t>(chain_.inputs.size());
    return std::move(chain_);
  }

 private:
  // Returns an operand: the result of the step before, of an earlier one of the dtype, or a new
  // input.
  int32_t Operand(DType dtype, bool full) {
    for (size_t i = chain_.made.size(); i-- > 0;) {
      if (chain_.made[i].tensor.dtype == dtype && Below(random_, 3) > 0) {
        return -1 - static_cast<int32_t>(i);
      }
    }
    std::vector<int64_t> dims = dims_;
    if (!full) {
      for (int64_t& dim : dims) dim = Below(random_, 3) == 0 ? 1 : dim;
      dims.erase(dims.begin(), dims.begin() + Below(random_, static_cast<int>(dims.size()) + 1));
    }
    chain_.inputs.emplace_back(dtype, dims);
    Fill(random_, chain_.inputs.back());
    return static_cast<int32_t>(chain_.inputs.size()) - 1;
  }

  void AddStep(bool last) {
    const bool real = plan::IsFloat(dtype_);
    DType result = dtype_;
    std::string op;
    std::vector<int32_t> operands;
    switch (Below(random_, 6)) {
      case 0: case 1: {
        static const char* const kBinary[] = {"add", "subtract", "multiply", "maximum", "divide"};
        op = kBinary[Below(random_, 5)];
        operands = {Operand(dtype_, false), Operand(dtype_, true)};
        if (random_() % 2) std::swap(operands[0], operands[1]);
        break;
      }
      case 2: {
        static const char* const kUnary[] = {"negate", "relu", "square", "abs", "tanh", "sigmoid"};
        op = kUnary[Below(random_, real ? 6 : 4)];
        operands = {Operand(dtype_, true)};
        break;
      }
      case 3:
        op = "less";
        operands = {Operand(dtype_, true), Operand(dtype_, false)};
        result = DType::bool_;
        break;
      case 4:
        op = "select";
        operands = {Operand(DType::bool_, false), Operand(dtype_, true), Operand(dtype_, false)};
        break;
      default: {
        static const DType kTo[] = {DType::f32, DType::f64, DType::bf16, DType::i32};
        op = "cast";
        operands = {Operand(dtype_, true)};
        result = kTo[Below(random_, 4)];
        break;
      }
    }
    RunWhole(op, operands, result);
    operands.push_back(-1 - static_cast<int32_t>(chain_.kernel.body.size()));
    if (!last) chain_.kernel.temporaries.push_back(result);
    chain_.kernel.body.push_back(MakePrimitive(op, operands));
    if (op == "cast") dtype_ = result;
  }

  void RunWhole(const std::string& op, const std::vector<int32_t>& operands, DType result) {
    plan::Kernel alone;
    alone.name = op;
    std::vector<int32_t> order(operands.size() + 1);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
    alone.body.push_back(MakePrimitive(op, order));
    std::vector<Tensor> inputs;
    for (int32_t operand : operands) {
      inputs.push_back(operand < 0 ? chain_.made[-1 - operand].tensor
                                   : chain_.inputs[operand].tensor);
    }
    Owned made(result, dims_);
    Run(alone, inputs, made.tensor);
    chain_.made.push_back(std::move(made));
  }

  Random& random_;
  const std::vector<int64_t> dims_;
  DType dtype_ = DType::f32;
  Chain chain_;
};

bool LooksLike(const Tensor& a, const Tensor& b) {
  return a.dtype == b.dtype && std::equal(a.dims, a.dims + a.rank, b.dims, b.dims + b.rank);
}

// Checks a chain of 2 to 16 steps; false if it has too many operands. The result is made in memory
// of its own, then in that of the first operand of the same type.
bool CheckChain(Random& random, const std::vector<int64_t>& dims, DType dtype) {
  const Chain chain = ChainMaker(random, dims).Make(dtype, 2 + Below(random, 15));
  if (chain.inputs.size() > 32) return false;
  std::vector<Tensor> inputs;
  for (const Owned& input : chain.inputs) inputs.push_back(input.tensor);
  const Owned& expected = chain.made.back();
  Owned out(expected.tensor.dtype, dims);
  Run(chain.kernel, inputs, out.tensor);
  CHECK(std::memcmp(out.memory.data(), expected.memory.data(), out.bytes()) == 0);
  for (const Tensor& input : inputs) {
    if (!LooksLike(input, out.tensor)) continue;
    Run(chain.kernel, inputs, input);
    CHECK(std::memcmp(input.data, expected.memory.data(), out.bytes()) == 0);
    break;
  }
  return true;
}

constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32};

TEST_CASE("a fused chain gives the bits of its primitives one after another") {
  const std::vector<std::vector<int64_t>> shapes = {
      {}, {0}, {1}, {7}, {3, 5}, {2047}, {2049}, {1024, 1}, {1, 4097}, {2, 3, 700}, {65, 64}};
  Random random(1);
  int chains = 0;
  for (int round = 0; round < 40; ++round) {
    for (const auto& dims : shapes) {
      for (DType dtype : kDTypes) chains += CheckChain(random, dims, dtype);
    }
  }
  CHECK(chains > 2000);
}

TEST_CASE("so does one over more memory than lies in the caches") {
  constexpr int64_t kMany = (1 << 17) + 5;
  Random random(2);
  int chains = 0;
  for (int round = 0; round < 2; ++round) {
    for (const auto& dims : std::vector<std::vector<int64_t>>{{kMany}, {3, kMany}}) {
      for (DType dtype : kDTypes) chains += CheckChain(random, dims, dtype);
    }
  }
  CHECK(chains > 15);
}

TEST_CASE("so does one of which the result is larger than caches") {
  constexpr int64_t kMany = (4 << 20) + 13;
  Random random(3);
  Owned a(DType::f64, {kMany}), b(DType::f64, {kMany}), out(DType::f64, {kMany});
  Fill(random, a), Fill(random, b);
  plan::Kernel chain;
  chain.name = "chain";
  chain.body.push_back(MakePrimitive("multiply", {0, 1, -1}));
  chain.body.push_back(MakePrimitive("subtract", {-1, 0, 2}));
  chain.temporaries = {DType::f64};
  Run(chain, {a.tensor, b.tensor}, out.tensor);
  const double *x = a.tensor.as<double>(), *y = b.tensor.as<double>();
  int64_t wrong = 0;
  for (int64_t i = 0; i < kMany; ++i) wrong += out.tensor.as<double>()[i] != x[i] * y[i] - x[i];
  CHECK(wrong == 0);
}

TEST_CASE("a fused kernel that cannot be is refused") {
  const OperandType whole{DType::f32, 1, {8}, {}}, one{DType::f32, 0, {}, {}};
  const auto make = [&](std::vector<std::unique_ptr<plan::Primitive>> body, size_t temporaries,
                        std::vector<OperandType> inputs) {
    plan::Kernel kernel;
    kernel.name = "chain";
    kernel.body = std::move(body);
    kernel.temporaries.assign(temporaries, DType::f32);
    return MakeCpuKernel(kernel, inputs, {&whole, 1}).status().message();
  };
  const auto body = [](auto... primitives) {
    std::vector<std::unique_ptr<plan::Primitive>> result;
    (result.push_back(std::move(primitives)), ...);
    return result;
  };
  using Catch::Contains;
  CHECK_THAT(make(body(), 0, {whole}), Contains("1 to 16 steps"));
  CHECK_THAT(make(body(MakePrimitive("softmax", {0, -1}), MakePrimitive("relu", {-1, 1})), 1,
                  {whole}),
             Contains("`softmax` cannot be a step"));
  CHECK_THAT(make(body(MakePrimitive("relu", {-1, 1}), MakePrimitive("relu", {0, -1})), 1, {whole}),
             Contains("reads what is not made yet"));
  CHECK_THAT(make(body(MakePrimitive("relu", {0, -1}), MakePrimitive("relu", {0, -1})), 1, {whole}),
             Contains("its last step"));
  CHECK_THAT(make(body(MakePrimitive("relu", {0, 1}), MakePrimitive("relu", {0, 1})), 1, {whole}),
             Contains("its last step"));
  CHECK(!make(body(MakePrimitive("relu", {0, -1}), MakePrimitive("add", {-1, 0, 1})), 1, {one})
             .empty());
}

}  // namespace
}  // namespace cgraph::device
