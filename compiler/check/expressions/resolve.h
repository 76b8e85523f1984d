// Expressions, and what a place for a value may ask of one; visit.h has a function for each kind.
#ifndef CGRAPH_COMPILER_CHECK_EXPRESSIONS_RESOLVE_H_
#define CGRAPH_COMPILER_CHECK_EXPRESSIONS_RESOLVE_H_

#include <optional>
#include <string>
#include <vector>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

// Also what has no value: a call without a result.
Value Resolve(Scope& scope, syntax::ExprId id);

// A value, or poison.
Value ResolveValue(Scope& scope, syntax::ExprId id);

// A value that is known at compile time: no tensor. `what` names the place of it, for messages.
Value ResolveCompileTime(Scope& scope, syntax::ExprId id, const char* what);

Value ResolveInt(Scope& scope, syntax::ExprId id, const char* what);

Value ResolveCondition(Scope& scope, syntax::ExprId id);

// A number of bytes: an int, or 40GiB.
Value ResolveBytes(Scope& scope, syntax::ExprId id, const char* what);

// Whether the range is a list of ints, as the index of a place array must be.
program::ExprId ResolveIndexRange(Scope& scope, syntax::ExprId id);

StaticType BinaryType(Scope& scope, BinaryOperator op, const StaticType& a, const StaticType& b,
                      Range range);

// The element of what a `for` goes over.
StaticType ElementOf(Scope& scope, const Value& list);

// Returns what to write where a pattern of several names does not fit the elements of `list`.
const char* MendOfPattern(const StaticType& list);

// The transport that a `via` names.
std::optional<program::Route> ResolveRoute(Scope& scope, syntax::ExprId id);

// Warns where `base` has a `via` of its own, which the one around it, `nearer`, overrides. That of
// a collective says how the collective goes, and stays.
void WarnOfOverriddenVia(Scope& scope, program::ExprId base, const program::Route& nearer);
// The same of a `let` each of whose uses has a `via`.
void WarnOfOverriddenLets(Scope& scope);

// ---- devices: cpu[i], gpu[i], node[j].gpu[i]

// Whether the name is cpu, gpu or node and nothing nearer.
bool IsDeviceWord(const Scope& scope, const std::string& name);

// Nothing when the base is no device word.
std::optional<Value> ResolveDevice(Scope& scope, const syntax::IndexExpr& node, Range range);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_EXPRESSIONS_RESOLVE_H_
