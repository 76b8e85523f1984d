#include "compiler/emit/emit_graph.h"

namespace cgraph::emit {

std::unique_ptr<plan::Graph> EmitGraph(const graph::Module& module, const graph::Graph& graph,
                                       const schedule::Schedule& schedule,
                                       const PlanNumbers& numbers, Pools& pools) {
  auto out = std::make_unique<plan::Graph>();
  out->name = graph.name;
  out->inflight = static_cast<uint32_t>(graph.inflight);
  out->deadline_ps = graph.timeout_ps;
  EmitData(module, graph, schedule, numbers, pools, *out);
  EmitPrograms(graph, schedule, numbers, pools, *out);
  return out;
}

}  // namespace cgraph::emit
