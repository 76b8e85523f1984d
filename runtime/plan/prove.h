// Prove: decides that a plan cannot deadlock and touches no buffer while it is in use, for any
// number of executions.
//
// It works on the plan alone and shares nothing with the scheduler. docs/plan.md states the rules.
// The verdict names the rule that is broken and shows, in source terms, the shortest cycle of waits
// or the two instructions that nothing orders.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace cgraph::plan {

struct ProveOptions {
  // The capacity of every channel in the proof, instead of those that the plan states (0:
  // rendezvous).
  std::optional<uint32_t> capacity;
  bool checked = false;  // CheckPlan has accepted the plan
};

enum class Refusal {
  kNone,
  kShape,        // rules 1-7
  kDeadlock,     // rule 8: a cycle of waits
  kRace,         // rules 10, 11: two accesses that nothing orders
  kExtent,       // rule 15: two numbers for one symbol
  kInflight,     // rule 12
  kCertificate,  // rule 13
  kGraphs,       // rule 14
  kTooLarge,     // more than the prover takes on; nothing is known to be wrong
};
const char* RefusalName(Refusal refusal);

// RefusalStep: one instruction of a refusal, in words.
struct RefusalStep {
  std::string graph;         // "start" for the start graph
  uint32_t instruction = 0;  // index into its instructions
  std::string text;          // "gpu[1] comm: receive `h` of first.hidden (digits.cgraph:25:17)"
  std::string waits_for;     // why this step waits for the next one of the cycle; empty for a race
};

struct Verdict {
  Refusal refusal = Refusal::kNone;
  std::string message;      // one or more lines, complete by itself; empty when proved
  std::vector<RefusalStep> steps;  // the cycle (deadlock), or the pair (race, extent)

  bool proved() const { return refusal == Refusal::kNone; }
};

// Runs CheckPlan first, unless it has been run.
Verdict Prove(const Plan& plan, const ProveOptions& options = {});

// The certificate of a proved plan: its instructions by position, one line each.
std::string CertificateText(const Plan& plan);

// LinearExtension: the position of each start and each end of an instruction in one order of a
// graph's round in which nothing waits for what comes later. It shows that for these channels
// nothing deadlocks; a sceptic can check the waits one by one.
struct LinearExtension {
  uint32_t graph = 0;                 // index; kNone: the start graph
  std::vector<uint32_t> start, done;  // by instruction
};
// Returns one for each graph with instructions, of a proved plan.
std::vector<LinearExtension> LinearExtensions(const Plan& plan, const ProveOptions& options = {});

// Returns the least capacity at which no instructions wait for one another, if every channel has
// it; none when they do at any capacity. The check must have accepted the plan.
std::optional<uint32_t> SmallestCapacity(const Plan& plan);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_H_
