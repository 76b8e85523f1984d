// QueueWatcher: a thread that looks at the queues of a device while something is pending in them,
// and wakes the threads that sleep until a signal comes.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_QUEUE_WATCHER_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_QUEUE_WATCHER_H_

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/sync/event_count.h"
#include "runtime/device/cuda/device/pending_operations.h"

namespace cgraph::cuda {

class QueueWatcher {
 public:
  QueueWatcher() : thread_(&QueueWatcher::Run, this) {}
  ~QueueWatcher();

  void Add(PendingOperations* queue);
  void Remove(PendingOperations* queue);
  // Called when something was issued that threads may wait for.
  void Wake() { pending_.Notify(); }

 private:
  void Run();
  bool WatchAll();

  std::mutex mutex_;  // held while queues are watched, so none ends meanwhile
  std::vector<PendingOperations*> queues_;  // under mutex_
  EventCount pending_;
  std::atomic<bool> ended_{false};
  std::thread thread_;  // uses what is above
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_QUEUE_WATCHER_H_
