// Consts: evaluated when first used, with the values that -D gave to those of the named file.
#ifndef CGRAPH_COMPILER_ELABORATE_CONSTS_H_
#define CGRAPH_COMPILER_ELABORATE_CONSTS_H_

#include "compiler/elaborate/values/value.h"
#include "compiler/program/program.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// All of them, so that a fault is reported though nothing uses the const.
void EvaluateConsts(ElaborationContext& elaboration);

Value ConstValue(ElaborationContext& elaboration, program::ConstId id);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_CONSTS_H_
