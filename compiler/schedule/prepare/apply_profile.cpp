// ApplyProfile: replaces estimated times by measured ones.
#include <map>

#include "compiler/cost/call_times.h"
#include "compiler/graph/names.h"
#include "compiler/schedule/passes.h"

namespace cgraph::schedule {

void ApplyProfile(const graph::Module& module, const graph::Graph& graph, const Profile& profile,
                  Schedule& schedule) {
  std::map<graph::CallId, cost::CallTimes> calls;
  for (Step& step : schedule.steps) {
    if (step.kind != Step::kCall || !step.call.valid()) {
      step.expected_ps = cost::CallTimes(&profile, std::nullopt).Next(step.expected_ps);
      continue;
    }
    auto found = calls.find(step.call);
    if (found == calls.end()) {
      const cost::CallName name = graph::NameOf(module, graph.calls[step.call]);
      found = calls.emplace(step.call, cost::CallTimes(&profile, name)).first;
    }
    step.expected_ps = found->second.Next(step.expected_ps);
  }
}

}  // namespace cgraph::schedule
