#include "runtime/engine/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/death.h"
#include "runtime/base/sync/cores.h"
#include "runtime/base/text.h"
#include "runtime/base/wait_point.h"
#include "runtime/engine/ranks/machines.h"
#include "runtime/engine/ranks/other_ranks.h"
#include "runtime/engine/ranks/region_ranks.h"
#include "runtime/load/load.h"
#include "runtime/load/support.h"
#include "runtime/plan/check.h"
#include "runtime/plan/placement.h"
#include "runtime/plan/prove.h"

namespace cgraph::engine {
namespace {

std::unique_ptr<Ranks> MakeRanksOfRankZero(const EngineOptions& options, const EngineView& engine) {
  if (options.peers != nullptr) return std::make_unique<OtherRanks>(options, engine);
  if (options.processes != 0) return std::make_unique<RegionRanks>(options, engine);
  return std::make_unique<Ranks>(options, engine);
}

}  // namespace

Parts::Parts(std::unique_ptr<plan::Plan> plan, const EngineOptions& given,
             const MakeRanks& make_ranks)
    : options(given),
      view{.loaded = loaded,
           .workers = workers,
           .ending = ending,
           .rounds = rounds,
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
           .forget = [this] { measurements.Forget(); }},
      ranks(make_ranks(options, view)),
      device_failures(loaded, *ranks, ending),
      rounds(loaded, workers, ending),
      executions(loaded, workers, *this, device_failures, [this] { delete this; }),
      driver(loaded, workers, ending),
      callers_gpus(loaded),
      submitter(options, loaded, workers, callers_gpus, executions, driver, *ranks, ending),
      reporter(loaded, workers, *ranks),
      state_access(options, loaded, *ranks, ending),
      states(state_access, submitter, ending),
      measurements(loaded, workers, *ranks, executions, submitter),
      watchdog(options, loaded, workers, submitter, driver, reporter, ending) {
  loaded.plan = std::move(plan);
  ranks->TakePlace();
}

Result<Parts*> Parts::Load(std::unique_ptr<plan::Plan> plan, const EngineOptions& options) try {
  CGRAPH_RETURN_IF_ERROR(plan::CheckPlan(*plan));
  Parts* parts = new Parts(std::move(plan), options, MakeRanksOfRankZero);
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
  CGRAPH_RETURN_IF_ERROR(ranks->Check(*loaded.plan));
  if (options.proved) CGRAPH_RETURN_IF_ERROR(ProvePlan());
  CGRAPH_RETURN_IF_ERROR(CheckSupported(*loaded.plan));
  tell("looking for GPUs");
  auto gpus = GpusFor(*loaded.plan, options);
  if (!gpus.ok()) return gpus.status();
  loaded.gpus = std::move(*gpus);
  PlaceLanes();
  CGRAPH_RETURN_IF_ERROR(ranks->Start());
  PlaceRanks(loaded);
  if (Status status = LoadShared(); !status.ok()) return ranks->WithRefusals(std::move(status));
  FindConflicts(loaded);
  if (loaded.several_ranks()) tell("waiting for other processes");
  CGRAPH_RETURN_IF_ERROR(ranks->AwaitLoaded());
  CGRAPH_RETURN_IF_ERROR(submitter.Prepare());
  CGRAPH_RETURN_IF_ERROR(StartThreads());
  tell("computing initial states and reading weights");
  return RunStartGraph();
}

Status Parts::ProvePlan() {
  ranks->Deal(*loaded.plan);
  if (options.loading) options.loading("proving the plan");
  const plan::Verdict verdict = plan::Prove(*loaded.plan, {.checked = true});
  if (verdict.proved()) return Status::Ok();
  return Status(StatusCode::kInvalid,
                fmt::format("the plan is not proved ({}): {}", plan::RefusalName(verdict.refusal),
                            verdict.message));
}

// All ranks of a machine make the same placement.
void Parts::PlaceLanes() {
  const auto gpus = loaded.NumbersOfGpus();
  loaded.placement =
      plan::Place(*loaded.plan, ranks->WorkersOf(*loaded.plan), options.proved, gpus);
  if (gpus.empty()) plan::SplitCaller(*loaded.plan, loaded.placement);
}

// Does what all ranks do alike.
Status Parts::LoadShared() {
  const LoadContext context = ranks->Context();
  CGRAPH_RETURN_IF_ERROR(engine::Load(context, loaded));
  callers_gpus.Find();
  states.List(*loaded.plan);
  Workers::Settings settings{
      .profile = options.profile, .trace = options.trace, .stall_timeout = options.timeout};
  ranks->Configure(settings);
  CGRAPH_RETURN_IF_ERROR(workers.Make(loaded, settings));
  for (auto& worker : workers.workers) ending.Wake(*worker->event_count);
  CGRAPH_RETURN_IF_ERROR(workers.OpenQueues(loaded, settings));
  ranks->EndLoading();
  return Status::Ok();
}

Status Parts::LoadRank() {
  ReadDeath(loaded.rank);
  // Rank 0 has chosen the GPUs; of a plan's part it tells the placement, too.
  loaded.gpus = options.gpu_map;
  if (!loaded.apart) PlaceLanes();
  PlaceRanks(loaded);
  return LoadShared();
}

// Starts the threads. Where one cannot be made, Teardown joins those that could.
Status Parts::StartThreads() try {
  ReadDeath(loaded.rank);
  workers.Start(loaded, [this] { return ending.has_ended(); });
  CGRAPH_RETURN_IF_ERROR(ranks->StartThread());
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
  auto execution = submitter.Submit(graph, {}, WhenFull::kWait);
  if (!execution.ok()) return execution.status();
  Status status = (*execution)->lags ? submitter.Flush(**execution) : Status::Ok();
  if (!Omits(WaitPoint::kStartGraph)) driver.Await(**execution);
  if (status.ok()) status = ending.has_ended() ? ending.why() : (*execution)->Error();
  if (!status.ok() && loaded.kernels->weights().unreadable()) {
    status = Status(StatusCode::kNotFound, status.message());
  }
  (*execution)->Unref(2);
  submitter.RetireStart();
  return status;
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
  // Before queues are closed: a queue that closes forces its missing signals, and the thread would
  // report those as progress.
  ranks->EndThread();
  // GPUs read memory of each other's processes: none of these ends before all have let go.
  if (loaded.among_gpu_ranks()) {
    if (!watchdog.IsThisThread()) watchdog.Join();
    CloseQueues();
    ranks->CloseShared();
  }
  ranks->End();
  if (!watchdog.IsThisThread()) watchdog.Join();
  if (!loaded.among_gpu_ranks()) CloseQueues();
  ending.SetAtRest();
}

// Waits for what runs. A kernel that never ends cannot be ended: the message names it, where its
// queue still knows which one it is.
void Parts::CloseQueues() {
  std::string kernels;
  bool over = true;
  {
    std::lock_guard closing(workers.closing);  // a late Get() may look at queues
    // A queue that is closed makes signals in place of others, which then seem to be through with
    // collectives that hang.
    for (auto& work_queue : workers.work_queues) work_queue->queues().AbortCollectives();
    for (uint32_t w = 0; w < workers.work_queues.size(); ++w) {
      if (Omits(WaitPoint::kEndQueues)) continue;
      std::vector<Position> running;
      over &= workers.work_queues[w]->CloseQueues(running);
      kernels += reporter.Describe(running, w);
    }
    over &= loaded.native.Close(options.timeout);
    for (auto& work_queue : workers.work_queues) {
      if (!Omits(WaitPoint::kEndQueues)) work_queue->queues().Free();
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

// Releases everything but the executions, and the work queues and graphs without their memory,
// which a late Get() may still look at.
void Parts::Release() {
  watchdog.Join();  // which may have called Teardown()
  FreeGraphs();
  if (executions.Close()) delete this;
}

void Parts::FreeGraphs() {
  std::lock_guard closing(workers.closing);
  reporter.Release();
  submitter.DropExecutions();
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
