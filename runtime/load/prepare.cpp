// PrepareGraph: turns a graph of a plan into the programs that work queues run.
//
// Everything that can be decided before the first execution is decided here: what each work queue
// runs and in which order, which waits are left, which poison flags are checked, which kernel
// object runs, and every address.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/wait_point.h"
#include "runtime/load/load.h"
#include "runtime/load/on_gpus.h"
#include "runtime/load/steps.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {
namespace {

// Describes the inputs, and where they lie.
void DescribeInputs(GraphPreparation& g) {
  DescribePorts(g.graph, g.out);
  for (size_t port = 0; port < g.out.inputs.size(); ++port) {
    const uint32_t value = g.graph.inputs[port]->value;
    InputPort& input = g.out.inputs[port];
    input.device = &g.loaded.arenas->DeviceOf(g.out.index, value);
    input.block = &g.loaded.arenas->BlockOf(g.out.index, value);
    input.host_visible = input.block->host_visible();
  }
}

// Refuses inputs that lie in memory of a GPU which another rank than the caller's serves.
Status CheckInputs(const GraphPreparation& g) {
  for (const auto& input : g.graph.inputs) {
    const uint32_t arena = g.graph.buffers[g.graph.values[input->value].buffer()].arena();
    const uint32_t device = g.graph.arenas[arena].device();
    const bool here = g.loaded.view.IsHere(device) ||
                      g.loaded.arenas->HasOneAddress(g.out.index, input->value);
    if (here || g.loaded.rank != 0) continue;
    return Status(StatusCode::kUnsupported,
                  fmt::format("the input `{}` lies in memory of {}, which another process "
                              "serves; run in one process, without --processes",
                              input->name, plan::DeviceName(*g.loaded.plan, device)));
  }
  return Status::Ok();
}

Status FindPoison(GraphPreparation& g) {
  auto found = FindPoisonFlags(g.index);
  if (!found.ok()) return found.status();
  g.poison_flags = std::move(*found);
  g.out.poison_flags = g.poison_flags.count;
  for (uint32_t flag = 0; flag < g.poison_flags.count; ++flag) {
    const uint32_t setter = g.poison_flags.setters[flag];
    if (!g.poison_flags.may_fail[flag] || setter == plan::kNone) continue;
    g.out.flags_unannounced |= !g.loaded.devices[setter]->traits().immediate;
  }
  return Status::Ok();
}

// Orders the instructions of each work queue, and finds the waits and signals that are left between
// the queues that carry them out.
void FindSync(GraphPreparation& g) {
  g.work_queues = plan::WorkQueuesOf(g.loaded.placement, g.graph);
  if (&g.graph == g.loaded.plan->start.get()) {
    g.objects = OrderObjects(*g.loaded.plan, g.loaded.placement, g.loaded.rank_of_worker,
                             g.work_queues);
  }
  const std::vector<std::vector<uint32_t>> queues =
      SplitByQueue(g.loaded.queue_map, g.graph, g.work_queues);
  g.queue_of.resize(g.graph.instructions.size());
  for (uint32_t queue = 0; queue < queues.size(); ++queue) {
    for (uint32_t instruction : queues[queue]) g.queue_of[instruction] = queue;
  }
  const bool proved = g.context.options.proved;
  g.has_work = FindInstructionsWithWork(g.index, proved ? g.out.depth : kNoDepth);
  g.needs = proved ? FindSyncNeeds(g.graph, queues, g.queue_of, g.has_work, g.out.depth)
                   : KeepAllSync(g.graph);
  OmitKeptWait(g.out.index, g.needs.wait);
}

// Makes the events: those of the plan, then those of calls of native code, then those of objects.
Status MakeEvents(GraphPreparation& g) {
  g.native_calls = FindNativeCalls(g.index, g.loaded.devices, g.poison_flags);
  g.objects.first_event = g.graph.events + g.native_calls.late;
  auto events = device::SemaphoreArray::Make(*g.loaded.devices.front(),
                                             g.objects.first_event + g.objects.events,
                                             fmt::format("the events of `{}`", g.graph.name));
  if (!events.ok()) return events.status();
  g.out.events = std::move(*events);
  // The host signals those of lanes that work queues carry out.
  g.host_signals.assign(g.graph.events, false);
  for (uint32_t i = 0; i < g.graph.instructions.size(); ++i) {
    const plan::Instruction& at = g.graph.instructions[i];
    if (at.kind() == plan::Kind::signal) g.host_signals[at.subject()] = g.SlotOf(i) == 0;
  }
  return Status::Ok();
}

// Returns LoadedGraph::first_failures of a work queue.
uint32_t FirstFailure(const GraphPreparation& g, uint32_t work_queue) {
  const std::vector<bool> given = GivenSymbols(g.graph);
  uint32_t first = plan::kNone;
  for (const uint32_t i : g.work_queues[work_queue]) {
    if (!MayReportError(g.index, given, i)) continue;
    first = std::min(first, g.graph.instructions[i].program_order());
  }
  return first;
}

Status MakePrograms(GraphPreparation& g) {
  g.out.programs.resize(g.work_queues.size());
  for (uint32_t work_queue = 0; work_queue < g.work_queues.size(); ++work_queue) {
    if (!g.IsPrepared(work_queue)) continue;
    CGRAPH_RETURN_IF_ERROR(MakeProgram(g, work_queue, g.out.programs[work_queue]));
    if (g.out.programs[work_queue].steps.empty()) continue;
    g.out.participants.push_back(work_queue);
    g.out.first_failures.push_back(FirstFailure(g, work_queue));
  }
  return Status::Ok();
}

// Tells each device how the graph lies in memory, before anything of it is issued there.
Status DescribeGraphToDevices(const GraphPreparation& g) {
  device::GraphLayout layout;
  layout.graph = g.out.index;
  layout.setters = g.poison_flags.setters;
  layout.may_fail = &g.poison_flags.may_fail;
  for (const Frame& frame : g.out.frames) layout.frames.push_back(&frame.bindings);
  for (const StepList& program : g.out.programs) {
    layout.checks.push_back(program.checks);
    layout.steps = std::max(layout.steps, static_cast<uint32_t>(program.steps.size()));
  }
  for (uint32_t device = 0; device < g.loaded.devices.size(); ++device) {
    layout.device = device;
    CGRAPH_RETURN_IF_ERROR(g.loaded.devices[device]->AddGraph(layout));
  }
  return Status::Ok();
}

}  // namespace

Status PrepareGraph(const LoadContext& context, const LoadedPlan& loaded, LoadedGraph& graph) {
  GraphPreparation g(context, loaded, graph);
  DescribeInputs(g);
  CGRAPH_RETURN_IF_ERROR(CheckInputs(g));
  FindInputsOfGpus(g.index, loaded.devices, graph);
  if (context.options.results_on_gpus) KeepResultsOnGpus(g.index, loaded.devices, graph);
  CGRAPH_RETURN_IF_ERROR(FindPoison(g));
  FindSync(g);
  CGRAPH_RETURN_IF_ERROR(MakeEvents(g));
  auto communications = MakeCommunications(loaded, context.links, g.index, graph);
  if (!communications.ok()) return communications.status();
  g.communications = std::move(*communications);
  CGRAPH_RETURN_IF_ERROR(MakePrograms(g));
  CGRAPH_RETURN_IF_ERROR(g.operands.Fill(*loaded.arenas, *loaded.devices.front(), *loaded.heap,
                                         loaded.view, graph.index, graph));
  return DescribeGraphToDevices(g);
}

}  // namespace cgraph::engine
