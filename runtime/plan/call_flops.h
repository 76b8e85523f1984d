// What calls compute, by the names that a profile gives them. A profile says it beside its times,
// so that `cgc` sees where a time is of calls with other shapes than the program's.
#ifndef CGRAPH_RUNTIME_PLAN_CALL_FLOPS_H_
#define CGRAPH_RUNTIME_PLAN_CALL_FLOPS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "runtime/plan/plan.h"

namespace cgraph::plan {

// Returns the floating-point operations of one call, of all graphs and the start, by
// "Actor.method", by "place.method", and by the op's name of an op outside a method. Several
// numbers: its calls have different shapes.
std::map<std::string, std::set<uint64_t>> CallFlops(const Plan& plan);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_CALL_FLOPS_H_
