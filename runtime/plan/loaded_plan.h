// What a command that wants a plan gets, where its FILE may be a plan or a source.
#ifndef CGRAPH_RUNTIME_PLAN_LOADED_PLAN_H_
#define CGRAPH_RUNTIME_PLAN_LOADED_PLAN_H_

#include <memory>

#include "runtime/plan/plan.h"
#include "runtime/status/exit_code.h"

namespace cgraph::plan {

// The plan, or why there is none, which who loads it for a command has printed (LoadOrCompile of
// cgc, LoadPlan of cgrun).
struct LoadedPlan {
  std::unique_ptr<Plan> plan;
  ExitCode exit_code = kSuccess;
};

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_LOADED_PLAN_H_
