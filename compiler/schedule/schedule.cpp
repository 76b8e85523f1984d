#include "compiler/schedule/schedule.h"

#include "compiler/cost/costs.h"
#include "compiler/schedule/choose_lanes.h"
#include "compiler/schedule/passes.h"

namespace cgraph {
namespace {

// Everything but what is to be chosen: in program order.
schedule::Schedule Prepare(const graph::Module& module, const graph::Graph& graph,
                           const ScheduleOptions& options, const cost::Costs& costs,
                           CommLanes lanes, Diagnostics& diagnostics) {
  schedule::Schedule result;
  result.overlap = options.overlap.value_or(graph.overlap.value_or(true));
  result.comm_lanes = lanes;
  schedule::Lower(module, graph, lanes, result);
  schedule::CheckMachine(module, graph, result, costs, diagnostics);
  schedule::Expect(module, graph, costs, result);
  schedule::Order(result);
  if (options.profile) schedule::ApplyProfile(module, graph, *options.profile, result);
  return result;
}

schedule::Schedule MakeSchedule(const graph::Module& module, const graph::Graph& graph,
                                const ScheduleOptions& options, const cost::Costs& costs,
                                Diagnostics& diagnostics) {
  const auto prepare = [&](CommLanes lanes) {
    return Prepare(module, graph, options, costs, lanes, diagnostics);
  };
  schedule::Schedule result =
      options.lanes ? prepare(*options.lanes)
                    : schedule::ChooseLanes(graph, options.topology, prepare);
  schedule::Fit(module, graph, options, result, diagnostics);
  return result;
}

// Weights are read as their files are: in program order.
schedule::Schedule MakeStart(const graph::Module& module, const ScheduleOptions& options,
                             const cost::Costs& costs, Diagnostics& diagnostics) {
  const CommLanes lanes = options.lanes.value_or(CommLanes::kOne);
  schedule::Schedule result = Prepare(module, module.start, options, costs, lanes, diagnostics);
  schedule::Synchronise(module.start, /*tight=*/{}, result);
  schedule::PlanMemory(module, module.start, /*limits=*/{}, result);
  return result;
}

}  // namespace

const char* CommLanesName(CommLanes lanes) {
  constexpr const char* kNames[] = {"one", "peer", "edge"};
  return kNames[static_cast<size_t>(lanes)];
}

std::vector<schedule::Schedule> ScheduleModule(const graph::Module& module,
                                               const ScheduleOptions& options,
                                               Diagnostics& diagnostics) {
  const cost::Costs costs(options.topology ? *options.topology : cost::AssumedTopology());
  std::vector<schedule::Schedule> schedules;
  schedules.push_back(MakeStart(module, options, costs, diagnostics));
  for (const graph::Graph& graph : module.graphs) {
    schedules.push_back(MakeSchedule(module, graph, options, costs, diagnostics));
  }
  return schedules;
}

}  // namespace cgraph
