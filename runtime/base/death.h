// Where a test has a rank die, or hang. It exists only in builds with CGRAPH_OMISSIONS; other
// builds count nothing.
#ifndef CGRAPH_RUNTIME_BASE_DEATH_H_
#define CGRAPH_RUNTIME_BASE_DEATH_H_

#include <cstdint>
#include <string_view>

#ifdef CGRAPH_OMISSIONS
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#endif

namespace cgraph {

#ifdef CGRAPH_OMISSIONS
// What is left until the process is killed; 0 or less: it is not.
inline std::atomic<int64_t> steps_until_death{0};
// Has rank R killed after its N-th step, where CGRAPH_DEATH is "R:N".
inline void ReadDeath(uint32_t rank) {
  const char* const text = std::getenv("CGRAPH_DEATH");
  unsigned of = 0, steps = 0;
  if (text == nullptr || std::sscanf(text, "%u:%u", &of, &steps) != 2 || of != rank) return;
  steps_until_death.store(steps, std::memory_order_relaxed);
}
inline void CountStep() {
  if (steps_until_death.fetch_sub(1, std::memory_order_relaxed) == 1) raise(SIGKILL);
}
// Has rank R never go on, where CGRAPH_HANG is "R:PLACE": while it loads the plan, "before" or
// "behind" its communicators, or at the "end", where all ranks of a launcher come together. Others
// wait for one that loads as long as the engine's time-out says, however short that is.
inline bool SomeRankHangs() { return std::getenv("CGRAPH_HANG") != nullptr; }
inline void HangWhereTold(uint32_t rank, std::string_view place) {
  const char* const text = std::getenv("CGRAPH_HANG");
  if (text == nullptr || text != std::to_string(rank) + ":" + std::string(place)) return;
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}
#else
constexpr bool SomeRankHangs() { return false; }
constexpr void HangWhereTold(uint32_t, std::string_view) {}
constexpr void ReadDeath(uint32_t) {}
constexpr void CountStep() {}
#endif

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_DEATH_H_
