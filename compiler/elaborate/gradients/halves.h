// Halves: a derived call as two, since schedules such as ZB-H1 fill their bubbles with the second.
//
// The first (B) has what gradients of activations are made of: others wait for it. The rest (W) are
// gradients of params, which nothing waits for.
#ifndef CGRAPH_COMPILER_ELABORATE_GRADIENTS_HALVES_H_
#define CGRAPH_COMPILER_ELABORATE_GRADIENTS_HALVES_H_

#include <set>
#include <vector>

#include "compiler/elaborate/elaboration_context.h"

namespace cgraph::elaborate {

struct MethodScope;

// Returns whether a graph's schedule speaks of halves, or may choose them.
bool IsHalved(const program::Program& program, const program::Using& use);

// TailMark: the end of a graph at some moment; what comes after it is one derived call's.
class TailMark {
 public:
  explicit TailMark(const graph::Graph& graph)
      : ops_(graph.ops.size()), values_(graph.values.size()) {}

  size_t ops() const { return ops_; }
  size_t values() const { return values_; }
  // Sets the range of all ops and values since the mark.
  void SetRanges(graph::Graph& graph, Range range) const;

 private:
  size_t ops_, values_;
};

// Divides the call of `scope`, whose ops are those behind `before`. `activations`: the gradients of
// activations among its values. A half without an op keeps a copy of what came in, so that a
// schedule can count it; without params there is no second half.
void Halve(ElaborationContext& elaboration, MethodScope& scope, const TailMark& before,
           const std::set<graph::ValueId>& activations, const std::vector<Tensor>& incoming);

}  // namespace cgraph::elaborate

#endif  // CGRAPH_COMPILER_ELABORATE_GRADIENTS_HALVES_H_
