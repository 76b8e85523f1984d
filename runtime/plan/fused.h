// What a kernel of several primitives may hold. The compiler fuses no more, and the runtime takes
// no more: its temporaries lie in a tile each, which must stay in the cache.
#ifndef CGRAPH_RUNTIME_PLAN_FUSED_H_
#define CGRAPH_RUNTIME_PLAN_FUSED_H_

#include <cstddef>

namespace cgraph::plan {

inline constexpr size_t kMaxFusedSteps = 16;  // a temporary less
inline constexpr size_t kMaxFusedOperands = 32;

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_FUSED_H_
