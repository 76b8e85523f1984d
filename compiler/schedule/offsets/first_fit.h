// First fit: items in the order in which they begin, each at the lowest offset where its bytes are
// free for it; or the same backwards in time, from those that end last. n log n for any number of
// items: of the gaps below the top only so many are tried.
#ifndef CGRAPH_COMPILER_SCHEDULE_OFFSETS_FIRST_FIT_H_
#define CGRAPH_COMPILER_SCHEDULE_OFFSETS_FIRST_FIT_H_

#include <vector>

#include "compiler/schedule/offsets/offset_assignment.h"

namespace cgraph::schedule {

enum class Time : uint8_t { kForwards, kBackwards };

// Offsets by item.
std::vector<int64_t> FirstFit(const OffsetProblem& problem, Time time);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_OFFSETS_FIRST_FIT_H_
