// Conflicts: which items of a packing problem must lie apart, in the two forms that the search
// needs. Pairs say where an item may not go. Sections, the largest sets of items alive at one time,
// say how high it gets at least, since all of a section's items lie above each other.
#ifndef CGRAPH_COMPILER_SCHEDULE_PACKING_CONFLICTS_H_
#define CGRAPH_COMPILER_SCHEDULE_PACKING_CONFLICTS_H_

#include <vector>

#include "compiler/schedule/packing/packing.h"

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

Conflicts FindConflicts(const PackingProblem& problem);

// The bytes of some items of which each conflicts with each: no packing is lower. At least those
// of every section, and with it of whoever else conflicts with all of it.
int64_t CliqueBound(const PackingProblem& problem, const Conflicts& conflicts);

}  // namespace cgraph::schedule

#endif  // CGRAPH_COMPILER_SCHEDULE_PACKING_CONFLICTS_H_
