// Measured times in the place of estimated ones.
#include <set>

#include "compiler/schedule/passes.h"

namespace cgraph::schedule {
namespace {

std::optional<uint64_t> TimeOf(const graph::Module& module, const graph::Call& call,
                               const Profile& profile) {
  if (!call.instance.valid()) return profile.FindCall("", "", call.method);
  const graph::Instance& on = module.instances[call.instance];
  return profile.FindCall(on.name, on.actor, call.method);
}

}  // namespace

void ApplyProfile(const graph::Module& module, const graph::Graph& graph, const Profile& profile,
                  Schedule& schedule) {
  std::set<graph::CallId> begun;
  for (Step& step : schedule.steps) {
    if (profile.default_ps) step.expected_ps = *profile.default_ps;
    if (step.kind != Step::kCall || !step.call.valid()) continue;
    const std::optional<uint64_t> time = TimeOf(module, graph.calls[step.call], profile);
    if (time) step.expected_ps = begun.insert(step.call).second ? *time : 0;
  }
}

}  // namespace cgraph::schedule
