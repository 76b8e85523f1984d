// How fast are weights read that a few rows of f32 are multiplied by? All matrices of a decoder of
// 135 million parameters, one after the other, on one thread, as for one token; in every format in
// which weights are stored.
//
//   weights_bench [ROUNDS [WORD]]
//
// measures the formats whose names hold the word, or all.
// Each round reads as many bytes and does nothing else, then multiplies; the figures are medians of
// the rounds and of their ratios.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device/kernel.h"
#include "runtime/device/memory.h"
#include "runtime/device/numbers/half.h"
#include "runtime/device/numbers/targets.h"
#include "runtime/plan/kinds.h"

namespace cgraph::device {
namespace {

using plan::DType;

struct Matrix {
  int64_t n, k;
};
constexpr Matrix kLayer[] = {{576, 576}, {192, 576}, {192, 576}, {576, 576},
                             {1536, 576}, {1536, 576}, {576, 1536}};
constexpr int kLayers = 30;
constexpr Matrix kHead = {49152, 576};

std::vector<Matrix> Matrices() {
  std::vector<Matrix> all;
  for (int i = 0; i < kLayers; ++i) all.insert(all.end(), std::begin(kLayer), std::end(kLayer));
  all.push_back(kHead);
  return all;
}

// How weights are stored: the tensors of a matrix, and the kernel that multiplies by them.
struct Format {
  const char* name;
  const char* kernel;
  DType x;
  bool transposed;
  DType dtype;  // of the numbers
};
constexpr Format kFormats[] = {
    {"f32 [n, k]", "matmul", DType::f32, true, DType::f32},
    {"f32 [k, n]", "matmul", DType::f32, false, DType::f32},
    {"f16 [n, k]", "matmul", DType::f32, true, DType::f16},
    {"f16 [k, n]", "matmul", DType::f32, false, DType::f16},
    {"bf16 [n, k]", "matmul", DType::f32, true, DType::bf16},
    {"bf16 [k, n]", "matmul", DType::f32, false, DType::bf16},
    {"bf16 [n, k], x of bf16", "matmul", DType::bf16, true, DType::bf16},
    {"Q8_0, packed", "matmul_q8_0", DType::f32, true, DType::i8},
    {"Q4_1, packed", "matmul_q4_1", DType::f32, true, DType::u8},
};

OperandType TypeOf(DType dtype, const std::vector<int64_t>& dims) {
  OperandType type{dtype, static_cast<uint8_t>(dims.size()), {}, {}};
  std::copy(dims.begin(), dims.end(), type.dims);
  return type;
}
std::vector<OperandType> WeightsOf(const Format& format, Matrix m) {
  const std::vector<int64_t> by_block = {m.n / 16, m.k / 32, 16};
  if (format.dtype == DType::i8) {
    return {TypeOf(DType::i8, {m.n / 16, m.k / 32, 32, 16}), TypeOf(DType::f16, by_block)};
  }
  if (format.dtype == DType::u8) {
    return {TypeOf(DType::u8, {m.n / 16, m.k / 32, 4, 16, 4}), TypeOf(DType::f16, by_block),
            TypeOf(DType::f16, by_block)};
  }
  return {TypeOf(format.dtype, format.transposed ? std::vector{m.n, m.k} : std::vector{m.k, m.n})};
}
Tensor TensorOf(const OperandType& type, std::byte* data) {
  Tensor tensor;
  tensor.dtype = type.dtype;
  tensor.rank = type.rank;
  std::copy(type.dims, type.dims + type.rank, tensor.dims);
  tensor.data = data;
  return tensor;
}

// The products of one token, or of a few rows.
class Token {
 public:
  Token(const Format& format, int64_t rows, Memory& weights, Memory& activations) {
    std::byte* const x = activations.data();
    std::byte* const y = x + activations.size() / 2;
    for (const Matrix m : Matrices()) {
      std::vector<OperandType> types = {TypeOf(format.x, {rows, m.k})};
      Product& product = products_.emplace_back();
      product.in.push_back(TensorOf(types[0], x));
      for (const OperandType& type : WeightsOf(format, m)) {
        types.push_back(type);
        product.in.push_back(TensorOf(type, weights.data() + bytes_));
        bytes_ += (product.in.back().bytes() + 63) / 64 * 64;
      }
      const OperandType out = TypeOf(format.x, {rows, m.n});
      product.out.push_back(TensorOf(out, y));
      plan::Kernel kernel;
      kernel.body.push_back(std::make_unique<plan::Primitive>());
      kernel.body[0]->op = format.kernel;
      for (const auto& [name, value] : {std::pair{"transpose_a", false},
                                        {"transpose_b", format.transposed}}) {
        kernel.body[0]->attributes.push_back(std::make_unique<plan::Attribute>());
        kernel.body[0]->attributes.back()->name = name;
        kernel.body[0]->attributes.back()->ints = {value};
      }
      for (size_t i = 0; i <= types.size(); ++i) {
        kernel.body[0]->operands.push_back(static_cast<int32_t>(i));
      }
      auto made = MakeCpuKernel(kernel, types, {&out, 1});
      if (!made.ok()) fmt::print("{}\n", made.status().message()), std::exit(1);
      product.kernel = std::move(*made);
    }
  }
  void Run() {
    std::string error;
    for (Product& product : products_) {
      if (!product.kernel->Run(product.in, product.out, nullptr, error)) std::exit(1);
    }
  }
  size_t bytes() const { return bytes_; }

