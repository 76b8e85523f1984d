// Ending: whether an engine has ended, and why; and whether anything of it still runs.
#ifndef CGRAPH_RUNTIME_ENGINE_ENDING_H_
#define CGRAPH_RUNTIME_ENGINE_ENDING_H_

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/sync/event_count.h"
#include "runtime/base/wait_point.h"

namespace cgraph::engine {

class Ending {
 public:
  bool has_ended() const { return ended_->load(std::memory_order_acquire); }
  // Ends the engine: every later call gets `why`, and threads that wait are woken. The first reason
  // counts.
  void End(Status why) {
    std::lock_guard lock(mutex_);
    if (has_ended()) return;
    why_ = std::move(why);
    ended_->store(true, std::memory_order_release);
    for (uint32_t i = 0; i < wakes_.size(); ++i) {
      if (!Omits(WaitPoint::kWakeAtEnd, i)) wakes_[i]->Notify();
    }
  }
  Status why() const {
    std::lock_guard lock(mutex_);
    return why_;
  }
  // Has an event count notified when the engine ends. It must live until then.
  void Wake(EventCount& waiting) {
    std::lock_guard lock(mutex_);
    wakes_.push_back(&waiting);
  }
  // Makes the engine end with those of other ranks: `ended` is in memory that all of them share.
  // Called before there are threads.
  void ShareWith(std::atomic<bool>& ended) { ended_ = &ended; }

  // Once it has ended: nothing of this process is at work for it any more.
  bool at_rest() const { return at_rest_.load(std::memory_order_acquire); }
  void SetAtRest() { at_rest_.store(true, std::memory_order_release); }

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> own_{false}, at_rest_{false};
  std::atomic<bool>* ended_ = &own_;
  Status why_;                      // under the mutex
  std::vector<EventCount*> wakes_;  // under the mutex; the workers' first
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_ENDING_H_
