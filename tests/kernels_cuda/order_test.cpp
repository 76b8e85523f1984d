// Kernels of CUDA devices that put elements in order, add them up along a dimension, or take them
// by their index: the CPU's bits, but for sums of floats in another order.
#include <catch2/catch.hpp>

#include "tests/kernels_cuda/trial.h"

namespace cgraph::cuda::testing {
namespace {

struct Along {
  std::vector<int64_t> dims;
  int64_t dim = 0;
  std::vector<bool> dynamic = {};
};
// Rows within a tile, of one tile, of several, side by side or not; none.
const Along kAlong[] = {
    {{7}, 0},
    {{1}, 0},
    {{5, 33}, 1},
    {{5, 33}, 0},
    {{3, 6, 4}, 1},
    {{0, 3}, 1},
    {{3, 0}, 1},
    {{2, 1024}, 1},
    {{2, 1500}, 1},
    {{5003}, 0},
    {{1, 20000}, 1},
    {{2100, 3}, 0},
    {{4, 9}, 1, {true, true}},
    {{9, 4}, 0, {true, false}},
};

}  // namespace

TEST_CASE("sort and topk") {
  for (const DType dtype : kDTypes) {
    if (dtype == DType::bool_) continue;
    for (const Along& a : kAlong) {
      for (const Fill fill : {Fill::kAny, Fill::kBelow}) {
        const Operand x{dtype, a.dims, a.dynamic, fill, 5};
        const Operand index{DType::i64, a.dims, a.dynamic};
        for (const int64_t descending : {0, 1}) {
          const bool large = a.dims[0] > 1000 || a.dims.back() > 9000;
          if (large && fill == Fill::kBelow && descending == 1) continue;
          Check({.kernel = "sort",
                 .in = {x},
                 .out = {{dtype, a.dims, a.dynamic}, index},
                 .attributes = {.ints = {{"dim", a.dim}, {"descending", descending}}}});
        }
        const int64_t length = a.dims[static_cast<size_t>(a.dim)];
        if (!a.dynamic.empty()) continue;
        for (const int64_t k : {int64_t{0}, length / 2, length}) {
          std::vector<int64_t> dims = a.dims;
          dims[static_cast<size_t>(a.dim)] = k;
          Check({.kernel = "topk",
                 .in = {x},
                 .out = {{dtype, dims}, {DType::i64, dims}},
                 .attributes = {.ints = {{"dim", a.dim}, {"k", k}, {"largest", k % 2}}}});
        }
      }
    }
  }
}

TEST_CASE("cumsum and its gradient") {
  for (const DType dtype : kDTypes) {
    if (dtype == DType::bool_) continue;
    for (const Along& a : kAlong) {
      for (const char* kernel : {"cumsum", "cumsum_grad"}) {
        const Operand x{dtype, a.dims, a.dynamic,
                        plan::IsFloat(dtype) ? Fill::kModerate : Fill::kAny};
        Trial trial{.kernel = kernel,
                    .in = {x},
                    .out = {{dtype, a.dims, a.dynamic}},
                    .attributes = {.ints = {{"dim", a.dim}}},
                    .in_place = true};
        if (dtype == DType::f64) trial.absolute = 1e-10;
        if (dtype == DType::f32) trial.relative = 2e-7, trial.absolute = 1e-10;
        if (dtype == DType::f16) trial.relative = 1e-3, trial.absolute = 1e-6;
        if (dtype == DType::bf16) trial.relative = 1e-2, trial.absolute = 1e-6;
        Check(trial);
      }
    }
  }
}

TEST_CASE("take_along_dim and scatter_add") {
  const int before = Checked().failures;
  for (const DType dtype : kDTypes) {
    for (const Along& a : kAlong) {
      for (const int64_t extent : {int64_t{1}, int64_t{6}, int64_t{300}}) {
        if (extent == 300 && a.dims.size() > 1) continue;
        Operand x{dtype, a.dims, a.dynamic, plan::IsFloat(dtype) ? Fill::kModerate : Fill::kAny};
        x.dims[static_cast<size_t>(a.dim)] = extent;
        const Operand index{DType::i64, a.dims, a.dynamic, Fill::kBelow, extent};
        Operand source = x;
        source.dims = a.dims;
        const Attributes attributes{.ints = {{"dim", a.dim}}};
        Check({.kernel = "take_along_dim",
               .in = {x, index},
               .out = {source},
               .attributes = attributes});
        if (dtype == DType::bool_) continue;
        Check({.kernel = "scatter_add",
               .in = {x, index, source},
               .out = {x},
               .attributes = attributes,
               .in_place = true});
      }
    }
  }
  CHECK(Checked().failures == before);
  for (const int64_t wrong : {int64_t{-1}, int64_t{7}, int64_t{1} << 32}) {
    const Operand x{DType::f32, {7, 2}}, part{DType::f32, {3, 2}};
    const Operand index{.dtype = DType::i64, .dims = {3, 2}, .numbers = {1, 2, 6, wrong, 0, 99}};
    const Attributes attributes{.ints = {{"dim", 0}}};
    Check({.kernel = "take_along_dim", .in = {x, index}, .out = {part}, .attributes = attributes});
    Check({.kernel = "scatter_add", .in = {x, index, part}, .out = {x}, .attributes = attributes});
  }
  CHECK(Checked().failures == before + 6);
}

TEST_CASE("one_hot") {
  const int before = Checked().failures;
  for (const DType dtype : kDTypes) {
    for (const auto& dims : std::vector<std::vector<int64_t>>{{}, {0}, {9}, {5, 7}}) {
      for (const bool dynamic : {false, true}) {
        if (dynamic && dims.empty()) continue;
        Operand out{dtype, dims, {dynamic}};
        out.dims.push_back(11);
        Check({.kernel = "one_hot",
               .in = {{DType::i64, dims, {dynamic}, Fill::kBelow, 11}},
               .out = {out}});
      }
    }
  }
  CHECK(Checked().failures == before);
  for (const int64_t wrong : {-1, 11}) {
    Check({.kernel = "one_hot",
           .in = {{.dtype = DType::i64, .dims = {3}, .numbers = {10, 0, wrong}}},
           .out = {{DType::f32, {3, 11}}}});
  }
  CHECK(Checked().failures == before + 2);
}

TEST_CASE("random numbers by a seed that is an operand") {
  for (const DType dtype : kDTypes) {
    if (!plan::IsFloat(dtype)) continue;
    for (const int64_t number : {int64_t{0}, int64_t{-5}, int64_t{1} << 60}) {
      const Operand seed{.dtype = DType::i64, .dims = {}, .numbers = {number}};
      for (const std::vector<bool>& dynamic : {std::vector<bool>{}, {true, true}}) {
        for (const auto& dims : std::vector<std::vector<int64_t>>{{0, 2}, {1}, {700, 3}}) {
          const Operand x{dtype, dims, dynamic};
          Check({.kernel = "uniform", .in = {seed}, .out = {x}});
          Check({.kernel = "normal", .in = {seed}, .out = {x}});
          for (const double p : {0.0, 0.3, 1.0}) {
            Check({.kernel = "dropout",
                   .in = {x, seed},
                   .out = {x},
                   .attributes = {.floats = {{"p", p}}},
                   .in_place = true});
          }
        }
      }
    }
  }
}

}  // namespace cgraph::cuda::testing
