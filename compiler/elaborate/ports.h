// A graph's inputs and outputs: the leaves of its parameters and of its result.
#ifndef CGRAPH_COMPILER_ELABORATE_PORTS_H_
#define CGRAPH_COMPILER_ELABORATE_PORTS_H_

#include <string>

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct Work;

// `n <= B` in an input makes a symbol, wherever else `n` stands.
void BindInputSymbols(Work& work, program::TypeId type_id, Frame& frame);

// The value of a parameter of this type; its leaves are inputs.
Value AddInput(Work& work, program::TypeId type_id, const std::string& name, Frame& frame,
               Range range);

// `name` is empty for the result as a whole: its fields are ports by their own names.
void AddOutputs(Work& work, const Value& value, const std::string& name, Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_PORTS_H_
