#include "compiler/schedule/schedule.h"

#include "compiler/schedule/passes.h"

namespace cgraph {
namespace {

schedule::Schedule MakeSchedule(const graph::Module& module, const graph::Graph& graph,
                                const ScheduleOptions& options, Diagnostics& diagnostics) {
  schedule::Schedule result;
  result.overlap = options.overlap.value_or(graph.overlap.value_or(true));
  schedule::Lower(module, graph, options.lanes, result);
  schedule::Expect(
      module, graph, options.topology ? *options.topology : cost::AssumedTopology(), result);
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
  std::vector<schedule::Schedule> schedules;
  schedules.push_back(MakeSchedule(module, module.start, options, diagnostics));
  for (const graph::Graph& graph : module.graphs) {
    schedules.push_back(MakeSchedule(module, graph, options, diagnostics));
  }
  return schedules;
}

}  // namespace cgraph
