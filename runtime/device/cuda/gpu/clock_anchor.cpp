#include "runtime/device/cuda/gpu/clock_anchor.h"

#include <chrono>
#include <limits>
#include <utility>

namespace cgraph::cuda {
namespace {

constexpr int kTries = 5;

double Now() {
  return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

CUresult ClockAnchor::Make(const Driver& driver, CUstream stream,
                           std::unique_ptr<ClockAnchor>& made) {
  std::unique_ptr<ClockAnchor> anchor(new ClockAnchor(driver));
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i < kTries; ++i) {
    CUevent event = nullptr;
    CUresult result = driver.cuEventCreate(&event, CU_EVENT_DEFAULT);
    if (result != CUDA_SUCCESS) return result;
    const double begun = Now();
    result = driver.cuEventRecord(event, stream);
    if (result == CUDA_SUCCESS) result = driver.cuStreamSynchronize(stream);
    const double ended = Now();
    if (result == CUDA_SUCCESS && ended - begun < least) {
      least = ended - begun;
      anchor->ns_ = ended;
      std::swap(anchor->event_, event);
    }
    if (event != nullptr) driver.cuEventDestroy(event);
    if (result != CUDA_SUCCESS) return result;
  }
  made = std::move(anchor);
  return CUDA_SUCCESS;
}

ClockAnchor::~ClockAnchor() {
  if (event_ != nullptr) driver_.cuEventDestroy(event_);
}

CUresult ClockAnchor::When(CUevent event, double& ns) const {
  float milliseconds = 0;
  const CUresult result = driver_.cuEventElapsedTime(&milliseconds, event_, event);
  ns = ns_ + static_cast<double>(milliseconds) * 1e6;
  return result;
}

}  // namespace cgraph::cuda
