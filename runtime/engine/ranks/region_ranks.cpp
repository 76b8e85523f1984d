#include "runtime/engine/ranks/region_ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/engine/options.h"
#include "runtime/plan/load.h"
#include "runtime/plan/print.h"
#include "runtime/plan/prove.h"

namespace cgraph::engine {
namespace {

// How long a rank is given to end, once all executions have, or to close its queues: it may be
// inside a kernel.
constexpr auto kGrace = std::chrono::seconds(1);
constexpr auto kNoPatience = std::chrono::nanoseconds(1);
// How often a rank tells where its queues are.
constexpr auto kBetweenHeads = std::chrono::milliseconds(20);

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

void ReportLoaded(cluster::Control& control, uint32_t rank, const Status& status) {
  cluster::RankState& state = control.states[rank];
  state.code = status.code();
  state.text.Set(status.message());
  state.phase.store(status.ok() ? cluster::RankState::kLoaded : cluster::RankState::kFailed,
                    std::memory_order_release);
  control.changed.Notify();
}

RegionRanks::RegionRanks(const EngineOptions& options, const EngineView& engine, uint32_t rank,
                         std::shared_ptr<cluster::Region> region, cluster::Control& control)
    : Ranks(options, engine),
      own_rank_(rank),
      own_region_(std::move(region)),
      control_(&control) {}

// ---- loading the plan ---------------------------------------------------------------------------

void RegionRanks::TakePlace() {
  if (control_ == nullptr) return;
  TakeRegion(own_rank_, control_->ranks, std::move(own_region_), *control_);
}

uint32_t RegionRanks::WorkersOf(const plan::Plan& plan) const {
  if (options_.processes != kProcessPerDevice) return options_.processes;
  return std::max(1u, static_cast<uint32_t>(plan::BusyDevices(plan).size()));
}

void RegionRanks::Deal(plan::Plan& plan) const {
  if (options_.processes != kProcessPerDevice) return Ranks::Deal(plan);
  plan::DealByDevice(plan);
}

Status RegionRanks::Start() {
  if (loaded_.placement.workers == 1) return Status::Ok();
  CGRAPH_RETURN_IF_ERROR(CheckProcesses());
  return StartProcesses();
}

// Refuses what processes of one machine cannot run.
Status RegionRanks::CheckProcesses() const {
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
  if (TextForRanks(options_).size() > cluster::kMostOptionBytes) {
    return Status(StatusCode::kUnsupported,
                  "the paths of the libraries with native methods are longer than processes can "
                  "tell each other; name fewer of them");
  }
  return Status::Ok();
}

// Starts processes on this machine, which find the plan in memory that all of them share.
Status RegionRanks::StartProcesses() {
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
  control->ranks = loaded_.placement.workers;
  control->options.Set(TextForRanks(options_));
  TakeRegion(0, loaded_.placement.workers, std::move(*region), *control);
  // A rank that goes before all have started is found by AwaitLoaded(): until then there is half an
  // engine, which no other thread may touch.
  std::vector<std::string> command = options_.rank_arguments;
  command.insert(command.begin(), options_.rank_program);
  auto processes = cluster::Processes::Start(
      command, loaded_.ranks, loaded_.region, *control,
      [control, lost = engine_.lost](uint32_t rank, int pid, const std::string& exit_text) {
        if (!control->started.load(std::memory_order_seq_cst)) return;
        lost(rank, fmt::format("process {}", pid), exit_text);
      });
  if (!processes.ok()) return processes.status();
  processes_ = std::move(*processes);
  return Status::Ok();
}

void RegionRanks::TakeRegion(uint32_t rank, uint32_t count, std::shared_ptr<cluster::Region> region,
                             cluster::Control& control) {
  loaded_.rank = rank;
  loaded_.ranks = count;
  loaded_.region = std::move(region);
  control_ = &control;
  ending_.ShareWith(control.ended);
}

// The functions are called by threads of devices, which go before this does.
LoadContext RegionRanks::Context() {
  LoadContext context = Ranks::Context();
  context.control = control_;
  context.among.memory = loaded_.region;
  context.among.failed = [this](const Status& failure) { TellDeviceFailure(failure); };
  context.among.gives_up = [this] {
    return ending_.has_ended() || (processes_ != nullptr && processes_->AnyGoneOrRefused());
  };
  return context;
}

void RegionRanks::Configure(Workers::Settings& settings) {
  Ranks::Configure(settings);
  if (loaded_.rank != 0) settings.on_begin = [this](Frame& frame) { BeginRound(frame); };
}

Status RegionRanks::AwaitLoaded() {
  if (!loaded_.several_ranks()) return Status::Ok();
  CGRAPH_RETURN_IF_ERROR(processes_->AwaitLoaded(LoadPatience()));
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

Status RegionRanks::WithRefusals(Status own) {
  if (processes_ == nullptr || !processes_->AnyGoneOrRefused()) return own;
  CGRAPH_RETURN_IF_ERROR(processes_->WhyGone());
  Status theirs = processes_->AwaitLoaded(kGrace);
  // Others that have given up waiting are known, too.
  const bool waited = theirs.code() == StatusCode::kTimeout && own.code() != StatusCode::kLost;
  const bool known = !theirs.ok() && !waited;
  return known ? std::move(theirs) : std::move(own);
}

void RegionRanks::ReportLoaded(const Status& status) {
  // What another rank has brought about is that one's to say.
  if (!status.ok() && ending_.has_ended()) return;
  if (status.ok()) {
    control_->states[loaded_.rank].region_bytes = loaded_.region->used();
    control_->states[loaded_.rank].captures = loaded_.Captures();
  }
  engine::ReportLoaded(*control_, loaded_.rank, status);
}

void RegionRanks::AwaitStart() {
  const auto begins = [this] {
    return control_->started.load(std::memory_order_acquire) || ending_.has_ended();
  };
  while (!begins()) control_->changed.Wait(begins);
}

Status RegionRanks::StartThread() try {
  if (loaded_.rank == 0 || !loaded_.among_gpu_ranks()) return Status::Ok();
  heads_ = std::thread([this] {
    const auto ended = [this] { return ending_.has_ended(); };
    const WorkQueue& own = *engine_.workers.First(loaded_)->work_queues.front();
    for (AwaitStart(); !ended();) {
      own.positions().TellHeads();
      control_->changed.Wait(ended, std::chrono::steady_clock::now() + kBetweenHeads);
    }
  });
  return Status::Ok();
} catch (const std::system_error& error) {
  return Status(StatusCode::kNotFound,
                fmt::format("a rank needs a thread that tells where its queues are, and the system "
                            "makes none: {}",
                            error.code().message()));
}

void RegionRanks::EndThread() {
  if (heads_.joinable()) heads_.join();
}

// ---- running it ---------------------------------------------------------------------------------

// Does what rank 0 cannot do for the GPUs of this rank when a round begins: rank 0 may have taken
// memory for results since the last one, and an execution that has failed leaves flags in the GPUs'
// own memory.
void RegionRanks::BeginRound(Frame& frame) {
  const std::span<std::byte> grown = loaded_.region->TakeGrown();
  device::HostReach* const host = loaded_.devices.front()->host_reach();
  if (!grown.empty() && host != nullptr) {
    Status reached = host->Reach(grown.data(), grown.size(), "results");
    if (!reached.ok()) TellDeviceFailure(reached);
  }
  if (frame.words->failed.load(std::memory_order_relaxed)) {
    for (auto& device : loaded_.devices) {
      const Status cleared = device->ClearPoison(frame.bindings);
      if (!cleared.ok()) TellDeviceFailure(cleared);
    }
  }
}

bool RegionRanks::AskStates(uint32_t rank, cluster::StateRequest& request,
                            std::span<uint8_t> piece, const std::function<bool()>& patient) {
  constexpr auto kSlice = std::chrono::milliseconds(50);  // an end does not notify `changed`
  cluster::SharedStateRequest& shared = control_->states_asked;
  const auto answered = [&] { return shared.asked.load() == 0; };
  shared.request = request;
  std::copy_n(piece.begin(), request.piece_bytes, shared.piece);
  shared.asked.store(rank, std::memory_order_seq_cst);
  engine_.workers.workers[rank]->event_count->Notify();
  while (!answered()) {
    if (!patient()) return false;
    control_->changed.Wait([&] { return answered() || ending_.has_ended(); },
                           std::chrono::steady_clock::now() + kSlice);
  }
  request = shared.request;
  request.piece_bytes = std::min<uint32_t>(request.piece_bytes, piece.size());
  std::copy_n(shared.piece, request.piece_bytes, piece.begin());
  return true;
}

bool RegionRanks::IsAskedStates() const {
  return control_->states_asked.asked.load(std::memory_order_seq_cst) == loaded_.rank;
}

void RegionRanks::AnswerStates(const StateAnswer& answer) {
  cluster::SharedStateRequest& shared = control_->states_asked;
  answer(shared.request, shared.piece);
  shared.asked.store(0, std::memory_order_seq_cst);
  control_->changed.Notify();
}

std::optional<Status> RegionRanks::DeviceFailure() const {
  for (uint32_t rank = 1; loaded_.among_gpu_ranks() && rank < loaded_.ranks; ++rank) {
    const cluster::RankState& state = control_->states[rank];
    if (!state.device_failed.load(std::memory_order_acquire)) continue;
    return Status(StatusCode::kFailed, std::string(state.device_failure.Get()));
  }
  return std::nullopt;
}

void RegionRanks::TellDeviceFailure(const Status& failure) {
  cluster::RankState& state = control_->states[loaded_.rank];
  static std::mutex mutex;  // devices may fail at once
  std::lock_guard lock(mutex);
  if (state.device_failed.load(std::memory_order_relaxed)) return;
  state.device_failure.Set(failure.message());
  state.device_failed.store(true, std::memory_order_release);
}

bool RegionRanks::LosesPeers() const {
  std::lock_guard lock(mutex_);
  return processes_ != nullptr && loaded_.among_gpu_ranks();
}

bool RegionRanks::IsHalted(uint32_t rank) const {
  std::lock_guard lock(mutex_);
  return processes_ != nullptr && rank != 0 && processes_->IsStopped(rank);
}

std::string RegionRanks::HaltedText() const {
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

std::optional<cluster::Process> RegionRanks::ProcessOf(uint32_t rank) const {
  std::lock_guard lock(mutex_);
  if (processes_ == nullptr) return std::nullopt;
  return cluster::Process{rank == 0 ? getpid() : processes_->pid(rank), ""};
}

uint32_t RegionRanks::CapturesOfOthers() const {
  uint32_t captures = 0;
  for (uint32_t rank = 1; control_ != nullptr && rank < loaded_.ranks; ++rank) {
    captures += control_->states[rank].captures;
  }
  return captures;
}

// ---- the end ------------------------------------------------------------------------------------

void RegionRanks::CloseShared() {
  if (loaded_.arenas != nullptr) loaded_.arenas->ClosePeers();
  control_->states[loaded_.rank].closed.store(true, std::memory_order_release);
  control_->changed.Notify();
  if (processes_ != nullptr) return processes_->ReleaseClosed(kGrace);
  const auto released = [&] { return control_->released.load(std::memory_order_seq_cst); };
  while (loaded_.rank != 0 && !released()) control_->changed.Wait(released);
}

void RegionRanks::End() {
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
