// LogicalGpu: a gpu of a plan, as its queues know it: the GPU that it is, its name in messages, and
// whether it has failed as a whole.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_LOGICAL_GPU_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_LOGICAL_GPU_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/device/cuda/gpu/gpu.h"
#include "runtime/device/cuda/kernels/executable.h"
#include "runtime/device/device.h"
#include "runtime/device/kernel.h"

namespace cgraph::cuda {

// Prepared: what a queue launches for a call or a load. One of them is not null.
struct Prepared : device::Executable {
  std::unique_ptr<CudaExecutable> kernel;
  std::unique_ptr<device::Source> source;   // that the output is filled from
  std::unique_ptr<device::QueueCode> code;  // of others, which is called when it is issued
};

class LogicalGpu {
 public:
  // `name`: the plan's, as gpu[0]. `failed`: called when this device fails as a whole.
  LogicalGpu(std::string name, std::shared_ptr<Gpu> gpu, std::function<void(const Status&)> failed)
      : plan_name_(std::move(name)), gpu_(std::move(gpu)), tell_failure_(std::move(failed)) {}

  const std::shared_ptr<Gpu>& gpu() const { return gpu_; }
  const Driver& driver() const { return gpu_->driver(); }
  // Returns "gpu[0] (cuda:1)".
  std::string name() const;
  // As those of Gpu, by this device's name alone.
  Status Check(CUresult result, const std::string& what) const;
  std::string ErrorText(CUresult error, const std::string& what) const;

  // Returns the message for an error of the GPU as a whole, with what to do about it.
  std::string FailureText(CUresult error) const;
  // Called when a queue breaks, before it makes signals in place of those that do not come.
  void SetFailure(const std::string& why);
  Status Failure() const;

 private:
  const std::string plan_name_;
  const std::shared_ptr<Gpu> gpu_;
  const std::function<void(const Status&)> tell_failure_;
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  Status failure_;  // the first; under mutex_
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_LOGICAL_GPU_H_
