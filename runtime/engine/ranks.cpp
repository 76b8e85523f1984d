// Several ranks: an engine whose workers are processes. Worker k is rank k; rank 0 is the process
// that loads the plan, submits and gives results.
//
// Every rank of one machine loads the plan in the same order, so everything that lanes share has
// one address in all of them (cluster/shared/region.h). A rank makes kernels for its own work queue
// only. Objects in the region are made by each rank, with the same content; so nobody uses one
// before all have loaded. Ranks of other machines load their parts of the plan
// (machines/plan_message.h).
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/base/terminal.h"
#include "runtime/base/text.h"
#include "runtime/base/death.h"
#include "runtime/cluster/lifeline.h"
#include "runtime/engine/core.h"
#include "runtime/engine/rank.h"
#include "runtime/plan/load.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {
namespace {

// How long a rank is given to end, once all executions have: it may be inside a kernel.
constexpr auto kGrace = std::chrono::seconds(1);
// How long a rank may take to load a plan, at least: time-outs are about executions.
constexpr auto kLoadPatience = std::chrono::seconds(60);
constexpr auto kNoPatience = std::chrono::nanoseconds(1);

Result<cluster::Control*> TakeControl(cluster::Region& region) {
  auto memory = region.Allocate(sizeof(cluster::Control), device::MemoryKind::plain,
                                "what processes tell each other");
  if (!memory.ok()) return memory.status();
  return reinterpret_cast<cluster::Control*>(memory->data());
}

void ReportLoaded(cluster::Control& control, uint32_t rank, const Status& status) {
  cluster::RankState& state = control.states[rank];
  state.code = status.code();
  state.text.Set(status.message());
  state.phase.store(status.ok() ? cluster::RankState::kLoaded : cluster::RankState::kFailed,
                    std::memory_order_release);
  control.changed.Notify();
}

Result<EngineOptions> OptionsOf(const cluster::Control& control) {
  EngineOptions options;
  if (!ReadTextForRanks(control.options.text.Get(), options)) {
    return Status(StatusCode::kInvalid, "rank 0 has told no options");
  }
  for (uint64_t i = 0; i < control.gpu_count; ++i) {
    options.gpu_map.emplace(control.gpus[i].device, control.gpus[i].gpu);
  }
  options.processes = control.options.ranks;
  return options;
}

// Says which devices run on GPUs, for all ranks.
Status TellGpus(const device::GpuMap& gpus, cluster::Region& region, cluster::Control& control) {
  auto table = region.Allocate(gpus.size() * sizeof(cluster::GpuOfDevice),
                               device::MemoryKind::plain, "which devices run on GPUs");
  if (!table.ok()) return table.status();
  auto* at = reinterpret_cast<cluster::GpuOfDevice*>(table->data());
  control.gpus = at;
  control.gpu_count = gpus.size();
  for (const auto& [device, gpu] : gpus) *at++ = {device, gpu};
  return Status::Ok();
}

// Refuses what processes of one machine cannot run.
Status CheckProcesses(const plan::Plan& plan, const plan::Placement& placement,
                      const EngineOptions& options) {
  if (placement.workers > cluster::kMostRanks) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("{} processes were asked for, and an engine has at most {}",
                              placement.workers, cluster::kMostRanks));
  }
  for (uint32_t lane = 0; lane < plan.lanes.size(); ++lane) {
    const uint32_t worker = placement.worker_of_work_queue[placement.work_queue_of_lane[lane]];
    if (worker == 0 || plan.devices[plan.lanes[lane].device()]->kind != plan::DeviceKind::caller) {
      continue;
    }
    return Status(StatusCode::kUnsupported,
                  fmt::format("{} is a lane of the caller and has worker {}, and only worker 0 is "
                              "in the caller's process; compile for another number of workers",
                              plan::LaneName(plan, lane), worker));
  }
  if (TextForRanks(options).size() > cluster::RankOptions::kMostBytes) {
    return Status(StatusCode::kUnsupported,
                  "the paths of the libraries with native methods are longer than processes can "
                  "tell each other; name fewer of them");
  }
  return Status::Ok();
}

}  // namespace

// Starts the other ranks, which then load the plan while this one does.
Status Core::StartRanks() {
  if (options_.peers != nullptr) return SendParts();
  if (!options_.processes || placement_.workers == 1) return Status::Ok();
  CGRAPH_RETURN_IF_ERROR(CheckProcesses(*plan_, placement_, options_));
  return StartProcesses();
}

