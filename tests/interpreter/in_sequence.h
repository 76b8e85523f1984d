// InSequence: several graphs of a plan as one. Every lane runs a round of each, one after the
// other, as it does when executions of all of them are submitted in turn. The meaning of that one
// graph is what rule 14 promises of all: an execution of the first, one of the second, and so on,
// over the same states.
//
// So a judge of one graph can judge several. Nothing is added to the plan's order in time: no
// waits, and each graph keeps its own slots, events, channels and collectives.
#ifndef CGRAPH_TESTS_INTERPRETER_IN_SEQUENCE_H_
#define CGRAPH_TESTS_INTERPRETER_IN_SEQUENCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::interpreter {

// Returns a plan that has only this graph. A caller gets no second execution of one graph in before
// the first of another, and takes results at once.
std::unique_ptr<plan::Plan> InSequence(const plan::Plan& plan,
                                       const std::vector<uint32_t>& graphs);

}  // namespace cgraph::interpreter

#endif  // CGRAPH_TESTS_INTERPRETER_IN_SEQUENCE_H_
