#include "compiler/schedule/schedule.h"

#include "compiler/cost/costs.h"
#include "compiler/schedule/passes.h"

namespace cgraph {
namespace {

schedule::Schedule MakeSchedule(const graph::Module& module, const graph::Graph& graph,
                                const ScheduleOptions& options, const cost::Costs& costs,
                                Diagnostics& diagnostics) {
  schedule::Schedule result;
  result.overlap = options.overlap.value_or(graph.overlap.value_or(true));
  schedule::Lower(module, graph, options.lanes, result);
  schedule::CheckMachine(module, graph, result, costs, diagnostics);
  schedule::Expect(module, graph, costs, result);
  schedule::Order(result);
  if (options.profile) schedule::ApplyProfile(module, graph, *options.profile, result);
  // Weights are read as their files are: in program order.
  if (&graph != &module.start) {
    schedule::Arrange(module, graph, options, result, diagnostics);
  }
  schedule::Synchronise(graph, result);
  schedule::PlanMemory(module, graph, result);
  return result;
}

}  // namespace

std::vector<schedule::Schedule> ScheduleModule(const graph::Module& module,
                                               const ScheduleOptions& options,
                                               Diagnostics& diagnostics) {
  const cost::Costs costs(options.topology ? *options.topology : cost::AssumedTopology());
  std::vector<schedule::Schedule> schedules;
  schedules.push_back(MakeSchedule(module, module.start, options, costs, diagnostics));
  for (const graph::Graph& graph : module.graphs) {
    schedules.push_back(MakeSchedule(module, graph, options, costs, diagnostics));
  }
  return schedules;
}

}  // namespace cgraph
