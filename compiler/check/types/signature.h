// Signatures: generics, parameters and results, before any body is looked at.
#ifndef CGRAPH_COMPILER_CHECK_TYPES_SIGNATURE_H_
#define CGRAPH_COMPILER_CHECK_TYPES_SIGNATURE_H_

#include <vector>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

void ResolveGenerics(Scope& scope, const std::vector<syntax::Generic>& generics);

std::vector<program::Parameter> ResolveParameters(Scope& scope,
                                                  const std::vector<syntax::Parameter>& parameters);

void ResolveResult(Scope& scope, const syntax::Result& result);

void ResolveDefaults(Scope& scope, const std::vector<syntax::Parameter>& written,
                     std::vector<program::Parameter>& parameters);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_TYPES_SIGNATURE_H_
