// Elementwise kernels of CUDA devices: the same bits as the CPU's, of every operation and dtype.
#include <catch2/catch.hpp>

#include "runtime/device/cpu/kernels/makers.h"
#include "tests/kernels_cuda/trial.h"

namespace cgraph::cuda::testing {
namespace {

using device::DTypes;

struct Shapes {
  std::vector<int64_t> a, b, out;
  std::vector<bool> a_dynamic = {}, b_dynamic = {}, out_dynamic = {};
};
// Packs and rests, rank 0, no elements, broadcasts of rows, columns, matrices and single elements,
// extents that are known when the kernel runs.
const Shapes kShapes[] = {
    {{}, {}, {}},
    {{5}, {5}, {5}},
    {{4 * 1031}, {4 * 1031}, {4 * 1031}},
    {{0}, {0}, {0}},
    {{3, 0, 4}, {4}, {3, 0, 4}},
    {{1}, {70}, {70}},
    {{16, 32}, {32}, {16, 32}},
    {{7, 5}, {5}, {7, 5}},
    {{6, 1}, {1, 48}, {6, 48}},
    {{3, 4, 1, 6}, {4, 5, 1}, {3, 4, 5, 6}},
    {{2, 1, 2, 1, 2, 1, 2, 16}, {1, 3, 1, 3, 1, 2, 1, 1}, {2, 3, 2, 3, 2, 2, 2, 16}},
    {{9, 16}, {16}, {9, 16}, {true, false}, {}, {true, false}},
    {{9, 3}, {9, 3}, {9, 3}, {true, true}, {true, true}, {true, true}},
    {{1, 8}, {1, 8}, {1, 8}, {true, true}, {true, true}, {true, true}},
    {{0, 8}, {8}, {0, 8}, {true, false}, {}, {true, false}},
    {{}, {11, 13}, {11, 13}, {}, {true, false}, {true, false}},
};

void CheckBinary(const char* name, DType dtype, DType result) {
  for (const Shapes& s : kShapes) {
    const bool in_place = dtype == result && s.a == s.out;
    Check({.kernel = name,
           .in = {{dtype, s.a, s.a_dynamic}, {dtype, s.b, s.b_dynamic}},
           .out = {{result, s.out, s.out_dynamic}},
           .in_place = in_place});
  }
}

void CheckUnary(const char* name, DType dtype) {
  for (const Shapes& s : kShapes) {
    Check({.kernel = name,
           .in = {{dtype, s.out, s.out_dynamic}},
           .out = {{dtype, s.out, s.out_dynamic}},
           .in_place = true});
  }
}

}  // namespace

TEST_CASE("operations of two operands") {
  for (const DType dtype : kDTypes) {
#define BINARY(name, operation, dtypes) \
  if (Contains(DTypes::dtypes, dtype)) CheckBinary(name, dtype, dtype);
#define COMPARE(name, operation, dtypes) \
  if (Contains(DTypes::dtypes, dtype)) CheckBinary(name, dtype, DType::bool_);
#include "runtime/device/cpu/kernels/elementwise/operations.def"
  }
}

TEST_CASE("operations of one operand") {
  for (const DType dtype : kDTypes) {
#define UNARY(name, operation, dtypes) \
  if (Contains(DTypes::dtypes, dtype)) CheckUnary(name, dtype);
#include "runtime/device/cpu/kernels/elementwise/operations.def"
  }
}

TEST_CASE("operations of three operands") {
  const int before = Checked().trials;
  for (const DType dtype : kDTypes) {
    for (const Shapes& s : kShapes) {
#define TERNARY(name, operation, dtypes)                                                      \
  if (Contains(DTypes::dtypes, dtype)) {                                                      \
    Check({.kernel = name,                                                                    \
           .in = {{dtype, s.out, s.out_dynamic}, {dtype, s.a, s.a_dynamic},                   \
                  {dtype, s.b, s.b_dynamic}},                                                 \
           .out = {{dtype, s.out, s.out_dynamic}},                                            \
           .in_place = true});                                                                \
  }
#include "runtime/device/cpu/kernels/elementwise/operations.def"
    }
  }
  CHECK(Checked().trials > before);
}

TEST_CASE("select") {
  for (const DType dtype : kDTypes) {
    for (const Shapes& s : kShapes) {
      Check({.kernel = "select",
             .in = {{DType::bool_, s.b, s.b_dynamic}, {dtype, s.a, s.a_dynamic},
                    {dtype, s.out, s.out_dynamic}},
             .out = {{dtype, s.out, s.out_dynamic}}});
    }
  }
}

TEST_CASE("casts") {
  for (const DType from : kDTypes) {
    for (const DType to : kDTypes) {
      for (const auto& dims : std::vector<std::vector<int64_t>>{{}, {0}, {37}, {64, 33}}) {
        Check({.kernel = "cast",
               .in = {{from, dims, {true, true}}},
               .out = {{to, dims, {true, true}}},
               .in_place = from == to});
      }
    }
  }
}

}  // namespace cgraph::cuda::testing
