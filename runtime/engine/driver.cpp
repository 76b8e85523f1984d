#include "runtime/engine/driver.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace cgraph::engine {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

void Driver::Start(std::function<void()> flush) {
  ending_.Wake(wakeup_);
  fallback_ = std::thread([this, flush = std::move(flush)] { RunFallback(flush); });
}

void Driver::Join() {
  if (!Omits(WaitPoint::kEndDriver)) {
    std::lock_guard lock(lock_);  // a driver has seen the end; a kernel is waited for
  }
}

void Driver::JoinFallback() {
  cgraph::Join(WaitPoint::kEndFallback, fallback_);
}

template <typename Until>
void Driver::DriveUntil(Until&& until) {
  struct Released {  // also where there is no memory left, and something throws
    ~Released() { driver->Release(); }
    Driver* driver;
  };
  Worker& worker = *workers_.workers[0];
  while (!until()) {
    if (lock_.try_lock()) {
      const Released released{this};
      worker.Drive(workers_.yields, until);
    } else {
      worker.event_count->Wait([&] { return until() || !lock_.held(); });
    }
  }
}

// Returns whether there is something for worker 0 to do: its own work and, where ranks share no
// memory, to hear of that of others.
bool Driver::Pending() const {
  if (workers_.workers[0]->Pending()) return true;
  return loaded_.apart && std::any_of(workers_.workers.begin(), workers_.workers.end(),
                               [](const auto& worker) { return worker->Pending(); });
}

void Driver::Await(ExecutionState& execution) {
  DriveUntil([&] { return ending_.has_ended() || execution.Over(); });
}

bool Driver::AwaitDone(const ExecutionState& execution, const std::function<bool()>& interrupted) {
  constexpr auto kSlice = std::chrono::milliseconds(100);
  const auto over = [&] { return ending_.has_ended() || execution.Done(); };
  if (!interrupted) {
    DriveUntil(over);
    return true;
  }
  while (!over()) {
    AwaitWithoutDriving(over, Clock::now() + kSlice);
    if (!over() && interrupted()) return false;
  }
  return true;
}

void Driver::AwaitUntil(ExecutionState& execution, const Deadline& deadline) {
  AwaitWithoutDriving([&] { return ending_.has_ended() || execution.Over(); }, deadline);
}

template <typename Over>
void Driver::AwaitWithoutDriving(Over&& over, const Deadline& deadline) {
  while (!over()) {
    if (Unattended()) EnsureProgress();
    const bool in_time = workers_.workers[0]->event_count->Wait(
        [&] { return over() || Unattended(); }, deadline);
    if (!in_time) return;
  }
}

void Driver::Release() {
  lock_.unlock();
  workers_.workers[0]->event_count->Notify();
}

void Driver::EnsureProgress() {
  called_.store(true, std::memory_order_release);
  wakeup_.Notify();
}

void Driver::RunFallback(const std::function<void()>& flush) {
  Worker& worker = *workers_.workers[0];
  const auto ended = [this] { return ending_.has_ended(); };
  while (!ended()) {
    if (!called_.exchange(false, std::memory_order_seq_cst)) {
      wakeup_.Wait([&] { return ended() || called_.load(std::memory_order_acquire); });
      continue;
    }
    flush();
    if (Pending() && lock_.try_lock()) {
      worker.Drive(workers_.yields, [&] { return ended() || !Pending(); });
      Release();
    }
  }
}

}  // namespace cgraph::engine
