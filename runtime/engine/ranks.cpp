// Several ranks: an engine whose workers are processes. Worker k is rank k; rank 0 is the process
// that loads the plan, submits and gives results.
//
// Every rank loads the plan in the same order, so everything that lanes share has one address in
// all of them (ranks/region.h). A rank makes kernels for its own work queue only. Objects in the
// region are made by each rank, with the same content; so nobody uses one before all have loaded.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/engine/core.h"
#include "runtime/engine/rank.h"
#include "runtime/plan/load.h"
#include "runtime/plan/print.h"
#include "runtime/ranks/lifeline.h"

namespace cgraph::engine {
namespace {

// How long a rank is given to end, once all executions have: it may be inside a kernel.
constexpr auto kGrace = std::chrono::seconds(1);

Result<ranks::Control*> TakeControl(ranks::Region& region) {
  auto memory = region.Allocate(sizeof(ranks::Control), device::MemoryKind::plain,
                                "what processes tell each other");
  if (!memory.ok()) return memory.status();
  return reinterpret_cast<ranks::Control*>(memory->data());
}

void Tell(ranks::Control& control, uint32_t rank, const Status& status) {
  ranks::RankState& state = control.states[rank];
  state.code = status.code();
  state.text.Set(status.message());
  state.phase.store(status.ok() ? ranks::RankState::kLoaded : ranks::RankState::kRefused,
                    std::memory_order_release);
  control.changed.Notify();
}

}  // namespace

// Starts the other ranks, which then load the plan while this one does.
Status Core::StartRanks() {
  if (!options_.processes || placement_.workers == 1) return Status::Ok();
  if (placement_.workers > ranks::kMostRanks) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("{} processes were asked for, and an engine has at most {}",
                              placement_.workers, ranks::kMostRanks));
  }
  auto region = ranks::Region::Make();
  if (!region.ok()) return region.status();
  auto control = TakeControl(**region);
  if (!control.ok()) return control.status();
  ranks_.control = new (*control) ranks::Control;
  ranks_.control->changed.ShareAmongProcesses();
  const std::vector<uint8_t> bytes = plan::ToBytes(*plan_);
  auto copy = (*region)->Allocate(bytes.size(), device::MemoryKind::plain, "the plan");
  if (!copy.ok()) return copy.status();
  std::memcpy(copy->data(), bytes.data(), bytes.size());
  ranks_.control->plan = reinterpret_cast<const uint8_t*>(copy->data());
  ranks_.control->plan_bytes = bytes.size();
  ranks::RankOptions& options = ranks_.control->options;
  options.ranks = placement_.workers;
  options.inflight = options_.inflight;
  options.proved = options_.proved;
  options.profile = options_.profile;
  options.trace = options_.trace;
  options.stall_timeout_ns = options_.stall_timeout.count();
  options.weights_dir.Set(options_.weights_dir);
  ranks_.count = placement_.workers;
  ranks_.region = std::move(*region);
  ended_ = &ranks_.control->ended;
  auto processes = ranks::Processes::Start(
      options_.rank_program, ranks_.count, ranks_.region, *ranks_.control,
      [this](uint32_t rank, int pid, const std::string& how) { Lose(rank, pid, how); });
  if (!processes.ok()) return processes.status();
  ranks_.processes = std::move(*processes);
  return Status::Ok();
}

// Waits until all ranks have loaded the plan, and lets them begin.
Status Core::AwaitRanks() {
  if (!several_ranks()) return Status::Ok();
  CGRAPH_RETURN_IF_ERROR(ranks_.processes->AwaitLoaded(options_.stall_timeout));
  for (uint32_t rank = 1; rank < ranks_.count; ++rank) {
    const uint64_t taken = ranks_.control->states[rank].taken;
    if (taken == ranks_.region->used()) continue;
    return Status(StatusCode::kInternal,
                  fmt::format("rank {} has taken {} bytes of the memory that processes share, and "
                              "rank 0 {}",
                              rank, taken, ranks_.region->used()));
  }
  ranks_.control->started.store(true, std::memory_order_release);
  ranks_.control->changed.Notify();
  return Status::Ok();
}

