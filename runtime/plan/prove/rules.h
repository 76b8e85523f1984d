// The rules that the prover asks about, a file each; docs/plan.md states them.
#ifndef CGRAPH_RUNTIME_PLAN_PROVE_RULES_H_
#define CGRAPH_RUNTIME_PLAN_PROVE_RULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/graph_index.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/prove.h"
#include "runtime/plan/prove/edges.h"
#include "runtime/plan/prove/vector_clocks.h"

namespace cgraph::plan::prove {

RefusalStep MakeStep(const GraphIndex& index, uint32_t instruction);
// Refuses a plan because of two instructions that are in conflict: "..., which writes `%v#0`".
Verdict RefusePair(const GraphIndex& index, Refusal refusal, const std::string& message,
                   uint32_t first, const std::string& first_does, uint32_t second,
                   const std::string& second_does);
// Returns " for the next execution"; "" for the same one.
std::string Later(int64_t executions);

// Rule 8: checks that no cycle of edges has distance 0, or finds the shortest such cycle.
//
// Returns all nodes, each after those from which an edge of distance 0 leads to it. The list is
// shorter than the number of nodes when there is a cycle: the missing nodes are on one, or behind
// one.
std::vector<uint32_t> TopologicalOrder(const ConstraintGraph& constraints,
                                       const Lists<uint32_t>& out);

// Returns the verdict on a graph whose order is incomplete: the cycle, in source terms.
Verdict RefuseDeadlock(const ConstraintGraph& constraints, const Lists<uint32_t>& out,
                       const std::vector<uint32_t>& order, const std::string& graph_name);

// Checks rule 10: accesses of one buffer stand in program order, and before those of the execution
// that uses the same copy next.
Verdict CheckSameBuffer(const GraphIndex& index, const Lists<Access>& accesses,
                        const VectorClocks& clocks, const std::string& graph_name);

// Returns whether a slot or scratch buffer is safe by rule 10 although its accesses do not stand in
// program order: each write and its reads keep together, so that no read finds what another write
// left. (State, and what the caller has been given, must be right after the last access too.)
bool LivesInTurn(const GraphIndex& index, const Lists<Access>& accesses, const VectorClocks& clocks,
                 uint32_t buffer);

// Checks rule 11: of two buffers that overlap in an arena one is through with the memory before the
// other begins, in every copy.
Verdict CheckReuse(const GraphIndex& index, const Lists<Access>& accesses,
                   const VectorClocks& clocks, const std::string& graph_name);

// Checks rule 12: no lag reaches `inflight`. An execution ends in the round that begins the one
// `lag` later, so lag + 1 of them are in progress, and the caller may begin `inflight` at most.
Verdict CheckLags(const GraphIndex& index, const std::string& graph_name);
// Checks the rest of rule 12: no output waits for an input of an execution that the caller may not
// begin yet.
Verdict CheckInflight(const ConstraintGraph& constraints, const Lists<uint32_t>& out,
                      const std::string& graph_name);

// Checks rule 13: the certificate is one. `certificate`: the positions by instruction; empty: the
// graph's own.
Verdict CheckCertificate(const ConstraintGraph& constraints,
                         const std::vector<uint32_t>& certificate, const std::string& graph_name);

// Rule 14: graphs that share state compose.
Verdict CheckGraphs(const Plan& plan);

// Rule 15: a symbol is one number in an execution, wherever it is read. Needs a plan that keeps
// rules 10 and 11, and messages that are indexed.
Verdict CheckOneExtent(const GraphIndex& index, const Lists<Access>& accesses,
                       const std::string& graph_name);

}  // namespace cgraph::plan::prove

#endif  // CGRAPH_RUNTIME_PLAN_PROVE_RULES_H_
