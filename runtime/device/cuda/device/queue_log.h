// QueueLog: which operations of one queue have failed on the GPU. A kernel that fails leaves an
// entry in the queue's log (kernels/abi.h). The host makes a report of the entry and of what it
// issued last of that step.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_QUEUE_LOG_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_QUEUE_LOG_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cuda/device/device_poison.h"
#include "runtime/device/cuda/device/logical_gpu.h"
#include "runtime/device/cuda/kernels/abi.h"
#include "runtime/device/memory.h"
#include "runtime/device/queue.h"

namespace cgraph::cuda {

class QueueLog {
 public:
  explicit QueueLog(const DevicePoison& poison) : poison_(poison) {}

  // Called once, when the device has all graphs. kInvalid when there is no memory.
  Status Open(const std::shared_ptr<Gpu>& gpu);
  FailureLog* log() const { return log_; }

  // Called when a step is issued that may fail. `prepared`: what is launched; null: a copy.
  void SetStep(const device::Operation& operation, uint64_t round, const Prepared* prepared) {
    steps_[operation.tag.graph][operation.tag.step] = {round, operation.bindings->frame, prepared,
                                                       operation.dims};
  }
  // Appends a report of each failure since the last call. False where there were more than the log
  // has room for: then some failures are not known.
  bool Read(std::vector<device::Report>& reports);

 private:
  // What was issued last of a step.
  struct Step {
    uint64_t round = 0;
    uint32_t frame = 0;
    const Prepared* prepared = nullptr;
    std::span<const device::DynamicDim> dims;
  };

  const DevicePoison& poison_;
  device::Memory memory_;
  FailureLog* log_ = nullptr;
  uint64_t seen_ = 0;                     // entries
  std::vector<std::vector<Step>> steps_;  // per graph
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_QUEUE_LOG_H_
