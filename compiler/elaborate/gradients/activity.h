// Activity: which values lie between what gradients are asked of and the loss, and which calls have
// made them.
#ifndef CGRAPH_COMPILER_ELABORATE_GRADIENTS_ACTIVITY_H_
#define CGRAPH_COMPILER_ELABORATE_GRADIENTS_ACTIVITY_H_

#include <optional>
#include <set>
#include <vector>

#include "compiler/elaborate/elaboration_context.h"
#include "compiler/elaborate/gradients/tape.h"

namespace cgraph::elaborate {

// Targets: what `of:` means.
struct Targets {
  std::set<graph::ValueId> values;  // their roots
  std::set<graph::StateId> params;  // that are among them
};

// Values are known by their roots: a view is a part of its base.
struct Activity {
  std::vector<size_t> nodes;     // of the tape, that have an active result, in its order
  std::vector<bool> active;      // by ValueId, of those that were there
  std::vector<bool> from_input;  // depends on an input of the graph: an activation
  std::vector<size_t> maker;     // by ValueId, the node that made it; kNoNode: none
  static constexpr size_t kNoNode = SIZE_MAX;

  bool IsActive(graph::ValueId root) const {
    return root.index < active.size() && active[root.index];
  }
};

// What a node's callee says of its gradients: a rule, or that it has none.
const program::Gradient* RuleOf(const ElaborationContext& elaboration, const TapeNode& node);

// Returns what is active, of the nodes from `first` on. Nothing (reported) where the loss has read
// a param as it was before it was written.
std::optional<Activity> FindActivity(ElaborationContext& elaboration, size_t first,
                                     graph::ValueId loss, const Targets& targets, Range range);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_GRADIENTS_ACTIVITY_H_
