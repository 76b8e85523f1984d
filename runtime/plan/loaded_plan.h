// LoadedPlan: the plan of a command whose FILE may be a plan or a source.
#ifndef CGRAPH_RUNTIME_PLAN_LOADED_PLAN_H_
#define CGRAPH_RUNTIME_PLAN_LOADED_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/exit_code.h"
#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace cgraph::plan {

// The plan, or an exit code. The loader (LoadOrCompile of cgc, LoadPlan of cgrun) has printed why
// there is no plan.
struct LoadedPlan {
  std::unique_ptr<Plan> plan;
  ExitCode exit_code = kSuccess;
};

// Which graph of a plan `--graph` means: the index of the graph that is called `name`; without a
// name, of the only one. Otherwise kInvalid says which graphs there are.
Result<uint32_t> FindGraph(const Plan& plan, const std::string& name);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_LOADED_PLAN_H_
