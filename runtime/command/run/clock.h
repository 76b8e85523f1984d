// The clock by which executions are measured.
#ifndef CGRAPH_RUNTIME_COMMAND_RUN_CLOCK_H_
#define CGRAPH_RUNTIME_COMMAND_RUN_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace cgraph::command {

using Clock = std::chrono::steady_clock;

inline uint64_t NsSince(Clock::time_point start) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

}  // namespace cgraph::command

#endif  // CGRAPH_RUNTIME_COMMAND_RUN_CLOCK_H_
