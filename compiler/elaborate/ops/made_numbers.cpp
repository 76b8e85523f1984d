// The numbers that `full` and `iota` make of nothing, against the dtype that they make them in: by
// the rule for numbers that stand beside tensors.
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "compiler/base/kernels.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/ops/ops.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/values/arithmetic.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::elaborate {
namespace {

// Returns a float without decimals as the int that it is, where the dtype is one of integers: the
// value of `full` is a float for every dtype.
Value AsNumberOf(double value, DType dtype) {
  const bool whole = value == std::floor(value) && std::abs(value) < 0x1p63;
  const bool integers = ClassOf(dtype) == DTypeClass::kInteger;
  return integers && whole ? Value(static_cast<int64_t>(value)) : Value(value);
}

// Returns what is wrong with 0, 1, ... up to `last` in a dtype. The last two tell: of those that a
// float rounds, every other one is even and may be exact.
std::string ProblemOfCounting(int64_t last, DType dtype) {
  const std::string problem = EncodeNumber(Value(last), dtype).problem;
  return problem.empty() && last > 0 ? EncodeNumber(Value(last - 1), dtype).problem : problem;
}

}  // namespace

bool CheckMadeNumbers(ElaborationContext& elaboration, const OpCall& call, Frame& op_frame,
                      const graph::Type& made) {
  const program::Op& op = elaboration.program.ops[call.op];
  const bool is_full = op.kernel == kFullKernel, is_iota = op.kernel == kIotaKernel;
  if ((!is_full && !is_iota) || made.elements() == 0) return true;
  std::string problem;
  if (is_full) {
    const Value& value = *op_frame.locals[op.signature.parameters[0].local.index];
    problem = EncodeNumber(AsNumberOf(*value.As<double>(), made.dtype), made.dtype).problem;
  } else {
    const bool known = !elaboration.speculative || llvm::none_of(made.dims, [](const auto& dim) {
      return dim.symbol.valid();
    });
    if (known) problem = ProblemOfCounting(made.elements() - 1, made.dtype);
  }
  if (problem.empty()) return true;
  const Actual* given = is_full ? ActualFor(0, call.actuals) : nullptr;
  Report(elaboration, Code::kE0515, given != nullptr ? given->range : call.range,
         fmt::format("{}: `{}` makes {} here", problem, op.name, Text(elaboration, made)))
      .AddNote(op.range, "declared here");
  return false;
}

}  // namespace cgraph::elaborate
