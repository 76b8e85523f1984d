// Partition: which devices share a worker, and in which order a worker runs its lanes.
//
// Devices that work at the same time are better on several workers, devices that work in turns may
// share one, and no worker should have much more to do than another. So partitions are tried: the
// devices in equal shares, dealt in turns, and by load; then single devices are moved and
// exchanged, as long as the round ends sooner by the times that the plan expects. Then a
// certificate is made for these workers, where that is sooner: the plan's own order assumes devices
// that all run at once.
//
// The plans must have passed CheckPlan. What is made has to be proved.
#ifndef CGRAPH_COMPILER_SCHEDULE_WORKERS_PARTITION_H_
#define CGRAPH_COMPILER_SCHEDULE_WORKERS_PARTITION_H_

#include <cstdint>

#include "runtime/plan/plan.h"

namespace cgraph::schedule {

struct PartitionOptions {
  // The most workers. More than one per device with work, and one for the caller, are not made.
  uint32_t workers = 1;
  // Picoseconds from a signal on one worker until another worker sees it. Where it is not 0,
  // devices that would wait for each other more than they compute share a worker, even if another
  // worker then has nothing to do.
  uint64_t hop = 0;
};

// The time of a signal from core to core, in picoseconds, roughly.
inline constexpr uint64_t kHop = 150'000;

// Sets the workers of the plan and of its lanes, and perhaps the certificate. A plan that has that
// many workers already keeps them.
void Partition(plan::Plan& plan, const PartitionOptions& options);

// Adds partitions for 2 to 8, 16, 32, ... workers, if any of them is sooner than equal shares. A
// plan of several nodes gets none: its devices are dealt by node.
void AddPartitions(plan::Plan& plan);

// Makes the plan's own partition with at most so many workers and hops that take kHop. Where fewer
// workers are sooner, the plan carries the partition for exactly so many beside its own.
void PartitionFor(plan::Plan& plan, uint32_t workers);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_WORKERS_PARTITION_H_
