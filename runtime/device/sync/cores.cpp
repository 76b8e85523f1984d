#include "runtime/device/sync/cores.h"

#include <sched.h>

#include <algorithm>
#include <chrono>

#include "runtime/device/sync/event_count.h"

namespace cgraph::device {
namespace {

constexpr std::chrono::microseconds kSpinTime(40);

uint32_t MeasureSpinBudget() {
  using Clock = std::chrono::steady_clock;
  constexpr uint32_t kPauses = 512;
  const auto start = Clock::now();
  for (uint32_t i = 0; i < kPauses; ++i) Pause();
  const std::chrono::duration<double, std::nano> took = Clock::now() - start;
  const double each = std::max(1.0, took.count() / kPauses);
  return static_cast<uint32_t>(std::clamp(std::chrono::nanoseconds(kSpinTime).count() / each, 64.0,
                                          40000.0));
}

}  // namespace

uint32_t Cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<uint32_t>(std::max(1, CPU_COUNT(&set)));
}

uint32_t SpinBudget(uint32_t threads) {
  static const uint32_t budget = MeasureSpinBudget();
  return threads > Cores() ? 0 : budget;
}

}  // namespace cgraph::device
