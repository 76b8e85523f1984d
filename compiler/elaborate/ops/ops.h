// One op, or one collective, into the graph.
#ifndef CGRAPH_COMPILER_ELABORATE_OPS_OPS_H_
#define CGRAPH_COMPILER_ELABORATE_OPS_OPS_H_

#include <optional>
#include <string>
#include <vector>

#include "compiler/elaborate/calls/arguments.h"
#include "compiler/elaborate/expressions/evaluate.h"
#include "compiler/elaborate/ops/participants.h"
#include "llvm/ADT/ArrayRef.h"

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

// Returns whether the numbers that an op makes by itself, `full` or `iota`, exist in the dtype of
// its result; reports those that do not.
bool CheckMadeNumbers(ElaborationContext& elaboration, const OpCall& call, Frame& op_frame,
                      const graph::Type& made);

// Returns whether the indices of an op that are known, as `from` of `slice`, are in range; reports
// those that are not.
bool CheckConstantIndices(ElaborationContext& elaboration, const OpCall& call, const graph::Op& op);

// An op whose parameters are bound goes into the graph: where the home rule puts it, with its cost.
Value EmitOp(ElaborationContext& elaboration, const OpCall& call, Frame& op_frame);

// The attribute that a compile-time number, text or list of ints becomes; nothing for other values.
std::optional<graph::Attribute> AttributeOf(const std::string& name, const Value& value);

// The types of the tensors in a declared result, in order; false where that is reported.
bool ResultTypes(ElaborationContext& elaboration, program::TypeId type_id, Frame& frame,
                 std::vector<graph::Type>& types, Range range);

// The values of an op in the shape of its result type, taken from the front of `rest`.
Value TakeResults(ElaborationContext& elaboration, program::TypeId type_id, Frame& frame,
                  Range range, llvm::ArrayRef<graph::ValueId>& rest);

// A cost, 0 where none is given. One that does not fit becomes the largest number: costs order and
// time ops, and give no sizes.
int64_t CostOf(ElaborationContext& elaboration, program::ExprId expr, Frame& frame);

// CollectiveCall: a collective whose participants are known. `root`: a rank, of what is rooted.
struct CollectiveCall {
  CollectiveKind kind;
  std::optional<Reduction> reduction;
  uint32_t root = 0;
  TransportKind via = TransportKind::kAuto;
  Range range;
};

// A collective goes into the graph, as a call of its own; nothing where that is reported.
std::optional<graph::OpId> EmitCollective(ElaborationContext& elaboration,
                                          const CollectiveCall& call, const Participants& found);

// Collectives: what comes of them, by rank.
Value CallCollective(ElaborationContext& elaboration, const program::CallCollective& e,
                     TransportKind via, const Context& context);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_OPS_OPS_H_
