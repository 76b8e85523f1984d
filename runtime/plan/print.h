// Printing a plan as text, and the words in which every message speaks of its instructions.
#ifndef CGRAPH_RUNTIME_PLAN_PRINT_H_
#define CGRAPH_RUNTIME_PLAN_PRINT_H_

#include <cstdint>
#include <string>

#include "runtime/plan/plan.h"

namespace cgraph::plan {

// Returns the whole plan, lane by lane, in a stable form: for `cgc plan`, `--emit plan`, golden
// tests.
std::string ToText(const Plan& plan);

std::string DeviceName(const Plan& plan, uint32_t device);  // "gpu[1]", "cpu[0]", "caller"
std::string LaneName(const Plan& plan, uint32_t lane);      // "gpu[1] comm"
// Returns a call's name: "first.hidden", with its indices "stage[1].forward(3)"; "" for none.
std::string CallName(const Plan& plan, const Graph& graph, uint32_t call);
std::string SiteText(const Plan& plan, uint32_t site);  // "digits.cgraph:25:11"
// Returns what an instruction does, for messages: "send `h` of first.hidden to gpu[1]
// (digits.cgraph:25:11)".
std::string InstructionText(const Plan& plan, const Graph& graph, uint32_t instruction);
// Returns the lane whose list holds an instruction, by a search over the lanes; kNone when none
// does.
uint32_t LaneOf(const Graph& graph, uint32_t instruction);

// Returns a value's type: "f32[n <= 64, 10]".
std::string TypeText(const Plan& plan, const Graph& graph, uint32_t value);

}  // namespace cgraph::plan

#endif  // CGRAPH_RUNTIME_PLAN_PRINT_H_
