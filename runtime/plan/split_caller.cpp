#include "runtime/plan/split_caller.h"

#include <algorithm>

namespace cgraph::plan {

using namespace plan;

namespace {

// FollowsDevices: whether a lane of the caller awaits anything of devices in a round. The others
// pass inputs on.
class FollowsDevices {
 public:
  explicit FollowsDevices(const Plan& plan) : plan_(plan), follows_(plan.lanes.size(), false) {
    for (uint32_t lane = 0; lane < plan.lanes.size(); ++lane) {
      follows_[lane] = plan.devices[plan.lanes[lane].device()]->kind != DeviceKind::caller;
    }
    if (plan.start) Look(*plan.start);
    for (const auto& graph : plan.graphs) Look(*graph);
  }

  bool operator()(uint32_t lane) const { return follows_[lane]; }

 private:
  void Look(const Graph& graph) {
    std::vector<uint32_t> signaller(graph.events, 0);
    for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
      ForEach(graph, lane, [&](const Instruction& at) {
        if (at.kind() == Kind::signal) signaller[at.subject()] = lane;
      });
    }
    for (bool changed = true; changed;) {  // once for each of the few lanes of a chain
      changed = false;
      for (uint32_t lane = 0; lane < graph.programs.size(); ++lane) {
        if (follows_[lane]) continue;
        ForEach(graph, lane, [&](const Instruction& at) {
          follows_[lane] = follows_[lane] || Awaits(graph, at, signaller);
        });
        changed |= follows_[lane];
      }
    }
  }

  template <typename Visit>
  static void ForEach(const Graph& graph, uint32_t lane, Visit&& visit) {
    const Range& range = graph.programs[lane];
    for (uint32_t i = 0; i < range.count(); ++i) visit(graph.instructions[range.first() + i]);
  }

  bool Awaits(const Graph& graph, const Instruction& at,
              const std::vector<uint32_t>& signaller) const {
    for (uint32_t i = at.first(); i < at.first() + at.inputs(); ++i) {
      if (at.kind() == Kind::wait && graph.waits[i].lag() == 0 &&
          follows_[signaller[graph.waits[i].event()]]) {
        return true;
      }
      if (at.kind() == Kind::comm && graph.parts[i].part() != Part::send) return true;
    }
    return false;
  }

  const Plan& plan_;
  std::vector<bool> follows_;
};

bool MayOverlap(const Plan& plan) {
  return std::any_of(plan.graphs.begin(), plan.graphs.end(),
                     [](const auto& graph) { return graph->inflight > 1; });
}

}  // namespace

void SplitCaller(const Plan& plan, Placement& placement) {
  if (!placement.merged || !MayOverlap(plan)) return;
  const FollowsDevices follows_devices(plan);
  const auto inputs = static_cast<uint32_t>(placement.worker_of_work_queue.size());
  placement.worker_of_work_queue.insert(placement.worker_of_work_queue.end(), 2, 0);
  for (uint32_t lane = 0; lane < plan.lanes.size(); ++lane) {
    if (plan.devices[plan.lanes[lane].device()]->kind != DeviceKind::caller) continue;
    placement.work_queue_of_lane[lane] = inputs + follows_devices(lane);
  }
}

}  // namespace cgraph::plan
