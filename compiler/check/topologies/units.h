// Whether a property's value is written in its unit: 23.3GB/s * links(i, j) is a bandwidth.
#ifndef CGRAPH_COMPILER_CHECK_TOPOLOGIES_UNITS_H_
#define CGRAPH_COMPILER_CHECK_TOPOLOGIES_UNITS_H_

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

// A value with this unit: what is reported otherwise is said once, of the whole.
Value ResolveQuantity(Scope& scope, syntax::ExprId id, TopologyProperty property);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_TOPOLOGIES_UNITS_H_
