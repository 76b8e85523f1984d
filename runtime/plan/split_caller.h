// Work queues of the caller's own, so that executions may overlap on its worker.
#ifndef CGRAPH_RUNTIME_PLAN_SPLIT_CALLER_H_
#define CGRAPH_RUNTIME_PLAN_SPLIT_CALLER_H_

#include "runtime/plan/placement.h"
#include "runtime/plan/plan.h"

namespace cgraph::plan {

// Gives the caller's lanes of a proved plan two work queues of their own at worker 0, where several
// executions may be in progress: what awaits the results of one must not hold up the inputs of the
// next one, nor the devices of the worker. Not for a plan that runs on GPUs, whose worker keeps to
// the certificate's order. The engine alone does this: the simulator and the partition play a
// worker in one order, which takes longer at most.
void SplitCaller(const plan::Plan& plan, Placement& placement);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_SPLIT_CALLER_H_
