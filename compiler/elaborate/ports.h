// A graph's inputs and outputs: the leaves of its parameters and of its result.
#ifndef CGRAPH_COMPILER_ELABORATE_PORTS_H_
#define CGRAPH_COMPILER_ELABORATE_PORTS_H_

#include <string>

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// `n <= B` in an input makes a symbol, wherever else `n` stands.
void BindInputSymbols(ElaborationContext& elaboration, program::TypeId type_id, Frame& frame);

// The value of a parameter of this type; its leaves are inputs.
Value AddInput(ElaborationContext& elaboration, program::TypeId type_id, const std::string& name,
               Frame& frame, Range range);

// `name` is empty for the result as a whole: its fields are ports by their own names.
void AddOutputs(ElaborationContext& elaboration, const Value& value, const std::string& name,
                Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_PORTS_H_
