// Workers: what runs a loaded plan on this rank: a work queue for each of the plan's, the queues of
// devices behind them, and the threads that drive them.
#ifndef CGRAPH_RUNTIME_EXECUTE_WORKERS_H_
#define CGRAPH_RUNTIME_EXECUTE_WORKERS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/semaphore_array.h"
#include "runtime/execute/work_queue.h"
#include "runtime/execute/worker.h"
#include "runtime/load/loaded_plan.h"

namespace cgraph::engine {

struct Workers {
  struct Settings {
    bool profile = false, trace = false;
    std::chrono::nanoseconds stall_timeout{0};  // of queues, when they end
    uint32_t cores = 1;                         // that the threads of this rank have
    // Goes on with the messages of a rank that shares no memory with others (Worker::poll).
    std::function<bool()> poll;
    // Set at a rank other than the first that shares memory: called with the frame of each round
    // before anything of it is issued to queues.
    std::function<void(Frame&)> on_begin;
  };

  std::vector<std::unique_ptr<WorkQueue>> work_queues;
  std::vector<std::unique_ptr<Worker>> workers;
  device::SemaphoreArray queue_ends;  // per queue: entries that are over
  // Held while a thread closes the queues, or frees graphs, and while a report looks at them.
  mutable std::mutex closing;
  bool yields = false;  // whether an idle worker yields its core at once (spin.h)

  // Makes all of it but the threads. kInvalid where there is no memory for it.
  Status Make(LoadedPlan& loaded, const Settings& settings);
  // Opens the queues of devices, in the order of their numbers at each work queue, and records what
  // they issue as one.
  Status OpenQueues(LoadedPlan& loaded, const Settings& settings);
  // Starts the workers of this process but for the first, which the caller of the engine's
  // functions drives, until `until()`. Throws std::system_error.
  void Start(const LoadedPlan& loaded, std::function<bool()> until);
  void Join();

  // Returns the first worker of this rank, which goes on with messages; null: it has none.
  Worker* First(const LoadedPlan& loaded) const;
};

}  // namespace cgraph::engine

#endif  // CGRAPH_RUNTIME_EXECUTE_WORKERS_H_
