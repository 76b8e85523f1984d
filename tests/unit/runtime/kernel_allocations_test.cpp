// Kernels in the steady state allocate nothing, OpenBLAS included: malloc itself is counted.
//
// The program's malloc is ours, which counts while asked to and hands on to glibc's. Sanitizers
// have a malloc of their own, so under them there is nothing to count and the test says so.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "runtime/device/kernel.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_MALLOC 0
#else
#define COUNTS_MALLOC 1
#endif

namespace {
thread_local bool counting = false;
thread_local int allocations = 0;
}  // namespace

#if COUNTS_MALLOC
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* malloc(size_t bytes) {
  allocations += counting;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  allocations += counting;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  allocations += counting;
  return __libc_realloc(memory, bytes);
}
}
#endif

namespace cgraph::device {
namespace {

using plan::DType;

struct Operand {
  std::vector<double> memory;
  Tensor tensor;
  OperandType type;

  Operand(DType dtype, std::vector<int64_t> dims) {
    tensor.dtype = type.dtype = dtype;
    tensor.rank = type.rank = static_cast<uint8_t>(dims.size());
    std::copy(dims.begin(), dims.end(), tensor.dims);
    std::copy(dims.begin(), dims.end(), type.dims);
    memory.assign(static_cast<size_t>(tensor.elements()) + 1, 0);
    float* elements = reinterpret_cast<float*>(memory.data());
    for (int64_t i = 0; dtype == DType::f32 && i < tensor.elements(); ++i) {
      elements[i] = static_cast<float>(i % 17) - 8;
    }
  }
  // Returns the tensor, once it lies where it stays.
  const Tensor& Settle() {
    tensor.data = memory.data();
    return tensor;
  }
};

// The integers of an attribute.
struct Ints {
  std::vector<int64_t> of;
  Ints(int64_t one) : of{one} {}
  Ints(std::initializer_list<int64_t> several) : of(several) {}
};

struct Prepared {
  std::vector<Operand> inputs, outputs;
  std::unique_ptr<Kernel> kernel;
  std::vector<Tensor> in, out;

  Prepared(const std::string& name, std::vector<Operand> inputs_, std::vector<Operand> outputs_,
           const std::vector<std::pair<const char*, Ints>>& attributes = {})
      : inputs(std::move(inputs_)), outputs(std::move(outputs_)) {
    plan::Kernel plan_kernel;
    plan_kernel.body.push_back(std::make_unique<plan::Primitive>());
    plan_kernel.body[0]->op = name;
    for (const auto& [key, value] : attributes) {
      plan_kernel.body[0]->attributes.push_back(std::make_unique<plan::Attribute>());
      plan_kernel.body[0]->attributes.back()->name = key;
      plan_kernel.body[0]->attributes.back()->ints = value.of;
    }
    std::vector<OperandType> in_types, out_types;
    for (Operand& input : inputs) in_types.push_back(input.type), in.push_back(input.Settle());
    for (Operand& output : outputs)
      out_types.push_back(output.type), out.push_back(output.Settle());
    auto made = MakeCpuKernel(plan_kernel, in_types, out_types);
    INFO((made.ok() ? "" : made.status().message()));
    REQUIRE(made.ok());
    kernel = std::move(*made);
  }
  bool Run() {
    return kernel->Run(in, out, nullptr, error_);
  }

