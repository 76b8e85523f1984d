// Trace: what each lane did when, in Chrome's trace-event format, which chrome://tracing and
// Perfetto show. A graph is a process there, of a run with several ranks one for each, a lane a
// thread, an instruction an event. Instructions of one method call that follow each other on a lane
// stand within an event for the call.
#ifndef CGRAPH_RUNTIME_PLAN_TRACE_H_
#define CGRAPH_RUNTIME_PLAN_TRACE_H_

#include <cstdint>
#include <string>
#include <string_view>
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
  uint64_t only_first = 0;         // 0: all executions of the run; else so many, the first ones
};

// Sets `active` of transfers and collectives, whose events have the times at which they began and
// ended, and as `active` what was measured of it: a receive from a buffered channel waits until its
// message is sent, and the ends of any other transfer, and the members of a collective, wait for
// the last of them.
void FindActive(const Plan& plan, GraphTrace& trace);

// Whether the times of a trace are those of a run, or of a simulation; the trace says which.
enum class TraceTimes : uint8_t { kMeasured, kSimulated };
inline constexpr const char* kTraceTimes[] = {"measured", "simulated"};

// How the run ended that a trace or a profile is of: nothing is said of one that ended well.
inline constexpr const char* kRunFailed = "failed";
inline constexpr const char* kRunInterrupted = "interrupted";

// Names a graph by what stands in a trace of it: equal for graphs whose instructions have equal
// texts and whose values have equal types and bytes, whatever times a plan expects of them.
std::string GraphDigest(const Plan& plan, const Graph& graph);

// TraceProcesses: which process had which lane in a run; empty of a run with one process.
struct TraceProcesses {
  std::vector<std::string> names;  // "rank 1: process 123 on node7"
  std::vector<uint32_t> of_lane;
};
// Returns the number that a process has in a trace.
inline uint64_t TraceProcess(const Plan& plan, uint32_t graph, uint32_t process) {
  return graph + 1 + uint64_t{process} * plan.graphs.size();
}

// `ended`: how the run ended (kRunFailed); empty: well.
std::string TraceJson(const Plan& plan, const std::vector<GraphTrace>& traces, TraceTimes times,
                      std::string_view ended = "", const TraceProcesses& processes = {});

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_TRACE_H_
