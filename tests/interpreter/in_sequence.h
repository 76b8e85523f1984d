// Several graphs of a plan as one: every lane runs a round of each, one after the other, as it does
// when executions of all of them are submitted in turn. What that one graph means is what rule 14
// promises of all: an execution of the first, one of the second, and so on, over the same states.
//
// So whoever judges one graph judges several. Nothing of the plan's order in time is added: no
// waits, and each graph keeps its own slots, events, channels and collectives.
#ifndef CGRAPH_TESTS_INTERPRETER_IN_SEQUENCE_H_
#define CGRAPH_TESTS_INTERPRETER_IN_SEQUENCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::interpreter {

// A plan that has only this graph, with one execution in flight: a caller gets no second one of one
// graph in before the first of another.
std::unique_ptr<plan::Plan> InSequence(const plan::Plan& plan,
                                       const std::vector<uint32_t>& graphs);

}  // namespace cgraph::interpreter

#endif  // CGRAPH_TESTS_INTERPRETER_IN_SEQUENCE_H_
