#include "runtime/plan/call_flops.h"

#include <vector>

#include "runtime/plan/kinds.h"

namespace cgraph::plan {
namespace {

using NumbersByName = std::map<std::string, std::set<uint64_t>>;

void AddGraph(const Plan& plan, const Graph& graph, NumbersByName& found) {
  std::vector<uint64_t> flops(graph.calls.size(), 0);
  std::vector<bool> computes(graph.calls.size(), false);
  for (const Instruction& instruction : graph.instructions) {
    if (instruction.kind() != Kind::call || instruction.call() == kNone) continue;
    flops[instruction.call()] += plan.kernels[instruction.subject()]->flops;
    computes[instruction.call()] = true;
  }
  for (size_t i = 0; i < graph.calls.size(); ++i) {
    const Call& call = graph.calls[i];
    if (!computes[i] || call.method() == kNone) continue;
    const std::string& method = plan.names[call.method()];
    if (call.place() == kNone) {
      found[method].insert(flops[i]);
      continue;
    }
    const Actor& on = *plan.actors[call.place()];
    found[on.class_name + "." + method].insert(flops[i]);
    found[on.name + "." + method].insert(flops[i]);
  }
}

}  // namespace

NumbersByName CallFlops(const Plan& plan) {
  NumbersByName found;
  AddGraph(plan, *plan.start, found);
  for (const auto& graph : plan.graphs) AddGraph(plan, *graph, found);
  return found;
}

}  // namespace cgraph::plan
