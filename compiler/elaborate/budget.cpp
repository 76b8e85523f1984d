#include "compiler/elaborate/budget.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/report.h"
#include "llvm/ADT/STLExtras.h"

namespace cgraph::elaborate {

bool Step(ElaborationContext& elaboration, Range range, int64_t count) {
  if (elaboration.budget.stopped) return false;
  elaboration.budget.steps += count;
  if (elaboration.builder && elaboration.builder->graph().ops.size() > kMaxOps) {
    elaboration.budget.stopped = true;
    Report(elaboration, Code::kE0520, range,
           fmt::format("`{}` has more than {} operations: loops and calls are written out at "
                       "compile time; make them shorter, or the tensors larger",
                       elaboration.builder->graph().name, kMaxOps));
    return false;
  }
  const int64_t most = elaboration.options.limits.steps;
  if (elaboration.budget.steps <= most) return true;
  elaboration.budget.stopped = true;
  Report(elaboration, Code::kE0520, range,
         fmt::format("elaboration takes more than {} steps: loops, lists and calls all run at "
                     "compile time; make them shorter",
                     most));
  return false;
}

bool CheckListLength(ElaborationContext& elaboration, int64_t length, Range range) {
  const int64_t most = elaboration.options.limits.list_elements;
  if (length <= most) return Step(elaboration, range);
  Report(elaboration, Code::kE0521, range,
         fmt::format("a list of more than {} elements: a loop over a..b needs no list", most));
  elaboration.budget.stopped = true;
  return false;
}

bool CheckTensorLimits(ElaborationContext& elaboration, const graph::Type& type, Range range) {
  if (type.dims.size() > static_cast<size_t>(kMaxRank)) {
    Report(elaboration, Code::kE0523, range,
           fmt::format("a tensor of {} dimensions: at most {} are possible", type.dims.size(),
                       kMaxRank));
    return false;
  }
  // Dimensions of 0 are left out: a plan multiplies the other dimensions also for an empty tensor.
  graph::Type full = type;
  llvm::erase_if(full.dims, [](const graph::Dim& dim) { return dim.extent == 0; });
  if (full.bytes() <= kMaxTensorBytes) return true;
  const bool is_empty = full.dims.size() < type.dims.size();
  const char* what = is_empty ? "is empty, but its other dimensions make" : "has";
  Report(elaboration, Code::kE0524, range,
         fmt::format("{} {} more than {} bytes, the limit of one tensor", Text(elaboration, type),
                     what, kMaxTensorBytes));
  return false;
}

bool CheckOperands(ElaborationContext& elaboration, const std::string& name, size_t taken,
                   size_t made, Range range) {
  const size_t most = std::max(taken, made);
  if (most <= kMaxOperands) return true;
  const char* does = taken == most ? "takes" : "makes";
  Report(elaboration, Code::kE0521, range,
         fmt::format("`{}` {} {} tensors here, and one call {} at most {}: call it on parts of the "
                     "list",
                     name, does, most, does, kMaxOperands));
  return false;
}

}  // namespace cgraph::elaborate
