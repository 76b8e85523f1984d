// Emit: graphs and their schedules -> the Plan. The only maker of plans.
//
// Numbers everything densely, pools names, sites, kernels and attributes, and writes what the
// schedules decided; it decides nothing itself. The same module and schedules give the same plan,
// byte for byte.
#ifndef CGRAPH_COMPILER_EMIT_EMIT_H_
#define CGRAPH_COMPILER_EMIT_EMIT_H_

#include <memory>
#include <string>
#include <vector>

#include "compiler/base/source.h"
#include "compiler/graph/graph.h"
#include "compiler/schedule/ir.h"
#include "runtime/plan/plan.h"

namespace cgraph {

struct EmitOptions {
  const Sources* sources = nullptr;  // sites and the digest speak of these; null: neither
  std::string compiler = "cgc";      // name and version
  std::string topology;              // by whose costs it was scheduled; empty: the assumed ones
};

// `schedules` as ScheduleModule() made them: of module.start, then of each of module.graphs.
std::unique_ptr<plan::Plan> Emit(const graph::Module& module,
                                 const std::vector<schedule::Schedule>& schedules,
                                 const EmitOptions& options);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_EMIT_EMIT_H_
