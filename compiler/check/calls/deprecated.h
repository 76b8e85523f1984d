// Ops and fns that are deprecated: the warning at a call, with what is written instead as its fix.
#ifndef CGRAPH_COMPILER_CHECK_CALLS_DEPRECATED_H_
#define CGRAPH_COMPILER_CHECK_CALLS_DEPRECATED_H_

#include <string>
#include <vector>

#include "compiler/check/calls/arguments.h"
#include "compiler/check/scope/scope.h"

namespace cgraph::check {

// The declaration that is called.
struct Deprecation {
  const std::string& name;
  const Module& module;    // in which it is declared
  syntax::ExprId instead;  // over its parameters; invalid: it is not deprecated
  const std::vector<syntax::Parameter>& parameters;
};

void WarnOfDeprecated(Scope& scope, const syntax::CallExpr& node, const Deprecation& declared,
                      const Arguments& given, Range call);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_CALLS_DEPRECATED_H_
