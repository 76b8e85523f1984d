// How long each instruction of a graph is taken to last: what the plan expects, or a profile.
//
// A profile's time belongs to a method call as a whole: the call's first computing instruction
// gets it, its others take none. What a profile does not name (communications and copies too)
// takes the profile's default if it states one, else what the plan expects.
#ifndef CGRAPH_COMPILER_INSPECT_SIMULATE_DURATIONS_H_
#define CGRAPH_COMPILER_INSPECT_SIMULATE_DURATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/cost/profile.h"
#include "runtime/plan/plan.h"

namespace cgraph {

// What the plan expects, in picoseconds, by instruction; signals and waits take none.
std::vector<uint64_t> ExpectedTimes(const plan::Graph& graph);
// `expected`, but for what a profile says more of; `profile` may be null.
std::vector<uint64_t> Durations(const plan::Plan& plan, const plan::Graph& graph,
                                const Profile* profile, std::vector<uint64_t> expected);

// A buffered message takes its time once: half of it to be put into its slot, by the sender, and
// half to be taken out. In `durations` both ends have the whole of it before, a half each after.
void HalveBuffered(const plan::Plan& plan, const plan::Graph& graph,
                   std::vector<uint64_t>& durations);

// The names under which a profile can give a time for a call of the graph.
std::vector<std::string> ProfiledCalls(const plan::Plan& plan, const plan::Graph& graph);

}  // namespace cgraph

#endif  // CGRAPH_COMPILER_INSPECT_SIMULATE_DURATIONS_H_
