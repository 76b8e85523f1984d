// --profile FILE: times of calls, for the commands that take one.
#ifndef CGRAPH_COMPILER_COMMAND_FLAGS_PROFILE_FLAG_H_
#define CGRAPH_COMPILER_COMMAND_FLAGS_PROFILE_FLAG_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cost/profile.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status.h"

namespace cgraph::command {

void AddProfileFlag(CLI::App& command, std::string& path);

// Nothing without a path.
Result<std::optional<Profile>> ReadProfile(const std::string& path);

// A time for a call that no graph of the plan makes, nor its start, is most often a misspelt name.
void WarnOfUnusedTimes(const plan::Plan& plan, const std::optional<Profile>& profile,
                       const std::string& path);

}  // namespace cgraph::command

#endif  // CGRAPH_COMPILER_COMMAND_FLAGS_PROFILE_FLAG_H_
