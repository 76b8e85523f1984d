#include "compiler/elaborate/budget.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/base/limits.h"
#include "compiler/elaborate/report.h"
#include "compiler/elaborate/work.h"

namespace cgraph::elaborate {

bool Step(Work& work, Range range, int64_t count) {
  if (work.budget.stopped) return false;
  work.budget.steps += count;
  if (work.builder && work.builder->graph().ops.size() > kMaxOps) {
    work.budget.stopped = true;
    Report(work, Code::kE0520, range,
           fmt::format("`{}` has more than {} operations: loops and calls are written out at "
                       "compile time; make them shorter, or the tensors larger",
                       work.builder->graph().name, kMaxOps));
    return false;
  }
  const int64_t most = work.options.limits.steps;
  if (work.budget.steps <= most) return true;
  work.budget.stopped = true;
  Report(work, Code::kE0520, range,
         fmt::format("elaboration takes more than {} steps: loops, lists and calls all run at "
                     "compile time; make them shorter",
                     most));
  return false;
}

bool CheckListLength(Work& work, int64_t length, Range range) {
  const int64_t most = work.options.limits.list_elements;
  if (length <= most) return Step(work, range);
  Report(work, Code::kE0521, range,
         fmt::format("a list of more than {} elements: a loop over a..b needs no list", most));
  work.budget.stopped = true;
  return false;
}

bool CheckTensorLimits(Work& work, const graph::Type& type, Range range) {
  if (type.dims.size() > static_cast<size_t>(kMaxRank)) {
    Report(work, Code::kE0523, range,
           fmt::format("a tensor of {} dimensions: at most {} are possible", type.dims.size(),
                       kMaxRank));
    return false;
  }
  if (type.bytes() > kMaxTensorBytes) {
    Report(work, Code::kE0524, range,
           fmt::format("{} has more than {} bytes, the limit of one tensor", Text(work, type),
                       kMaxTensorBytes));
    return false;
  }
  return true;
}

bool CheckOperands(Work& work, const std::string& name, size_t taken, size_t made, Range range) {
  const size_t most = std::max(taken, made);
  if (most <= kMaxOperands) return true;
  const char* does = taken == most ? "takes" : "makes";
  Report(work, Code::kE0521, range,
         fmt::format("`{}` {} {} tensors here, and one call {} at most {}: call it on parts of the "
                     "list",
                     name, does, most, does, kMaxOperands));
  return false;
}

}  // namespace cgraph::elaborate