// Has each of the ranks that a launcher has started load its part of the plan.
Status Core::SendParts() {
  cluster::Messenger& messenger = options_.peers->messenger;
  if (messenger.given_up()) {
    return Status(StatusCode::kUnsupported,
                  "another process is gone, or still computes for an engine that has ended; "
                  "start all of them again");
  }
  if (!messenger.Claim()) return OthersServeAnotherEngine();
  const uint32_t first_tag = messenger.unused_tag();
  machines_ = std::make_unique<Machines>(*this, *options_.peers, first_tag);
  ranks_.count = messenger.count();
  Loading("sending the others their parts of the plan");
  plan::NodeParts parts(*plan_);
  totals_ = parts.totals();
  machines_->others()->SendPlan(parts, options_, first_tag, gpus_, placement_);
  return Status::Ok();
}

// Starts processes on this machine, which find the plan in memory that all of them share.
Status Core::StartProcesses() {
  auto region = cluster::Region::Make();
  if (!region.ok()) return region.status();
  auto control = TakeControl(**region);
  if (!control.ok()) return control.status();
  ranks_.control = new (*control) cluster::Control;
  ranks_.control->changed.ShareAmongProcesses();
  const std::vector<uint8_t> bytes = plan::ToBytes(*plan_);
  auto copy = (*region)->Allocate(bytes.size(), device::MemoryKind::plain, "the plan");
  if (!copy.ok()) return copy.status();
  std::memcpy(copy->data(), bytes.data(), bytes.size());
  ranks_.control->plan = reinterpret_cast<const uint8_t*>(copy->data());
  ranks_.control->plan_bytes = bytes.size();
  CGRAPH_RETURN_IF_ERROR(TellGpus(gpus_, **region, *ranks_.control));
  ranks_.control->options.ranks = placement_.workers;
  ranks_.control->options.text.Set(TextForRanks(options_));
  ranks_.count = placement_.workers;  // worker k is rank k
  ranks_.region = std::move(*region);
  ending_.ShareWith(ranks_.control->ended);
  auto processes = cluster::Processes::Start(
      {options_.rank_program, options_.rank_arguments}, ranks_.count, ranks_.region,
      *ranks_.control, [this](uint32_t rank, int pid, const std::string& exit_text) {
        OnRankLost(rank, pid, exit_text);
      });
  if (!processes.ok()) return processes.status();
  ranks_.processes = std::move(*processes);
  return Status::Ok();
}

std::chrono::nanoseconds Core::LoadPatience() const {
  if (options_.timeout.count() == 0 || SomeRankHangs()) return options_.timeout;
  return std::max<std::chrono::nanoseconds>(options_.timeout, kLoadPatience);
}

// Waits until all ranks have loaded the plan, and lets them begin.
Status Core::AwaitRanks() {
  if (!several_ranks()) return Status::Ok();
  const std::chrono::nanoseconds patience = LoadPatience();
  if (machines_ != nullptr) return machines_->others()->AwaitLoaded(patience);
  CGRAPH_RETURN_IF_ERROR(ranks_.processes->AwaitLoaded(patience));
  for (uint32_t rank = 1; rank < ranks_.count; ++rank) {
    const uint64_t bytes = ranks_.control->states[rank].region_bytes;
    if (bytes == ranks_.region->used()) continue;
    return Status(StatusCode::kInternal,
                  fmt::format("rank {} has taken {} bytes of the memory that processes share, and "
                              "rank 0 {}",
                              rank, bytes, ranks_.region->used()));
  }
  ranks_.control->started.store(true, std::memory_order_seq_cst);
  ranks_.control->changed.Notify();
  return ranks_.processes->AwaitLoaded(kNoPatience);  // one may be gone by now
}

// Called by the thread that watches the processes. A rank that goes before all have started is
// found by AwaitRanks(): until then there is half an engine, which nobody else may touch.
void Core::OnRankLost(uint32_t rank, int pid, const std::string& exit_text) {
  if (!ranks_.control->started.load(std::memory_order_seq_cst)) return;
  EndWithout(rank, fmt::format("process {}", pid), exit_text);
}

// Ends the engine because a rank is gone, and says what it was doing.
void Core::EndWithout(uint32_t rank, const std::string& process, const std::string& how) {
  std::string doing;
  {
    std::lock_guard report(report_mutex_);
    std::vector<WaitingLane> lanes;
    if (!released_) lanes = WaitingLanes();
    for (uint32_t lane = 0; lane < lanes.size(); ++lane) {
      if (lanes[lane].rank != rank || lanes[lane].state == WaitingLane::State::kNotBegun) continue;
      lanes[lane].process.clear();  // is said before
      doing += "\n" + LinesOf(lanes, std::vector<uint32_t>{lane});
      doing.pop_back();
    }
  }
  End(Status(StatusCode::kLost,
             fmt::format("rank {} ({}: {}) {}; all executions in flight end with it{}", rank,
                         process, DevicesOf(rank), how, doing)));
}

