// What a name means where it stands: locals, states and dimension variables first, then the names
// of the file.
#ifndef CGRAPH_COMPILER_CHECK_SCOPE_LOOKUP_H_
#define CGRAPH_COMPILER_CHECK_SCOPE_LOOKUP_H_

#include <string>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

Value ResolveName(Scope& scope, const std::string& name, Range range);

// A name of a file as a value.
Value ResolveSymbol(Scope& scope, const Symbol& symbol, const std::string& name, Range range);

// Whether the name is one of this declaration, not of the file.
bool IsOwnName(const Scope& scope, const std::string& name);

// `t` of `t.relu` where t is an imported file and nothing nearer.
const std::string* QualifierOf(const Scope& scope, syntax::ExprId id);

// `self` of other languages, in an actor and declared by nobody.
bool IsSelf(const Scope& scope, syntax::ExprId id);

// `self.field`, which is `range`.
Value RefuseSelf(Scope& scope, const syntax::Name& field, Range range);

// `dist` of `dist` or `dist.ReduceOp`, where nothing of that name is declared; null elsewhere.
const syntax::Expr* UnknownQualifier(const Scope& scope, syntax::ExprId id);

// Reports `dist.all_reduce`, whose qualifier is unknown and whose last name is `name`: says what is
// written here. Only what has something of that name is suggested for the qualifier, since names
// are near each other by chance: `dist` and `cast`.
Value ReportUnknownPath(Scope& scope, const syntax::Expr& qualifier, const syntax::Name& name,
                        Range range);

// `mend` is what helps where no other name is near.
Value ReportUnknownName(Scope& scope, const std::string& name, Range range, const char* mend = "");

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_SCOPE_LOOKUP_H_
