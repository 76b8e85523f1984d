// RandomPlan: small plans at random, as no compiler makes them: a few devices with lanes of their
// own each, calls, copies, transfers, groups of several parts that go all ways at once,
// collectives, state, work that lags behind in other rounds, memory used twice, captures. Most of
// them hold; of the careless ones, which leave out a wait here and there, many do not.
#ifndef CGRAPH_TESTS_MUTANTS_RANDOM_PLAN_H_
#define CGRAPH_TESTS_MUTANTS_RANDOM_PLAN_H_

#include <memory>

#include "runtime/plan/plan.h"
#include "tests/mutants/mutate.h"

namespace cgraph::mutants {

// Returns a random plan with one graph.
std::unique_ptr<plan::Plan> RandomPlan(Random& random);

}  // namespace cgraph::mutants

#endif  // CGRAPH_TESTS_MUTANTS_RANDOM_PLAN_H_
