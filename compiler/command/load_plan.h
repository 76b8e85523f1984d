// From the FILE of a command line to a plan, with what goes wrong on the way said.
#ifndef CGRAPH_COMPILER_COMMAND_LOAD_PLAN_H_
#define CGRAPH_COMPILER_COMMAND_LOAD_PLAN_H_

#include <optional>
#include <string>

#include "compiler/command/flags/flags.h"
#include "compiler/cost/profile.h"
#include "compiler/cost/topology.h"
#include "compiler/driver/compile.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "runtime/base/status.h"
#include "runtime/plan/load.h"

namespace llvm::json {
class OStream;
}

namespace cgraph::command {

// Compiles with its diagnostics printed: to standard error, or into an array of `json`.
Compilation CompileAndReport(const CompileOptions& options, const OutputFlags& output,
                             llvm::json::OStream* json);

// A plan from a .cgplan, or from anything else by compiling it. Without one, what went wrong has
// been printed and `exit_code` says which kind it was. `profile` is what its schedule is made by;
// `topology` gets the machine that --topology names, if it does.
plan::PlanOrExit LoadOrCompile(const std::string& path, const CompileFlags& flags,
                               const OutputFlags& output,
                               const std::optional<Profile>& profile = std::nullopt,
                               std::optional<cost::Topology>* topology = nullptr);

// Where the diagnostics of `cgc compile` and `cgc check` go: to standard error, or with --json to
// standard output, those of all files as one array, which `compile` is handed; else it gets null.
void Diagnosed(const OutputFlags& output, llvm::function_ref<void(llvm::json::OStream*)> compile);

// kInvalid when --json and --emit would both print to standard output, which can hold one of them.
Status CheckEmit(const OutputFlags& output, const CompileOptions& options);

}  // namespace cgraph::command

#endif  // CGRAPH_COMPILER_COMMAND_LOAD_PLAN_H_
