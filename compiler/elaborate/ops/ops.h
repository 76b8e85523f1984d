// One op, or one collective, into the graph.
#ifndef CGRAPH_COMPILER_ELABORATE_OPS_OPS_H_
#define CGRAPH_COMPILER_ELABORATE_OPS_OPS_H_

#include <optional>
#include <vector>

#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/expressions/evaluate.h"

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

// Arguments bound, types unified, one op appended to the graph.
Value CallOperation(ElaborationContext& elaboration, const OpCall& call);

// What an op asks of its arguments beyond their types: its `where`.
bool ApplyWhere(ElaborationContext& elaboration, const OpCall& call, Frame& op_frame);

// What `same` would find out in vain: extents that cannot be equal.
bool CheckSame(ElaborationContext& elaboration, const OpCall& call, Frame& op_frame);

// An op whose parameters are bound goes into the graph: where the home rule puts it, with its cost.
Value EmitOp(ElaborationContext& elaboration, const OpCall& call, Frame& op_frame);

// Collectives: what comes of them, by rank.
Value CallCollective(ElaborationContext& elaboration, const program::CallCollective& e,
                     Transport via, const Context& context);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_OPS_OPS_H_
