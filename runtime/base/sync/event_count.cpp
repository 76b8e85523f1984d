#include "runtime/base/sync/event_count.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace cgraph {
namespace {

using Clock = std::chrono::steady_clock;

bool Register(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

// Registers the process on the first call.
bool HasMembarrier() {
  static const bool has = Register(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  return has;
}
// The same for barriers that the threads of all registered processes pass.
bool HasGlobalMembarrier() {
  static const bool has = Register(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
  return has;
}

// When the program starts: with more than one thread the system waits until every processor has
// passed a quiescent state before it registers a process, which takes milliseconds.
[[maybe_unused]] const bool registered_early = HasMembarrier();

int64_t Nanoseconds(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

EventCount::EventCount() : both_fence_(!HasMembarrier()) {}

void EventCount::ShareAmongProcesses() {
  among_processes_ = true;
  both_fence_ = !HasGlobalMembarrier();
}

uint32_t EventCount::Announce() {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  if (!both_fence_) {
    syscall(SYS_membarrier,
            among_processes_ ? MEMBARRIER_CMD_GLOBAL_EXPEDITED : MEMBARRIER_CMD_PRIVATE_EXPEDITED,
            0, 0);
  }
  return epoch_.load(std::memory_order_acquire);
}

void EventCount::Wake() {
  woken_ns_.store(Nanoseconds(Clock::now()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &epoch_, among_processes_ ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
          nullptr, 0);
}

bool EventCount::Block(uint32_t epoch, const Deadline& deadline) {
  timespec rest{};
  timespec* timeout = nullptr;
  if (deadline) {
    const auto left = *deadline - Clock::now();
    if (left <= Clock::duration::zero()) return false;
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
    rest.tv_sec = static_cast<time_t>(ns / 1000000000);
    rest.tv_nsec = static_cast<long>(ns % 1000000000);
    timeout = &rest;
  }
  const int64_t slept = Nanoseconds(Clock::now());
  syscall(SYS_futex, &epoch_, among_processes_ ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, epoch, timeout,
          nullptr, 0);
  const Clock::time_point now = Clock::now();
  if (epoch_.load(std::memory_order_acquire) != epoch) {
    const int64_t woken = woken_ns_.load(std::memory_order_relaxed);
    if (woken > slept) SpinBudget::Observe(std::chrono::nanoseconds(Nanoseconds(now) - woken));
  }
  return !deadline || now < *deadline;
}

}  // namespace cgraph