// Called by the thread that watches the processes.
void Core::Lose(uint32_t rank, int pid, const std::string& how) {
  std::string devices, doing;
  for (uint32_t lane = 0; lane < placement_.work_queue_of_lane.size(); ++lane) {
    const uint32_t work_queue = placement_.work_queue_of_lane[lane];
    if (placement_.worker_of_work_queue[work_queue] != rank) continue;
    const std::string name = plan::DeviceName(*plan_, plan_->lanes[lane].device());
    if (devices.find(name) != std::string::npos) continue;
    devices += (devices.empty() ? "" : ", ") + name;
  }
  if (ranks_.control->started.load(std::memory_order_acquire)) {
    std::lock_guard report(report_mutex_);
    for (uint32_t w = 0; w < work_queues_.size() && !released_; ++w) {
      if (placement_.worker_of_work_queue[w] != rank) continue;
      const Position position = work_queues_[w]->Where();
      if (!position.idle) doing += "\n" + Describe({position}, w);
    }
    if (!doing.empty()) doing.pop_back();
  }
  End(Status(StatusCode::kLost,
             fmt::format("rank {} (process {}: {}) {}; all executions in flight end with it{}",
                         rank, pid, devices, how, doing)));
}

// Ends the other ranks. What one of them still computes is for nobody.
void Core::EndRanks() {
  if (ranks_.processes == nullptr) return;
  ranks_.control->changed.Notify();
  ranks_.processes->End(kGrace);
  ranks_.processes.reset();
}

Status Core::ShareTrace(WorkQueue& work_queue) {
  auto count = heap_->Make<std::atomic<uint64_t>>(1, "a trace");
  auto steps = heap_->Make<TracedStep>(TraceLog::kSharedSteps, "a trace");
  for (const Status& status : {count.status(), steps.status()}) CGRAPH_RETURN_IF_ERROR(status);
  work_queue.ShareTrace({count->data(), *steps});
  return Status::Ok();
}

Status Core::LoadRank() {
  placement_ = workers::Place(*plan_, WorkersOf(*plan_, options_), options_.proved, gpus_);
  CGRAPH_RETURN_IF_ERROR(LoadShared());
  ranks_.control->states[ranks_.rank].taken = ranks_.region->used();
  return Status::Ok();
}

int Core::Serve(uint32_t rank) {
  auto region = ranks::Region::Attach(ranks::kRegionDescriptor);
  if (!region.ok()) return 1;
  auto taken = TakeControl(**region);
  if (!taken.ok()) return 1;
  ranks::Control& control = **taken;
  control.changed.ShareAmongProcesses();
  auto copy = (*region)->Allocate(control.plan_bytes, device::MemoryKind::plain, "the plan");
  auto plan = copy.ok() ? plan::FromBytes({control.plan, control.plan_bytes}) : copy.status();
  if (!plan.ok()) {
    Tell(control, rank, plan.status());
    return 1;
  }
  EngineOptions options;
  options.processes = control.options.ranks;
  options.inflight = control.options.inflight;
  options.proved = control.options.proved;
  options.profile = control.options.profile;
  options.trace = control.options.trace;
  options.stall_timeout = std::chrono::nanoseconds(control.options.stall_timeout_ns);
  options.weights_dir = control.options.weights_dir.Get();
  options.gpus = false;
  Core& core = *new Core(std::move(*plan), options);  // goes with the process
  core.ranks_ = {rank, control.options.ranks, std::move(*region), &control, nullptr};
  core.ended_ = &control.ended;
  const Status status = core.LoadRank();
  Tell(control, rank, status);
  if (!status.ok()) return 1;
  const auto begins = [&] {
    return control.started.load(std::memory_order_acquire) || core.ended();
  };
  while (!begins()) control.changed.Wait(begins);
  core.workers_[rank]->Drive(core.spins_, [&] { return core.ended(); });
  return 0;
}

int ServeRank(uint32_t rank) try {
  ranks::EndWithRankZero();
  return Core::Serve(rank);
} catch (const std::bad_alloc&) {
  return 1;
}

}  // namespace cgraph::engine
