#include "runtime/device/cuda/device/queue_watcher.h"

#include <chrono>
#include <cstdint>

#include "runtime/base/sync/spin.h"

namespace cgraph::cuda {
namespace {

// The watcher looks without a pause for as long as it would take to wake it, then from time to
// time.
constexpr uint32_t kLooksWithoutPause = 2000;
constexpr auto kPause = std::chrono::microseconds(50);

}  // namespace

QueueWatcher::~QueueWatcher() {
  ended_ = true;
  pending_.Notify();
  thread_.join();
}

void QueueWatcher::Add(PendingOperations* queue) {
  std::lock_guard lock(mutex_);
  queues_.push_back(queue);
}

void QueueWatcher::Remove(PendingOperations* queue) {
  std::lock_guard lock(mutex_);
  std::erase(queues_, queue);
}

bool QueueWatcher::WatchAll() {
  std::lock_guard lock(mutex_);
  bool pending = false;
  for (PendingOperations* queue : queues_) pending |= queue->Watch();
  return pending;
}

void QueueWatcher::Run() {
  uint32_t looks = 0;
  while (!ended_) {
    if (!WatchAll()) {
      looks = 0;
      pending_.Wait([&] { return ended_ || WatchAll(); });
    } else if (++looks < kLooksWithoutPause) {
      Pause();
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
}

}  // namespace cgraph::cuda
