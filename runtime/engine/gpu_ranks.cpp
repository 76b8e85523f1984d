// Ranks of one machine that have GPUs: what a rank cannot do for the GPUs of another one.
//
// All ranks map host memory at one address, and each registers it with the driver for its own GPUs.
// Memory of a GPU lies at an address of each process's own: it is opened by those that read it
// (load/peers/peer_memory.h). A GPU that another rank serves is a stand-in here
// (load/peers/absent_gpu.h).

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/engine/core.h"
#include "runtime/load/peers/absent_gpu.h"

namespace cgraph::engine {
namespace {

// How long ranks wait for each other's queues to be closed, once the engine has ended.
constexpr auto kGrace = std::chrono::seconds(1);
// How long the system may take to tell that a process has ended.
constexpr auto kTillLost = std::chrono::milliseconds(100);
// How often a rank tells where its queues are, for reports.
constexpr auto kBetweenHeads = std::chrono::milliseconds(20);

}  // namespace

// The functions are called by threads of devices, which go before this does.
device::AmongProcesses Core::Among() {
  device::AmongProcesses among;
  if (machines_ != nullptr) {
    among.gives_up = [this] { return ended() || machines_->GivesUp(); };
    return among;
  }
  among.memory = ranks_.region;
  among.failed = [this](const Status& failure) { SetDeviceFailure(failure); };
  among.gives_up = [this] {
    return ended() || (ranks_.processes != nullptr && ranks_.processes->AnyLost());
  };
  return among;
}

// A library that loses a peer may notice it sooner than the system tells that a process has ended.
void Core::EndByDevice(Status failure) {
  const bool by_peers = (ranks_.processes != nullptr && AmongGpuRanks()) || native_.apart();
  if (!by_peers) return End(std::move(failure));
  const auto end = std::chrono::steady_clock::now() + kTillLost;
  while (!ended() &&
         std::chrono::steady_clock::now() < end) {  // whoever hears of it ends the engine
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  End(std::move(failure));
}

void Core::SetDeviceFailure(const Status& failure) {
  cluster::RankState& state = ranks_.control->states[ranks_.rank];
  static std::mutex mutex;  // devices may fail at once
  std::lock_guard lock(mutex);
  if (state.device_failed.load(std::memory_order_relaxed)) return;
  state.device_failure.Set(failure.message());
  state.device_failed.store(true, std::memory_order_release);
}

// Puts stand-ins in the place of GPUs that other ranks serve.
Status Core::OpenAbsent() {
  for (const auto& [device, gpu] : gpus_) {
    if (IsElsewhere(device)) devices_[device] = MakeAbsentGpu();
  }
  if (ranks_.region == nullptr || gpus_.empty()) return Status::Ok();
  const auto cpu = device::MakeCpuBackend(ranks_.region);
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    const bool on_gpu = gpus_.contains(device);
    if (on_gpu && view_.rank_of_device[device] != ranks_.rank) {
      devices_[device] = MakeAbsentGpu(ranks_.region);
    } else if (!on_gpu && plan_->devices[device]->kind == plan::DeviceKind::gpu) {
      auto opened = cpu->Open(*plan_, device);  // on threads, whose memory all ranks share
      if (!opened.ok()) return opened.status();
      devices_[device] = std::move(*opened);
    }
  }
  heap_ = std::make_unique<device::SharedHeap>(*devices_.front());
  exchange_ = std::make_unique<cluster::Exchange>(
      ranks_.rank, ranks_.count, *heap_, *ranks_.control, Among().gives_up, LoadPatience());
  view_.exchange = exchange_.get();
  return Status::Ok();
}

// Returns what is to be said where this rank does not load the plan: another one may be the reason.
Status Core::WithRefusals(Status own) {
  if (machines_ != nullptr) return machines_->JoinRefusal(std::move(own));
  if (ranks_.processes == nullptr || !ranks_.processes->AnyLost()) return own;
  CGRAPH_RETURN_IF_ERROR(ranks_.processes->WhyGone());
  Status theirs = ranks_.processes->AwaitLoaded(kGrace);
  // Others that have given up waiting are known, too.
  const bool waited = theirs.code() == StatusCode::kTimeout && own.code() != StatusCode::kLost;
  const bool known = !theirs.ok() && !waited;
  return known ? std::move(theirs) : std::move(own);
}

// Called once this rank's queues are closed: lets go of other ranks' memory, and waits until all
// ranks have, since a GPU that ends with its process may be read until then.
void Core::CloseRank() {
  if (arenas_ != nullptr) arenas_->ClosePeers();
  cluster::Control& control = *ranks_.control;
  control.states[ranks_.rank].closed.store(true, std::memory_order_release);
  control.changed.Notify();
  if (ranks_.processes != nullptr) return ranks_.processes->ReleaseClosed(kGrace);
  const auto released = [&] { return control.released.load(std::memory_order_seq_cst); };
  while (ranks_.rank != 0 && !released()) control.changed.Wait(released);
}

// Rank 0 may have taken memory for results since the last round, and an execution that has failed
// leaves flags in the GPUs' own memory.
void Core::BeginRound(Frame& frame) {
  if (const std::span<std::byte> grown = ranks_.region->TakeGrown(); !grown.empty()) {
    Status reached = devices_.front()->Reach(grown.data(), grown.size(), "results");
    if (!reached.ok()) SetDeviceFailure(reached);
  }
  if (frame.words->failed.load(std::memory_order_relaxed)) {
    for (auto& device : devices_) {
      const Status cleared = device->ClearPoison(frame.bindings);
      if (!cleared.ok()) SetDeviceFailure(cleared);
    }
  }
}

Status Core::ShareHeads(WorkQueue& work_queue) {
  auto heads = heap_->Make<SharedHeads>(1, "where queues are");
  if (!heads.ok()) return heads.status();
  work_queue.ShareHeads(heads->data());
  if (ranks_.rank != 0) work_queue.OnBegin([this](Frame& frame) { BeginRound(frame); });
  return Status::Ok();
}

void Core::RunHeadsTeller() {
  WorkQueue& work_queue = *workers_[ranks_.rank]->work_queues.front();
  while (!ended()) {
    work_queue.TellHeads();
    ranks_.control->changed.Wait([this] { return ended(); },
                                 std::chrono::steady_clock::now() + kBetweenHeads);
  }
}

}  // namespace cgraph::engine
