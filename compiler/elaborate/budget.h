// Budget: what one program may take: steps, depth, elements of a list, bytes of a tensor, operands
// of an op.
//
// Steps bound memory as well as time: everything that is made while compiling is charged in
// proportion to its bytes, so that all steps together make at most some 1.5 GB. Values are charged
// by values/make.h, the graph's tables by GraphBuilder, places and topologies where they are made,
// messages by Report.
//
// A limit that is reached is reported here, once; then `stopped` unwinds everything.
#ifndef CGRAPH_COMPILER_ELABORATE_BUDGET_H_
#define CGRAPH_COMPILER_ELABORATE_BUDGET_H_

#include <string>

#include "compiler/base/source.h"
#include "compiler/graph/graph.h"

namespace cgraph::elaborate {

struct ElaborationContext;

struct Budget {
  // Charges steps without checking the limit; the next Step() checks it.
  void Charge(int64_t count) { steps += count; }

  int64_t steps = 0;     // that were taken
  int64_t reports = 0;   // since the first error
  bool stopped = false;  // a limit was met: everything unwinds
  int depth = 0;         // of C++ calls, in nested expressions and statements
};

// Returns the steps for names and strings that are kept.
inline int64_t StepsOfBytes(size_t bytes) { return static_cast<int64_t>(bytes / 8); }

// Takes steps; false when they are used up.
bool Step(ElaborationContext& elaboration, Range range, int64_t count = 1);

bool CheckListLength(ElaborationContext& elaboration, int64_t length, Range range);

bool CheckTensorLimits(ElaborationContext& elaboration, const graph::Type& type, Range range);

// Checks the number of tensors that an op takes and makes. Only lists can be that many.
bool CheckOperands(ElaborationContext& elaboration, const std::string& name, size_t taken,
                   size_t made, Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_BUDGET_H_
