// Transposed collectives: the gradient of a collective is a collective.
//
// Each copy of a value is a value of its own, so the gradients of copies are parts, and their sum
// is the gradient. Participants without a gradient give zeros, or take no part.
#ifndef CGRAPH_COMPILER_ELABORATE_GRADIENTS_TRANSPOSE_H_
#define CGRAPH_COMPILER_ELABORATE_GRADIENTS_TRANSPOSE_H_

#include <optional>
#include <vector>

#include "compiler/elaborate/gradients/rules.h"

namespace cgraph::elaborate {

// `gradients`: of the node's results, in order. False: an error was reported.
bool Transpose(ElaborationContext& elaboration, OpMaker& maker, const TapeNode& node,
               const std::vector<std::optional<Tensor>>& gradients, const Activity& activity,
               Range range, Contribute contribute);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_GRADIENTS_TRANSPOSE_H_
