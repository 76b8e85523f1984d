// Reductions on CUDA devices against the CPU's: the same elements, or sums within rounding.
#include <catch2/catch.hpp>

#include "tests/kernels_cuda/trial.h"

namespace cgraph::cuda::testing {
namespace {

struct Reduced {
  std::vector<int64_t> dims;
  int dim;
  std::vector<bool> dynamic = {};
};
// Rows and columns, short and long, cut into parts, without elements.
const Reduced kReduced[] = {
    {{1}, 0},
    {{7}, 0},
    {{70000}, 0},
    {{3, 40000}, 1},
    {{40000, 3}, 0},
    {{2, 9000, 5}, 1},
    {{300, 3}, 1},
    {{5, 300}, 0},
    {{1000, 17}, 1},
    {{40, 1024}, 1},
    {{3, 8192}, 1},
    {{7, 48}, 1, {false, true}},
    {{65, 33, 4}, 1},
    {{4, 3, 2, 5}, 2},
    {{4, 0, 3}, 2},
    {{0, 3}, 1},
    {{9, 40}, 1, {true, false}},
    {{40, 9}, 0, {true, true}},
    {{20000, 2}, 0, {true, false}},
    {{0, 5}, 1, {true, false}},
};
constexpr DType kNumbers[] = {DType::i8,  DType::u8,   DType::i32, DType::i64,
                              DType::f16, DType::bf16, DType::f32, DType::f64};

// Sums are made in f64 and rounded once: f16 and bf16 may round to the neighbour.
double RoundingOf(DType dtype) {
  switch (dtype) {
    case DType::f16: return 1e-3;
    case DType::bf16: return 8e-3;
    case DType::f32: return 1.3e-7;
    case DType::f64: return 1e-12;
    default: return 0;
  }
}

template <typename T>
std::vector<T> Without(std::vector<T> dims, int dim) {
  if (dim < static_cast<int>(dims.size())) dims.erase(dims.begin() + dim);
  return dims;
}

void CheckReduced(const std::string& name, DType dtype, const Reduced& r, bool sums) {
  const Fill fill = sums && plan::IsFloat(dtype) ? Fill::kModerate : Fill::kAny;
  Trial trial{.kernel = name,
              .in = {{dtype, r.dims, r.dynamic, fill}},
              .out = {{dtype, {}}},
              .relative = sums ? RoundingOf(dtype) : 0,
              .absolute = plan::IsFloat(dtype) ? 1e-300 : 0};  // -0 is as great as 0
  if (sums && dtype == DType::f64) trial.absolute = 1e-10;
  Check(trial);
  trial.kernel = name + "_dim";
  trial.attributes.ints = {{"dim", r.dim}};
  trial.out[0].dims = Without(r.dims, r.dim);
  trial.out[0].dynamic = Without(r.dynamic, r.dim);
  Check(trial);
}

}  // namespace

TEST_CASE("sum, mean, max, min") {
  for (const DType dtype : kNumbers) {
    for (const Reduced& r : kReduced) {
      CheckReduced("sum", dtype, r, true);
      CheckReduced("max", dtype, r, false);
      CheckReduced("min", dtype, r, false);
      if (plan::IsFloat(dtype)) CheckReduced("mean", dtype, r, true);
    }
  }
}

TEST_CASE("argmax") {
  for (const DType dtype : kNumbers) {
    for (const Reduced& r : kReduced) {
      if (r.dims[static_cast<size_t>(r.dim)] == 0) continue;
      for (const Fill fill : {Fill::kAny, Fill::kModerate}) {
        Check({.kernel = "argmax",
               .in = {{dtype, r.dims, r.dynamic, fill}},
               .out = {{DType::i64, Without(r.dims, r.dim), Without(r.dynamic, r.dim)}},
               .attributes = {.ints = {{"dim", r.dim}}}});
      }
    }
  }
}

TEST_CASE("sum_to") {
  struct Broadcast {
    std::vector<int64_t> from, to;
    std::vector<bool> from_dynamic = {}, to_dynamic = {};
  };
  const Broadcast cases[] = {
      {{5}, {5}},
      {{4, 5}, {5}},
      {{4, 5}, {4, 1}},
      {{4, 5}, {}},
      {{2000, 30}, {30}},
      {{3, 4, 5, 6}, {4, 1, 6}},
      {{3, 4, 5, 6}, {3, 1, 5, 1}},
      {{3, 40, 50, 6}, {1, 40, 1, 1}},
      {{3, 1, 5}, {1, 1, 1}},
      {{0, 5}, {5}},
      {{0, 5}, {1, 5}},
      {{5, 0}, {1, 0}},
      {{9, 5}, {5}, {true, false}, {}},
      {{9, 5}, {9, 1}, {true, true}, {true, false}},
      {{6, 9, 5}, {9, 1}, {true, true, true}, {true, false}},
  };
  for (const DType dtype : kNumbers) {
    for (const Broadcast& b : cases) {
      const Fill fill = plan::IsFloat(dtype) ? Fill::kModerate : Fill::kAny;
      Check({.kernel = "sum_to",
             .in = {{dtype, b.from, b.from_dynamic, fill}},
             .out = {{dtype, b.to, b.to_dynamic}},
             .relative = RoundingOf(dtype),
             .absolute = dtype == DType::f64 ? 1e-10 : 0});
    }
  }
}

}  // namespace cgraph::cuda::testing
