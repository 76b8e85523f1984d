// Bodies: statements in blocks.
#ifndef CGRAPH_COMPILER_CHECK_STATEMENTS_BODY_H_
#define CGRAPH_COMPILER_CHECK_STATEMENTS_BODY_H_

#include <vector>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

// `name`, of the declaration, is blamed for a result that is not returned.
std::vector<program::StatementId> ResolveBody(Scope& scope,
                                              const std::vector<syntax::StatementId>& statements,
                                              const syntax::Name& name);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_STATEMENTS_BODY_H_
