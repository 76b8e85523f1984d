// Arithmetic with the units of costs: picoseconds, bytes, and bytes per microsecond.
#ifndef CGRAPH_COMPILER_COST_UNITS_H_
#define CGRAPH_COMPILER_COST_UNITS_H_

#include <cstdint>

namespace cgraph::cost {

inline constexpr uint64_t kPicosecondsPerMicrosecond = 1'000'000;

// bytes * times / n, without overflow: a tensor has at most 2^46 bytes, and collectives fewer than
// 2^16 participants.
inline uint64_t Part(uint64_t bytes, uint64_t times, uint64_t n) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bytes) * times / n);
}

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_UNITS_H_
