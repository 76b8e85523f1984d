// Going through lists: `for`, comprehensions, and the patterns that take elements apart.
#ifndef CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_ITERATE_H_
#define CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_ITERATE_H_

#include <vector>

#include "compiler/elaborate/frame.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// Runs `turn` once per element; false when it, or the list, failed.
bool Iterate(ElaborationContext& elaboration, const std::vector<program::LocalId>& pattern,
             bool tuple_pattern, program::ExprId list_id, Frame& frame,
             llvm::function_ref<bool()> turn);

bool BindPattern(ElaborationContext& elaboration, const std::vector<program::LocalId>& pattern,
                 bool tuple_pattern, const Value& value, Frame& frame, Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_EXPRESSIONS_ITERATE_H_
