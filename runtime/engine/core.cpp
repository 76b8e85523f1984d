#include "runtime/engine/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <new>
#include <system_error>

#include "runtime/base/omission.h"
#include "runtime/base/sync/cores.h"
#include "runtime/base/text.h"
#include "runtime/base/death.h"
#include "runtime/device/backends.h"
#include "runtime/device/cuda_library/cuda_library.h"
#include "runtime/execute/finish_recordings.h"
#include "runtime/load/communication/among_machines.h"
#include "runtime/load/prepare.h"
#include "runtime/load/support.h"
#include "runtime/plan/check.h"
#include "runtime/plan/graph_index.h"
#include "runtime/plan/prove.h"
#include "runtime/plan/split_caller.h"
#include "runtime/workers/partition.h"

namespace cgraph::engine {
namespace {

uint32_t MostLag(const plan::Graph& graph) {
  uint32_t lag = 0;
  for (const auto& instruction : graph.instructions) {
    lag = std::max<uint32_t>(lag, instruction.lag());
  }
  return lag;
}

// Refuses a plan that the processes of a launcher do not fit.
Status CheckMachines(const plan::Plan& plan, const EngineOptions& options) {
  if (options.peers == nullptr) return Status::Ok();
  CGRAPH_RETURN_IF_ERROR(CheckNodes(plan, *options.peers));
  if (!options.proved || options.processes != 0) {
    return Status(StatusCode::kUnsupported,
                  "ranks of several machines run proved plans, a process for each; do not ask for "
                  "unproved ones, or for more processes");
  }
  return Status::Ok();
}

}  // namespace

uint32_t Core::WorkersOf(const plan::Plan& plan, const EngineOptions& options) {
  if (options.peers != nullptr) return plan.workers;  // dealt by node
  if (options.processes != 0) {
    const auto devices = static_cast<uint32_t>(plan::BusyDevices(plan).size());
    return options.processes == kProcessPerDevice ? std::max(1u, devices) : options.processes;
  }
  if (options.workers != 0) return options.workers;
  return std::min(std::max(1u, plan.workers), Cores());
}

std::string Core::NoteOfWorkers() const {
  const uint32_t cores = Cores();
  if (options_.workers == 0 || workers_.size() <= cores) return "";
  return fmt::format("{} workers on {}: they take turns, and what one hands to another may wait "
                     "for a core; leave out --workers for no more than this process has cores",
                     workers_.size(), Counted(cores, "core"));
}

Status OutOfMemory() { return Status(StatusCode::kNotFound, "no memory left"); }

Result<Core*> Core::Load(std::unique_ptr<plan::Plan> plan, const EngineOptions& options) try {
  CGRAPH_RETURN_IF_ERROR(plan::CheckPlan(*plan));
  CGRAPH_RETURN_IF_ERROR(CheckMachines(*plan, options));
  if (options.proved) {
    if (options.peers != nullptr) {
      workers::DealByNode(*plan, static_cast<uint32_t>(options.peers->share_of_cores));
    } else if (options.processes == kProcessPerDevice) {
      workers::DealByDevice(*plan);
    } else {
      workers::Partition(*plan, {.workers = WorkersOf(*plan, options)});
    }
    if (options.loading) options.loading("proving the plan");
    const plan::Verdict verdict = plan::Prove(*plan);
    if (!verdict.proved()) {
      return Status(StatusCode::kInvalid, fmt::format("the plan is not proved ({}): {}",
                                                      plan::RefusalName(verdict.refusal),
                                                      verdict.message));
    }
  }
  CGRAPH_RETURN_IF_ERROR(CheckSupported(*plan));
  Core* core = new Core(std::move(plan), options);
  Status status = core->TryLoadPlan();
  if (!status.ok()) {
    core->Teardown();
    core->JoinWatchdog();
    core->Release();
    return status;
  }
  return core;
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

Status Core::TryLoadPlan() try {
  return LoadPlan();
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

Status Core::OpenDevices() {
  Loading("opening devices");
  std::unique_ptr<device::Backend> first;
  if (ranks_.region != nullptr) first = device::MakeCpuBackend(ranks_.region);
  const device::AmongProcesses among = Among();
  if (const device::GpuMap own = OwnGpus(); !own.empty()) {
    auto cuda = device::MakeCudaBackend(own, several_ranks() ? &among : nullptr);
    if (!cuda.ok()) return cuda.status();
    first = std::move(*cuda);
  }
  auto devices = device::BackendRegistry::Get().OpenAll(*plan_, std::move(first));
  if (!devices.ok()) return devices.status();
  devices_ = std::move(*devices);
  CGRAPH_RETURN_IF_ERROR(OpenAbsent());
  if (heap_ == nullptr) heap_ = std::make_unique<device::SharedHeap>(*devices_.front());
  for (const auto& device : devices_) has_queues_ |= !device->immediate();
  FindSharedGpus();
  return Status::Ok();
}

// All ranks of a machine make the same placement.
void Core::PlaceLanes() {
  const auto gpus = NumbersOfGpus();
  placement_ = plan::Place(*plan_, WorkersOf(*plan_, options_), options_.proved, gpus);
  if (gpus.empty()) plan::SplitCaller(*plan_, placement_);
}

Status Core::LoadPlan() {
  Loading("looking for GPUs");
  CGRAPH_RETURN_IF_ERROR(FindGpus());
  PlaceLanes();
  CGRAPH_RETURN_IF_ERROR(StartRanks());
  PlaceRanks();
  ViewRanks();
  if (Status loaded = LoadShared(); !loaded.ok()) return WithRefusals(std::move(loaded));
  FindConflicts();
  if (several_ranks()) Loading("waiting for other processes");
  CGRAPH_RETURN_IF_ERROR(AwaitRanks());
  CGRAPH_RETURN_IF_ERROR(ReserveRuns());
  CGRAPH_RETURN_IF_ERROR(StartThreads());
  Loading("computing initial states and reading weights");
  return RunStartGraph();
}

// Does what all ranks do alike.
Status Core::LoadShared() {
  kernels_ =
      std::make_unique<Kernels>(plan_.get(), &devices_, options_,
                                machines_ != nullptr ? machines_->first_rank() : nullptr);
  CGRAPH_RETURN_IF_ERROR(ImportModules());
  CGRAPH_RETURN_IF_ERROR(OpenDevices());
  CGRAPH_RETURN_IF_ERROR(MakeGraphs());
  std::vector<bool> elsewhere;
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    elsewhere.push_back(IsElsewhere(device));
  }
  Loading("making the communicators of GPUs");
  HangWhereTold(ranks_.rank, "before");
  const MachineView machines{machines_.get(), ranks_.rank, &gpus_, totals_};
  CGRAPH_RETURN_IF_ERROR(native_.Find(*plan_, devices_, graphs_, elsewhere, view_, machines));
  HangWhereTold(ranks_.rank, "behind");
  ListStates();
  arenas_ = std::make_unique<Arenas>();
  Loading("allocating memory");
  CGRAPH_RETURN_IF_ERROR(arenas_->Allocate(*plan_, devices_, graphs_, native_, elsewhere, view_));
  Loading("making kernels");
  CGRAPH_RETURN_IF_ERROR(MakeWorkers());
  CGRAPH_RETURN_IF_ERROR(PrepareGraphs());
  CGRAPH_RETURN_IF_ERROR(MakeWorkQueues());
  CGRAPH_RETURN_IF_ERROR(OpenQueues());
  if (machines_ != nullptr) machines_->EndLoading();
  return Status::Ok();
}

// Imports the modules of methods in Python before devices are opened. Devices open the machine's
// cuBLASLt, NVRTC and NCCL; a module such as PyTorch brings its own under the same names. A process
// keeps those that it loads first, and PyTorch's, which are newer, serve both.
Status Core::ImportModules() {
  if (!kernels_->CallsPython()) return Status::Ok();
  Loading("importing modules of Python's");
  // The driver first: a module that uses GPUs would start it with settings of its own.
  if (!OwnGpus().empty()) device::FindGpus();
  return kernels_->ImportModules([&](uint32_t lane) {
    return IsHere(placement_.worker_of_work_queue[placement_.work_queue_of_lane[lane]]);
  });
}

Status Core::MakeGraphs() {
  std::vector<const plan::Graph*> graphs;
  for (const auto& graph : plan_->graphs) graphs.push_back(graph.get());
  uint32_t most = 1;
  for (const plan::Graph* graph : graphs) most = std::max(most, graph->inflight);
  if (options_.inflight > most) {
    return Status(StatusCode::kInvalid,
                  fmt::format("{} executions in flight were asked for, and no graph of the plan is "
                              "compiled for more than {}; compile with --inflight {}",
                              options_.inflight, most, options_.inflight));
  }
  has_start_ = plan_->start != nullptr;
  if (has_start_) graphs.push_back(plan_->start.get());
  for (const plan::Graph* graph : graphs) {
    auto& loaded = graphs_.emplace_back(std::make_unique<LoadedGraph>());
    loaded->plan = graph;
    loaded->index = static_cast<uint32_t>(graphs_.size() - 1);
    loaded->lag = totals_.empty() ? MostLag(*graph) : totals_[loaded->index].lag;
    loaded->several_ranks = several_ranks();
    loaded->inflight = std::max(1u, graph->inflight);
    if (options_.inflight != 0) {
      loaded->inflight = std::min(loaded->inflight, options_.inflight);
    }
    auto frames = Arenas::Frames(*graph, loaded->inflight + loaded->lag);
    if (!frames.ok()) return frames.status();
    loaded->frames = std::vector<Frame>(*frames);
    loaded->depth = loaded->lag == 0 ? loaded->inflight : *frames - loaded->lag;
    std::vector<std::string>& names = output_names_.emplace_back();
    for (const auto& port : graph->outputs) names.push_back(port->name);
  }
  return Status::Ok();
}

Status Core::MakeWorkers() {
  auto event_counts =
      heap_->Make<EventCount>(placement_.workers, "the workers' event counts");
  if (!event_counts.ok()) return event_counts.status();
  for (EventCount& event_count : *event_counts) {
    if (ranks_.region != nullptr) event_count.ShareAmongProcesses();
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->event_count = &event_count;
  }
  if (machines_ != nullptr) {
    if (Worker* worker = PollingWorker()) {
      worker->machines = machines_.get();
      machines_->SetRelayer(worker->event_count);
    }
  }
  return Status::Ok();
}

Status Core::PrepareGraphs() {
  std::vector<EventCount*> event_counts;
  for (uint32_t worker : placement_.worker_of_work_queue) {
    event_counts.push_back(workers_[worker]->event_count);
  }
  queue_map_ = MapQueues(*plan_, placement_, devices_, event_counts);
  const Preparation preparation{.plan = plan_.get(),
                                .placement = &placement_,
                                .devices = &devices_,
                                .arenas = arenas_.get(),
                                .heap = heap_.get(),
                                .native = &native_,
                                .kernels = kernels_.get(),
                                .queues = &queue_map_,
                                .proved = options_.proved,
                                .profile = options_.profile || options_.trace,
                                .capture = options_.capture,
                                .results_on_gpus = options_.results_on_gpus,
                                .rank = ranks_.rank,
                                .rank_of_worker = ranks_.of_worker,
                                .machines = machines_.get(),
                                .view = &view_,
                                .totals = totals_};
  for (uint32_t g = 0; g < graphs_.size(); ++g) {
    CGRAPH_RETURN_IF_ERROR(PrepareGraph(preparation, g, *graphs_[g]));
#if CGRAPH_ASSERTS
    auto finished = heap_->Make<std::atomic<uint64_t>>(placement_.worker_of_work_queue.size(),
                                                       "the rounds of a graph");
    if (!finished.ok()) return finished.status();
    graphs_[g]->rounds_finished = *finished;
#endif
  }
  return native_.Register(*arenas_, placement_);
}

Status Core::MakeWorkQueues() {
  uint32_t entries = 0;
  for (const auto& graph : graphs_) entries += static_cast<uint32_t>(graph->frames.size());
  const uint64_t queues = placement_.worker_of_work_queue.size();
  CGRAPH_RETURN_IF_ERROR(device::CheckFree(
      queues * std::bit_ceil(uint64_t{entries} + 1) * sizeof(uint64_t),
      fmt::format("the inboxes of {} work queues for {} executions", queues, entries)));
  for (uint32_t w = 0; w < workers_.size(); ++w) {
    if (!IsHere(w)) continue;
    auto scratch = device::Memory::Allocate(kernels_->most_scratch(), "a kernel's scratch");
    if (!scratch.ok()) return scratch.status();
    workers_[w]->scratch = std::move(*scratch);
  }
  for (uint32_t s = 0; s < placement_.worker_of_work_queue.size(); ++s) {
    Worker& worker = *workers_[placement_.worker_of_work_queue[s]];
    auto shared = WorkQueue::Share(*heap_, entries);
    if (!shared.ok()) return shared.status();
    work_queues_.push_back(std::make_unique<WorkQueue>(plan_.get(), s, &graphs_, *shared,
                                                       worker.scratch.data(), worker.event_count,
                                                       workers_[0]->event_count));
    work_queues_.back()->Measure(options_.profile, options_.trace);
    if (ranks_.region != nullptr && options_.trace) {
      CGRAPH_RETURN_IF_ERROR(ShareTrace(*work_queues_.back()));
    }
    if (AmongGpuRanks()) CGRAPH_RETURN_IF_ERROR(ShareHeads(*work_queues_.back()));
    worker.work_queues.push_back(work_queues_.back().get());
  }
  uint32_t here = 0;
  for (uint32_t w = 0; w < workers_.size(); ++w) here += IsHere(w);
  yields_ = machines_ != nullptr ? std::max(1u, here) > options_.peers->share_of_cores
                                 : workers_.size() > Cores();
  return Status::Ok();
}

// Opens the queues, in the order of their numbers at each work queue.
Status Core::OpenQueues() {
  auto ends = device::SemaphoreArray::Make(
      *devices_.front(), queue_map_.queues.size(), "the ends of queues");
  if (!ends.ok()) return ends.status();
  queue_ends_ = std::move(*ends);
  for (size_t q = 0; q < queue_map_.queues.size(); ++q) {
    const QueueMap::Queue& at = queue_map_.queues[q];
    if (at.slot == 0 || !IsHere(placement_.worker_of_work_queue[at.work_queue])) continue;
    EventCount* issuer = queue_map_.queues[at.work_queue].event_count;
    auto queue = devices_[at.device]->OpenQueue({issuer, kernels_->most_scratch(),
                                                 options_.profile || options_.trace,
                                                 options_.timeout});
    if (!queue.ok()) return queue.status();
    const auto number = static_cast<uint32_t>(q - work_queues_.size());
    work_queues_[at.work_queue]->AddQueue(number, std::move(*queue), &queue_ends_[q]);
  }
  Loading("recording CUDA graphs");
  for (auto& work_queue : work_queues_) CGRAPH_RETURN_IF_ERROR(work_queue->Record());
  return FinishRecordings(graphs_);
}

// Finds the graphs that conflict, so that one must wait for the other. Two graphs need no wait
// between them when every state that one writes and the other touches is touched by one in-order
// queue only, in all graphs, and never with a lag. The reason: that queue runs their rounds in the
// order of submission, and each round's accesses are those of the execution that it begins. An
// access with a lag comes rounds later than the execution's first access: rounds of another graph
// that was submitted after it may lie in between.
void Core::FindConflicts() {
  const uint32_t graphs = static_cast<uint32_t>(plan_->graphs.size());
  const size_t actors = plan_->actors.size();
  std::vector<std::vector<bool>> touches(graphs, std::vector<bool>(actors, false));
  std::vector<std::vector<bool>> writes = touches;
  std::vector<uint32_t> queue_of_actor(actors, plan::kNone);
  std::vector<bool> unordered(actors, false);  // by a queue's order of rounds
  for (uint32_t g = 0; g < graphs; ++g) {
    const plan::Graph& graph = *graphs_[g]->plan;
    const plan::GraphIndex index(*plan_, graph);
    for (uint32_t i = 0; i < graph.instructions.size(); ++i) {
      index.ForEachOperand(i, [&](uint32_t value, bool write, uint32_t) {
        const uint32_t arena = graph.buffers[graph.values[value].buffer()].arena();
        if (graph.arenas[arena].space() != plan::Space::state) return;
        const uint32_t actor = graph.arenas[arena].owner();
        const uint32_t queue = queue_map_.of_lane[index.lane(i)];
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
      if (conflict) graphs_[a]->conflicts.push_back(b);
    }
  }
}

// Makes as many runs as can be in progress, and one for a caller that still holds the last result.
Status Core::ReserveRuns() {
  for (uint32_t g = 0; g < graphs_.size(); ++g) {
    const LoadedGraph& graph = *graphs_[g];
    const uint64_t runs = uint64_t{graph.inflight} + graph.lag + 1;
    const uint64_t each = sizeof(ExecutionState) +
                          graph.participants.size() * sizeof(ExecutionState::Target) +
                          graph.plan->outputs.size() * sizeof(device::Tensor) +
                          std::max(graph.result_blocks.front().bytes, device::kBlockAlign);
    CGRAPH_RETURN_IF_ERROR(device::CheckFree(
        each > UINT64_MAX / runs ? UINT64_MAX : runs * each,
        fmt::format("the results of {} executions of `{}`", runs, graph.plan->name)));
    for (uint64_t i = 0; i < runs; ++i) {
      auto run = MakeRun(g);
      if (!run.ok()) return run.status();
      (*run)->next = graphs_[g]->free;
      graphs_[g]->free = *run;
    }
    CGRAPH_RETURN_IF_ERROR(BeginEmpty(*graphs_[g]));
    given_.resize(std::max(given_.size(), graphs_[g]->inputs.size()));
  }
  return Status::Ok();
}

// Starts the workers of this process, but for the first, which the caller of its functions drives.
Status Core::StartWorkers() {
  const auto first = std::find_if(workers_.begin(), workers_.end(), [&](const auto& worker) {
    return IsHere(static_cast<uint32_t>(&worker - workers_.data()));
  });
  for (uint32_t w = 0; w < workers_.size(); ++w) {
    Worker* worker = workers_[w].get();
    if (!IsHere(w) || worker == first->get()) continue;
    worker->thread =
        std::thread([this, worker] { worker->Drive(yields_, [this] { return ended(); }); });
  }
  return Status::Ok();
}

// Starts the threads. Where one cannot be made, Teardown joins those that could.
Status Core::StartThreads() try {
  ReadDeath(ranks_.rank);
  CGRAPH_RETURN_IF_ERROR(StartWorkers());
  if (machines_ != nullptr) CGRAPH_RETURN_IF_ERROR(machines_->StartThread());
  fallback_driver_ = std::thread([this] { RunFallbackDriver(); });
  Progress progress;
  progress.seen.resize(2 * work_queues_.size(), 0);
  progress.graphs.resize(graphs_.size());
  positions_.Reserve(work_queues_.size());
  watchdog_ = std::thread(&Core::Watch, this, std::move(progress));
  return Status::Ok();
} catch (const std::system_error& error) {
  return Status(StatusCode::kNotFound,
                fmt::format("the engine needs {} threads beside the caller's, and the system made "
                            "fewer: {}",
                            workers_.size() + 1, error.code().message()));
}

Status Core::RunStartGraph() {
  if (!has_start_) return Status::Ok();
  auto run = Submit(static_cast<uint32_t>(graphs_.size() - 1), {}, WhenFull::kWait);
  if (!run.ok()) return run.status();
  Status status = (*run)->lags ? Flush(**run) : Status::Ok();
  if (!Omits(Omission::kStartGraph)) Await(**run);
  if (status.ok()) status = ended() ? EndStatus() : (*run)->Error();
  if (!status.ok() && kernels_->weights().unreadable()) {
    status = Status(StatusCode::kNotFound, status.message());
  }
  (*run)->Unref(2);
  std::lock_guard lock(submission_);
  Retire(*graphs_.back());
  executions_ = errors_ = 0;  // it is none of the caller's
  return status;
}

}  // namespace cgraph::engine
