// Collectives: which arguments each takes, and what comes of them.
//
// They are of the language and not of the library, since the name of a reduction is no value and
// the participants are found in the values' homes. Who they are, and whether their tensors agree,
// is known when the graph is elaborated.
#ifndef CGRAPH_COMPILER_CHECK_CALLS_COLLECTIVE_H_
#define CGRAPH_COMPILER_CHECK_CALLS_COLLECTIVE_H_

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

Value ResolveCollective(Scope& scope, const syntax::CallExpr& node, CollectiveKind kind,
                        Range name_range, Range range);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_CALLS_COLLECTIVE_H_
