// Assignments: to a `var`, a state, or an element of one.
#ifndef CGRAPH_COMPILER_ELABORATE_STATEMENTS_ASSIGN_H_
#define CGRAPH_COMPILER_ELABORATE_STATEMENTS_ASSIGN_H_

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// Dumps and drawings call a value by its first name.
void CallByName(ElaborationContext& elaboration, const Value& value, const std::string& name);

void AssignLocal(ElaborationContext& elaboration, const program::Assign& s, Frame& frame,
                 Range range);

void AssignState(ElaborationContext& elaboration, const program::Assign& s, Frame& frame,
                 Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_STATEMENTS_ASSIGN_H_
