// SameMeaning: whether a plan's graph computes what the compiler's graph says, whatever lanes and
// waits do.
//
// Both are run symbolically: the graph op by op, the plan instruction by instruction in the order
// of `program_order`. A tag stands for bytes; ops make new tags out of those that they read. This
// is what the prover leaves open ("that program order is the source's").
#ifndef CGRAPH_TESTS_SUPPORT_MODULES_SAME_MEANING_H_
#define CGRAPH_TESTS_SUPPORT_MODULES_SAME_MEANING_H_

#include <string>

#include "compiler/graph/graph.h"
#include "runtime/plan/plan.h"

namespace cgraph::graph::testing {

// Says what differs in one execution: an output, a state, the number of ops. Empty: nothing. Ops
// are known by their kernel's name and its attribute `id`, if it has one.
std::string DifferentMeaning(const Module& module, const graph::Graph& graph,
                             const plan::Plan& plan, const plan::Graph& planned);

}  // namespace cgraph::graph::testing

#endif  // CGRAPH_TESTS_SUPPORT_MODULES_SAME_MEANING_H_
