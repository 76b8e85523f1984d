// Ending: whether an engine has ended, and why.
#ifndef CGRAPH_RUNTIME_ENGINE_ENDING_H_
#define CGRAPH_RUNTIME_ENGINE_ENDING_H_

#include <atomic>
#include <mutex>
#include <utility>

#include "runtime/base/status.h"

namespace cgraph::engine {

class Ending {
 public:
  bool has_ended() const { return ended_->load(std::memory_order_acquire); }
  // Ends the engine. Returns whether this was the first reason, which is the one that counts.
  bool End(Status why) {
    std::lock_guard lock(mutex_);
    if (has_ended()) return false;
    why_ = std::move(why);
    ended_->store(true, std::memory_order_release);
    return true;
  }
  Status why() const {
    std::lock_guard lock(mutex_);
    return why_;
  }
  // Makes the engine end with those of other ranks: `ended` is in memory that all of them share.
  // Called before there are threads.
  void ShareWith(std::atomic<bool>& ended) { ended_ = &ended; }

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> own_{false};
  std::atomic<bool>* ended_ = &own_;
  Status why_;  // under the mutex
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_ENGINE_ENDING_H_
