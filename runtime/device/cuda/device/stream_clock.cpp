#include "runtime/device/cuda/device/stream_clock.h"

#include <utility>

namespace cgraph::cuda {

StreamClock::~StreamClock() {
  for (CUevent event : all_) driver_.cuEventDestroy(event);
}

Status StreamClock::Start(CUstream stream, const ClockAnchor& anchor) {
  const char* const what = "measuring a queue";
  last_ = Record(stream);
  // Why, Record() has not kept; mostly the GPU has failed.
  if (last_ == nullptr) return gpu_.Check(CUDA_ERROR_UNKNOWN, what);
  CGRAPH_RETURN_IF_ERROR(gpu_.Check(driver_.cuStreamSynchronize(stream), what));
  return gpu_.Check(anchor.When(last_, last_ns_), "reading the clock");
}

CUevent StreamClock::Record(CUstream stream) {
  CUevent event = nullptr;
  if (!free_.empty()) {
    event = free_.back();
    free_.pop_back();
  } else if (driver_.cuEventCreate(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS) {
    all_.push_back(event);
  } else {
    return nullptr;
  }
  if (driver_.cuEventRecord(event, stream) == CUDA_SUCCESS) return event;
  free_.push_back(event);
  return nullptr;
}

void StreamClock::Drop(CUevent event) {
  if (event != nullptr) free_.push_back(event);
}

uint64_t StreamClock::Take(CUevent event) {
  if (event == nullptr) return 0;
  float milliseconds = 0;
  if (driver_.cuEventElapsedTime(&milliseconds, last_, event) != CUDA_SUCCESS) {
    free_.push_back(event);
    return 0;
  }
  last_ns_ += static_cast<double>(milliseconds) * 1e6;
  free_.push_back(std::exchange(last_, event));
  return static_cast<uint64_t>(last_ns_);
}

}  // namespace cgraph::cuda