 private:
  struct Product {
    std::vector<Tensor> in, out;
    std::unique_ptr<Kernel> kernel;
  };
  std::vector<Product> products_;
  size_t bytes_ = 0;
};

struct PlainRead {
  CGRAPH_INLINE static uint64_t Run(const uint64_t* from, size_t words) {
    uint64_t sums[32] = {};
    for (size_t i = 0; i + 32 <= words; i += 32) {
      for (int l = 0; l < 32; ++l) sums[l] += from[i + l];
    }
    for (int l = 1; l < 32; ++l) sums[0] += sums[l];
    return sums[0];
  }
};

double Milliseconds() {  // of this thread alone: other programs do not count
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}
double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Memory Take(uint64_t bytes) {
  Result<Memory> memory = Memory::Allocate(bytes, "the weights");
  if (!memory.ok()) fmt::print("{}\n", memory.status().message()), std::exit(1);
  return std::move(*memory);
}

void Measure(const Format& format, int64_t rows, int rounds, Memory& weights, Memory& activations) {
  Token token(format, rows, weights, activations);
  const auto read = WidestOf<PlainRead>();
  token.Run();
  std::vector<double> times, ratios;
  volatile uint64_t sum = 0;
  for (int round = 0; round < rounds; ++round) {
    const double start = Milliseconds();
    sum = read(reinterpret_cast<const uint64_t*>(weights.data()), token.bytes() / 8);
    const double middle = Milliseconds();
    token.Run();
    const double end = Milliseconds();
    times.push_back(end - middle);
    ratios.push_back((middle - start) / (end - middle));
  }
  (void)sum;
  const double ms = Median(times);
  fmt::print("| {} | {} | {:.2f} | {:.1f} | {:.2f} |\n", format.name, rows, ms,
             static_cast<double>(token.bytes()) / ms / 1e6, Median(ratios));
}

}  // namespace
}  // namespace cgraph::device

int main(int argc, char** argv) {
  using namespace cgraph::device;
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
  Memory weights = Take(uint64_t{560} << 20), activations = Take(uint64_t{128} << 20);
  fmt::print("| weights | rows | ms | GB/s | of a plain read |\n|---|---|---|---|---|\n");
  const std::string_view word = argc > 2 ? argv[2] : "";
  for (const Format& format : kFormats) {
    if (std::string_view(format.name).find(word) == std::string_view::npos) continue;
    for (const int64_t rows : {1, 2, 4, 8, 236}) {  // 236: a prompt
      Measure(format, rows, rounds, weights, activations);
    }
  }
}
