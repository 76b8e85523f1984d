// Tape: what a graph has computed so far, as derivation goes through it backwards.
//
// A node is a call of what has a rule of its own: an op, a fn, a method with `grad by`, a copy, a
// collective. What a fn or a method has computed inside stands on the tape before its node, which
// says so; derivation outside of it skips that part, and `grad` inside of it sees nothing else.
#ifndef CGRAPH_COMPILER_ELABORATE_GRADIENTS_TAPE_H_
#define CGRAPH_COMPILER_ELABORATE_GRADIENTS_TAPE_H_

#include <deque>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

struct TapeNode {
  struct Copy {
    graph::StateId written;  // the state that the copy commits; invalid: a snapshot
  };
  struct Collective {
    graph::OpId op;  // its operands are `arguments`, its results are `result`, as lists
  };
  std::variant<program::OpId, program::FnId, program::MethodId, Copy, Collective> callee;
  std::vector<Value> arguments;  // by parameter
  Value result;
  size_t interior = 0;         // the first node inside of it; its own index where there is none
  graph::InstanceId instance;  // of a method
  Range range;
};

struct Tape {
  std::deque<TapeNode> nodes;  // that stay where they are while derived ops are recorded
  // The variables that a gradient is of, where they are params that have copies: the gradients of
  // copies are of one variable.
  std::map<graph::ValueId, std::set<std::string>> variables;
  // The marks of the calls in which PyTorch went back through an object.
  std::map<graph::InstanceId, std::vector<graph::ValueId>> marks;
};

// Calls `visit(tensor)` for every tensor in a tree of lists and tuples, in order.
template <typename Visit>
void ForEachTensor(const Value& value, Visit&& visit) {
  if (const Tensor* tensor = value.As<Tensor>()) visit(*tensor);
  const List* list = value.As<List>();
  const Tuple* tuple = value.As<Tuple>();
  if (!list && !tuple) return;
  for (const Value& item : list ? *list->items : tuple->items->values) ForEachTensor(item, visit);
}

// ---- recording: nothing happens where the program asks for no gradients

void RecordOp(ElaborationContext& elaboration, program::OpId op, const Frame& frame,
              const Value& result, Range range);

void RecordCopy(ElaborationContext& elaboration, const Tensor& from, graph::ValueId made,
                graph::StateId written, Range range);

void RecordCollective(ElaborationContext& elaboration, graph::OpId op, Range range);

// Returns the place of the next node, for RecordFn and RecordMethod when the body is done.
size_t TapeSize(const ElaborationContext& elaboration);

// Both return the result, of which each tensor is one that the fn or method has made.
Value RecordFn(ElaborationContext& elaboration, program::FnId fn, const Frame& frame, Value result,
               size_t interior, Range range);

Value RecordMethod(ElaborationContext& elaboration, program::MethodId method, const Frame& frame,
                   Value result, size_t interior, Range range);

// Records a call of a native method that takes the gradients of another one's results.
void RecordBackward(ElaborationContext& elaboration, program::MethodId method,
                    std::vector<Value> arguments, const Value& result, graph::InstanceId instance,
                    Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_GRADIENTS_TAPE_H_
