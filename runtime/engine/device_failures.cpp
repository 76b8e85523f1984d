#include "runtime/engine/device_failures.h"

#include <chrono>
#include <thread>
#include <utility>

namespace cgraph::engine {

void DeviceFailures::EndWhereAny() {
  if (auto failure = ranks_.DeviceFailure()) return EndBy(std::move(*failure));
  for (const auto& device : loaded_.devices) {
    if (Status failure = device->Failure(); !failure.ok()) return EndBy(std::move(failure));
  }
}

// A library that loses a peer may notice it sooner than the system tells that a process has ended.
void DeviceFailures::EndBy(Status failure) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kTillLost = std::chrono::milliseconds(100);
  const auto end = Clock::now() + kTillLost;
  while (ranks_.LosesPeers() && !ending_.has_ended() && Clock::now() < end) {
    // The thread that hears of it ends the engine.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ending_.End(std::move(failure));
}

}  // namespace cgraph::engine
