// Conflicts: which items of a offset assignment problem must lie apart, in the two forms that the
// search needs. Pairs say where an item may not go. Sections, the largest sets of items alive at
// one time, say how high it gets at least, since all of a section's items lie above each other.
#ifndef CGRAPH_COMPILER_SCHEDULE_OFFSETS_CONFLICTS_H_
#define CGRAPH_COMPILER_SCHEDULE_OFFSETS_CONFLICTS_H_

#include <vector>

#include "compiler/schedule/offsets/offset_assignment.h"

namespace cgraph::schedule {

struct Conflicts {
  struct Range {
    uint32_t begin, end;
  };

  std::vector<std::vector<uint32_t>> with;      // by item: the others, ascending
  std::vector<std::vector<uint32_t>> sections;  // in the order of time
  std::vector<Range> alive;                     // by item: its sections
  std::vector<Range> reach;  // by item: its sections, on to the last with which it conflicts
};

Conflicts FindConflicts(const OffsetProblem& problem);

// The bytes of some items that all conflict with each other: no offset assignment is lower. At
// least those of every section, and with it of whoever else conflicts with all of it: that is
// looked at while there is effort, and takes off what it spent, the fullest sections first.
int64_t CliqueBound(const OffsetProblem& problem, const Conflicts& conflicts, int64_t& effort);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_OFFSETS_CONFLICTS_H_
