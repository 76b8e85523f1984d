// Lists, written out from whatever can be gone through; zip and len.
#ifndef CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_LISTS_H_
#define CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_LISTS_H_

#include <optional>
#include <vector>

#include "compiler/elaborate/calls/arguments.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// The elements of whatever can be gone through, written out.
std::optional<std::vector<Value>> ListItems(ElaborationContext& elaboration, const Value& value,
                                            Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_LISTS_H_
