// Visit: one function per kind of expression. Only Resolve() calls them; it chooses by the kind.
#ifndef CGRAPH_COMPILER_CHECK_EXPRESSIONS_VISIT_H_
#define CGRAPH_COMPILER_CHECK_EXPRESSIONS_VISIT_H_

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

// expressions/literals.cpp
Value Visit(Scope& scope, const syntax::IntLiteral& node, Range range);
Value Visit(Scope& scope, const syntax::FloatLiteral& node, Range range);
Value Visit(Scope& scope, const syntax::BoolLiteral& node, Range range);
Value Visit(Scope& scope, const syntax::NameExpr& node, Range range);
Value Visit(Scope& scope, const syntax::QuantityLiteral& node, Range range);
Value Visit(Scope& scope, const syntax::StringLiteral& node, Range range);

// expressions/lists.cpp
Value Visit(Scope& scope, const syntax::TupleExpr& node, Range range);
Value Visit(Scope& scope, const syntax::ListExpr& node, Range range);
Value Visit(Scope& scope, const syntax::Comprehension& node, Range range);

// expressions/operators.cpp
Value Visit(Scope& scope, const syntax::Unary& node, Range range);
Value Visit(Scope& scope, const syntax::Chain& node, Range range);
Value Visit(Scope& scope, const syntax::IfExpr& node, Range range);

// expressions/parts.cpp
Value Visit(Scope& scope, const syntax::FieldExpr& node, Range range);
Value Visit(Scope& scope, const syntax::IndexExpr& node, Range range);

// expressions/modifiers.cpp
Value Visit(Scope& scope, const syntax::Modified& node, Range range);

// calls/call.cpp
Value Visit(Scope& scope, const syntax::CallExpr& node, Range range);

// calls/cast.cpp
Value Visit(Scope& scope, const syntax::CastExpr& node, Range range);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_EXPRESSIONS_VISIT_H_
