// Trial: one call of a kernel, on the CPU and on a CUDA device (trial_target.h).
#ifndef CGRAPH_TESTS_KERNELS_CUDA_TRIAL_H_
#define CGRAPH_TESTS_KERNELS_CUDA_TRIAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/kernel_calls.h"

namespace cgraph::cuda::testing {

using device::testing::Attributes;
using plan::DType;

inline constexpr DType kDTypes[] = {DType::bool_, DType::i8,   DType::u8,  DType::i32, DType::i64,
                                    DType::f16,   DType::bf16, DType::f32, DType::f64};

// How operands are filled: with numbers of every kind, NaN and infinities too; with numbers of
// moderate size; with numbers from 0 to `below`, such as indices; or with what the trial says.
enum class Fill { kAny, kModerate, kBelow };

struct Operand {
  DType dtype;
  std::vector<int64_t> dims;  // dynamic ones have a bound that is 3 more
  std::vector<bool> dynamic = {};  // by dim; empty: none is
  Fill fill = Fill::kAny;
  int64_t below = 0;
  std::vector<int64_t> numbers = {};  // of an i64 operand: what it holds
  std::vector<int64_t> actual = {};   // where extents are not those of `dims`
};

// A step of a fused kernel: its operands, then its result, as in the plan.
struct Step {
  std::string op;
  std::vector<int32_t> operands;
};

struct Trial {
  std::string kernel;
  std::vector<Operand> in, out;
  Attributes attributes = {};
  // What results may differ by from the CPU's: at most `relative` of the greater magnitude, or
  // `absolute`. Both 0: they have the same bits.
  double relative = 0, absolute = 0;
  std::vector<Step> steps = {};         // of a fused kernel
  std::vector<DType> temporaries = {};  // of a fused kernel
  bool writes_poisoned = false;  // results, though they are never used
  bool in_place = false;         // also with the result where the first operand lies
};

// Runs the kernel as the CPU does and checks that the results agree, with extents that the host
// knows and, where dims are dynamic, with extents that lie on the device; that nothing beyond the
// results is written; that the bits do not depend on the order of threads; and that nothing is
// written but the own flag where something is poisoned. Where the CPU's kernel fails, the failure
// must be the same.
void Check(const Trial& trial, uint64_t seed = 1);

// How many trials Check has done, and how many of them failed as on the CPU.
struct Counts {
  int trials = 0, failures = 0;
};
Counts Checked();

}  // namespace cgraph::cuda::testing

#endif  // CGRAPH_TESTS_KERNELS_CUDA_TRIAL_H_
