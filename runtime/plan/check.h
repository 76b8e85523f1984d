// CheckPlan: checks structure and bounds of a plan, in one linear pass, at every load.
//
// It checks rules 1-7 of docs/plan.md ("Shape") and that every index, range, offset and size is in
// bounds. A plan that it accepts can be indexed with its own numbers without a further check.
// Whether it can deadlock or touch a buffer too early is the prover's question.
#ifndef CGRAPH_RUNTIME_PLAN_CHECK_H_
#define CGRAPH_RUNTIME_PLAN_CHECK_H_

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace cgraph::plan {

// Returns kInvalid, with what is wrong and where.
Status CheckPlan(const Plan& plan);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_CHECK_H_
