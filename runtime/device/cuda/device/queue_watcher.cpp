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

// A GPU writes a semaphore's word and wakes no thread, so this one looks. It sleeps only while no
// queue has anything pending; the predicate looks once more when the sleep is announced, so a
// signal that was issued just before is not missed.
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
