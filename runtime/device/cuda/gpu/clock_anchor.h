// ClockAnchor: an event of a GPU, and when it was by the host's steady clock. All streams of the
// GPU measure from it, so that their times can be compared with each other.
#ifndef CGRAPH_RUNTIME_DEVICE_CUDA_GPU_CLOCK_ANCHOR_H_
#define CGRAPH_RUNTIME_DEVICE_CUDA_GPU_CLOCK_ANCHOR_H_

#include <memory>

#include "runtime/device/cuda/driver/driver.h"

namespace cgraph::cuda {

class ClockAnchor {
 public:
  // Records events on an idle stream of the current context, waits for each, and keeps the one for
  // which the host waited least. `made` is set where the driver has no error.
  static CUresult Make(const Driver& driver, CUstream stream, std::unique_ptr<ClockAnchor>& made);
  ~ClockAnchor();
  ClockAnchor(const ClockAnchor&) = delete;
  ClockAnchor& operator=(const ClockAnchor&) = delete;

  // Sets when an event that is over was, in nanoseconds of the steady clock. The driver gives the
  // time since the anchor as an f32 in milliseconds: exact to 0.1 us for the first second.
  CUresult When(CUevent event, double& ns) const;

 private:
  explicit ClockAnchor(const Driver& driver) : driver_(driver) {}

  const Driver& driver_;
  CUevent event_ = nullptr;
  double ns_ = 0;
};

}  // namespace cgraph::cuda

#endif  // CGRAPH_RUNTIME_DEVICE_CUDA_GPU_CLOCK_ANCHOR_H_
