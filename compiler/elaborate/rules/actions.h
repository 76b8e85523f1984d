// Actions: what the rules of a schedule count.
//
// A stage of a pipeline may be several calls. An action is the calls of one kind, on one device, of
// one micro-batch: those with the same values of the loop variables that count micro-batches, and
// with the same keys and conditions. Which variables count micro-batches is what `per:` says; else
// the variable `mb`, of the rules or of the program's loops; else the outermost loop variables, as
// few as leave no two calls of one method of one place in an action of which neither uses what the
// other makes: turns of a loop over micro-batches are independent, layers are not. Calls in no loop
// are actions by themselves.
#ifndef CGRAPH_COMPILER_ELABORATE_RULES_ACTIONS_H_
#define CGRAPH_COMPILER_ELABORATE_RULES_ACTIONS_H_

#include "compiler/elaborate/rules/call_variables.h"

namespace cgraph::elaborate {

// Sets the actions of all calls that have a kind, by their kinds and evaluated keys. `variables`
// evaluates `per:` and `mb`; null: neither is given (`auto`). Calls that `grad` has derived are
// divided as those of which they are derived.
void FindActions(const graph::Graph& graph, CallVariables* variables, graph::Rules& rules);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_RULES_ACTIONS_H_
