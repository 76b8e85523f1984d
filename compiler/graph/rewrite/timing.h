// Timing: when calls would start and end, and what follows them, by the cost model, if every device
// made its calls in program order and nothing waited for a lane.
//
// It is what rewrites know of times before there is a schedule: enough to tell a value that many
// wait for from one that nobody waits for yet. It is found in one pass over the ops and one back.
#ifndef CGRAPH_COMPILER_GRAPH_REWRITE_TIMING_H_
#define CGRAPH_COMPILER_GRAPH_REWRITE_TIMING_H_

#include <cstdint>
#include <vector>

#include "compiler/cost/costs.h"
#include "compiler/graph/rewrite.h"

namespace cgraph::graph {

class Timing {
 public:
  Timing(const Module& module, const RewriteOptions& options, const Graph& graph);

  uint64_t End(CallId call) const { return times_[call.index].end; }
  // Returns when the call could start if the values that `maker` made arrived at once.
  uint64_t StartWithout(CallId call, CallId maker) const;
  // Returns the time from the call's start to the end of the longest chain that follows.
  uint64_t Remaining(CallId call) const { return times_[call.index].remaining; }

 private:
  struct Arrival {
    CallId maker;
    uint64_t time = 0;
  };
  struct Times {
    uint32_t first_op = 0, ops = 0;
    uint64_t free = 0;       // when its device has made the calls before
    Arrival last, next;      // of what it reads: the last, and the last of another maker
    uint64_t duration = 0, end = 0, remaining = 0;
  };
  void FindOps();
  void Forward();
  void Backward();
  void Arrive(Times& times, CallId maker, uint64_t time) const;
  uint64_t Duration(const Call& call, const Times& times) const;
  uint64_t CollectiveTime(const Op& op) const;
  uint64_t EdgeTime(const Use& use, DeviceId to) const;
  bool IsGpu(DeviceId id) const { return module_.devices[id].kind == DeviceKind::kGpu; }

  const Module& module_;
  const RewriteOptions& options_;
  const Graph& graph_;
  const cost::Costs costs_;
  std::vector<Times> times_;  // by call
};

}  // namespace cgraph::graph

#endif  // CGRAPH_COMPILER_GRAPH_REWRITE_TIMING_H_
