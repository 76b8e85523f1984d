// Types as written, with their names resolved.
#ifndef CGRAPH_COMPILER_CHECK_TYPES_RESOLVE_TYPE_H_
#define CGRAPH_COMPILER_CHECK_TYPES_RESOLVE_TYPE_H_

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

program::TypeId ResolveType(Scope& scope, syntax::TypeId id, TypeRole role);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_TYPES_RESOLVE_TYPE_H_
