// Ops and fns that share a name: a call means the one that takes its arguments, by their number and
// labels alone; of several the first that is declared.
#ifndef CGRAPH_COMPILER_CHECK_CALLS_OVERLOADS_H_
#define CGRAPH_COMPILER_CHECK_CALLS_OVERLOADS_H_

#include <vector>

#include "llvm/ADT/ArrayRef.h"

#include "compiler/check/checker.h"

namespace cgraph::check {

// The parameters of an op or fn as written; null for anything else.
const std::vector<syntax::Parameter>* WrittenParameters(const Checker& checker,
                                                        const Symbol& symbol);

// Whether some call gives both what they need, and no more: they cannot share a name then. What
// begins alike and goes on with other names is told apart by labels, clamp(x, min: a) and
// clamp(x, max: b): a call without them means what is declared first.
bool TakeTheSame(const std::vector<syntax::Parameter>& a, const std::vector<syntax::Parameter>& b);

// Whether a call with these arguments gives the parameters all that they need, and no more, by the
// number of the arguments and by labels.
bool Takes(llvm::ArrayRef<syntax::Parameter> parameters,
           const std::vector<syntax::Argument>& arguments);

// Chooses among a symbol and its overloads. Where none takes the arguments, it is the one with the
// nearest number of parameters, for what is said of the call.
const Symbol& ChooseOverload(const Checker& checker, const Symbol& symbol,
                             const std::vector<syntax::Argument>& arguments);

}  // namespace cgraph::check

#endif  // CGRAPH_COMPILER_CHECK_CALLS_OVERLOADS_H_
