// The limits of plans, beyond the widths of their fields. Each is far above what a real plan has; a
// plan that exceeds one is refused. The compiler's own limits are in compiler/base/limits.h.
#ifndef CGRAPH_RUNTIME_PLAN_LIMITS_H_
#define CGRAPH_RUNTIME_PLAN_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/base/kinds/limits.h"

namespace cgraph::plan {

inline constexpr uint64_t kMaxArenaBytes = kMaxTensorBytes;  // all arenas of a graph, all copies
inline constexpr uint32_t kMaxWorkers = 4096;
inline constexpr uint32_t kMaxAlign = 1 << 21;    // a huge page
inline constexpr size_t kMaxInplace = 64;         // pairs of one kernel
inline constexpr size_t kMaxTemporaries = 65536;  // of one kernel

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_LIMITS_H_
