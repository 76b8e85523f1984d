// ReadTrace: the events of one graph, from a trace that cgrun has written
// (runtime/plan/trace.h).
#ifndef CGRAPH_COMPILER_INSPECT_SIMULATE_READ_TRACE_H_
#define CGRAPH_COMPILER_INSPECT_SIMULATE_READ_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/trace.h"

namespace cgraph {

struct RunTrace {
  std::vector<plan::TraceEvent> events;
  std::string ended;  // plan::kRunFailed or the like; empty: well
};

// Returns events in their order, without waits: a wait of a lane delays the `active` of the event
// that follows it. Refuses what is no such trace, that of a simulation, and that of another
// plan (plan::GraphDigest).
llvm::Expected<RunTrace> ReadTrace(const plan::Plan& plan, uint32_t graph, llvm::StringRef text);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_SIMULATE_READ_TRACE_H_
