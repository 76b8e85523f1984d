#include "runtime/device/cuda/gpu/clock_anchor.h"

#include <chrono>
#include <limits>
#include <utility>

#include "runtime/device/cuda/gpu/gpu.h"

namespace cgraph::cuda {
namespace {

constexpr int kTries = 5;
constexpr const char* kWhat = "reading the clock";

double Now() {
  return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

Result<std::unique_ptr<ClockAnchor>> ClockAnchor::Make(const Gpu& gpu, CUstream stream) {
  const Driver& driver = gpu.driver();
  std::unique_ptr<ClockAnchor> anchor(new ClockAnchor(gpu));
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i < kTries; ++i) {
    CUevent event = nullptr;
    CGRAPH_RETURN_IF_ERROR(gpu.Check(driver.cuEventCreate(&event, CU_EVENT_DEFAULT), kWhat));
    const double begun = Now();
    CUresult result = driver.cuEventRecord(event, stream);
    if (result == CUDA_SUCCESS) result = driver.cuStreamSynchronize(stream);
    const double ended = Now();
    if (result == CUDA_SUCCESS && ended - begun < least) {
      least = ended - begun;
      anchor->ns_ = ended;
      std::swap(anchor->event_, event);
    }
    if (event != nullptr) driver.cuEventDestroy(event);
    CGRAPH_RETURN_IF_ERROR(gpu.Check(result, kWhat));
  }
  return anchor;
}

ClockAnchor::~ClockAnchor() {
  if (event_ != nullptr) gpu_.driver().cuEventDestroy(event_);
}

Status ClockAnchor::When(CUevent event, double& ns) const {
  float milliseconds = 0;
  CGRAPH_RETURN_IF_ERROR(
      gpu_.Check(gpu_.driver().cuEventElapsedTime(&milliseconds, event_, event), kWhat));
  ns = ns_ + static_cast<double>(milliseconds) * 1e6;
  return Status::Ok();
}

}  // namespace cgraph::cuda
