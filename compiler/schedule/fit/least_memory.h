// LeastMemory: the bytes that a graph needs on each device in every order, with any number of
// lanes. A limit below them is hopeless: it is refused before anything is searched.
//
// A unit runs its steps one after the other in every order. So the slot buffers that it reads,
// makes and leaves to others are alive together in it, whatever runs before and beside it. The unit
// that needs most says what one copy of the slots needs at least; gaps, and values that wait for
// other units, come on top. A result that might take over an operand's buffer is counted only from
// the step after the one that makes it.
#ifndef CGRAPH_COMPILER_SCHEDULE_FIT_LEAST_MEMORY_H_
#define CGRAPH_COMPILER_SCHEDULE_FIT_LEAST_MEMORY_H_

#include <vector>

#include "compiler/schedule/fit/memory_limits.h"

namespace cgraph::schedule {

struct LeastMemory {
  // Peak: the step at which, on a device, the most bytes are alive in every order, and their
  // buffers.
  struct Peak {
    StepId step;  // invalid: the device has no slots
    std::vector<BufferId> buffers;
    int64_t bytes = 0;
  };
  std::vector<MemoryUse> uses;  // by device; slots: all copies of the peak
  std::vector<Peak> peaks;      // by device
};

// `schedule`: in program order, as it is prepared.
LeastMemory FindLeastMemory(const graph::Module& module, const graph::Graph& graph,
                            const Schedule& schedule);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_FIT_LEAST_MEMORY_H_
