// New local names: parameters, `let`s, loop variables.
//
// No local name may hide another of the same body: a second `let h` in a loop would look like an
// assignment and be none.
#ifndef CGRAPH_COMPILER_CHECK_SCOPE_DECLARE_LOCAL_H_
#define CGRAPH_COMPILER_CHECK_SCOPE_DECLARE_LOCAL_H_

#include <vector>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

program::LocalId DeclareLocal(Scope& scope, const syntax::Name& name, StaticType type, bool is_var);

std::vector<program::LocalId> DeclarePattern(Scope& scope, const std::vector<syntax::Name>& names,
                                             bool tuple, Range range, const StaticType& type,
                                             bool is_var);

// Its parameters come first, its states are in scope.
void InheritActor(Scope& scope, program::ActorId actor);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_SCOPE_DECLARE_LOCAL_H_
