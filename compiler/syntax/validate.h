// Validate Syntax.
#ifndef CGRAPH_COMPILER_SYNTAX_VALIDATE_H_
#define CGRAPH_COMPILER_SYNTAX_VALIDATE_H_

#include "compiler/syntax/syntax.h"

namespace cgraph {

// CHECKs what Parse promises: ids in range, no node reached twice, ranges inside the source and
// nested in their parents', chains of one strength. Aborts with the phase's name on a bug of ours.
void Validate(const syntax::File& file);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_SYNTAX_VALIDATE_H_
