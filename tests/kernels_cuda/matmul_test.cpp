// Matrix products on CUDA devices against the CPU's.
#include <catch2/catch.hpp>

#include "tests/kernels_cuda/trial.h"

namespace cgraph::cuda::testing {
namespace {

struct Product {
  std::vector<int64_t> a, b, c;
  bool transpose_a = false, transpose_b = false;
  std::vector<bool> a_dynamic = {}, b_dynamic = {}, c_dynamic = {};
};
const Product kProducts[] = {
    {{1, 1}, {1, 1}, {1, 1}},
    {{3, 5}, {5, 7}, {3, 7}},
    {{5, 3}, {5, 7}, {3, 7}, true, false},
    {{3, 5}, {7, 5}, {3, 7}, false, true},
    {{5, 3}, {7, 5}, {3, 7}, true, true},
    {{130, 70}, {70, 65}, {130, 65}},
    {{70, 130}, {65, 70}, {130, 65}, true, true},
    {{1, 300}, {300, 200}, {1, 200}},
    {{4, 0}, {0, 3}, {4, 3}},
    {{0, 4}, {4, 3}, {0, 3}},
    {{4, 4}, {4, 0}, {4, 0}},
    {{3, 2, 5, 4}, {4, 6}, {3, 2, 5, 6}},
    {{2, 5, 4}, {3, 2, 4, 6}, {3, 2, 5, 6}},
    {{3, 1, 5, 4}, {2, 4, 6}, {3, 2, 5, 6}},
    {{3, 1, 4, 5}, {1, 2, 6, 4}, {3, 2, 5, 6}, true, true},
    {{0, 5, 4}, {4, 6}, {0, 5, 6}},
    {{9, 16}, {16, 8}, {9, 8}, false, false, {true, false}, {}, {true, false}},
    {{2, 9, 16}, {2, 16, 8}, {2, 9, 8}, false, false, {true, true, false}, {true, false, false},
     {true, true, false}},
    {{7, 9}, {9, 70}, {7, 70}, false, false, {false, true}, {true, true}, {false, true}},
};

double ToleranceOf(DType dtype) {
  switch (dtype) {
    case DType::f16: return 1e-3;
    case DType::bf16: return 8e-3;
    case DType::f32: return 1e-5;
    case DType::f64: return 1e-13;
    default: return 0;
  }
}

}  // namespace

TEST_CASE("matmul") {
  for (const DType dtype : kDTypes) {
    if (dtype == DType::bool_) continue;
    for (const Product& s : kProducts) {
      const Fill fill = plan::IsFloat(dtype) ? Fill::kModerate : Fill::kAny;
      Check({.kernel = "matmul",
             .in = {{dtype, s.a, s.a_dynamic, fill}, {dtype, s.b, s.b_dynamic, fill}},
             .out = {{dtype, s.c, s.c_dynamic}},
             .attributes = {.ints = {{"transpose_a", s.transpose_a},
                                     {"transpose_b", s.transpose_b}}},
             .relative = ToleranceOf(dtype),
             .absolute = 30 * ToleranceOf(dtype)});
    }
  }
}

TEST_CASE("matmul of an f32 and narrower weights") {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const Product& s : kProducts) {
      Check({.kernel = "matmul",
             .in = {{DType::f32, s.a, s.a_dynamic, Fill::kModerate},
                    {dtype, s.b, s.b_dynamic, Fill::kModerate}},
             .out = {{DType::f32, s.c, s.c_dynamic}},
             .attributes = {.ints = {{"transpose_a", s.transpose_a},
                                     {"transpose_b", s.transpose_b}}},
             .relative = ToleranceOf(DType::f32),
             .absolute = 30 * ToleranceOf(DType::f32)});
    }
  }
}

TEST_CASE("matmul by packed weights") {
  struct Packed {
    std::vector<int64_t> rows;
    int64_t groups, blocks;
    std::vector<bool> dynamic = {};
  };
  const Packed cases[] = {{{1}, 1, 1}, {{}, 2, 3}, {{3}, 5, 2}, {{2, 5}, 3, 18},
                          {{0}, 1, 1}, {{4}, 0, 2}, {{4}, 2, 0}, {{6}, 2, 3, {true}}};
  for (const Packed& p : cases) {
    std::vector<int64_t> x = p.rows, c = p.rows;
    x.push_back(32 * p.blocks), c.push_back(16 * p.groups);
    std::vector<bool> dynamic = p.dynamic;
    if (!dynamic.empty()) dynamic.push_back(false);
    const Operand scale{DType::f16, {p.groups, p.blocks, 16}, {}, Fill::kModerate};
    const Operand of_x{DType::f32, x, dynamic, Fill::kModerate}, of_c{DType::f32, c, dynamic};
    Check({.kernel = "matmul_q8_0",
           .in = {of_x, {DType::i8, {p.groups, p.blocks, 32, 16}}, scale},
           .out = {of_c},
           .relative = 1e-5,
           .absolute = 1e-2});
    Check({.kernel = "matmul_q4_1",
           .in = {of_x, {DType::u8, {p.groups, p.blocks, 4, 16, 4}}, scale, scale},
           .out = {of_c},
           .relative = 1e-5,
           .absolute = 1e-2});
  }
}

TEST_CASE("matmul of extents that do not fit each other") {
  const int before = Checked().failures;
  // At their bounds they fit: [<= 8, <= 7] @ [<= 7, <= 9].
  for (int wrong = 0; wrong < 3; ++wrong) {
    std::vector<int64_t> a = {5, 4}, b = {4, 6}, c = {5, 6};
    Trial trial{.kernel = "matmul",
                .in = {{DType::f32, a, {true, true}}, {DType::f32, b, {true, true}}},
                .out = {{DType::f32, c, {true, true}}},
                .attributes = {.ints = {{"transpose_a", 0}, {"transpose_b", 0}}}};
    if (wrong == 0) trial.in[0].actual = {4, 4};
    if (wrong == 1) trial.in[1].actual = {3, 6};
    if (wrong == 2) trial.out[0].actual = {5, 5};
    Check(trial);
  }
  CHECK(Checked().failures == before + 3);
}

}  // namespace cgraph::cuda::testing
