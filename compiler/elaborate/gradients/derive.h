// Derive: the tape backwards, one derived call after the other.
#ifndef CGRAPH_COMPILER_ELABORATE_GRADIENTS_DERIVE_H_
#define CGRAPH_COMPILER_ELABORATE_GRADIENTS_DERIVE_H_

#include <optional>

#include "compiler/elaborate/gradients/activity.h"
#include "compiler/elaborate/gradients/copies/copies.h"

namespace cgraph::elaborate {

// Finds the gradients of `loss` by the values that `of:` means, which are no views; each is where
// its value is. `from`: the gradient of the loss itself; without it 1. False: an error was
// reported.
bool Derive(ElaborationContext& elaboration, const Tensor& loss, const std::optional<Tensor>& from,
            const Targets& targets, Range range, FoundGradients& found);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_GRADIENTS_DERIVE_H_
