// CheckPlan: checks limits, structure and bounds of a plan, in one linear pass, at every load.
//
// It checks rules 1-7 of docs/plan.md ("Shape") and that every index, range, offset and size is in
// bounds. A plan that it accepts can be indexed with its own numbers without a further check.
// Whether it can deadlock or touch a buffer too early is the prover's question.
#ifndef CGRAPH_RUNTIME_PLAN_CHECK_H_
#define CGRAPH_RUNTIME_PLAN_CHECK_H_

#include <cstddef>
#include <cstdint>

#include "runtime/base/kinds/limits.h"
#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace cgraph::plan {

// The limits of plans, beyond the widths of their fields. Each is far above what a real plan has; a
// plan that exceeds one is refused. The compiler's own limits are in compiler/base/limits.h.
inline constexpr uint64_t kMaxArenaBytes = kMaxTensorBytes;  // all arenas of a graph, all copies
inline constexpr uint32_t kMaxWorkers = 4096;
inline constexpr uint32_t kMaxAlign = 1 << 21;    // a huge page
inline constexpr size_t kMaxInplace = 64;         // pairs of one kernel
inline constexpr size_t kMaxTemporaries = 65536;  // of one kernel

// Returns kInvalid, with what is wrong and where.
Status CheckPlan(const Plan& plan);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_CHECK_H_