// Returns "gpu[0], gpu[1]".
std::string Core::DevicesOf(uint32_t rank) const {
  std::vector<std::string> devices;
  for (uint32_t lane = 0; lane < placement_.work_queue_of_lane.size(); ++lane) {
    const uint32_t worker = placement_.worker_of_work_queue[placement_.work_queue_of_lane[lane]];
    if (ranks_.of_worker[worker] != rank) continue;
    std::string name = plan::DeviceName(*plan_, plan_->lanes[lane].device());
    if (std::find(devices.begin(), devices.end(), name) == devices.end()) {
      devices.push_back(std::move(name));
    }
  }
  return fmt::format("{}", fmt::join(devices, ", "));
}

// Returns "rank 1: process 123 on node7", as far as it is known.
std::string Core::RankText(uint32_t rank) const {
  if (machines_ != nullptr) {
    return fmt::format("rank {}: {}", rank, options_.peers->ProcessOf(rank).Text());
  }
  if (ranks_.processes == nullptr) return fmt::format("rank {}", rank);
  return fmt::format("rank {}: process {}", rank,
                     rank == 0 ? getpid() : ranks_.processes->pid(rank));
}

std::string Core::StoppedRanks() const {
  std::string text;
  if (machines_ != nullptr && ranks_.rank == 0) text = machines_->others()->SilentRanks();
  for (uint32_t rank = 1; ranks_.processes != nullptr && rank < ranks_.count; ++rank) {
    if (!ranks_.processes->IsStopped(rank)) continue;
    text += fmt::format(
        "rank {0} (process {1}: {2}) is stopped by a signal; `kill -CONT {1}` lets "
        "it go on\n",
        rank, ranks_.processes->pid(rank), DevicesOf(rank));
  }
  return text;
}

std::vector<Engine::Stats::Rank> Core::RankStats() const {
  std::vector<Engine::Stats::Rank> all;
  const bool known = ranks_.processes != nullptr || machines_ != nullptr;
  for (uint32_t rank = 0; known && rank < ranks_.count; ++rank) {
    cluster::Process process;
    if (machines_ != nullptr) {
      process = options_.peers->ProcessOf(rank);
    } else {
      process.number = rank == 0 ? getpid() : ranks_.processes->pid(rank);
    }
    std::pair<uint64_t, uint64_t> weights;  // bytes read, and sent
    if (rank == 0) {
      weights = WeightBytes();
    } else if (machines_ != nullptr) {
      weights = machines_->others()->WeightBytesOf(rank);
    }
    all.push_back(
        {process.number, std::move(process.host), DevicesOf(rank), weights.first, weights.second});
  }
  return all;
}

std::pair<uint64_t, uint64_t> Core::WeightBytes() const {
  if (kernels_ == nullptr) return {};
  return {kernels_->weights().read_bytes(), kernels_->weights().sent_bytes()};
}

// Ends the other ranks. What one of them still computes is for nobody.
void Core::EndRanks() {
  // Before queues are closed: they then make signals of what never came, and it would be sent.
  if (machines_ != nullptr) machines_->EndThread();
  if (machines_ != nullptr && ranks_.rank == 0) {
    GatherMeasurements();
    machines_->others()->End();
  }
  if (ranks_.processes == nullptr) return;
  ranks_.control->changed.Notify();
  ranks_.processes->End(kGrace);
  std::unique_ptr<cluster::Processes> processes;
  {
    std::lock_guard report(report_mutex_);  // which may be asking for a rank's process
    processes = std::move(ranks_.processes);
  }
  processes.reset();  // waits for its thread, which may be about to report a death
}

Status Core::ShareTrace(WorkQueue& work_queue) {
  auto count = heap_->Make<std::atomic<uint64_t>>(1, "a trace");
  auto steps = heap_->Make<TracedStep>(TraceLog::kMostSteps, "a trace");
  for (const Status& status : {count.status(), steps.status()}) CGRAPH_RETURN_IF_ERROR(status);
  work_queue.ShareTrace({count->data(), *steps});
  return Status::Ok();
}

