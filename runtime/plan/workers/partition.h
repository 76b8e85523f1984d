// Partition: which devices share a worker, and in which order a worker runs its lanes.
//
// What runs at the same time is better on several workers, what runs in turns may share one, and no
// worker should have much more to do than another. So partitions are tried: the devices in equal
// shares, dealt in turns, by load, then single devices moved and exchanged, as long as the round
// ends sooner by the times that the plan expects. Then the certificate is made anew for these
// workers, where that is sooner: the compiler's order is that of devices which all run at once.
#ifndef CGRAPH_RUNTIME_PLAN_WORKERS_PARTITION_H_
#define CGRAPH_RUNTIME_PLAN_WORKERS_PARTITION_H_

#include <cstdint>

#include "runtime/plan/plan.h"

namespace cgraph::plan {

struct PartitionOptions {
  // At most. More than there are devices with work, and one for the caller, are not made.
  uint32_t workers = 1;
  // From a signal on one worker until another sees it, in picoseconds. With some, devices that
  // would wait for each other more than they compute share a worker, though another one then has
  // nothing to do.
  uint64_t hop = 0;
};

// About what a signal takes from core to core.
inline constexpr uint64_t kHop = 150'000;

// Sets the workers of the plan and of its lanes, and perhaps the certificate: to be proved again.
// A plan that has so many workers keeps them. The plan passed CheckPlan.
void Partition(Plan& plan, const PartitionOptions& options);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_WORKERS_PARTITION_H_
