// The limits that compiler and runtime share: what the one makes, the other takes. Those of one
// half alone are in compiler/base/limits.h and runtime/plan/check.h.
#ifndef CGRAPH_RUNTIME_BASE_KINDS_LIMITS_H_
#define CGRAPH_RUNTIME_BASE_KINDS_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace cgraph {

inline constexpr int kMaxRank = 8;
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 46;
inline constexpr int64_t kMaxInflight = 1024;  // executions of one graph in progress at once
inline constexpr int64_t kMaxHeadElements = 8192;  // of a query, a key or a value of attention
inline constexpr int64_t kMaxNodes = 1024;     // machines of one program

// What one kernel of several primitives may hold: its temporaries, one fewer than its steps, lie in
// a tile each, which must stay in the cache.
inline constexpr size_t kMaxFusedSteps = 16;     // of one kernel
inline constexpr size_t kMaxFusedOperands = 32;  // of one kernel

}  // namespace cgraph

#endif  // CGRAPH_RUNTIME_BASE_KINDS_LIMITS_H_
