#include "runtime/engine/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/death.h"
#include "runtime/base/omission.h"
#include "runtime/base/sync/cores.h"
#include "runtime/base/text.h"
#include "runtime/engine/machines/machine_gpus.h"
#include "runtime/load/load.h"
#include "runtime/load/support.h"
#include "runtime/plan/check.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/prove.h"

namespace cgraph::engine {
namespace {

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

uint32_t WorkersOf(const plan::Plan& plan, const EngineOptions& options) {
  if (options.peers != nullptr) return plan.workers;  // dealt by node
  if (options.processes != 0) {
    const auto devices = static_cast<uint32_t>(plan::BusyDevices(plan).size());
    return options.processes == kProcessPerDevice ? std::max(1u, devices) : options.processes;
  }
  if (options.workers != 0) return options.workers;
  return std::min(std::max(1u, plan.workers), Cores());
}

// All ranks of a machine make the same placement.
void PlaceLanes(const EngineOptions& options, LoadedPlan& loaded) {
  const auto gpus = loaded.NumbersOfGpus();
  loaded.placement =
      plan::Place(*loaded.plan, WorkersOf(*loaded.plan, options), options.proved, gpus);
  if (gpus.empty()) plan::SplitCaller(*loaded.plan, loaded.placement);
}

Status ProvePlan(plan::Plan& plan, const EngineOptions& options) {
  if (options.peers != nullptr) {
    plan::DealByNode(plan, static_cast<uint32_t>(options.peers->share_of_cores));
  } else if (options.processes == kProcessPerDevice) {
    plan::DealByDevice(plan);
  } else {
    plan::Deal(plan, WorkersOf(plan, options));
  }
  if (options.loading) options.loading("proving the plan");
  const plan::Verdict verdict = plan::Prove(plan, {.checked = true});
  if (verdict.proved()) return Status::Ok();
  return Status(StatusCode::kInvalid,
                fmt::format("the plan is not proved ({}): {}", plan::RefusalName(verdict.refusal),
                            verdict.message));
}

}  // namespace

Parts::Parts(std::unique_ptr<plan::Plan> plan, const EngineOptions& given)
    : options(given),
      ranks(options, loaded, ending),
      device_failures(loaded, ranks, ending),
      rounds(loaded, workers, ending),
      runs(loaded, workers, *this, device_failures, [this] { delete this; }),
      driver(loaded, workers, ending),
      callers_gpus(loaded),
      submitter(options, loaded, workers, callers_gpus, runs, driver, ending),
      reporter(loaded, workers, ranks),
      state_access(options, loaded, workers, ranks, ending),
      states(state_access, submitter, ending),
      measurements(loaded, workers, ranks, runs, submitter),
      watchdog(options, loaded, workers, submitter, driver, reporter, ending),
      view{.loaded = loaded,
           .workers = workers,
           .ending = ending,
           .rounds = rounds,
           .queues = reporter.mutex(),
           .load_patience = Ranks::LoadPatience(options),
           .lost =
               [this](uint32_t rank, const std::string& process, const std::string& how) {
                 ending.End(Status(
                     StatusCode::kLost,
                     fmt::format("rank {} ({}: {}) {}; all executions in flight end with it{}",
                                 rank, process, loaded.DevicesOf(rank), how,
                                 reporter.Doing(rank))));
               },
           .device_failed =
               [this](Status failure) { device_failures.EndBy(std::move(failure)); },
           .forget = [this] { measurements.Forget(); }} {
  loaded.plan = std::move(plan);
}

Result<Parts*> Parts::Load(std::unique_ptr<plan::Plan> plan, const EngineOptions& options) try {
  CGRAPH_RETURN_IF_ERROR(plan::CheckPlan(*plan));
  CGRAPH_RETURN_IF_ERROR(CheckMachines(*plan, options));
  if (options.proved) CGRAPH_RETURN_IF_ERROR(ProvePlan(*plan, options));
  CGRAPH_RETURN_IF_ERROR(CheckSupported(*plan));
  Parts* parts = new Parts(std::move(plan), options);
  Status status = parts->TryLoadPlan();
  if (status.ok()) return parts;
  parts->Teardown();
  parts->Release();
  return status;
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

Status Parts::TryLoadPlan() try {
  return LoadPlan();
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

Status Parts::LoadPlan() {
  const auto tell = [&](const char* what) {
    if (options.loading) options.loading(what);
  };
  tell("looking for GPUs");
  auto gpus = GpusFor(*loaded.plan, options);
  if (!gpus.ok()) return gpus.status();
  loaded.gpus = std::move(*gpus);
  loaded.apart = options.peers != nullptr;
  PlaceLanes(options, loaded);
  CGRAPH_RETURN_IF_ERROR(ranks.Start(view));
  PlaceRanks(loaded);
  if (Status status = LoadShared(); !status.ok()) return ranks.WithRefusals(std::move(status));
  FindConflicts(loaded);
  if (loaded.several_ranks()) tell("waiting for other processes");
  CGRAPH_RETURN_IF_ERROR(ranks.AwaitLoaded());
  CGRAPH_RETURN_IF_ERROR(submitter.Prepare(
      ranks.machines() == nullptr ? nullptr : ranks.machines()->others()));
  CGRAPH_RETURN_IF_ERROR(StartThreads());
  tell("computing initial states and reading weights");
  return RunStartGraph();
}

// Does what all ranks do alike.
Status Parts::LoadShared() {
  const LoadContext context = ranks.Context();
  CGRAPH_RETURN_IF_ERROR(engine::Load(context, loaded));
  callers_gpus.Find();
  states.List(*loaded.plan);
  Workers::Settings settings{.profile = options.profile,
                             .trace = options.trace,
                             .stall_timeout = options.timeout,
                             .cores = Cores(),
                             .poller = ranks.machines()};
  if (loaded.apart) settings.cores = options.peers->share_of_cores;
  if (loaded.rank != 0) settings.on_begin = [this](Frame& frame) { BeginRound(frame); };
  CGRAPH_RETURN_IF_ERROR(workers.Make(loaded, settings));
  for (auto& worker : workers.workers) ending.Wake(*worker->event_count);
  CGRAPH_RETURN_IF_ERROR(workers.OpenQueues(loaded, settings));
  if (loaded.apart) ranks.machines()->EndLoading();
  return Status::Ok();
}

Status Parts::LoadRank() {
  ReadDeath(loaded.rank);
  // Rank 0 has chosen the GPUs; of a plan's part it tells the placement, too.
  loaded.gpus = options.gpu_map;
  if (!loaded.apart) PlaceLanes(options, loaded);
  PlaceRanks(loaded);
  CGRAPH_RETURN_IF_ERROR(LoadShared());
  if (ranks.control() == nullptr) return Status::Ok();
  ranks.control()->states[loaded.rank].region_bytes = loaded.region->used();
  ranks.control()->states[loaded.rank].captures = CapturesOf(loaded);
  return Status::Ok();
}

// Starts the threads. Where one cannot be made, Teardown joins those that could.
Status Parts::StartThreads() try {
  ReadDeath(loaded.rank);
  workers.Start(loaded, [this] { return ending.has_ended(); });
  if (loaded.apart) CGRAPH_RETURN_IF_ERROR(ranks.machines()->StartThread());
  driver.Start([this] { submitter.FlushWanted(); });
  watchdog.Start();
  return Status::Ok();
} catch (const std::system_error& error) {
  return Status(StatusCode::kNotFound,
                fmt::format("the engine needs {} threads beside the caller's, and the system made "
                            "fewer: {}",
                            workers.workers.size() + 1, error.code().message()));
}

Status Parts::RunStartGraph() {
  if (!loaded.has_start) return Status::Ok();
  const auto graph = static_cast<uint32_t>(loaded.graphs.size() - 1);
  auto run = submitter.Submit(graph, {}, WhenFull::kWait);
  if (!run.ok()) return run.status();
  Status status = (*run)->lags ? submitter.Flush(**run) : Status::Ok();
  if (!Omits(Omission::kStartGraph)) driver.Await(**run);
  if (status.ok()) status = ending.has_ended() ? ending.why() : (*run)->Error();
  if (!status.ok() && loaded.kernels->weights().unreadable()) {
    status = Status(StatusCode::kNotFound, status.message());
  }
  (*run)->Unref(2);
  submitter.RetireStart();
  return status;
}

// Does what rank 0 cannot do for the GPUs of this rank when a round begins: rank 0 may have taken
// memory for results since the last one, and an execution that has failed leaves flags in the GPUs'
// own memory.
void Parts::BeginRound(Frame& frame) {
  const std::span<std::byte> grown = loaded.region->TakeGrown();
  device::HostReach* const host = loaded.devices.front()->host_reach();
  if (!grown.empty() && host != nullptr) {
    Status reached = host->Reach(grown.data(), grown.size(), "results");
    if (!reached.ok()) ranks.TellDeviceFailure(reached);
  }
  if (frame.words->failed.load(std::memory_order_relaxed)) {
    for (auto& device : loaded.devices) {
      const Status cleared = device->ClearPoison(frame.bindings);
      if (!cleared.ok()) ranks.TellDeviceFailure(cleared);
    }
  }
}

std::string Parts::NoteOfWorkers() const {
  const uint32_t cores = Cores();
  if (options.workers == 0 || workers.workers.size() <= cores) return "";
  return fmt::format("{} workers on {}: they take turns, and what one hands to another may wait "
                     "for a core; leave out --workers for no more than this process has cores",
                     workers.workers.size(), Counted(cores, "core"));
}

// ---- the end ------------------------------------------------------------------------------------

void Parts::Teardown() {
  // The watchdog, which calls this inside `timed_out`, must not wait for a thread that waits for
  // the watchdog.
  std::unique_lock teardown(teardown_, std::defer_lock);
  if (!watchdog.IsThisThread()) {
    teardown.lock();
  } else if (!teardown.try_lock()) {
    return;
  }
  if (std::exchange(torn_down_, true)) return;
  ending.End(std::move(closed_));
  loaded.native.Stop();
  submitter.AwaitCallers();
  driver.Join();
  workers.Join();
  driver.JoinFallback();
  // GPUs read memory of each other's processes: none of these ends before all have let go.
  if (loaded.among_gpu_ranks()) {
    if (!watchdog.IsThisThread()) watchdog.Join();
    CloseRank();
  }
  ranks.End();
  if (!watchdog.IsThisThread()) watchdog.Join();
  if (!loaded.among_gpu_ranks()) CloseQueues();
  ending.SetAtRest();
}

void Parts::CloseRank() {
  CloseQueues();
  ranks.CloseShared();
}

// Waits for what runs. A kernel that never ends cannot be ended: it is said which one it is, where
// its queue still knows.
void Parts::CloseQueues() {
  std::string kernels;
  bool over = true;
  {
    std::lock_guard report(reporter.mutex());  // a late Get() may look at queues
    // A queue that is closed makes signals in place of others, which then seem to be through with
    // collectives that hang.
    for (auto& work_queue : workers.work_queues) work_queue->queues().AbortCollectives();
    for (uint32_t w = 0; w < workers.work_queues.size(); ++w) {
      if (Omits(Omission::kEndQueues)) continue;
      std::vector<Position> running;
      over &= workers.work_queues[w]->CloseQueues(running);
      kernels += reporter.Describe(running, w);
    }
    over &= loaded.native.Close(options.timeout);
    for (auto& work_queue : workers.work_queues) {
      if (!Omits(Omission::kEndQueues)) work_queue->queues().Free();
    }
  }
  if (!over) TellAbandoned(kernels);
}

void Parts::TellAbandoned(std::string kernels) const {
  if (kernels.empty()) kernels = "which one is not known: its queue had failed before\n";
  std::string text = fmt::format(
      "a kernel has not ended {} s after the engine was to end, and is abandoned; memory that it "
      "may touch is not given back as long as the process lives\n{}",
      std::chrono::duration<double>(options.timeout).count(), kernels);
  text.pop_back();
  const Status status(StatusCode::kTimeout, text);
  if (options.abandoned) return options.abandoned(status);
  Say(fmt::format("cgraph: {}\n", status.message()));
}

// Releases everything but the runs, and the work queues and graphs without their memory, which a
// late Get() may still look at.
void Parts::Release() {
  watchdog.Join();  // which may have called Teardown()
  FreeGraphs();
  if (runs.Close()) delete this;
}

void Parts::FreeGraphs() {
  std::lock_guard report(reporter.mutex());
  reporter.Release();
  submitter.DropRuns();
  for (auto& graph : loaded.graphs) {
    graph->frames.clear();
    graph->programs.clear();
    graph->channels.clear();
    graph->collectives.clear();
    graph->events = {};
    graph->poison_bytes = {};
  }
  loaded.kernels.reset();
  loaded.native.Deregister();
  loaded.arenas.reset();
}

}  // namespace cgraph::engine
