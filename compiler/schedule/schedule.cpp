#include "compiler/schedule/schedule.h"

#include "compiler/cost/costs.h"
#include "compiler/schedule/fit/least_memory.h"
#include "compiler/schedule/fit/memory_limits.h"
#include "compiler/schedule/options.h"
#include "compiler/schedule/passes.h"
#include "compiler/schedule/validate.h"

namespace cgraph {
namespace {

// Prepares a schedule in program order, without the choices that are made later.
schedule::Schedule Prepare(const graph::Module& module, const graph::Graph& graph,
                           const ScheduleOptions& options, const cost::Costs& costs,
                           CommLanes lanes, Diagnostics& diagnostics) {
  schedule::Schedule result;
  result.overlap = options.overlap.value_or(graph.overlap.value_or(true));
  result.comm_lanes = lanes;
  schedule::Lower(module, graph, lanes, result);
  schedule::CheckMachine(module, graph, result, costs, diagnostics);
  schedule::EstimateCosts(module, graph, costs, result);
  schedule::Order(result);
  if (options.profile) schedule::ApplyProfile(module, graph, *options.profile, result);
  schedule::Validate(schedule::FaultInOrder(module, graph, result), graph, "prepare");
  return result;
}

schedule::Schedule MakeSchedule(const graph::Module& module, const graph::Graph& graph,
                                const ScheduleOptions& options, const cost::Costs& costs,
                                const schedule::DeviceLimits& limits, Diagnostics& diagnostics) {
  const auto prepare = [&](CommLanes lanes) {
    return Prepare(module, graph, options, costs, lanes, diagnostics);
  };
  schedule::Schedule result = prepare(options.lanes.value_or(CommLanes::kOne));
  if (schedule::RefuseOverlaps(graph, result, diagnostics)) return result;
  if (schedule::RefuseHopeless(module, graph, options, limits, result, diagnostics)) return result;
  if (!options.lanes) {
    result = schedule::ChooseLanes(graph, options, std::move(result), prepare);
  }
  schedule::FitMemory(module, graph, options, limits, result, diagnostics);
  return result;
}

// Makes the start graph's schedule: weights are read in program order, as their files are.
schedule::Schedule MakeStart(const graph::Module& module, const ScheduleOptions& options,
                             const cost::Costs& costs, Diagnostics& diagnostics) {
  const CommLanes lanes = options.lanes.value_or(CommLanes::kOne);
  schedule::Schedule result = Prepare(module, module.start, options, costs, lanes, diagnostics);
  schedule::Synchronise(module.start, /*tight=*/{}, result);
  schedule::Validate(schedule::FaultInWaits(result), module.start, "synchronise");
  schedule::PlanMemory(module, module.start, /*limits=*/{}, result);
  schedule::Validate(schedule::FaultInMemory(module.start, result), module.start, "plan memory");
  return result;
}

// Returns what each graph uses: exactly of the start graph, whose schedule is there, and at least
// of the others.
schedule::UsesOfGraphs LeastUses(const graph::Module& module, const ScheduleOptions& options,
                                 const cost::Costs& costs,
                                 const std::vector<schedule::Schedule>& start,
                                 const Sources& sources) {
  schedule::UsesOfGraphs uses = schedule::UsesOf(module, start);
  Diagnostics ignored(sources);  // each graph is prepared again, and reported then
  for (const graph::Graph& graph : module.graphs) {
    const schedule::Schedule prepared = Prepare(
        module, graph, options, costs, options.lanes.value_or(CommLanes::kOne), ignored);
    uses.push_back(schedule::FindLeastMemory(module, graph, prepared).uses);
  }
  return uses;
}

}  // namespace

std::vector<schedule::Schedule> ScheduleModule(const graph::Module& module,
                                               const ScheduleOptions& options,
                                               Diagnostics& diagnostics) {
  const cost::Costs costs(options.topology);
  std::vector<schedule::Schedule> schedules;
  schedules.push_back(MakeStart(module, options, costs, diagnostics));
  const auto make = [&](const std::vector<schedule::DeviceLimits>& limits) {
    schedules.resize(1);
    for (size_t i = 0; i < module.graphs.size(); ++i) {
      schedules.push_back(
          MakeSchedule(module, module.graphs[i], options, costs, limits[i], diagnostics));
    }
  };
  const schedule::DeviceLimits limits = schedule::LimitsOfDevices(module, options);
  const schedule::DeviceLimits none(limits.size());
  schedule::UsesOfGraphs least;
  if (limits != none && module.graphs.size() > 1) {
    least = LeastUses(module, options, costs, schedules, diagnostics.sources());
    if (!schedule::FitTogether(limits, least)) {
      std::vector<schedule::DeviceLimits> shares =
          schedule::ShareLimits(module, limits, least, least);
      for (size_t i = 0; i < shares.size(); ++i) {  // a graph that keeps its share is not to blame
        if (!schedule::Exceeds(least[i + 1], shares[i])) shares[i] = none;
      }
      make(shares);
      if (diagnostics.has_errors()) return schedules;
    }
  }
  const bool one_limited = limits != none && module.graphs.size() == 1;
  if (!one_limited) make(std::vector(module.graphs.size(), none));
  if (limits == none || diagnostics.has_errors()) return schedules;
  const schedule::UsesOfGraphs uses = schedule::UsesOf(module, schedules);
  if (one_limited || !schedule::FitTogether(limits, uses)) {
    make(schedule::ShareLimits(module, limits, least, uses));
  }
  return schedules;
}

}  // namespace cgraph
