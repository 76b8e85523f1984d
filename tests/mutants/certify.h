// Certify: a fresh certificate (`certificate_position`) for a graph that was changed, where there
// is one. Without it almost every mutant would be refused for its certificate alone, and no other
// rule would be tried.
#ifndef CGRAPH_TESTS_MUTANTS_CERTIFY_H_
#define CGRAPH_TESTS_MUTANTS_CERTIFY_H_

#include "runtime/plan/plan.h"

namespace cgraph::mutants {

// Leaves the graph as it is when its waits are cyclic.
void Certify(plan::Graph& graph);

}  // namespace cgraph::mutants

#endif  // CGRAPH_TESTS_MUTANTS_CERTIFY_H_
