// Statements, and the assignments among them.
#ifndef CGRAPH_COMPILER_ELABORATE_STATEMENTS_STATEMENTS_H_
#define CGRAPH_COMPILER_ELABORATE_STATEMENTS_STATEMENTS_H_

#include <string>
#include <vector>

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// Each statement returns whether the block goes on: not after `return`, nor when what decides the
// way (a condition, a loop's list) is wrong or an `assert` fails, since whatever follows would be
// reported in vain.
bool ExecuteBlock(ElaborationContext& elaboration,
                  const std::vector<program::StatementId>& statements, Frame& frame);

// ---- assignments: to a `var`, a state, or an element of one

// Dumps and drawings call a value by its first name.
void CallByName(ElaborationContext& elaboration, const Value& value, const std::string& name);

// What a body returns under labels is called by them where it has no name yet: "loss", "grads[1]",
// "best.score".
void CallByLabels(ElaborationContext& elaboration, const Value& result);

void AssignLocal(ElaborationContext& elaboration, const program::Assign& s, Frame& frame,
                 Range range);

void AssignState(ElaborationContext& elaboration, const program::Assign& s, Frame& frame,
                 Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_STATEMENTS_STATEMENTS_H_
