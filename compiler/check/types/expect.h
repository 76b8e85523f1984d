// Values against the types that they are declared with, as far as is known before elaboration.
#ifndef CGRAPH_COMPILER_CHECK_TYPES_EXPECT_H_
#define CGRAPH_COMPILER_CHECK_TYPES_EXPECT_H_

#include <string>

#include "compiler/check/scope/scope.h"

namespace cgraph::check {

// Reports "WHAT is declared as `f32[n, 64]`, and this is an i64[?]" unless `given` fits.
void ExpectType(Scope& scope, program::TypeId type, const StaticType& given, Range at,
                const std::string& what, Range declared);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_TYPES_EXPECT_H_
