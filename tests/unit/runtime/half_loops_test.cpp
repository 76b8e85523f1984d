// The loops over f16 and bf16 give what half.h gives element by element: every value through the
// functions, and sums that have to be rounded, in vectors of each width that this machine has.
// (Compiled with the options of kernels.)
#include <algorithm>
#include <bit>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/device/cpu/kernels/elementwise/loop_templates.h"
#include "runtime/device/kernel.h"
#include "runtime/plan/kinds.h"

namespace cgraph::device {
namespace {

using plan::DType;
constexpr int kValues = 1 << 16;

template <typename Half>
std::vector<Half> EveryValue() {
  std::vector<Half> values(kValues);
  for (int i = 0; i < kValues; ++i) values[i].bits = static_cast<uint16_t>(i);
  return values;
}

// Returns whether both are the same number, or both NaN.
template <typename Half>
bool Same(Half a, Half b) {
  return a.bits == b.bits || (float{a} != float{a} && float{b} != float{b});
}

template <typename Half>
std::vector<Half> RunUnary(const char* op, DType dtype, std::vector<Half> in) {
  std::vector<Half> out(in.size());
  Tensor x, y;
  x.dtype = y.dtype = dtype;
  x.rank = y.rank = 1;
  x.dims[0] = y.dims[0] = static_cast<int64_t>(in.size());
  x.data = in.data(), y.data = out.data();
  const OperandType type{dtype, 1, {x.dims[0]}, {}};
  plan::Kernel kernel;
  kernel.name = op;
  kernel.body.push_back(std::make_unique<plan::Primitive>());
  kernel.body[0]->op = op;
  kernel.body[0]->operands = {0, 1};
  auto made = MakeCpuKernel(kernel, {&type, 1}, {&type, 1});
  REQUIRE(made.ok());
  std::string error;
  REQUIRE((*made)->Run({&x, 1}, {&y, 1}, nullptr, error));
  return out;
}

template <typename Operation, typename Half>
void CheckFunction(const char* op, DType dtype) {
  const std::vector<Half> values = EveryValue<Half>(), got = RunUnary(op, dtype, values);
  int wrong = 0;
  for (int i = 0; i < kValues; ++i) wrong += !Same(got[i], Half(OnHalf<Operation>::Of(values[i])));
  INFO(op);
  CHECK(wrong == 0);
}
template <typename Half>
void CheckFunctions(DType dtype) {
#define UNARY(name, operation, dtypes) \
  if constexpr (DTypes::dtypes != DTypes::kBool) CheckFunction<operation, Half>(name, dtype);
#include "runtime/device/cpu/kernels/kernels.def"
}

#if defined(__x86_64__)
struct Sum {
  static float Of(float a, float b) { return a + b; }
};
struct Below {
  static bool Of(float a, float b) { return a < b; }
};

// Checks `loop` on all values and others, both moving or all but the one that `standing` names.
template <typename Half, typename Operation, typename Out>
void CheckLoop(ElementLoop loop, int standing) {
  const std::vector<Half> a = EveryValue<Half>();
  std::vector<Half> b(a);
  for (int i = 0; i < kValues; ++i) b[i].bits = static_cast<uint16_t>(i * 40503 + 977);
  const void* const in[] = {a.data() + 77, b.data() + 77};
  for (int count : {1, 7, 16, 31, 33, kValues - 77}) {
    std::vector<Out> out(static_cast<size_t>(count) + 1);
    out[count] = Out(1);
    loop(in, out.data(), count);
    int wrong = 0;
    for (int i = 0; i < count; ++i) {
      const float x = a[77 + (standing == 1 ? 0 : i)], y = b[77 + (standing == 2 ? 0 : i)];
      const Out expected = Out(Operation::Of(x, y));
      if constexpr (std::is_same_v<Out, Half>) wrong += !Same(out[i], expected);
      else wrong += out[i] != expected;
    }
    CHECK(wrong == 0);
    CHECK(static_cast<float>(out[count]) == 1);  // nothing is written behind the last
  }
}

template <typename Half, typename Block, typename Operation, typename Out>
void CheckWidths() {
  if (HasAvx2()) {
    CheckLoop<Half, Operation, Out>(Versions<HalfLoop<Avx2Halves, Half, Block, 0>>::Avx2, 0);
    CheckLoop<Half, Operation, Out>(Versions<HalfLoop<Avx2Halves, Half, Block, 1>>::Avx2, 1);
  }
  if (HasAvx512()) {
    CheckLoop<Half, Operation, Out>(Versions<HalfLoop<Avx512Halves, Half, Block, 0>>::Avx512, 0);
    CheckLoop<Half, Operation, Out>(Versions<HalfLoop<Avx512Halves, Half, Block, 2>>::Avx512, 2);
  }
}

TEST_CASE("loops over f16 and bf16 round as single elements do") {
  CheckWidths<F16, BinaryBlock<Sum, float>, Sum, F16>();
  CheckWidths<BF16, BinaryBlock<Sum, float>, Sum, BF16>();
}

// Checks f32 of every kind, ties among them, but only those NaNs that are computed from f16 and
// bf16.
template <typename Half>
void CheckNarrowing(void (*narrow)(const void*, void*, int64_t)) {
  for (uint32_t start : {0u, 977u, 0x800u, 0x7fffu}) {
    std::vector<float> from(kValues + 5);
    std::vector<Half> to(from.size());
    for (size_t i = 0; i < from.size(); ++i) {
      const uint32_t bits = static_cast<uint32_t>(i) * 0x10800 + start;
      const float value = std::bit_cast<float>(bits);
      from[i] = value == value ? value : std::bit_cast<float>(bits & 0xffff0000);
    }
    narrow(from.data() + 3, to.data() + 3, kValues + 2);
    int wrong = 0;
    for (size_t i = 3; i < from.size(); ++i) wrong += !Same(to[i], Half(from[i]));
    CHECK(wrong == 0);
  }
}
TEST_CASE("rows are narrowed as single elements are") {
  if (HasAvx2()) {
    CheckNarrowing<F16>(Versions<NarrowRow<Avx2Halves, F16>>::Avx2);
    CheckNarrowing<BF16>(Versions<NarrowRow<Avx2Halves, BF16>>::Avx2);
  }
  if (HasAvx512()) {
    CheckNarrowing<F16>(Versions<NarrowRow<Avx512Halves, F16>>::Avx512);
    CheckNarrowing<BF16>(Versions<NarrowRow<Avx512Halves, BF16>>::Avx512);
  }
}

TEST_CASE("loops over f16 and bf16 compare as single elements do") {
  CheckWidths<F16, BinaryBlock<Below, uint8_t>, Below, uint8_t>();
  CheckWidths<BF16, BinaryBlock<Below, uint8_t>, Below, uint8_t>();
}
#endif

TEST_CASE("functions of every f16 are those of single elements") {
  CheckFunctions<F16>(DType::f16);
}
TEST_CASE("functions of every bf16 are those of single elements") {
  CheckFunctions<BF16>(DType::bf16);
}

}  // namespace
}  // namespace cgraph::device
