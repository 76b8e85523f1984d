// Trace: what each lane did when, in Chrome's trace-event format, which chrome://tracing and
// Perfetto show. A graph is a process there, a lane a thread, an instruction an event. Instructions
// of one method call that follow each other on a lane stand within an event for the call.
#ifndef CGRAPH_RUNTIME_PLAN_TRACE_H_
#define CGRAPH_RUNTIME_PLAN_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::plan {

// TraceEvent: one instruction at work for one execution; in a transfer, `active` is when both ends
// were there.
struct TraceEvent {
  uint32_t lane = 0;
  uint32_t instruction = 0;
  uint64_t execution = 0;
  uint64_t start = 0;  // picoseconds
  uint64_t active = 0;
  uint64_t end = 0;
};

struct GraphTrace {
  uint32_t graph = 0;              // index into the plan's graphs
  std::vector<TraceEvent> events;  // of a lane: in its order, one ending before the next begins
};

std::string TraceJson(const Plan& plan, const std::vector<GraphTrace>& traces);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_TRACE_H_
