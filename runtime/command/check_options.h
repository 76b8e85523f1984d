// What can be found wrong with the flags once the plan is known, before anything runs.
#ifndef CGRAPH_RUNTIME_COMMAND_CHECK_OPTIONS_H_
#define CGRAPH_RUNTIME_COMMAND_CHECK_OPTIONS_H_

#include "runtime/command/options.h"
#include "runtime/command/problem.h"
#include "runtime/plan/plan.h"

namespace cgraph::command {

// Of one graph of the plan. The inputs are looked at where they are read (inputs/).
Problem CheckOptions(const plan::Plan& plan, const plan::Graph& graph, const Options& options);

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_CHECK_OPTIONS_H_
