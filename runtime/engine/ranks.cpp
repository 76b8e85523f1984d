#include "runtime/engine/ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/death.h"
#include "runtime/plan/load.h"
#include "runtime/plan/print.h"

namespace cgraph::engine {
namespace {

// How long a rank is given to end, once all executions have, or to close its queues: it may be
// inside a kernel.
constexpr auto kGrace = std::chrono::seconds(1);
// How long a rank may take to load a plan, at least: time-outs are about executions.
constexpr auto kLoadPatience = std::chrono::seconds(60);
constexpr auto kNoPatience = std::chrono::nanoseconds(1);

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

}  // namespace

Result<cluster::Control*> TakeControl(cluster::Region& region) {
  auto memory = region.Allocate(sizeof(cluster::Control), device::MemoryKind::plain,
                                "what processes tell each other");
  if (!memory.ok()) return memory.status();
  return reinterpret_cast<cluster::Control*>(memory->data());
}

std::chrono::nanoseconds Ranks::LoadPatience(const EngineOptions& options) {
  if (options.timeout.count() == 0 || SomeRankHangs()) return options.timeout;
  return std::max<std::chrono::nanoseconds>(options.timeout, kLoadPatience);
}

Status Ranks::Start(const EngineView& engine) {
  if (options_.peers != nullptr) return SendParts(engine);
  if (!options_.processes || loaded_.placement.workers == 1) return Status::Ok();
  CGRAPH_RETURN_IF_ERROR(CheckProcesses());
  return StartProcesses(engine);
}

// Refuses what processes of one machine cannot run.
Status Ranks::CheckProcesses() const {
  const plan::Plan& plan = *loaded_.plan;
  if (loaded_.placement.workers > cluster::kMostRanks) {
    return Status(StatusCode::kUnsupported,
                  fmt::format("{} processes were asked for, and an engine has at most {}",
                              loaded_.placement.workers, cluster::kMostRanks));
  }
  for (uint32_t lane = 0; lane < plan.lanes.size(); ++lane) {
    const uint32_t worker = loaded_.WorkerOfLane(lane);
    if (worker == 0 || plan.devices[plan.lanes[lane].device()]->kind != plan::DeviceKind::caller) {
      continue;
    }
    return Status(StatusCode::kUnsupported,
                  fmt::format("{} is a lane of the caller and has worker {}, and only worker 0 is "
                              "in the caller's process; compile for another number of workers",
                              plan::LaneName(plan, lane), worker));
  }
  if (TextForRanks(options_).size() > cluster::RankOptions::kMostBytes) {
    return Status(StatusCode::kUnsupported,
                  "the paths of the libraries with native methods are longer than processes can "
                  "tell each other; name fewer of them");
  }
  return Status::Ok();
}

// Has each of the ranks that a launcher has started load its part of the plan.
Status Ranks::SendParts(const EngineView& engine) {
  cluster::Messenger& messenger = options_.peers->messenger;
  if (messenger.given_up()) {
    return Status(StatusCode::kUnsupported,
                  "another process is gone, or still computes for an engine that has ended; "
                  "start all of them again");
  }
  if (!messenger.Claim()) return OthersServeAnotherEngine();
  const uint32_t first_tag = messenger.unused_tag();
  Join(engine, first_tag, {});
  if (options_.loading) options_.loading("sending the others their parts of the plan");
  plan::NodeParts parts(*loaded_.plan);
  loaded_.totals = parts.totals();
  others()->SendPlan(parts, options_, first_tag, loaded_.gpus, loaded_.placement);
  return Status::Ok();
}

void Ranks::Join(const EngineView& engine, uint32_t first_tag, std::vector<uint32_t> weights) {
  machines_ = std::make_unique<Machines>(engine, *options_.peers, first_tag, std::move(weights));
  loaded_.apart = true;
  loaded_.rank = options_.peers->messenger.rank();
  loaded_.ranks = options_.peers->messenger.count();
}

// Starts processes on this machine, which find the plan in memory that all of them share.
Status Ranks::StartProcesses(const EngineView& engine) {
  auto region = cluster::Region::Make();
  if (!region.ok()) return region.status();
  auto memory = TakeControl(**region);
  if (!memory.ok()) return memory.status();
  cluster::Control* control = new (*memory) cluster::Control;
  control->changed.ShareAmongProcesses();
  const std::vector<uint8_t> bytes = plan::ToBytes(*loaded_.plan);
  auto copy = (*region)->Allocate(bytes.size(), device::MemoryKind::plain, "the plan");
  if (!copy.ok()) return copy.status();
  std::memcpy(copy->data(), bytes.data(), bytes.size());
  control->plan = reinterpret_cast<const uint8_t*>(copy->data());
  control->plan_bytes = bytes.size();
  CGRAPH_RETURN_IF_ERROR(TellGpus(loaded_.gpus, **region, *control));
  control->options.ranks = loaded_.placement.workers;
  control->options.text.Set(TextForRanks(options_));
  TakeRegion(0, loaded_.placement.workers, std::move(*region), *control);
  // A rank that goes before all have started is found by AwaitLoaded(): until then there is half an
  // engine, which nobody else may touch.
  auto processes = cluster::Processes::Start(
      {options_.rank_program, options_.rank_arguments}, loaded_.ranks, loaded_.region, *control,
      [control, lost = engine.lost](uint32_t rank, int pid, const std::string& exit_text) {
        if (!control->started.load(std::memory_order_seq_cst)) return;
        lost(rank, fmt::format("process {}", pid), exit_text);
      });
  if (!processes.ok()) return processes.status();
  processes_ = std::move(*processes);
  return Status::Ok();
}

void Ranks::Join(uint32_t rank, std::shared_ptr<cluster::Region> region,
                 cluster::Control& control) {
  TakeRegion(rank, control.options.ranks, std::move(region), control);
}

void Ranks::TakeRegion(uint32_t rank, uint32_t count, std::shared_ptr<cluster::Region> region,
                       cluster::Control& control) {
  loaded_.rank = rank;
  loaded_.ranks = count;
  loaded_.region = std::move(region);
  control_ = &control;
  ending_.ShareWith(control.ended);
}

LoadContext Ranks::Context() {
  LoadContext context{.options = options_};
  if (machines_ != nullptr) {
    context.links = &machines_->links();
    context.first_rank = machines_->first_rank();
  }
  context.control = control_;
  context.among = Among();
  context.patience = LoadPatience(options_);
  return context;
}

// The functions are called by threads of devices, which go before this does.
device::AmongProcesses Ranks::Among() {
  device::AmongProcesses among;
  if (machines_ != nullptr) {
    among.gives_up = [this] { return ending_.has_ended() || machines_->GivesUp(); };
    return among;
  }
  among.memory = loaded_.region;
  among.failed = [this](const Status& failure) { TellDeviceFailure(failure); };
  among.gives_up = [this] {
    return ending_.has_ended() || (processes_ != nullptr && processes_->AnyLost());
  };
  return among;
}

Status Ranks::AwaitLoaded() {
  if (!loaded_.several_ranks()) return Status::Ok();
  const std::chrono::nanoseconds patience = LoadPatience(options_);
  if (machines_ != nullptr) return others()->AwaitLoaded(patience);
  CGRAPH_RETURN_IF_ERROR(processes_->AwaitLoaded(patience));
  for (uint32_t rank = 1; rank < loaded_.ranks; ++rank) {
    const uint64_t bytes = control_->states[rank].region_bytes;
    if (bytes == loaded_.region->used()) continue;
    return Status(StatusCode::kInternal,
                  fmt::format("rank {} has taken {} bytes of the memory that processes share, and "
                              "rank 0 {}",
                              rank, bytes, loaded_.region->used()));
  }
  control_->started.store(true, std::memory_order_seq_cst);
  control_->changed.Notify();
  return processes_->AwaitLoaded(kNoPatience);  // one may be gone by now
}

Status Ranks::WithRefusals(Status own) {
  if (machines_ != nullptr) return machines_->JoinRefusal(std::move(own));
  if (processes_ == nullptr || !processes_->AnyLost()) return own;
  CGRAPH_RETURN_IF_ERROR(processes_->WhyGone());
  Status theirs = processes_->AwaitLoaded(kGrace);
  // Others that have given up waiting are known, too.
  const bool waited = theirs.code() == StatusCode::kTimeout && own.code() != StatusCode::kLost;
  const bool known = !theirs.ok() && !waited;
  return known ? std::move(theirs) : std::move(own);
}

std::optional<Status> Ranks::DeviceFailure() const {
  for (uint32_t rank = 1; loaded_.among_gpu_ranks() && rank < loaded_.ranks; ++rank) {
    const cluster::RankState& state = control_->states[rank];
    if (!state.device_failed.load(std::memory_order_acquire)) continue;
    return Status(StatusCode::kFailed, std::string(state.device_failure.Get()));
  }
  return std::nullopt;
}

void Ranks::TellDeviceFailure(const Status& failure) {
  cluster::RankState& state = control_->states[loaded_.rank];
  static std::mutex mutex;  // devices may fail at once
  std::lock_guard lock(mutex);
  if (state.device_failed.load(std::memory_order_relaxed)) return;
  state.device_failure.Set(failure.message());
  state.device_failed.store(true, std::memory_order_release);
}

std::string Ranks::TextOf(uint32_t rank) const {
  if (machines_ != nullptr) {
    return fmt::format("rank {}: {}", rank, options_.peers->ProcessOf(rank).Text());
  }
  std::lock_guard lock(mutex_);
  if (processes_ == nullptr) return fmt::format("rank {}", rank);
  return fmt::format("rank {}: process {}", rank, rank == 0 ? getpid() : processes_->pid(rank));
}

bool Ranks::IsHalted(uint32_t rank) const {
  if (machines_ != nullptr) return others() != nullptr && others()->IsSilent(rank);
  std::lock_guard lock(mutex_);
  return processes_ != nullptr && rank != 0 && processes_->IsStopped(rank);
}

std::string Ranks::HaltedText() const {
  if (OtherRanks* apart = others()) return apart->SilentRanks();
  std::string text;
  std::lock_guard lock(mutex_);
  for (uint32_t rank = 1; processes_ != nullptr && rank < loaded_.ranks; ++rank) {
    if (!processes_->IsStopped(rank)) continue;
    text += fmt::format(
        "rank {0} (process {1}: {2}) is stopped by a signal; `kill -CONT {1}` lets "
        "it go on\n",
        rank, processes_->pid(rank), loaded_.DevicesOf(rank));
  }
  return text;
}

std::vector<Engine::Stats::Rank> Ranks::Stats() const {
  std::vector<Engine::Stats::Rank> all;
  std::lock_guard lock(mutex_);
  const bool known = processes_ != nullptr || machines_ != nullptr;
  for (uint32_t rank = 0; known && rank < loaded_.ranks; ++rank) {
    cluster::Process process;
    if (machines_ != nullptr) {
      process = options_.peers->ProcessOf(rank);
    } else {
      process.number = rank == 0 ? getpid() : processes_->pid(rank);
    }
    std::pair<uint64_t, uint64_t> weights;  // bytes read, and sent
    if (rank == 0) {
      weights = WeightBytes();
    } else if (machines_ != nullptr) {
      weights = others()->WeightBytesOf(rank);
    }
    all.push_back({process.number, std::move(process.host), loaded_.DevicesOf(rank), weights.first,
                   weights.second});
  }
  return all;
}

std::pair<uint64_t, uint64_t> Ranks::WeightBytes() const {
  if (loaded_.kernels == nullptr) return {};
  return {loaded_.kernels->weights().read_bytes(), loaded_.kernels->weights().sent_bytes()};
}

uint32_t Ranks::CapturesOfOthers() const {
  uint32_t captures = 0;
  for (uint32_t rank = 1; control_ != nullptr && rank < loaded_.ranks; ++rank) {
    captures += control_->states[rank].captures;
  }
  return captures;
}

void Ranks::GatherMeasurements() {
  if (others() != nullptr && (options_.profile || options_.trace)) others()->GatherMeasurements();
}

void Ranks::ForgetMeasurements() {
  if (others() != nullptr) others()->ForgetMeasurements();
}

void Ranks::CloseShared() {
  if (loaded_.arenas != nullptr) loaded_.arenas->ClosePeers();
  control_->states[loaded_.rank].closed.store(true, std::memory_order_release);
  control_->changed.Notify();
  if (processes_ != nullptr) return processes_->ReleaseClosed(kGrace);
  const auto released = [&] { return control_->released.load(std::memory_order_seq_cst); };
  while (loaded_.rank != 0 && !released()) control_->changed.Wait(released);
}

void Ranks::End() {
  // Before queues are closed: they then make signals of what never came, and it would be sent.
  if (machines_ != nullptr) machines_->EndThread();
  if (others() != nullptr) {
    GatherMeasurements();
    others()->End();
  }
  if (processes_ == nullptr) return;
  control_->changed.Notify();
  processes_->End(kGrace);
  std::unique_ptr<cluster::Processes> processes;
  {
    std::lock_guard lock(mutex_);  // a report may be asking for a rank's process
    processes = std::move(processes_);
  }
  processes.reset();  // waits for its thread, which may be about to report a death
}

}  // namespace cgraph::engine
