// Types and dimensions as written, with their names resolved; signatures; values against the types
// that they are declared with.
#ifndef CGRAPH_COMPILER_CHECK_TYPES_TYPES_H_
#define CGRAPH_COMPILER_CHECK_TYPES_TYPES_H_

#include <optional>
#include <string>
#include <vector>

#include "compiler/check/checker.h"
#include "compiler/check/scope/scope.h"

namespace cgraph::check {

program::TypeId ResolveType(Scope& scope, syntax::TypeId id, TypeRole role);

// Returns whether named types have stood for few enough types and arguments so far; else reports
// it.
bool MayExpandNames(Checker& checker);

// Resolves what `type Layer(d: int) = ...` declares, unless that is done or going on.
void ResolveNamedType(Checker& checker, program::NamedTypeId id);

// Returns whether a value of this type has a tensor in it.
bool HoldsTensor(const program::Program& program, program::TypeId id);

// Reports "WHAT is declared as `f32[n, 64]`, and this is an i64[?]" unless `given` fits.
void ExpectType(Scope& scope, program::TypeId type, const StaticType& given, Range at,
                const std::string& what, Range declared);

// ---- dimensions, and which names they bring
//
// A name with a capital initial is a const; one with a small initial is a parameter in scope or a
// dimension variable. A variable that stands alone as a dimension of a parameter is bound there at
// each call; one that occurs only inside an expression, or only in a result, could not be solved
// for and is an error. An op's result may leave whole dimensions to what is expected (`zeros`).
std::vector<program::Dim> ResolveDims(Scope& scope, const std::vector<syntax::Dim>& dims,
                                      TypeRole role);

program::ExprId ResolveListLength(Scope& scope, syntax::ExprId id, TypeRole role);

// The variable of that name, a new one where the type may bring one; nothing (reported) elsewhere.
std::optional<program::DimVariableId> DimVariable(Scope& scope, const std::string& name, bool run,
                                                  TypeRole role, Range range);

// `mend` is what could bind them.
void ReportUnboundUses(Scope& scope, const std::string& mend);

// ---- signatures: generics, parameters and results, before any body is looked at
void ResolveGenerics(Scope& scope, const std::vector<syntax::Generic>& generics);

std::vector<program::Parameter> ResolveParameters(Scope& scope,
                                                  const std::vector<syntax::Parameter>& parameters);

void ResolveResult(Scope& scope, const syntax::Result& result);

void ResolveDefaults(Scope& scope, const std::vector<syntax::Parameter>& written,
                     std::vector<program::Parameter>& parameters);

// A kernel that the compiler knows is declared as compiler/base/kernels.def says. Of any other it
// knows nothing, and the runtime judges it.
void CheckKernel(Checker& checker, program::OpId id);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_TYPES_TYPES_H_
