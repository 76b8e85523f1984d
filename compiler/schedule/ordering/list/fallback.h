// Fallback: an order of all tasks, one after the other, that needs little memory.
//
// Whatever runs at once can also run one after the other in no more memory, so tasks fit into
// memories exactly when some such order does. To find the one that needs least is hard; the orders
// tried here are the program's, the one in which what is made is used up first, and the one that
// grows least at each step; of few tasks, when these do not fit, all orders within some effort.
#ifndef CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_FALLBACK_H_
#define CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_FALLBACK_H_

#include <vector>

#include "compiler/schedule/ordering/tasks/tasks.h"

namespace cgraph::schedule {

struct Fallback {
  std::vector<uint32_t> order;  // empty: none was found that the policy's limits let end
  std::vector<int64_t> needs;   // by memory: the most bytes alive at once
};

// One that fits into the memories of `tasks`, or the one that exceeds them least.
Fallback FindFallback(const Tasks& tasks, const Policy& policy);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_ORDERING_LIST_FALLBACK_H_
