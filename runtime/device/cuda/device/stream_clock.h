// StreamClock: when the operations of a stream began and ended, by the host's steady clock.
//
// Events with time stamps are recorded around an operation and read when it is over. The driver
// gives the time between two events as an f32 in milliseconds, so each event is measured from the
// one before it: small differences are exact enough, and their sum does not drift.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_STREAM_CLOCK_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_STREAM_CLOCK_H_

#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cuda/driver/driver.h"
#include "runtime/device/cuda/gpu/clock_anchor.h"
#include "runtime/device/cuda/gpu/gpu.h"

namespace cgraph::cuda {

class StreamClock {
 public:
  explicit StreamClock(const Gpu& gpu) : gpu_(gpu), driver_(gpu.driver()) {}
  ~StreamClock();
  StreamClock(const StreamClock&) = delete;
  StreamClock& operator=(const StreamClock&) = delete;

  // Begins to measure from the anchor of the stream's GPU; waits until the stream is idle.
  Status Start(CUstream stream, const ClockAnchor& anchor);
  // Returns an event that was recorded on the stream; null when the driver gives none.
  CUevent Record(CUstream stream);
  // Takes an event back, which is over, and returns when that was: nanoseconds of the steady clock.
  // Events must come in the order in which they were recorded. 0 for null.
  uint64_t Take(CUevent event);
  // Takes an event back whose time is not asked for; null: none.
  void Drop(CUevent event);

 private:
  const Gpu& gpu_;
  const Driver& driver_;
  CUevent last_ = nullptr;  // the event that was taken last
  double last_ns_ = 0;
  std::vector<CUevent> all_, free_;  // that there are; that may be recorded anew
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_DEVICE_STREAM_CLOCK_H_
