// Statements. Each returns whether the block goes on: not after `return`, nor when what decides the
// way (a condition, a loop's list) is wrong, since whatever follows would be reported in vain.
#ifndef CGRAPH_COMPILER_ELABORATE_STATEMENTS_EXECUTE_H_
#define CGRAPH_COMPILER_ELABORATE_STATEMENTS_EXECUTE_H_

#include <vector>

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

bool ExecuteBlock(ElaborationContext& elaboration,
                  const std::vector<program::StatementId>& statements, Frame& frame);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_STATEMENTS_EXECUTE_H_
