// Benches: devices that are measured alone, without an engine, and the medians of what they take.
#ifndef CGRAPH_RUNTIME_COMMAND_DISCOVER_BENCH_H_
#define CGRAPH_RUNTIME_COMMAND_DISCOVER_BENCH_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/backends.h"
#include "runtime/device/device.h"
#include "runtime/device/semaphore_array.h"

namespace cgraph::command {

using Seconds = double;

// Growing: a measurement whose rounds were made larger until one took long enough to be told.
struct Growing {
  uint64_t amount = 0;   // of work in a round
  Seconds seconds = 0;   // that a round takes, the median of several
  double per_second() const { return static_cast<double>(amount) / seconds; }
};
// `round` does so much work and returns how long it took; `first` is quadrupled up to `most`.
Result<Growing> MedianOf(const std::function<Result<Seconds>(uint64_t amount)>& round,
                         uint64_t first, uint64_t most);

// BenchCall: a call of a kernel on one device: its executable, and memory for its operands.
struct BenchCall {
  std::unique_ptr<device::Executable> executable;
  std::vector<device::Memory> memory;
  std::vector<device::Tensor> operands;  // inputs, then the output
};

// Bench: the devices of a plan that has no graphs, and two queues each. A device's first queue has
// the device's number.
class Bench {
 public:
  // `gpus` logical gpus, each a GPU of its own; none: cores alone. `patience`: how long Finish()
  // waits for work.
  static Result<std::unique_ptr<Bench>> Open(
      uint32_t gpus, std::chrono::nanoseconds patience = std::chrono::seconds(5));

  // Device 0 is the host's, whose memory all GPUs reach; GPU i is device i + 1.
  // Returns zeroed memory of a device.
  Result<device::Memory> Allocate(uint32_t device, uint64_t bytes);
  // Makes a call of a kernel whose operands have these dims. Before OpenQueues().
  Result<BenchCall> Make(uint32_t device, const std::string& op, plan::DType dtype,
                         const std::vector<std::vector<int64_t>>& inputs,
                         const std::vector<int64_t>& output);
  Status OpenQueues();
  uint32_t SecondQueue(uint32_t device) const {
    return device + static_cast<uint32_t>(devices_.size());
  }

  void Launch(uint32_t queue, const BenchCall& call);
  void Copy(uint32_t queue, const device::Memory& to, const device::Memory& from, uint64_t bytes);
  // The queue signals the next value; Wait makes another queue wait for it.
  uint64_t Signal(uint32_t queue);
  void Wait(uint32_t queue, uint32_t for_queue, uint64_t value);
  // Waits, on this thread, until these queues have signalled all that they were told to. kTimeout
  // when a device takes longer than the patience.
  Status Finish(const std::vector<uint32_t>& queues);

 private:
  Bench() = default;

  std::string NameOf(uint32_t queue) const;

  std::unique_ptr<plan::Plan> plan_;
  std::chrono::nanoseconds patience_{0};
  std::vector<std::unique_ptr<device::Device>> devices_;
  device::SemaphoreArray semaphores_;
  std::vector<uint64_t> signalled_;
  EventCount reported_;
  device::Bindings bindings_;
  std::atomic<bool> poisoned_{false};
  std::deque<device::Tensor> kept_;  // what copies that are not over point to
  std::vector<std::unique_ptr<device::Queue>> queues_;  // end before what they work on
};

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_DISCOVER_BENCH_H_
