#include "compiler/emit/emit_graph.h"

namespace cgraph::emit {
namespace {

std::unique_ptr<plan::Repeat> EmitRepeat(const graph::Repeat& repeat) {
  auto out = std::make_unique<plan::Repeat>();
  out->before = repeat.before.value_or(plan::kNone);
  out->before_done = repeat.before_done.value_or(plan::kNone);
  out->before_yields = repeat.before_yields;
  out->done = repeat.done;
  out->limit = static_cast<uint64_t>(repeat.limit);
  out->limit_input = repeat.limit_input.value_or(plan::kNone);
  out->inputs = repeat.inputs;
  out->outputs = repeat.outputs;
  for (const graph::Repeat::Carry& carry : repeat.carries) {
    out->carries.emplace_back(carry.input, carry.first, carry.next.value_or(plan::kNone));
  }
  return out;
}

}  // namespace

std::unique_ptr<plan::Graph> EmitGraph(const graph::Module& module, const graph::Graph& graph,
                                       const schedule::Schedule& schedule,
                                       const PlanNumbers& numbers, Pools& pools) {
  auto out = std::make_unique<plan::Graph>();
  out->name = graph.name;
  out->inflight = static_cast<uint32_t>(graph.inflight);
  out->deadline_ps = graph.timeout_ps;
  if (graph.repeat) out->repeat = EmitRepeat(*graph.repeat);
  EmitData(module, graph, schedule, numbers, pools, *out);
  EmitPrograms(graph, schedule, numbers, pools, *out);
  return out;
}

}  // namespace cgraph::emit
