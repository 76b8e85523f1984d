// Matching of arguments to parameters. Arguments are evaluated in the order in which they stand.
// Compile-time ones are bound first (dimensions may depend on them), then tensors, then numbers,
// which take a tensor's dtype.
#ifndef CGRAPH_COMPILER_ELABORATE_CALLS_ARGUMENTS_H_
#define CGRAPH_COMPILER_ELABORATE_CALLS_ARGUMENTS_H_

#include <string>
#include <vector>

#include "compiler/elaborate/frame.h"

namespace cgraph::elaborate {

struct ElaborationContext;

// Actual: an argument that was evaluated.
struct Actual {
  std::string label;
  Value value;
  Range range;
  Range label_range = {};  // of a label
  // The parameter that Check found or, for a method that is known only now, EvaluateArguments. -1
  // for an unlabelled argument: its position counts; -1 for a labelled one: the callee has no such
  // parameter.
  int parameter = -1;
};

// Returns the argument of a parameter; null for a default.
const Actual* ActualFor(size_t parameter, const std::vector<Actual>& actuals);

// `parameters`, if any, say which types are expected.
std::vector<Actual> EvaluateArguments(ElaborationContext& elaboration,
                                      const std::vector<program::Argument>& arguments,
                                      const std::vector<program::Parameter>* parameters,
                                      Frame& callee, Frame& frame);

// `where`, the clause of an op, may say how long runs are.
bool BindParameters(ElaborationContext& elaboration,
                    const std::vector<program::Parameter>& parameters,
                    const std::vector<Actual>& actuals, Frame& callee, Range site,
                    program::ExprId where = {});

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_CALLS_ARGUMENTS_H_