// Deals the workers to the ranks, where there are several.
void Core::PlaceRanks() {
  if (!several_ranks()) return;
  ranks_.of_worker.resize(placement_.workers);
  std::iota(ranks_.of_worker.begin(), ranks_.of_worker.end(), 0);
  if (machines_ == nullptr) return;
  ranks_.of_worker.assign(placement_.workers, 0);
  for (uint32_t lane = 0; lane < plan_->lanes.size(); ++lane) {
    const uint32_t worker = placement_.worker_of_work_queue[placement_.work_queue_of_lane[lane]];
    ranks_.of_worker[worker] = plan_->devices[plan_->lanes[lane].device()]->node;
  }
  ranks_.of_worker[0] = 0;  // the caller's, which idle devices have, too
}

// Learns which rank has each device, where ranks of one machine have GPUs.
void Core::ViewRanks() {
  view_.rank_of_device.assign(plan_->devices.size(), 0);
  for (uint32_t lane = 0; several_ranks() && lane < plan_->lanes.size(); ++lane) {
    const uint32_t worker = placement_.worker_of_work_queue[placement_.work_queue_of_lane[lane]];
    view_.rank_of_device[plan_->lanes[lane].device()] = ranks_.of_worker[worker];
  }
  if (ranks_.region == nullptr || gpus_.empty()) return;
  view_.gpus = gpus_;
}

// Returns the worker of this rank that goes on with messages; null: it has no worker.
Worker* Core::PollingWorker() {
  for (uint32_t w = 0; w < workers_.size(); ++w) {
    if (IsHere(w)) return workers_[w].get();
  }
  return nullptr;
}

Status Core::LoadRank() {
  ReadDeath(ranks_.rank);
  gpus_ = options_.gpu_map;  // rank 0 has chosen them; of a plan's part it tells the placement, too
  if (machines_ == nullptr) PlaceLanes();
  PlaceRanks();
  ViewRanks();
  CGRAPH_RETURN_IF_ERROR(LoadShared());
  if (ranks_.control == nullptr) return Status::Ok();
  ranks_.control->states[ranks_.rank].region_bytes = ranks_.region->used();
  ranks_.control->states[ranks_.rank].captures = Captures();
  return Status::Ok();
}

// Serves the rank once the region is mapped. What goes wrong before it is loaded is told to rank 0.
int Core::Serve(uint32_t rank, std::shared_ptr<cluster::Region> region,
                cluster::Control& control) try {
  auto copy = region->Allocate(control.plan_bytes, device::MemoryKind::plain, "the plan");
  auto table = region->Allocate(control.gpu_count * sizeof(cluster::GpuOfDevice),
                                device::MemoryKind::plain, "which devices run on GPUs");
  auto plan = copy.ok() ? plan::FromBytes({control.plan, control.plan_bytes}) : copy.status();
  auto options = OptionsOf(control);
  for (const Status& status : {plan.status(), table.status(), options.status()}) {
    if (status.ok()) continue;
    ReportLoaded(control, rank, status);
    return 1;
  }
  Core& core = *new Core(std::move(*plan), std::move(*options));  // goes with the process
  core.ranks_.rank = rank;
  core.ranks_.count = control.options.ranks;
  core.ranks_.region = std::move(region);
  core.ranks_.control = &control;
  core.ending_.ShareWith(control.ended);
  const Status status = core.LoadRank();
  // What another rank has brought about is that one's to say.
  if (!status.ok() && control.ended) return 1;
  ReportLoaded(control, rank, status);
  if (!status.ok()) return 1;
  const auto begins = [&] {
    return control.started.load(std::memory_order_acquire) || core.ended();
  };
  while (!begins()) control.changed.Wait(begins);
  if (core.AmongGpuRanks()) core.heads_teller_ = std::thread(&Core::RunHeadsTeller, &core);
  while (!core.ended()) {
    core.workers_[rank]->Drive(core.yields_, [&] { return core.ended() || core.IsAsked(); });
    if (core.IsAsked() && !core.ended()) core.Answer();
  }
  if (core.AmongGpuRanks()) {
    core.heads_teller_.join();
    core.native_.Stop();
    core.CloseQueues();
    core.CloseRank();
  }
  core.kernels_->EndObjects();
  return 0;
} catch (const std::bad_alloc&) {
  ReportLoaded(control, rank, OutOfMemory());
  return 1;
}

void ServeRank(uint32_t rank) {
  auto region = cluster::Region::Attach(cluster::kRegionDescriptor);
  auto control = region.ok() ? TakeControl(**region) : region.status();
  if (!control.ok()) {
    Say(fmt::format("cgrun: error: rank {}: {}; cgrun starts such processes itself (--processes)\n",
                    rank, control.status().message()));
    std::_Exit(1);
  }
  cluster::EndWithRankZero();
  (*control)->changed.ShareAmongProcesses();
  std::_Exit(Core::Serve(rank, std::move(*region), **control));
}

}  // namespace cgraph::engine
