// Tuples, lists, comprehensions.
#ifndef CGRAPH_COMPILER_CHECK_EXPRESSIONS_LISTS_H_
#define CGRAPH_COMPILER_CHECK_EXPRESSIONS_LISTS_H_

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

// The element of what a `for` goes over.
StaticType ElementOf(Scope& scope, const Value& list);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_EXPRESSIONS_LISTS_H_
