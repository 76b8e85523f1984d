// Convolutions and their gradients on CUDA devices against the CPU's, which add in another order.
#include <catch2/catch.hpp>

#include "tests/kernels_cuda/trial.h"

namespace cgraph::cuda::testing {
namespace {

struct Images {
  std::vector<int64_t> x, weight, y, stride, padding, dilation;
  int64_t groups = 1;
  bool dynamic = false;
};
const Images kImages[] = {
    {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {{2, 3, 6, 7}, {5, 3, 3, 3}, {2, 5, 4, 5}, {1, 1}, {0, 0}, {1, 1}},
    {{2, 3, 8, 9}, {4, 3, 3, 3}, {2, 4, 4, 11}, {2, 1}, {1, 2}, {1, 1}},
    {{2, 4, 11, 10}, {6, 2, 3, 2}, {2, 6, 3, 4}, {3, 2}, {1, 0}, {2, 3}, 2},
    {{1, 6, 7, 7}, {6, 1, 3, 3}, {1, 6, 7, 7}, {1, 1}, {1, 1}, {1, 1}, 6},
    {{3, 70, 5, 5}, {66, 70, 1, 1}, {3, 66, 5, 5}, {1, 1}, {0, 0}, {1, 1}},
    {{0, 2, 5, 4}, {3, 2, 3, 3}, {0, 3, 3, 2}, {1, 1}, {0, 0}, {1, 1}},
    {{6, 2, 20, 20}, {3, 2, 3, 3}, {6, 3, 20, 20}, {1, 1}, {1, 1}, {1, 1}},  // in parts
    {{2, 3, 8, 9}, {4, 3, 3, 3}, {2, 4, 6, 7}, {1, 1}, {0, 0}, {1, 1}, 1, true},
    {{5, 2, 20, 20}, {4, 1, 3, 3}, {5, 4, 20, 20}, {1, 1}, {1, 1}, {1, 1}, 2, true},
};

}  // namespace

TEST_CASE("conv2d and its gradients") {
  for (const DType dtype : kDTypes) {
    if (!plan::IsFloat(dtype)) continue;
    for (const Images& s : kImages) {
      const Operand x{dtype, s.x, {s.dynamic}, Fill::kModerate};
      const Operand weight{dtype, s.weight, {}, Fill::kModerate};
      const Operand y{dtype, s.y, {s.dynamic}, Fill::kModerate};
      Trial trial{.kernel = "conv2d", .in = {x, weight}, .out = {y}};
      trial.attributes = {
          .ints = {{"groups", s.groups}},
          .lists = {{"stride", s.stride}, {"padding", s.padding}, {"dilation", s.dilation}}};
      trial.relative = dtype == DType::f64   ? 1e-12
                       : dtype == DType::f32 ? 2e-5
                       : dtype == DType::f16 ? 2e-3
                                             : 2e-2;
      trial.absolute = 300 * trial.relative;
      Check(trial);
      trial.kernel = "conv2d_input_grad";
      trial.in = {weight, y};
      trial.out = {x};
      Check(trial);
      trial.kernel = "conv2d_weight_grad";
      trial.in = {x, y};
      trial.out = {weight};
      Check(trial);
    }
  }
}

}  // namespace cgraph::cuda::testing
