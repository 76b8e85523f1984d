// FairShare: what each of several flows may carry at once, where they share resources.
//
// All grow together, each in proportion to what it could carry alone, until something that some of
// them go through is full: those stay as they are, the others go on (weighted max-min fairness). So
// what one gets is its own, and no resource carries more than it can.
#ifndef CGRAPH_COMPILER_COST_GROUP_FAIR_SHARE_H_
#define CGRAPH_COMPILER_COST_GROUP_FAIR_SHARE_H_

#include <cstdint>
#include <vector>

namespace cgraph::cost {

struct Flow {
  uint64_t alone = 0;             // what it could carry
  std::vector<uint32_t> through;  // resources, one as often as it is passed
};

// By flow. `capacities`: by resource. The sum of all `alone` and each capacity are below 2^63.
std::vector<uint64_t> FairShares(const std::vector<Flow>& flows,
                                 const std::vector<uint64_t>& capacities);

}  // namespace cgraph::cost

#endif  // CGRAPH_COMPILER_COST_GROUP_FAIR_SHARE_H_
