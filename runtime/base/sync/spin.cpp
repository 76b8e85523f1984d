#include "runtime/base/sync/spin.h"

#include <sched.h>

#include <algorithm>

namespace cgraph {
namespace {

constexpr int64_t kTimesWake = 4;
// The least and the longest wake-up that count, in nanoseconds. A longer one is no wake-up alone:
// the processor had other work.
constexpr int64_t kLeastWake = 10'000, kMostWake = 150'000;

}  // namespace

std::atomic<int64_t> SpinBudget::wake_ns_{kLeastWake};
std::atomic<int64_t> SpinBudget::budget_ns_{kTimesWake * kLeastWake};

// Two threads at once may lose one of two observations, which the next one makes up for.
void SpinBudget::Observe(std::chrono::nanoseconds wake) {
  const int64_t seen = std::clamp(static_cast<int64_t>(wake.count()), kLeastWake, kMostWake);
  const int64_t known = wake_ns_.load(std::memory_order_relaxed);
  const int64_t now = seen > known ? seen : known - (known - seen) / 8;
  wake_ns_.store(now, std::memory_order_relaxed);
  budget_ns_.store(kTimesWake * now, std::memory_order_relaxed);
}

void Spinner::Yield() { sched_yield(); }

bool Spinner::InTime() {
  const auto now = std::chrono::steady_clock::now();
  if (!yields_since_) yields_since_ = now;
  return now - *yields_since_ < SpinBudget::Get();
}

}  // namespace cgraph
