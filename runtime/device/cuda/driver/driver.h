// Driver: the functions of libcuda.so.1, which comes with NVIDIA's driver. The library is opened
// when a plan asks for a GPU, so a machine without one needs nothing of it.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DRIVER_DRIVER_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DRIVER_DRIVER_H_

#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "runtime/base/status.h"

namespace cgraph::cuda {

// The oldest version of CUDA that a driver must support, as cuDriverGetVersion counts: that of the
// functions, and the first of the toolkit's generation: older drivers do not load its device code.
inline constexpr int kOldestDriver = std::max(12040, CUDA_VERSION / 1000 * 1000);

struct Driver {
#define FUNCTION(member, symbol) decltype(&::member) member = nullptr;
#include "runtime/device/cuda/driver/driver.def"
#undef FUNCTION

  int version = 0;  // 13000: CUDA 13.0

  // Opens and initialises the driver, once a process. kNotFound where there is no driver, an old
  // one, or no GPU; the message's second line says what to do about it.
  static Result<const Driver*> Get();

  // Notes that a kernel never ends, and is abandoned: the driver gives no way to end it, and what
  // frees memory, code or a context would wait for it. From then on none of these is called in this
  // process: what the kernel may touch, on any GPU and in pinned memory, stays where it is.
  void Abandon() const { abandoned_->store(true); }
  // Returns whether a kernel was abandoned in this process.
  bool abandoned() const { return abandoned_->load(); }
  // Returns how long a teardown waits for what runs on a GPU, where it is to wait for at most this
  // long (0: for ever): hardly, where a kernel was abandoned, since others may wait for that one.
  std::chrono::nanoseconds StallTimeout(std::chrono::nanoseconds most) const {
    constexpr std::chrono::nanoseconds kAfterAnother = std::chrono::milliseconds(20);
    if (!abandoned()) return most;
    return most.count() == 0 ? kAfterAnother : std::min(most, kAfterAnother);
  }

  // Returns an error of the driver in words: "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string ErrorText(CUresult error) const;
  // Returns Ok for CUDA_SUCCESS; else kFailed with `what` and the error's text.
  Status Check(CUresult result, const std::string& what) const;

 private:
  std::shared_ptr<std::atomic<bool>> abandoned_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DRIVER_DRIVER_H_
