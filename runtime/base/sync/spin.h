// The time that a thread spins before it sleeps: several times what waking a thread takes.
//
// A thread that sleeps too early makes the other one wait for a wake-up, and may find it asleep in
// turn: two threads that pass work to and fro then sleep and wake for ever. So the wake-up time is
// measured, at every wake-up of the process, and spinning lasts long enough that after one pause
// both threads are awake again. A wake-up that takes longer than the estimate counts at once,
// shorter ones count little by little.
//
// A thread that only spun would keep its core from the thread that it waits for, where another
// program has that thread's core: an execution of 8 collectives took 9.8 ms instead of 0.08. So
// after some microseconds it yields its core between two looks; at once where more threads wait
// than there are cores.
#ifndef CGRAPH_RUNTIME_BASE_SYNC_SPIN_H_
#define CGRAPH_RUNTIME_BASE_SYNC_SPIN_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace cgraph {

inline void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The spin budget of all threads of the process.
class SpinBudget {
 public:
  static std::chrono::nanoseconds Get() {
    return std::chrono::nanoseconds(budget_ns_.load(std::memory_order_relaxed));
  }
  // Records that a thread that slept ran again this long after it was woken.
  static void Observe(std::chrono::nanoseconds wake);

 private:
  static std::atomic<int64_t> wake_ns_;
  static std::atomic<int64_t> budget_ns_;
};

// One wait: counts how often it has looked, and says when it has taken too long.
class Spinner {
 public:
  // `yields`: more threads than cores may wait.
  explicit Spinner(bool yields) : pauses_(yields ? 0 : kPauses) {}

  // Begins a new wait.
  void Reset() {
    looks_ = 0;
    goes_on_ = true;
    yields_since_.reset();
  }
  // Pauses, or yields the core; returns false when it is time to sleep, and from then on until a
  // new wait begins.
  bool Again() {
    if (!goes_on_) return false;
    if (looks_ < pauses_) {
      ++looks_;
      Pause();
    } else {
      Yield();
      goes_on_ = InTime();
    }
    return goes_on_;
  }

 private:
  static void Yield();
  bool InTime();

  static constexpr uint32_t kPauses = 64;  // some 2 to 10 us, by processor

  const uint32_t pauses_;
  bool goes_on_ = true;
  uint32_t looks_ = 0;
  std::optional<std::chrono::steady_clock::time_point> yields_since_;
};

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_SYNC_SPIN_H_
