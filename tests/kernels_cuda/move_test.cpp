// Kernels of CUDA devices that move or make elements: the same bits as the CPU's.
#include <catch2/catch.hpp>

#include "tests/kernels_cuda/trial.h"

namespace cgraph::cuda::testing {
namespace {

const std::vector<std::vector<int64_t>> kDims = {{}, {0}, {3, 0}, {1}, {13}, {5, 7, 3}, {64, 67}};

}  // namespace

TEST_CASE("copy and reshape") {
  for (const DType dtype : kDTypes) {
    for (const auto& dims : kDims) {
      for (const std::vector<bool>& dynamic : {std::vector<bool>{}, {true}, {true, true}}) {
        const Operand x{dtype, dims, dynamic};
        Check({.kernel = "copy", .in = {x}, .out = {x}, .in_place = true});
        Check({.kernel = "reshape", .in = {x}, .out = {x}, .in_place = true});
      }
    }
    Check({.kernel = "reshape", .in = {{dtype, {4, 6}}}, .out = {{dtype, {3, 2, 4}}}});
    Check({.kernel = "reshape",
           .in = {{dtype, {4, 6}, {true}}},
           .out = {{dtype, {8, 3}, {true}}}});
  }
  for (const std::vector<bool>& dynamic : {std::vector<bool>{}, {true}}) {
    Check({.kernel = "reshape",
           .in = {{DType::f32, {1, 1}, dynamic}},
           .out = {{DType::f32, {7, 3}, dynamic}}});
  }
  CHECK(Checked().failures >= 2);
}

TEST_CASE("zeros, ones, full, iota, normal") {
  for (const DType dtype : kDTypes) {
    for (const auto& dims : kDims) {
      for (const std::vector<bool>& dynamic : {std::vector<bool>{}, {true, true}}) {
        const Operand out{dtype, dims, dynamic};
        Check({.kernel = "zeros", .out = {out}});
        if (dtype == DType::bool_) continue;
        Check({.kernel = "ones", .out = {out}});
        Check({.kernel = "full", .out = {out}, .attributes = {.floats = {{"value", 7}}}});
        Check({.kernel = "iota", .out = {out}});
        if (!plan::IsFloat(dtype)) continue;
        Check({.kernel = "full", .out = {out}, .attributes = {.floats = {{"value", -0.3}}}});
        Check({.kernel = "normal", .out = {out}, .attributes = {.ints = {{"seed", -5}}}});
      }
    }
  }
  Check({.kernel = "normal",
         .out = {{DType::f64, {20000}}},
         .attributes = {.ints = {{"seed", 1234}}}});
}

}  // namespace cgraph::cuda::testing
