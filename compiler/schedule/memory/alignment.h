// How buffers are aligned: every offset and every room taken is a multiple of it.
#ifndef CGRAPH_COMPILER_SCHEDULE_MEMORY_ALIGNMENT_H_
#define CGRAPH_COMPILER_SCHEDULE_MEMORY_ALIGNMENT_H_

#include <cstdint>

namespace cgraph::schedule {

inline constexpr int64_t kAlignment = 64;  // a cache line, and what vector loads like

// The next multiple of it.
inline int64_t Aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_MEMORY_ALIGNMENT_H_
