// Dimensions, and which names they bring.
//
// A name with a capital initial is a const; one with a small initial is a parameter in scope or a
// dimension variable. A variable that stands alone as a dimension of a parameter is bound there at
// each call; one that occurs only inside an expression, or only in a result, could not be solved
// for and is an error. An op's result may leave whole dimensions to what is expected (`zeros`).
#ifndef CGRAPH_COMPILER_CHECK_TYPES_RESOLVE_DIM_H_
#define CGRAPH_COMPILER_CHECK_TYPES_RESOLVE_DIM_H_

#include <optional>
#include <string>
#include <vector>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

std::vector<program::Dim> ResolveDims(Scope& scope, const std::vector<syntax::Dim>& dims,
                                      TypeRole role);

program::ExprId ResolveListLength(Scope& scope, syntax::ExprId id, TypeRole role);

// The variable of that name, a new one where the type may bring one; nothing (reported) elsewhere.
std::optional<program::DimVariableId> DimVariable(Scope& scope, const std::string& name, bool run,
                                                  TypeRole role, Range range);

// `mend` is what could bind them.
void ReportUnboundUses(Scope& scope, const std::string& mend);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_TYPES_RESOLVE_DIM_H_