 private:
  std::string error_;
};

Prepared Matmul(int64_t m, int64_t k, int64_t n) {
  return Prepared("matmul", {Operand(DType::f32, {m, k}), Operand(DType::f32, {k, n})},
                  {Operand(DType::f32, {m, n})}, {{"transpose_a", 0}, {"transpose_b", 0}});
}

}  // namespace

TEST_CASE("no kernel allocates in the steady state") {
  const auto f32 = [](std::vector<int64_t> dims) { return Operand(DType::f32, std::move(dims)); };
  std::vector<std::pair<std::string, Prepared>> kernels;
  const auto add = [&](const std::string& label, Prepared prepared) {
    kernels.emplace_back(label, std::move(prepared));
  };
  add("add", Prepared("add", {f32({64, 32}), f32({32})}, {f32({64, 32})}));
  add("less", Prepared("less", {f32({64}), f32({64})}, {Operand(DType::bool_, {64})}));
  add("relu", Prepared("relu", {f32({64, 32})}, {f32({64, 32})}));
  add("softmax", Prepared("softmax", {f32({64, 10})}, {f32({64, 10})}, {{"dim", 1}}));
  const auto f16 = [](std::vector<int64_t> dims) { return Operand(DType::f16, std::move(dims)); };
  add("add f16", Prepared("add", {f16({64, 32}), f16({32})}, {f16({64, 32})}));
  add("gelu f16", Prepared("gelu", {f16({64, 32})}, {f16({64, 32})}));
  add("select", Prepared("select", {Operand(DType::bool_, {64, 1}), f32({32}), f32({})},
                         {f32({64, 32})}));
  add("softmax f16, dim 0", Prepared("softmax", {f16({64, 10})}, {f16({64, 10})}, {{"dim", 0}}));
  add("cross_entropy", Prepared("cross_entropy", {f32({8, 10}), Operand(DType::i64, {8})},
                                {f32({8})}));
  add("gather_rows_grad", Prepared("gather_rows_grad", {Operand(DType::i64, {8}), f16({8, 10})},
                                   {f16({20, 10})}));
  add("sum_to", Prepared("sum_to", {f32({64, 32})}, {f32({32})}));
  add("permute", Prepared("transpose", {f32({64, 32})}, {f32({32, 64})}));
  add("concat", Prepared("concat", {f32({8, 3}), f32({8, 4})}, {f32({8, 7})}, {{"dim", 1}}));
  add("expand", Prepared("expand", {f32({32})}, {f32({64, 32})}));
  add("sum", Prepared("sum", {f32({64, 32})}, {f32({})}));
  add("argmax", Prepared("argmax", {f32({64, 10})}, {Operand(DType::i64, {64})}, {{"dim", 1}}));
  add("copy", Prepared("copy", {f32({64})}, {f32({64})}));
  add("cast", Prepared("cast", {f32({64})}, {Operand(DType::i64, {64})}));
  add("clamp", Prepared("clamp", {f32({64}), f32({}), f32({})}, {f32({64})}));
  add("sort", Prepared("sort", {f32({300})}, {f32({300}), Operand(DType::i64, {300})},
                       {{"dim", 0}, {"descending", 0}}));
  add("cumsum", Prepared("cumsum", {f32({64, 32})}, {f32({64, 32})}, {{"dim", 0}}));
  add("scatter_add f16", Prepared("scatter_add", {f16({9}), Operand(DType::i64, {64}), f16({64})},
                                  {f16({9})}, {{"dim", 0}}));
  add("uniform", Prepared("uniform", {Operand(DType::i64, {})}, {f32({64})}));
  add("stack", Prepared("stack", {f32({8}), f32({8})}, {f32({2, 8})}));
  add("zeros", Prepared("zeros", {}, {f32({64})}));
  add("normal", Prepared("normal", {}, {f32({64})}, {{"seed", 1}}));
  add("matmul 1x64x32", Matmul(1, 64, 32));
  add("matmul 64x64x32", Matmul(64, 64, 32));
  add("matmul 300x300x300", Matmul(300, 300, 300));
  add("matmul f16 64x600x32", Prepared("matmul", {f16({64, 600}), f16({600, 32})}, {f16({64, 32})},
                                       {{"transpose_a", 0}, {"transpose_b", 0}}));
  const Operand halves = Operand(DType::f16, {4, 3, 16});
  for (const int64_t rows : {1, 20}) {
    add(fmt::format("matmul_q8_0 of {} rows", rows),
        Prepared("matmul_q8_0", {f32({rows, 96}), Operand(DType::i8, {4, 3, 32, 16}), halves},
                 {f32({rows, 64})}));
    add(fmt::format("matmul_q4_1 of {} rows", rows),
        Prepared("matmul_q4_1",
                 {f32({rows, 96}), Operand(DType::u8, {4, 3, 4, 16, 4}), halves, halves},
                 {f32({rows, 64})}));
    add(fmt::format("matmul of {} rows and f16", rows),
        Prepared("matmul", {f32({rows, 96}), f16({96, 64})}, {f32({rows, 64})},
                 {{"transpose_a", 0}, {"transpose_b", 0}}));
  }
  if (!COUNTS_MALLOC) WARN("a sanitizer has its own malloc: nothing is counted");
  for (auto& [label, prepared] : kernels) {
    prepared.Run();
    allocations = 0;
    counting = true;
    for (int i = 0; i < 3; ++i) prepared.Run();
    counting = false;
    fmt::print("{}: {} allocations in 3 runs\n", label, allocations);
    CHECK(allocations == 0);
  }
  CHECK(kernels.size() == 36);
}

// oneDNN keeps books of each execution on the heap; without it the kernel is ours and allocates
// nothing.
TEST_CASE("oneDNN allocates a few times, and always as often") {
  const auto bf16 = [](std::vector<int64_t> dims) { return Operand(DType::bf16, std::move(dims)); };
  const auto f32 = [](std::vector<int64_t> dims) { return Operand(DType::f32, std::move(dims)); };
  const auto bounded = [&](std::vector<int64_t> dims) {
    Operand operand = bf16(std::move(dims));
    operand.type.dynamic[0] = true;
    return operand;
  };
  Prepared kernels[] = {
      Prepared("matmul", {bf16({128, 128}), bf16({128, 128})}, {bf16({128, 128})},
               {{"transpose_a", 0}, {"transpose_b", 0}}),
      Prepared("matmul", {bounded({128, 128}), bf16({128, 128})}, {bounded({128, 128})},
               {{"transpose_a", 0}, {"transpose_b", 1}}),
      Prepared("conv2d", {f32({2, 16, 20, 20}), f32({24, 16, 3, 3})}, {f32({2, 24, 20, 20})},
               {{"stride", {1, 1}}, {"padding", {1, 1}}, {"dilation", {1, 1}}, {"groups", 1}})};
  for (Prepared& kernel : kernels) {
    CHECK(kernel.Run());
    int counts[2] = {};
    for (int& count : counts) {
      allocations = 0;
      counting = true;
      kernel.Run();
      counting = false;
      count = allocations;
    }
    fmt::print("{} allocations in a run\n", counts[0]);
    CHECK(counts[0] == counts[1]);
    CHECK(counts[0] <= 24);  // of a convolution and three reorders
  }
}

TEST_CASE("the count counts") {
  if (!COUNTS_MALLOC) return;
  allocations = 0;
  counting = true;
  void* volatile bytes = std::malloc(100);
  int* volatile number = new int(3);
  counting = false;
  std::free(bytes);
  delete number;
  CHECK(allocations == 2);
}

// Workers multiply at once. (OpenBLAS's serial build fails this: its work buffers are handed out
// without a lock.)
TEST_CASE("products on many threads at once are right") {
  constexpr int kThreads = 8, kRounds = 2000;
  std::vector<Prepared> references;
  for (int64_t i = 0; i < 10; ++i)
    references.push_back(Matmul(7 + 9 * i, 120 - 11 * i, 90 - 8 * i));
  for (Prepared& reference : references) reference.Run();
  std::atomic<int> wrong = 0, compared = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    std::vector<Prepared> products;
    for (int64_t i = 0; i < 10; ++i)
      products.push_back(Matmul(7 + 9 * i, 120 - 11 * i, 90 - 8 * i));
    threads.emplace_back([&, t, products = std::move(products)]() mutable {
      for (int i = t; i < 10 * kRounds; ++i) {
        const size_t which = static_cast<size_t>(i) % products.size();
        products[which].Run();
        const Tensor& got = products[which].out[0];
        const size_t bytes = static_cast<size_t>(got.elements()) * 4;
        wrong += std::memcmp(got.data, references[which].out[0].data, bytes) != 0;
        ++compared;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(compared > 100'000);
  CHECK(wrong == 0);
}

}  // namespace cgraph::device
