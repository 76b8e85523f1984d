// ThreadState: what native code may change for the thread that calls it, and what other methods of
// that thread rely on: how numbers are rounded, and which signals are blocked.
#ifndef CGRAPH_RUNTIME_NATIVE_THREAD_STATE_H_
#define CGRAPH_RUNTIME_NATIVE_THREAD_STATE_H_

#include <pthread.h>
#include <signal.h>

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace cgraph::native {

// Puts the rounding mode back after a call. Signals cost a call of the system, so they are put back
// after call number 1, 2, 4, 8, ..., to what they were at the thread's first call of native code.
class ThreadState {
 public:
  explicit ThreadState(uint64_t call_number)
      : looks_at_signals_((call_number & (call_number - 1)) == 0) {
    if (looks_at_signals_) Signals();
  }
  ~ThreadState() {
    if (std::fegetround() != rounding_) std::fesetround(rounding_);
#if defined(__x86_64__)                // also what becomes of numbers that are very small
    constexpr uint32_t kFlags = 0x3f;  // exceptions that have occurred: nobody's mode
    if (((_mm_getcsr() ^ vector_mode_) & ~kFlags) != 0) _mm_setcsr(vector_mode_);
#endif
    if (looks_at_signals_) pthread_sigmask(SIG_SETMASK, &Signals(), nullptr);
  }
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

 private:
  static const sigset_t& Signals() {
    thread_local const sigset_t first = [] {
      sigset_t now;
      pthread_sigmask(SIG_SETMASK, nullptr, &now);
      return now;
    }();
    return first;
  }

  const int rounding_ = std::fegetround();
#if defined(__x86_64__)
  const uint32_t vector_mode_ = _mm_getcsr();
#endif
  const bool looks_at_signals_;
};

}  // namespace cgraph::native

#endif  // CGRAPH_RUNTIME_NATIVE_THREAD_STATE_H_
