// Ops: arguments bound, types unified, one op appended to the graph.
#ifndef CGRAPH_COMPILER_ELABORATE_OPS_CALL_OP_H_
#define CGRAPH_COMPILER_ELABORATE_OPS_CALL_OP_H_

#include <optional>
#include <vector>

#include "compiler/elaborate/calls/arguments.h"

namespace cgraph::elaborate {

struct ElaborationContext;

struct OpCall {
  program::OpId op;
  std::vector<Actual> actuals;
  std::optional<graph::Type> type_argument;
  std::optional<DType> dtype_argument;
  Expected expected;
  Range range;
};

Value CallOperation(ElaborationContext& elaboration, const OpCall& call);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_OPS_CALL_OP_H_
