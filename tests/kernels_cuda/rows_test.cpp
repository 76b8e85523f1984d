// Kernels of rows on CUDA devices against the CPU's: softmax and its like, norms, their gradients.
#include <catch2/catch.hpp>

#include "tests/kernels_cuda/trial.h"

namespace cgraph::cuda::testing {
namespace {

struct Case {
  std::vector<int64_t> dims;
  std::vector<bool> dynamic = {};
};
// Short, long and very long rows (which are not kept in shared memory), one element, none.
const Case kCases[] = {
    {{1}},          {{7}},         {{5, 3}},          {{70, 33}},
    {{3, 1000}},    {{2, 9001}},   {{2, 3, 4, 5}},    {{0, 4}},
    {{4, 0}},       {{9, 40}, {true, false}},         {{9, 40}, {true, true}},
    {{0, 5}, {true, true}}, {{16, 64}}, {{3, 4096}}, {{2, 9008}},
    {{9, 48}, {false, true}},
};
constexpr DType kFloats[] = {DType::f16, DType::bf16, DType::f32, DType::f64};

// Rows are summed in another order, so results may be some units in the last place apart; f16 and
// bf16 may round to the neighbour.
double RelativeOf(DType dtype) {
  switch (dtype) {
    case DType::f16: return 2e-3;
    case DType::bf16: return 1.6e-2;
    case DType::f32: return 2e-6;
    default: return 4e-15;
  }
}

Trial TrialOf(const std::string& name, DType dtype, const Case& c, size_t operands) {
  Trial trial{.kernel = name,
              .in = std::vector<Operand>(operands, {dtype, c.dims, c.dynamic, Fill::kModerate}),
              .out = {{dtype, c.dims, c.dynamic}},
              .relative = RelativeOf(dtype),
              .absolute = 4 * RelativeOf(dtype),
              .in_place = true};
  return trial;
}

Operand VectorOf(DType dtype, const Case& c) {
  Operand vector{dtype, {c.dims.back()}, {}, Fill::kModerate};
  if (!c.dynamic.empty()) vector.dynamic = {c.dynamic.back()};
  return vector;
}

}  // namespace

TEST_CASE("softmax, log_softmax and their gradients") {
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  cases.push_back({{9001, 2}});  // long rows that do not lie in one piece
  for (const DType dtype : kFloats) {
    for (const Case& c : cases) {
      for (int64_t dim = 0; dim < static_cast<int64_t>(c.dims.size()); ++dim) {
        for (const char* name : {"softmax", "log_softmax", "softmax_grad", "log_softmax_grad"}) {
          const bool gradient = std::string(name).ends_with("grad");
          Trial trial = TrialOf(name, dtype, c, gradient ? 2 : 1);
          trial.attributes.ints = {{"dim", dim}};
          if (gradient) {
            // Sums of thousands of terms of about 1, which cancel.
            trial.absolute *= 100 * static_cast<double>(c.dims[static_cast<size_t>(dim)] / 500 + 1);
          }
          Check(trial);
          if (gradient || dtype == DType::f16) continue;
          trial.in[0].fill = Fill::kAny;  // rows with NaN and infinities
          Check(trial);
        }
      }
    }
  }
}

TEST_CASE("norms and their gradients") {
  for (const DType dtype : kFloats) {
    for (const Case& c : kCases) {
      for (const double epsilon : {1e-5, 0.5}) {
        for (const char* name : {"rms_norm", "l2_normalize"}) {
          Trial trial = TrialOf(name, dtype, c, 1);
          trial.attributes.floats = {{"epsilon", epsilon}};
          Check(trial);
          trial = TrialOf(name + std::string("_grad"), dtype, c, 2);
          trial.attributes.floats = {{"epsilon", epsilon}};
          trial.absolute *= 8;
          Check(trial);
        }
        Trial trial = TrialOf("layer_norm", dtype, c, 1);
        trial.attributes.floats = {{"epsilon", epsilon}};
        trial.in.push_back(VectorOf(dtype, c));
        trial.in.push_back(VectorOf(dtype, c));
        trial.absolute *= 4;
        Check(trial);
      }
    }
  }
}

TEST_CASE("the gradients of layer_norm") {
  for (const DType dtype : kFloats) {
    for (const Case& c : kCases) {
      Trial trial = TrialOf("layer_norm_grad", dtype, c, 1);
      trial.attributes.floats = {{"epsilon", 0.1}};
      trial.in.push_back(VectorOf(dtype, c));
      trial.in.push_back(trial.in[0]);
      trial.out.push_back(VectorOf(dtype, c));
      trial.out.push_back(VectorOf(dtype, c));
      trial.absolute *= 40;
      Check(trial);
    }
    Trial trial = TrialOf("layer_norm_grad", dtype, {{3000, 5}}, 1);  // rows in parts
    trial.attributes.floats = {{"epsilon", 0.1}};
    trial.in.push_back(VectorOf(dtype, {{5}}));
    trial.in.push_back(trial.in[0]);
    trial.out.push_back(VectorOf(dtype, {{5}}));
    trial.out.push_back(VectorOf(dtype, {{5}}));
    trial.absolute *= 200;
    Check(trial);
  }
}

TEST_CASE("cross entropy and its gradient") {
  const int before = Checked().failures;
  for (const DType dtype : kFloats) {
    for (const Case& c : kCases) {
      if (c.dims.back() == 0) continue;
      Operand targets{DType::i64, c.dims, c.dynamic, Fill::kBelow, c.dims.back()};
      targets.dims.pop_back();
      if (!targets.dynamic.empty()) targets.dynamic.pop_back();
      Trial trial = TrialOf("cross_entropy", dtype, c, 1);
      trial.in_place = false;
      trial.in.push_back(targets);
      trial.out[0].dims = targets.dims;
      trial.out[0].dynamic = targets.dynamic;
      Check(trial);
      trial.kernel = "cross_entropy_grad";
      trial.in.push_back(trial.out[0]);
      trial.in.back().fill = Fill::kModerate;
      trial.out = {{dtype, c.dims, c.dynamic}};
      Check(trial);
    }
    for (const int64_t wrong : {int64_t{-1}, int64_t{5}, int64_t{1} << 40}) {
      Trial trial{.kernel = "cross_entropy",
                  .in = {{dtype, {700, 5}, {}, Fill::kModerate}, {DType::i64, {700}}},
                  .out = {{dtype, {700}}}};
      trial.in[1].numbers.assign(700, 2);
      trial.in[1].numbers[600] = trial.in[1].numbers[333] = wrong;
      Check(trial);
    }
  }
  CHECK(Checked().failures == before + 12);
}

}  // namespace cgraph::cuda::testing
