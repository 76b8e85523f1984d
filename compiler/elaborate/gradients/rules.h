// Rules: the gradients of one node's operands, by what its callee declares.
#ifndef CGRAPH_COMPILER_ELABORATE_GRADIENTS_RULES_H_
#define CGRAPH_COMPILER_ELABORATE_GRADIENTS_RULES_H_

#include <map>

#include "compiler/elaborate/gradients/activity.h"
#include "compiler/elaborate/gradients/make_op.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace cgraph::elaborate {

struct RuleContext {
  const TapeNode& node;
  const std::map<graph::ValueId, Tensor>& gradients;  // of its results
  const Activity& activity;
  Range range;                 // the `grad`
  const graph::Call* forward;  // the call whose gradients are made; null within a method
};

// Takes the gradient of an operand; false where that failed, which is reported.
using Contribute = llvm::function_ref<bool(const Tensor& of, Tensor part)>;

// Computes the gradients of the node's active operands. False: an error was reported.
bool ApplyRule(ElaborationContext& elaboration, OpMaker& maker, const RuleContext& context,
               Contribute contribute);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_GRADIENTS_RULES_H_
