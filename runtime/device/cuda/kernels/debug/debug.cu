// The kernels of std.debug: errors and delays.
#include "runtime/device/cuda/kernels/device_numbers.h"

#if defined(CGRAPH_EMULATED_GRID)
#include <chrono>
#include <thread>
#endif

namespace cgraph::cuda {

KERNEL(CheckTrue, (Guard guard, const uint8_t* ok)) {
  if (!Enter(guard)) return;
  if (*ok == 0) Fail(guard, 0);
}

#if defined(CGRAPH_EMULATED_GRID)
static void SleepFor(int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
#else
// Sleeps until a moment of the device's clock: it is asked again and again, since a nap has no
// certain length.
static __device__ void SleepFor(int64_t ms) {
  constexpr uint64_t kNap = 100'000;  // ns
  const auto now = [] {
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
  };
  const uint64_t until = now() + static_cast<uint64_t>(ms) * 1'000'000;
  for (uint64_t at = now(); at < until; at = now()) {
    __nanosleep(static_cast<unsigned>(until - at < kNap ? until - at : kNap));
  }
}
#endif

KERNEL(Sleep, (Guard guard, const int64_t* ms, int64_t longest)) {
  if (!Enter(guard)) return;
  const int64_t wanted = *ms < 0 ? 0 : *ms;
  SleepFor(wanted < longest ? wanted : longest);
}

}  // namespace cgraph::cuda
