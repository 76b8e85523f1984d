// The end of an engine, in three steps. End() makes every later call fail, and wakes whoever waits.
// Teardown() waits until nothing runs any more, here and at other ranks. Release() gives up what no
// result needs; the core itself goes with the last run that a caller holds.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/omission.h"
#include "runtime/base/terminal.h"
#include "runtime/engine/core.h"

namespace cgraph::engine {

void Core::End(Status status) {
  if (!ending_.End(std::move(status))) return;
  for (uint32_t w = 0; w < workers_.size(); ++w) {
    if (!Omits(Omission::kWakeAtEnd, w)) workers_[w]->event_count->Notify();
  }
  turns_.Wake();
  fallback_driver_wakeup_.Notify();
  watchdog_wakeup_.Notify();
}

void Core::EndWhereDeviceFailed() {
  for (uint32_t rank = 1; AmongGpuRanks() && rank < ranks_.count; ++rank) {
    const cluster::RankState& state = ranks_.control->states[rank];
    if (!state.device_failed.load(std::memory_order_acquire)) continue;
    return EndByDevice(Status(StatusCode::kFailed, std::string(state.device_failure.Get())));
  }
  for (auto& device : devices_) {
    if (Status failure = device->Failure(); !failure.ok()) return EndByDevice(std::move(failure));
  }
}

void Core::Teardown() {
  // The watchdog, which calls this inside `timed_out`, must not wait for a thread that waits for
  // the watchdog.
  std::unique_lock teardown(teardown_mutex_, std::defer_lock);
  if (std::this_thread::get_id() != watchdog_id_.load()) {
    teardown.lock();
  } else if (!teardown.try_lock()) {
    return;
  }
  if (torn_down_) return;
  torn_down_ = true;
  End(std::move(closed_));
  native_.Stop();
  if (!Omits(Omission::kEndSubmission)) {
    std::lock_guard lock(submission_);  // who was submitting has seen it
  }
  if (!Omits(Omission::kEndDriver)) {
    std::lock_guard lock(driver_lock_);  // who was driving has seen it; a kernel is waited for
  }
  for (auto& worker : workers_) {
    if (worker->thread.joinable() && !Omits(Omission::kEndWorkers)) worker->thread.join();
  }
  if (fallback_driver_.joinable() && !Omits(Omission::kEndFallback)) fallback_driver_.join();
  // GPUs read memory of each other's processes: none of these ends before all have let go.
  if (AmongGpuRanks()) {
    if (std::this_thread::get_id() != watchdog_id_.load()) JoinWatchdog();
    CloseQueues();
    CloseRank();
  }
  EndRanks();
  if (std::this_thread::get_id() != watchdog_id_.load()) JoinWatchdog();
  if (!AmongGpuRanks()) CloseQueues();
}

// Waits for what runs. A kernel that never ends cannot be ended: it is said which one it is, where
// its queue still knows.
void Core::CloseQueues() {
  std::string kernels;
  bool over = true;
  {
    std::lock_guard report(report_mutex_);  // a late Get() may look at queues
    // A queue that is closed makes signals in place of others, which then seem to be through with
    // collectives that hang.
    for (auto& work_queue : work_queues_) work_queue->AbortCollectives();
    for (uint32_t w = 0; w < work_queues_.size(); ++w) {
      if (Omits(Omission::kEndQueues)) continue;
      std::vector<Position> running;
      over &= work_queues_[w]->CloseQueues(running);
      kernels += Describe(running, w);
    }
    over &= native_.Close(options_.timeout);
    for (auto& work_queue : work_queues_) {
      if (!Omits(Omission::kEndQueues)) work_queue->FreeQueues();
    }
  }
  if (!over) TellAbandoned(kernels);
}

void Core::TellAbandoned(std::string kernels) const {
  if (kernels.empty()) kernels = "which one is not known: its queue had failed before\n";
  std::string text = fmt::format(
      "a kernel has not ended {} s after the engine was to end, and is abandoned; memory that it "
      "may touch is not given back as long as the process lives\n{}",
      std::chrono::duration<double>(options_.timeout).count(), kernels);
  text.pop_back();
  const Status status(StatusCode::kTimeout, text);
  if (options_.abandoned) return options_.abandoned(status);
  Say(fmt::format("cgraph: {}\n", status.message()));
}

void Core::JoinWatchdog() {
  if (watchdog_.joinable() && !Omits(Omission::kEndWatchdog)) watchdog_.join();
}

// Releases everything but the runs, and the work queues and graphs without their memory, which a
// late Get() may still look at.
void Core::Release() {
  FreeGraphs();
  uint64_t free = 0;
  for (auto& graph : graphs_) {
    for (ExecutionState* run = graph->free; run != nullptr; run = run->next) ++free;
  }
  if (runs_.Close(free)) delete this;
}

void Core::FreeGraphs() {
  std::lock_guard report(report_mutex_);
  released_ = true;
  for (auto& graph : graphs_) {
    for (; graph->retired < graph->submitted; ++graph->retired) {
      graph->frames[graph->oldest_frame].run->Unref();
      graph->oldest_frame = (graph->oldest_frame + 1) % graph->frames.size();
    }
    graph->frames.clear();
    graph->programs.clear();
    graph->channels.clear();
    graph->collectives.clear();
    graph->events = {};
    graph->poison_bytes = {};
  }
  kernels_.reset();
  native_.Deregister();
  arenas_.reset();
}

void Core::Return(ExecutionState* run) {
  if (runs_.Return(run)) delete this;
}

}  // namespace cgraph::engine
