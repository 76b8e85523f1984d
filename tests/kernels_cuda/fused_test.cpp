// Fused kernels on CUDA devices: the same bits as on the CPU. And what is refused.
#include <catch2/catch.hpp>

#include "runtime/device/cuda/kernels/executable.h"
#include "tests/kernels_cuda/trial.h"
#include "tests/kernels_cuda/trial_target.h"

namespace cgraph::cuda::testing {

TEST_CASE("a fused kernel gives what its steps give") {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const bool dynamic : {false, true}) {
      const Operand x{dtype, {9, 16}, {dynamic, false}};
      Check({.kernel = "add+relu+gelu",
             .in = {x, {dtype, {16}}},
             .out = {x},
             .steps = {{"add", {0, 1, -1}}, {"relu", {-1, -2}}, {"gelu", {-2, 2}}},
             .temporaries = {dtype, dtype},
             .in_place = true});
      // Temporaries of several dtypes; operands that both are broadcast.
      Check({.kernel = "less+select+cast",
             .in = {{dtype, {16}}, {dtype, {}}, x},
             .out = {{DType::i32, {9, 16}, {dynamic, false}}},
             .steps = {{"less", {0, 1, -1}}, {"add", {0, 1, -2}}, {"select", {-1, -2, 2, -3}},
                       {"cast", {-3, 3}}},
             .temporaries = {DType::bool_, dtype, dtype}});
    }
  }
}

TEST_CASE("an empty fused result") {
  const Operand x{DType::f32, {0, 5}, {true, false}};
  Check({.kernel = "exp+log",
         .in = {x},
         .out = {x},
         .steps = {{"exp", {0, -1}}, {"log", {-1, 1}}},
         .temporaries = {DType::f32}});
}

TEST_CASE("what the CPU refuses is refused with the same words") {
  using device::testing::Named;
  const auto type = [](DType dtype, std::vector<int64_t> dims) {
    device::OperandType made;
    made.dtype = dtype;
    made.rank = static_cast<uint8_t>(dims.size());
    std::copy(dims.begin(), dims.end(), made.dims);
    return made;
  };
  struct Refused {
    const char* kernel;
    std::vector<device::OperandType> in, out;
    Attributes attributes = {};
  };
  const auto f32 = [&](std::vector<int64_t> dims) { return type(DType::f32, std::move(dims)); };
  const Refused cases[] = {
      {"add", {f32({3})}, {f32({3})}},
      {"add", {f32({3}), f32({4})}, {f32({4})}},
      {"no_such_kernel", {f32({3})}, {f32({3})}},
      {"exp", {type(DType::i32, {3})}, {type(DType::i32, {3})}},
      {"matmul", {f32({3, 4}), f32({5, 6})}, {f32({3, 6})},
       {.ints = {{"transpose_a", 0}, {"transpose_b", 0}}}},
      {"matmul", {f32({3, 4}), f32({4, 6})}, {f32({3, 6})}},
      {"softmax", {f32({3, 4})}, {f32({3, 4})}, {.ints = {{"dim", 2}}}},
      {"full", {}, {type(DType::u8, {3})}, {.floats = {{"value", 300}}}},
  };
  for (const Refused& refused : cases) {
    const plan::Kernel kernel = Named(refused.kernel, refused.attributes);
    const auto cpu = device::MakeCpuKernel(kernel, refused.in, refused.out);
    const auto cuda = MakeCudaKernel(TrialTarget(), kernel, refused.in, refused.out);
    INFO(refused.kernel);
    REQUIRE(!cpu.ok());
    REQUIRE(!cuda.ok());
    CHECK(cuda.status().code() == cpu.status().code());
    CHECK(cuda.status().message() == cpu.status().message());
  }
  const auto probe = MakeCudaKernel(
      TrialTarget(), Named("probe", {.texts = {{"name", "x"}}}), {{f32({3})}}, {});
  REQUIRE(!probe.ok());
  CHECK(probe.status().code() == StatusCode::kUnsupported);
  CHECK(probe.status().message().find("probe writes from CPU devices only") == 0);
}

}  // namespace cgraph::cuda::testing
