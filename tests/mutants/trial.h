// One mutant before both judges: the prover, and the interpreter that shares nothing with it.
#ifndef CGRAPH_TESTS_MUTANTS_TRIAL_H_
#define CGRAPH_TESTS_MUTANTS_TRIAL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/plan/prove.h"
#include "tests/interpreter/interpreter.h"
#include "tests/mutants/mutate.h"

namespace cgraph::mutants {

struct Original {
  std::string name;
  std::unique_ptr<plan::Plan> plan;
  uint32_t graph = 0;  // the one that is damaged and interpreted; kNone: the start graph
};

struct Mutant {
  std::unique_ptr<plan::Plan> plan;
  const MutationKind* kind = nullptr;  // of its first mutation
  std::vector<uint32_t> suspects;
};

using Prover = std::function<plan::Verdict(const plan::Plan&)>;

struct Trial {
  plan::Verdict verdict;
  interpreter::Finding finding;

  bool false_accept() const {
    return verdict.proved() && finding.outcome != interpreter::Outcome::kOk;
  }
  // Returns whether the prover refused for a cycle of waits, two accesses that nothing orders, or
  // two numbers for one symbol, that no run shows. (Other refusals are about plans that are none,
  // or that say of themselves what is not so, whatever their runs do.)
  bool false_reject() const {
    return finding.outcome == interpreter::Outcome::kOk &&
           (verdict.refusal == plan::Refusal::kDeadlock ||
            verdict.refusal == plan::Refusal::kRace || verdict.refusal == plan::Refusal::kExtent);
  }
};

// Returns the plan as it is.
Mutant Unchanged(const Original& original);

// Makes one mutation or two; most mutants are certified again, so that not every one is refused for
// that. The plan that is mutated is a random small plan: the original after a few changes that the
// prover let pass.
Mutant MakeMutant(const Original& original, Random& random);

// Judges a plan. The interpreter searches hard where the prover accepts (in one of ten cases with
// every instruction held back in every round), and where it sees no deadlock or race that the
// prover sees: there it tries the instructions that the prover points to and then all. It searches
// the rest briefly.
Trial Judge(const plan::Plan& plan, uint32_t graph, const std::vector<uint32_t>& suspects,
            const Prover& prover, Random& random);

}  // namespace cgraph::mutants

#endif  // CGRAPH_TESTS_MUTANTS_TRIAL_H_
