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
  // A cycle of waits, two accesses that nothing orders, or two numbers for one symbol, that no run
  // shows. (Other refusals are about what is no plan, or says of itself what is not so, whatever
  // its runs do.)
  bool false_reject() const {
    return finding.outcome == interpreter::Outcome::kOk &&
           (verdict.refusal == plan::Refusal::kDeadlock ||
            verdict.refusal == plan::Refusal::kRace || verdict.refusal == plan::Refusal::kExtent);
  }
};

// The plan as it is.
Mutant Unchanged(const Original& original);

// One mutation or two; most of them certified again, so that not every one is refused for that.
// What is mutated is a random small plan: the original after a few changes that the prover let
// pass.
Mutant MakeMutant(const Original& original, Random& random);

// The interpreter looks hard at what the prover accepts (at one of ten with every instruction held
// back in every round), and where it sees no hang or race that the prover sees, at what the prover
// points to and then at all; briefly at the rest.
Trial Judge(const plan::Plan& plan, uint32_t graph, const std::vector<uint32_t>& suspects,
            const Prover& prover, Random& random);

}  // namespace cgraph::mutants

#endif  // CGRAPH_TESTS_MUTANTS_TRIAL_H_
