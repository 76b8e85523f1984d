#include "runtime/load/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/base/assert.h"
#include "runtime/base/death.h"
#include "runtime/device/backends.h"
#include "runtime/device/gpus.h"
#include "runtime/load/peers/rank_view.h"
#include "runtime/plan/graph_index.h"

namespace cgraph::engine {
namespace {

uint32_t MostLag(const plan::Graph& graph) {
  uint32_t lag = 0;
  for (const auto& instruction : graph.instructions) {
    lag = std::max<uint32_t>(lag, instruction.lag());
  }
  return lag;
}

// Imports the modules of methods in Python before devices are opened. Devices open the machine's
// cuBLASLt, NVRTC and NCCL; a module such as PyTorch brings its own under the same names. A process
// keeps those that it loads first, and PyTorch's, which are newer, serve both.
Status ImportModules(const LoadContext& context, LoadedPlan& loaded) {
  if (!loaded.kernels->CallsPython()) return Status::Ok();
  context.Tell("importing modules of Python's");
  // The driver first: a module that uses GPUs would start it with settings of its own.
  if (!loaded.OwnGpus().empty()) device::FindGpus();
  return loaded.kernels->ImportModules(
      [&](uint32_t lane) { return loaded.IsHere(loaded.WorkerOfLane(lane)); });
}

// Puts stand-ins in the place of GPUs that other ranks serve.
Status OpenAbsent(const LoadContext& context, LoadedPlan& loaded) {
  for (const auto& [device, gpu] : loaded.gpus) {
    if (loaded.IsElsewhere(device)) loaded.devices[device] = MakeAbsentGpu();
  }
  if (loaded.region == nullptr || loaded.gpus.empty()) return Status::Ok();
  for (const auto& [device, gpu] : loaded.gpus) {
    const bool here = loaded.view.rank_of_device[device] == loaded.rank;
    if (!here) loaded.devices[device] = MakeAbsentGpu(loaded.region);
  }
  loaded.heap = std::make_unique<device::SharedHeap>(*loaded.devices.front());
  loaded.exchange =
      std::make_unique<cluster::Exchange>(loaded.rank, loaded.ranks, *loaded.heap, *context.control,
                                          context.among.gives_up, context.patience);
  loaded.view.exchange = loaded.exchange.get();
  return Status::Ok();
}

Status OpenDevices(const LoadContext& context, LoadedPlan& loaded) {
  context.Tell("opening devices");
  device::Assignment assignment{loaded.OwnGpus(), {}};
  if (loaded.several_ranks()) assignment.among = context.among;
  auto devices = device::BackendRegistry::Get().OpenAll(*loaded.plan, assignment);
  if (!devices.ok()) return devices.status();
  loaded.devices = std::move(*devices);
  CGRAPH_RETURN_IF_ERROR(OpenAbsent(context, loaded));
  if (loaded.heap == nullptr) {
    loaded.heap = std::make_unique<device::SharedHeap>(*loaded.devices.front());
  }
  for (const auto& device : loaded.devices) loaded.has_queues |= !device->traits().immediate;
  return Status::Ok();
}

Status MakeGraph(const plan::Graph& graph, const LoadContext& context, LoadedPlan& loaded) {
  auto& made = loaded.graphs.emplace_back(std::make_unique<LoadedGraph>());
  made->plan = &graph;
  made->index = static_cast<uint32_t>(loaded.graphs.size() - 1);
  made->lag = loaded.totals.empty() ? MostLag(graph) : loaded.totals[made->index].lag;
  made->several_ranks = loaded.several_ranks();
  made->inflight = std::max(1u, graph.inflight);
  if (context.options.inflight != 0) {
    made->inflight = std::min(made->inflight, context.options.inflight);
  }
  auto frames = Arenas::Frames(graph, made->inflight + made->lag);
  if (!frames.ok()) return frames.status();
  made->frames = std::vector<Frame>(*frames);
  made->depth = made->lag == 0 ? made->inflight : *frames - made->lag;
  return Status::Ok();
}

Status MakeGraphs(const LoadContext& context, LoadedPlan& loaded) {
  uint32_t most = 1;
  for (const auto& graph : loaded.plan->graphs) most = std::max(most, graph->inflight);
  if (context.options.inflight > most) {
    return Status(StatusCode::kInvalid,
                  fmt::format("{} executions in flight were asked for, and no graph of the plan is "
                              "compiled for more than {}; compile with --inflight {}",
                              context.options.inflight, most, context.options.inflight));
  }
  for (const auto& graph : loaded.plan->graphs) {
    CGRAPH_RETURN_IF_ERROR(MakeGraph(*graph, context, loaded));
  }
  loaded.has_start = loaded.plan->start != nullptr;
  return loaded.has_start ? MakeGraph(*loaded.plan->start, context, loaded) : Status::Ok();
}

Status FindCommunicators(const LoadContext& context, const std::vector<bool>& elsewhere,
                         LoadedPlan& loaded) {
  context.Tell("making the communicators of GPUs");
  HangWhereTold(loaded.rank, "before");
  const MachineView machines{context.links, loaded.rank, &loaded.gpus, loaded.totals};
  CGRAPH_RETURN_IF_ERROR(loaded.native.Find(*loaded.plan, loaded.devices, loaded.graphs, elsewhere,
                                            loaded.view, machines));
  HangWhereTold(loaded.rank, "behind");
  return Status::Ok();
}

Status MakeEventCounts(LoadedPlan& loaded) {
  auto event_counts =
      loaded.heap->Make<EventCount>(loaded.placement.workers, "the workers' event counts");
  if (!event_counts.ok()) return event_counts.status();
  loaded.event_counts = *event_counts;
  for (EventCount& event_count : loaded.event_counts) {
    if (loaded.region != nullptr) event_count.ShareAmongProcesses();
  }
  return Status::Ok();
}

Status PrepareGraphs(const LoadContext& context, LoadedPlan& loaded) {
  std::vector<EventCount*> event_counts;
  for (uint32_t worker : loaded.placement.worker_of_work_queue) {
    event_counts.push_back(&loaded.event_counts[worker]);
  }
  loaded.queue_map = MapQueues(*loaded.plan, loaded.placement, loaded.devices, event_counts);
  // The first worker of a rank goes on with messages.
  for (uint32_t w = loaded.placement.workers; context.links != nullptr && w-- > 0;) {
    if (loaded.IsHere(w)) context.links->SetRelayer(&loaded.event_counts[w]);
  }
  for (uint32_t g = 0; g < loaded.graphs.size(); ++g) {
    CGRAPH_RETURN_IF_ERROR(PrepareGraph(context, loaded, *loaded.graphs[g]));
#if CGRAPH_ASSERTS
    auto finished = loaded.heap->Make<std::atomic<uint64_t>>(
        loaded.placement.worker_of_work_queue.size(), "the rounds of a graph");
    if (!finished.ok()) return finished.status();
    loaded.graphs[g]->rounds_finished = *finished;
#endif
  }
  return loaded.native.Register(*loaded.arenas, loaded.placement);
}

}  // namespace

void PlaceRanks(LoadedPlan& loaded) {
  loaded.view.rank_of_device.assign(loaded.plan->devices.size(), 0);
  if (!loaded.several_ranks()) return;
  loaded.rank_of_worker.resize(loaded.placement.workers);
  std::iota(loaded.rank_of_worker.begin(), loaded.rank_of_worker.end(), 0);
  if (loaded.apart) {
    loaded.rank_of_worker.assign(loaded.placement.workers, 0);
    for (uint32_t lane = 0; lane < loaded.plan->lanes.size(); ++lane) {
      const uint32_t device = loaded.plan->lanes[lane].device();
      loaded.rank_of_worker[loaded.WorkerOfLane(lane)] = loaded.plan->devices[device]->node;
    }
    loaded.rank_of_worker[0] = 0;  // the caller's, which idle devices have, too
  }
  for (uint32_t lane = 0; lane < loaded.plan->lanes.size(); ++lane) {
    loaded.view.rank_of_device[loaded.plan->lanes[lane].device()] =
        loaded.rank_of_worker[loaded.WorkerOfLane(lane)];
  }
  if (loaded.region != nullptr) loaded.view.gpus = loaded.gpus;
}

Status Load(const LoadContext& context, LoadedPlan& loaded) {
  loaded.kernels = std::make_unique<Kernels>(loaded.plan.get(), &loaded.devices, context.options,
                                             context.ask_first_rank);
  CGRAPH_RETURN_IF_ERROR(ImportModules(context, loaded));
  CGRAPH_RETURN_IF_ERROR(OpenDevices(context, loaded));
  CGRAPH_RETURN_IF_ERROR(MakeGraphs(context, loaded));
  std::vector<bool> elsewhere;
  for (uint32_t device = 0; device < loaded.devices.size(); ++device) {
    elsewhere.push_back(loaded.IsElsewhere(device));
  }
  CGRAPH_RETURN_IF_ERROR(FindCommunicators(context, elsewhere, loaded));
  context.Tell("allocating memory");
  loaded.arenas = std::make_unique<Arenas>();
  CGRAPH_RETURN_IF_ERROR(loaded.arenas->Allocate(*loaded.plan, loaded.devices, loaded.graphs,
                                                 loaded.native.arenas(), elsewhere,
                                                 loaded.view));
  context.Tell("making kernels");
  CGRAPH_RETURN_IF_ERROR(MakeEventCounts(loaded));
  return PrepareGraphs(context, loaded);
}

// Two graphs need no wait between them when every state that one writes and the other touches is
// touched by one in-order queue only, in all graphs, and never with a lag. The reason: that queue
// runs their rounds in the order of submission, and each round's accesses are those of the
// execution that it begins. An access with a lag comes rounds later than the execution's first
// access: rounds of another graph that was submitted after it may lie in between.
void FindConflicts(LoadedPlan& loaded) {
  const uint32_t graphs = static_cast<uint32_t>(loaded.plan->graphs.size());
  const size_t actors = loaded.plan->actors.size();
  std::vector<std::vector<bool>> touches(graphs, std::vector<bool>(actors, false));
  std::vector<std::vector<bool>> writes = touches;
  std::vector<uint32_t> queue_of_actor(actors, plan::kNone);
  std::vector<bool> unordered(actors, false);  // by a queue's order of rounds
  for (uint32_t g = 0; g < graphs; ++g) {
    const plan::Graph& graph = *loaded.graphs[g]->plan;
    const plan::GraphIndex index(*loaded.plan, graph);
    for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
      index.ForEachOperand(i, [&](uint32_t value, bool write, uint32_t) {
        const uint32_t arena = graph.buffers[graph.values[value].buffer()].arena();
        if (graph.arenas[arena].space() != plan::Space::state) return;
        const uint32_t actor = graph.arenas[arena].owner();
        const uint32_t queue = loaded.queue_map.of_lane[index.lane(i)];
        touches[g][actor] = true;
        if (write) writes[g][actor] = true;
        if (queue_of_actor[actor] == plan::kNone) queue_of_actor[actor] = queue;
        if (queue_of_actor[actor] != queue || graph.instructions[i].lag() != 0) {
          unordered[actor] = true;
        }
      });
    }
  }
  for (uint32_t a = 0; a < graphs; ++a) {
    for (uint32_t b = 0; b < graphs; ++b) {
      bool conflict = false;
      for (size_t actor = 0; actor < actors && a != b; ++actor) {
        conflict |= unordered[actor] && ((writes[a][actor] && touches[b][actor]) ||
                                         (touches[a][actor] && writes[b][actor]));
      }
      if (conflict) loaded.graphs[a]->conflicts.push_back(b);
    }
  }
}

}  // namespace cgraph::engine
